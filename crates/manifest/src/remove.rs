//! Removes generated trees.
//!
//! `std::fs::remove_dir_all` recurses and holds a descriptor for every level, so it cannot remove
//! what this crate can generate. This serves tests only, and is not a model for `haul rm`.

use std::ffi::{CStr, CString};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, unlinkat};
use rustix::io::Errno;

use crate::dirstack::DirStack;
use crate::failure::{Action, During, Failure, Step};
use crate::names::{ListBuffer, Names};
use crate::node::{Attributes, Mount, Node, Place, retry};
use crate::values::Kind;

/// Removes the entry at `root` and everything below it, as [`remove_entry`] does.
///
/// # Errors
///
/// As [`remove_entry`], and `EINVAL` for a path that ends with `..` or has no last part.
pub fn remove_tree(root: &Path) -> Result<(), Failure> {
    let invalid = || Failure::new(b"", Action::Open, Errno::INVAL);
    let c_string = |bytes: &[u8]| CString::new(bytes).map_err(|_| invalid());
    let name = c_string(root.file_name().ok_or_else(invalid)?.as_bytes())?;
    let parent = root.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = c_string(parent.unwrap_or(Path::new(".")).as_os_str().as_bytes())?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = retry(|| openat(CWD, &parent, flags, Mode::empty()))
        .map_err(|errno| Failure::new(b"", Action::Open, errno))?;
    remove_entry(std::os::fd::AsFd::as_fd(&directory), &name)
}

/// Removes the entry `name` of an open directory and everything below it. It follows no symbolic
/// link, resolves no path, and enters no other mount, so that nothing outside of the directory is
/// removed even if another process renames entries concurrently.
///
/// Directories that may not be written are made writable first, so that an ordinary user can
/// remove generated trees with modes like 000.
///
/// # Errors
///
/// Ends at the first entry that cannot be removed. The path of the failure is only the entry's name
/// in its directory, and empty for the root. A root that does not exist is an error, and so is a
/// mount point: [`Action::EnterMount`].
pub fn remove_entry(directory: BorrowedFd<'_>, name: &CStr) -> Result<(), Failure> {
    let fail = |name: &CStr, (action, errno)| Failure::new(name.to_bytes(), action, errno);
    let place = Place::below(directory, name);
    if unlink_or_is_directory(place).map_err(|failed| fail(c"", failed))? {
        let mount = Attributes::of(directory).map_err(|failed| fail(c"", failed))?.mount;
        let stack = open_writable(place, mount)
            .and_then(DirStack::new)
            .map_err(|failed| fail(c"", failed))?;
        empty(stack, mount).map_err(|(name, failed)| fail(&name, failed))?;
        unlinkat(directory, name, AtFlags::REMOVEDIR)
            .during(Action::Remove)
            .map_err(|failed| fail(c"", failed))?;
    }
    Ok(())
}

/// Removes everything below the current directory of `stack`.
fn empty(mut stack: DirStack, mount: Mount) -> Result<(), (CString, (Action, Errno))> {
    let mut buffer = ListBuffer::new();
    let at = |name: &CStr| {
        let name = name.to_owned();
        move |failed| (name, failed)
    };
    // Each level holds the names of the directories not removed yet.
    let mut levels = vec![(remove_files(&stack, &mut buffer)?, 0)];
    while let Some((names, next)) = levels.last_mut() {
        if let Some(name) = names.get(*next) {
            *next += 1;
            let place = Place::below(stack.current(), name);
            open_writable(place, mount).and_then(|fd| stack.push(fd)).map_err(at(name))?;
            levels.push((remove_files(&stack, &mut buffer)?, 0));
            continue;
        }
        levels.pop();
        if stack.pop().map_err(at(c".."))?.is_none() {
            break;
        }
        let emptied = levels.last().and_then(|(names, next)| names.get(next - 1));
        let name = emptied.unwrap_or(c"");
        unlinkat(stack.current(), name, AtFlags::REMOVEDIR)
            .during(Action::Remove)
            .map_err(at(name))?;
    }
    Ok(())
}

fn remove_files(
    stack: &DirStack,
    buffer: &mut ListBuffer,
) -> Result<Names, (CString, (Action, Errno))> {
    let (all, error) = Names::list(stack.current(), buffer);
    if let Some(errno) = error {
        return Err((c".".to_owned(), (Action::List, errno)));
    }
    let mut directories = Names::default();
    for name in all.iter() {
        let place = Place::below(stack.current(), name);
        if unlink_or_is_directory(place).map_err(|failed| (name.to_owned(), failed))? {
            directories.push(name);
        }
    }
    Ok(directories)
}

/// Unlinks an entry that is not a directory. Linux returns `EISDIR` for a directory (unlink(2));
/// some file systems follow POSIX and return `EPERM`, so that error is checked.
fn unlink_or_is_directory(place: Place<'_>) -> Step<bool> {
    match unlinkat(place.dir, place.name, AtFlags::empty()) {
        Ok(()) => Ok(false),
        Err(Errno::ISDIR) => Ok(true),
        Err(Errno::PERM) if Node::pin(place)?.attributes.kind == Kind::Directory => Ok(true),
        Err(errno) => Err((Action::Remove, errno)),
    }
}

/// Opens a directory to remove its entries, if it is on the mount where the removal began; makes it
/// accessible to its owner if necessary.
fn open_writable(place: Place<'_>, mount: Mount) -> Step<OwnedFd> {
    let node = Node::pin(place)?;
    if node.attributes.mount != mount {
        return Err((Action::EnterMount, Errno::BUSY));
    }
    if node.attributes.mode & 0o700 != 0o700 {
        // fchmod(2) does not take an O_PATH descriptor; chmod(2) takes its path in /proc.
        rustix::fs::chmod(node.proc_path().as_str(), Mode::from_raw_mode(0o700))
            .during(Action::SetAttribute)?;
    }
    node.open(place)
}
