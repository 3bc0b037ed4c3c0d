//! The requests that rules and counters refer to.

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(usize)]
pub enum Operation {
    /// Looks up a name.
    Lookup,
    /// Reads attributes.
    Getattr,
    /// Sets attributes; truncates or extends a file.
    Setattr,
    /// Opens a file.
    Open,
    /// Creates and opens a file.
    Create,
    /// Reads bytes.
    Read,
    /// Writes bytes.
    Write,
    /// Reports that a process closes a descriptor.
    Flush,
    /// Flushes data or names to storage.
    Fsync,
    /// Finds holes or data.
    Lseek,
    /// Reserves space or punches a hole.
    Fallocate,
    /// Copies a range within the server.
    CopyRange,
    /// Opens a directory.
    Opendir,
    /// Reads names.
    Readdir,
    /// Creates a directory.
    Mkdir,
    /// Creates a special file.
    Mknod,
    /// Creates a symbolic link.
    Symlink,
    /// Reads a symbolic link.
    Readlink,
    /// Creates a hard link.
    Link,
    /// Removes a name.
    Unlink,
    /// Removes a directory.
    Rmdir,
    /// Renames a file.
    Rename,
    /// Reads or lists extended attributes.
    Xattr,
    /// Sets or removes an extended attribute.
    Setxattr,
    /// Returns file system statistics.
    Statfs,
}

/// All operations with their names, in the order of their numbers.
pub(crate) const OPERATIONS: &[(Operation, &str)] = &[
    (Operation::Lookup, "lookup"),
    (Operation::Getattr, "getattr"),
    (Operation::Setattr, "setattr"),
    (Operation::Open, "open"),
    (Operation::Create, "create"),
    (Operation::Read, "read"),
    (Operation::Write, "write"),
    (Operation::Flush, "flush"),
    (Operation::Fsync, "fsync"),
    (Operation::Lseek, "lseek"),
    (Operation::Fallocate, "fallocate"),
    (Operation::CopyRange, "copy-range"),
    (Operation::Opendir, "opendir"),
    (Operation::Readdir, "readdir"),
    (Operation::Mkdir, "mkdir"),
    (Operation::Mknod, "mknod"),
    (Operation::Symlink, "symlink"),
    (Operation::Readlink, "readlink"),
    (Operation::Link, "link"),
    (Operation::Unlink, "unlink"),
    (Operation::Rmdir, "rmdir"),
    (Operation::Rename, "rename"),
    (Operation::Xattr, "xattr"),
    (Operation::Setxattr, "setxattr"),
    (Operation::Statfs, "statfs"),
];

impl Operation {
    /// Returns whether it moves bytes.
    #[must_use]
    pub const fn moves_data(self) -> bool {
        matches!(self, Operation::Read | Operation::Write | Operation::CopyRange)
    }

    /// Returns all operations with their names.
    pub fn all() -> impl Iterator<Item = (Operation, &'static str)> {
        OPERATIONS.iter().copied()
    }

    /// Returns the operation with a name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Operation> {
        OPERATIONS.iter().find(|(_, known)| *known == name).map(|(operation, _)| *operation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_places_in_the_table() {
        for (place, (operation, name)) in OPERATIONS.iter().enumerate() {
            assert_eq!(*operation as usize, place);
            assert_eq!(Operation::of_name(name), Some(*operation));
        }
    }
}
