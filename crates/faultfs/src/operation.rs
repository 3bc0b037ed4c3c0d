//! The requests that rules and counts are about.

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(usize)]
pub enum Operation {
    /// A name is looked up.
    Lookup,
    /// Attributes are asked for.
    Getattr,
    /// Attributes are set; a file is cut or extended.
    Setattr,
    /// A file is opened.
    Open,
    /// A file is made and opened.
    Create,
    /// Bytes are read.
    Read,
    /// Bytes are written.
    Write,
    /// A descriptor is closed by somebody.
    Flush,
    /// Bytes, or names, are to be on storage.
    Fsync,
    /// Holes or data are looked for.
    Lseek,
    /// Space is reserved, or a hole punched.
    Fallocate,
    /// A range is copied within the server.
    CopyRange,
    /// A directory is opened.
    Opendir,
    /// Names are read.
    Readdir,
    /// A directory is made.
    Mkdir,
    /// A special file is made.
    Mknod,
    /// A symbolic link is made.
    Symlink,
    /// A symbolic link is read.
    Readlink,
    /// A file gets another name.
    Link,
    /// A name is removed.
    Unlink,
    /// A directory is removed.
    Rmdir,
    /// A name is changed.
    Rename,
    /// Extended attributes are read or listed.
    Xattr,
    /// An extended attribute is set or removed.
    Setxattr,
    /// The file system is described.
    Statfs,
}

/// All of them with their names, in the order of their numbers.
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
    /// Tells whether it moves bytes.
    #[must_use]
    pub const fn moves_data(self) -> bool {
        matches!(self, Operation::Read | Operation::Write | Operation::CopyRange)
    }

    /// Returns all operations with their names.
    pub fn all() -> impl Iterator<Item = (Operation, &'static str)> {
        OPERATIONS.iter().copied()
    }

    /// Returns the operation of a name.
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
