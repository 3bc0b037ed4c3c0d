//! Stale temporaries: finds and removes the hidden names that killed runs could not remove.
//!
//! A name is stale if it has the exact form of a hidden name, belongs to the user, and no live run
//! uses it. A live run holds a lock on its files. Links and FIFOs cannot be locked and have their
//! hidden names only for an instant, so the search leaves them until they are old.

pub(crate) mod moves;

use haul_sys::sync::Mutex;
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, OnceLock};

use haul_io::hidden::{is_hidden_name, name_below};
use haul_io::last_check::{GivenBack, give_back};
use haul_sys::fs::{
    Access, Follow, Kind, OpenHow, Stat, fstat, openat, statat, try_lock, unlinkat,
};
use haul_sys::{Call, CallError, Errno};
use haul_tree::{
    Batch, Below, Finish, Handle, Node, Nothing, OpenDirectories, Operand, Operation, Reader,
    Single, Task, Worker, Workers, walk,
};

use self::moves::Quiet;
use crate::journal::is_of_running_copy;
use crate::names::path::join;

/// Minimum age of a stale entry by default. An entry has its hidden name for microseconds before
/// its final one.
pub const AGE_SECONDS: i64 = 60;

/// Number of directories that are kept open.
const DIRECTORIES: usize = 64;

/// Treatment of the data that a rerun of an interrupted move would reuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moves {
    /// The data is reported and stays.
    Keep,
    /// The data counts as stale.
    GiveUp,
}

/// Whether stale entries are removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Stale entries are reported.
    Tell,
    /// Stale entries are removed and reported.
    Remove,
}

/// Result for a directory, or for a name that has the form of a hidden name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// The entry is stale. It was removed if the mode asks for that.
    Stale,
    /// A run uses the entry.
    InUse,
    /// The entry changed after the time that the caller gave, so that a run may be about to use it.
    Young,
    /// The entry belongs to another user.
    Foreign,
    /// The entry is a directory, and runs give such a name only to files.
    Directory,
    /// A directory that an interrupted move has copied in part, or the note for it. A rerun of the
    /// move resumes it, and its source is complete.
    Unfinished,
    /// A note which records that only the removal of a source remains. The value is the path of
    /// the source, or `None` if it cannot be examined now. A rerun of the move resumes the
    /// removal.
    Unremoved(Option<Vec<u8>>),
    /// A source that a run was about to remove. It got its name back if the mode asks for that. The value is
    /// the path with the name; the name is another one if its own was taken.
    SetAside(Vec<u8>),
    /// The entry could not be examined or removed.
    Failed(haul_sys::CallError),
}

/// A directory that is being searched, with the names in it that have to be judged.
type Directory = Single<Mutex<Vec<CString>>>;

/// The search as an operation on a tree.
struct Search<'a> {
    latest_seconds: i64,
    mode: Mode,
    moves: Moves,
    /// Device of the directory that the caller named.
    dev: OnceLock<u64>,
    directories: OpenDirectories<Directory>,
    tell: Mutex<&'a mut Tell<'a>>,
}

/// Callback that receives the path of each name with the form of a hidden name, and the result.
pub type Tell<'a> = dyn FnMut(&[u8], Found) + Send + 'a;

/// Searches a directory and everything below it on the same file system for stale temporaries.
/// Entries that changed after `latest_seconds` of the epoch stay. Blocks until the search is
/// complete.
pub fn clean(root: &CStr, latest_seconds: i64, mode: Mode, moves: Moves, tell: &mut Tell<'_>) {
    let directories = OpenDirectories::new(DIRECTORIES);
    let top = Single::root(&directories, Mutex::default());
    let search = Search {
        latest_seconds,
        mode,
        moves,
        dev: OnceLock::new(),
        directories,
        tell: Mutex::new(tell),
    };
    let operand = Operand::whole(root.to_owned(), root.to_owned());
    let task = Task::new(top, Reader::of_operands(&[operand]), 1);
    walk(&search, Workers::ONE, task, |_| ());
}

