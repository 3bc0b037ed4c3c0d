//! Leftovers: hidden names that runs which were killed could not take away, found and removed.
//!
//! A name counts only if it has the exact form of ours, belongs to us and to nobody who lives: a
//! run that is at work holds a lock on its files, and what cannot be locked (links, FIFOs) has its
//! hidden name for an instant, so it is left alone until it is old.

pub(crate) mod moves;

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use haul_io::hidden::is_hidden_name;
use haul_sys::CallError;
use haul_sys::fs::{Follow, Kind, OpenHow, Stat, fstat, openat, statat, try_lock, unlinkat};
use haul_tree::{
    Batch, Chunk, Handle, Node, Nothing, OpenDirectories, Operand, Operation, Reader, Single, Task,
    Worker, Workers, walk,
};

use self::moves::Quiet;
use crate::walk::path::join;

/// How old a leftover has to be, usually. A name that is about to be another's is hidden for microseconds.
pub const AGE_SECONDS: i64 = 60;

/// Directories that are kept open.
const DIRECTORIES: usize = 64;

/// What becomes of what interrupted moves would go on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moves {
    /// It is told, and stays.
    Keep,
    /// It counts as leftovers.
    GiveUp,
}

/// What is done with leftovers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// They are told.
    Tell,
    /// They are removed, and told.
    Remove,
}

/// What became of a name that looks like a leftover, or of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// It is one, and was removed if that was to be done.
    Leftover,
    /// A run is at work on it, or was a moment ago.
    InUse,
    /// It belongs to somebody else.
    Foreign,
    /// A directory that an interrupted move has copied in part, or the note on it: the same move goes
    /// on with it, and its source is whole.
    Unfinished,
    /// The note that of this source, or of one that cannot be looked for now, only the removal is
    /// left to do: the same move goes on with that.
    Unremoved(Option<Vec<u8>>),
    /// It could not be looked at or removed.
    Failed(haul_sys::CallError),
}

/// A directory that is searched.
type Directory = Single<()>;

/// A directory that was found and not searched yet.
struct Below {
    parent: Arc<Node<Directory>>,
    name: CString,
}

/// Searching as an operation on a tree.
struct Search<'a> {
    latest_seconds: i64,
    mode: Mode,
    moves: Moves,
    /// The file system of the directory that was named.
    dev: OnceLock<u64>,
    directories: OpenDirectories<Directory>,
    tell: Mutex<&'a mut Tell<'a>>,
}

/// Is told each name that looks like a stale temporary, by its path, and what became of it.
pub type Tell<'a> = dyn FnMut(&[u8], Found) + Send + 'a;

/// Looks for stale temporaries in a directory and everything below it on the same file system: what was
/// changed after `latest_seconds` of the epoch is left alone. Blocks until everything is searched.
pub fn clean(root: &CStr, latest_seconds: i64, (mode, moves): (Mode, Moves), tell: &mut Tell<'_>) {
    let directories = OpenDirectories::new(DIRECTORIES);
    let top = Single::root(&directories, ());
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
    type Found = Below;
    type Shared = Nothing;
    type Local = ();

    fn local(&self, _: usize) {}

    fn directories(&self) -> &OpenDirectories<Directory> {
        &self.directories
    }

    fn is_stopped(&self) -> bool {
        false
    }

    fn chunk(&self, _: &Node<Directory>) -> Chunk {
        // Names are removed while the directory is open, and some file systems then lose their place.
        Chunk { bytes: usize::MAX, ..Chunk::BUFFER }
    }

    fn most_entries(_: &Worker<'_, Self>, _: &Node<Directory>) -> usize {
        // Names of moves are judged together, see `move_names`.
        usize::MAX
    }

    fn enter(worker: &mut Worker<'_, Self>, below: Below) -> Option<Arc<Task<Directory>>> {
        let search = worker.operation;
        let Below { parent, name } = below;
        let follow = if parent.is_root() { Follow::Yes } else { Follow::No };
        let entered = Single::enter(search, &parent, (&name, follow), |_, stat| {
            (*search.dev.get_or_init(|| stat.dev) == stat.dev).then_some(())
        });
        match entered {
            Ok(Some(task)) => return Some(Arc::new(task)),
            Ok(None) => {}
            Err(error) => search.tell(&parent, &name, Found::Failed(error)),
        }
        worker.release_child(parent);
        None
    }

    fn handle(worker: &mut Worker<'_, Self>, batch: Batch<'_, Directory>) {
        let search = worker.operation;
        let Batch { task, handle, entries } = batch;
        let node = &task.node;
        let mut moving = Vec::new();
        for slot in &entries.slots {
            let name = entries.name(slot);
            if node.is_root() {
                search.push(worker, node, name);
            } else if is_hidden_name(name.to_bytes()) {
                let found = search.one(handle, name).unwrap_or_else(Found::Failed);
                search.tell(node, name, found);
            } else if moves::is_name(name.to_bytes()) {
                moving.push(name);
            } else if is_directory(handle, name, slot.kind) {
                search.push(worker, node, name);
            }
        }
        if !moving.is_empty() {
            search.move_names(node, handle, &moving);
        }
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

/// Returns whether an entry is a directory; asks where the directory did not report the kind.
fn is_directory(directory: impl AsFd, name: &CStr, kind: Option<Kind>) -> bool {
    kind.map_or_else(
        || statat(directory, name).is_ok_and(|stat| stat.kind() == Kind::Directory),
        |kind| kind == Kind::Directory,
    )
}

impl Search<'_> {
    fn push(&self, worker: &mut Worker<'_, Self>, parent: &Arc<Node<Directory>>, name: &CStr) {
        parent.owe();
        worker.push(Below { parent: Arc::clone(parent), name: name.to_owned() });
    }

    fn tell(&self, node: &Node<Directory>, name: &CStr, found: Found) {
        let mut path = Single::path(node);
        path.push(name.to_bytes());
        let mut tell = self.tell.lock().unwrap_or_else(PoisonError::into_inner);
        tell(&join(&path), found);
    }

    /// Handles the names in a directory that moves use.
    fn move_names(&self, node: &Node<Directory>, directory: &Handle, names: &[&CStr]) {
        // Held until all of them are handled, so that no move begins meanwhile.
        let quiet = Quiet::new(directory);
        for name in names {
            let found = match &quiet {
                Ok(quiet) => self.moving(directory, name, quiet.as_ref()),
                Err(error) => Err(*error),
            };
            self.tell(node, name, found.unwrap_or_else(Found::Failed));
        }
    }

    /// Deals with a name that moves use.
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
        if quiet.is_none() || stat.ctime.seconds > self.latest_seconds {
            return Ok(Found::InUse);
        }
        let found = moves::judge(directory.as_fd(), name, &stat);
        if found != Found::Leftover && self.moves == Moves::Keep {
            return Ok(found);
        }
        if self.mode == Mode::Remove {
            moves::remove(directory.as_fd(), name, &stat)?;
        }
        Ok(Found::Leftover)
    }

    fn one(&self, directory: &Handle, name: &CStr) -> haul_sys::Result<Found> {
        let stat = statat(directory, name)?;
        let me = haul_sys::process::identity();
        if stat.kind() == Kind::Directory || (me.uid != 0 && stat.uid != me.uid) {
            return Ok(Found::Foreign);
        }
        if stat.ctime.seconds > self.latest_seconds {
            return Ok(Found::InUse);
        }
        // Held until the name is gone, so that nobody can begin to use it meanwhile.
        let _lock = match lock(directory, name, &stat)? {
            Lock::None => None,
            Lock::Ours(fd) => Some(fd),
            Lock::Theirs => return Ok(Found::InUse),
        };
        if self.mode == Mode::Remove {
            unlinkat(directory, name)?;
        }
        Ok(Found::Leftover)
    }
}

enum Lock {
    /// It is nothing that could be locked.
    None,
    Ours(OwnedFd),
    Theirs,
}

fn lock(directory: &Handle, name: &CStr, stat: &Stat) -> haul_sys::Result<Lock> {
    if stat.kind() != Kind::Regular {
        return Ok(Lock::None);
    }
    let fd = openat(directory, name, OpenHow::READ)?;
    if !fstat(&fd)?.same_file(stat) {
        return Ok(Lock::Theirs);
    }
    Ok(if try_lock(&fd)? { Lock::Ours(fd) } else { Lock::Theirs })
}