impl Operation for Search<'_> {
    type Directory = Directory;
    type Found = Below<Mutex<Vec<CString>>>;
    type Shared = Nothing;
    type Local = ();

    fn local(&self, _: usize) {}

    fn directories(&self) -> &OpenDirectories<Directory> {
        &self.directories
    }

    fn is_stopped(&self) -> bool {
        false
    }

    fn enter(worker: &mut Worker<'_, Self>, found: Self::Found) -> Option<Arc<Task<Directory>>> {
        let search = worker.operation;
        let entered = Single::enter(search, &found, |_, stat| {
            (*search.dev.get_or_init(|| stat.dev) == stat.dev).then(Mutex::default)
        });
        match entered {
            Ok(Some(task)) => return Some(Arc::new(task)),
            Ok(None) => {}
            Err(error) => search.tell(&found.parent, &found.name, Found::Failed(error)),
        }
        worker.release_child(found.parent);
        None
    }

    fn handle(worker: &mut Worker<'_, Self>, batch: Batch<'_, Directory>) {
        let search = worker.operation;
        let Batch { task, handle, entries } = batch;
        let node = &task.node;
        for slot in &entries.slots {
            let name = entries.name(slot);
            if node.is_root() {
                Below::push(worker, node, name, Follow::Yes);
            } else if is_hidden_name(name.to_bytes()) || moves::is_name(name.to_bytes()) {
                node.lock().push(name.to_owned());
            } else if is_directory(handle, name, slot.kind) {
                Below::push(worker, node, name, Follow::No);
            } else if let Some(own) = name_below(name.to_bytes()) {
                let found = search.set_aside(node, handle, (name, own));
                search.tell(node, name, found.unwrap_or_else(Found::Failed));
            }
        }
    }

    fn finish(worker: &mut Worker<'_, Self>, node: &Arc<Node<Directory>>) -> Finish {
        // Some file systems lose the position in a directory from which names are removed, so that
        // waits until all of it is read.
        let names = std::mem::take(&mut *node.lock());
        if !names.is_empty() {
            worker.operation.judge(node, &names);
        }
        Finish::Done
    }

    fn reopen_failed(&self, node: &Node<Directory>, error: CallError) {
        self.read_failed(node, error);
    }

    fn read_failed(&self, node: &Node<Directory>, error: CallError) {
        if let Some(parent) = &node.parent {
            self.tell(parent, node.name(), Found::Failed(error));
        }
    }
}

/// Returns whether an entry is a directory; calls `statat` if the directory did not report the
/// kind.
fn is_directory(directory: impl AsFd, name: &CStr, kind: Option<Kind>) -> bool {
    kind.map_or_else(
        || statat(directory, name).is_ok_and(|stat| stat.kind() == Kind::Directory),
        |kind| kind == Kind::Directory,
    )
}

impl Search<'_> {
    fn tell(&self, node: &Node<Directory>, name: &CStr, found: Found) {
        let mut path = Single::path(node);
        path.push(name.to_bytes());
        let mut tell = self.tell.lock();
        tell(&join(&path), found);
    }

    /// Handles the names in a directory that has been read.
    fn judge(&self, node: &Arc<Node<Directory>>, names: &[CString]) {
        let directory = match self.directories.of(node) {
            Ok(directory) => directory,
            Err(error) => {
                self.reopen_failed(node, error);
                return;
            }
        };
        let mut moving = Vec::new();
        for name in names {
            if is_hidden_name(name.to_bytes()) {
                let found = self.one(&directory, name).unwrap_or_else(Found::Failed);
                self.tell(node, name, found);
            } else {
                moving.push(name.as_c_str());
            }
        }
        if !moving.is_empty() {
            self.move_names(node, &directory, &moving);
        }
    }

    /// Handles the names in a directory that moves use.
    fn move_names(&self, node: &Node<Directory>, directory: &Handle, names: &[&CStr]) {
        // The lock is held until all names are handled, so that no move starts meanwhile.
        let quiet = Quiet::new(directory);
        for name in names {
            let found = match &quiet {
                Ok(quiet) => self.moving(directory, name, quiet.as_ref()),
                Err(error) => Err(*error),
            };
            self.tell(node, name, found.unwrap_or_else(Found::Failed));
        }
    }

    /// Handles one name that moves use.
    fn moving(
        &self,
        directory: &Handle,
        name: &CStr,
        quiet: Option<&Quiet>,
    ) -> haul_sys::Result<Found> {
        let stat = statat(directory, name)?;
        let me = haul_sys::process::identity();
        if me.uid != 0 && stat.uid != me.uid {
            return Ok(Found::Foreign);
        }
        if self.dev.get().is_some_and(|dev| *dev != stat.dev) {
            // A file system is mounted there.
            return Err(CallError::new(Call::Unlinkat, Errno::BUSY));
        }
        if quiet.is_none() {
            return Ok(Found::InUse);
        }
        if stat.ctime.seconds > self.latest_seconds {
            return Ok(Found::Young);
        }
        let found = moves::judge(directory.as_fd(), name, &stat);
        if found != Found::Stale && self.moves == Moves::Keep {
            return Ok(found);
        }
        if self.mode == Mode::Remove {
            moves::remove(directory.as_fd(), name, &stat)?;
        }
        Ok(Found::Stale)
    }

    /// Handles a file that a run has set aside: nothing but its source may contain these bytes, so it gets its
    /// name back.
    fn set_aside(
        &self,
        node: &Node<Directory>,
        directory: &Handle,
        (name, own): (&CStr, &[u8]),
    ) -> haul_sys::Result<Found> {
        let stat = statat(directory, name)?;
        let me = haul_sys::process::identity();
        if me.uid != 0 && stat.uid != me.uid {
            return Ok(Found::Foreign);
        }
        if stat.ctime.seconds > self.latest_seconds {
            return Ok(Found::Young);
        }
        let own = CString::new(own).unwrap_or_default();
        let named = match self.mode {
            Mode::Tell => GivenBack::Own,
            Mode::Remove => give_back(directory, name, &own),
        };
        let mut path = Single::path(node);
        match &named {
            GivenBack::Own => path.push(own.to_bytes()),
            // Neither its own name nor one that is like it could be given to it.
            GivenBack::Other(other) if *other.name == *name => return Err(other.why),
            GivenBack::Other(other) => path.push(other.name.to_bytes()),
        }
        Ok(Found::SetAside(join(&path)))
    }

    fn one(&self, directory: &Handle, name: &CStr) -> haul_sys::Result<Found> {
        let stat = statat(directory, name)?;
        let me = haul_sys::process::identity();
        if me.uid != 0 && stat.uid != me.uid {
            return Ok(Found::Foreign);
        }
        if stat.kind() == Kind::Directory {
            return Ok(Found::Directory);
        }
        if stat.ctime.seconds > self.latest_seconds {
            return Ok(Found::Young);
        }
        // The lock is held until the name is removed, so that no process starts to use it
        // meanwhile.
        let _lock = match lock(directory, name, &stat)? {
            Lock::None => None,
            Lock::Ours(fd) if is_of_running_copy(directory.as_fd(), &fd) => {
                return Ok(Found::InUse);
            }
            Lock::Ours(fd) => Some(fd),
            Lock::Theirs => return Ok(Found::InUse),
        };
        if self.mode == Mode::Remove {
            unlinkat(directory, name)?;
        }
        Ok(Found::Stale)
    }
}

enum Lock {
    /// Entries of this kind cannot be locked.
    None,
    Ours(OwnedFd),
    Theirs,
}

fn lock(directory: &Handle, name: &CStr, stat: &Stat) -> haul_sys::Result<Lock> {
    if stat.kind() != Kind::Regular {
        return Ok(Lock::None);
    }
    let try_through = |how| {
        let fd = openat(directory, name, how)?;
        if !fstat(&fd)?.same_file(stat) {
            return Ok(Lock::Theirs);
        }
        Ok(if try_lock(&fd)? { Lock::Ours(fd) } else { Lock::Theirs })
    };
    match try_through(OpenHow::READ) {
        // An NFS client takes this lock only through a descriptor that is open for writing (flock(2)).
        Err(CallError { call: Call::Flock, errno: Errno::BADF }) => {
            try_through(OpenHow { access: Access::ReadWrite, ..OpenHow::READ })
        }
        tried => tried,
    }
}
