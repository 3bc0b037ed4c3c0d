//! A toy operation, and trees to walk.

use haul_sys::sync::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use haul_sys::CallError;
use haul_sys::fs::{Follow, Kind, statat};
use haul_tree::{
    Batch, Below, Finish, Node, Nothing, OpenDirectories, Operand, Operation, Order, Reader,
    Single, Task, Worker, Workers, walk,
};

pub(crate) type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// A directory of the toy.
pub(crate) type Directory = Single<()>;

/// Name of the entry that takes a worker of the toy as long as a large file does.
pub(crate) const LARGE: &CStr = c"large";

/// What the toy does with each entry that is no directory.
type See = dyn Fn(&Toy, &CStr) + Sync;

/// Counts the entries of a tree, and checks that the walk keeps its promises.
pub(crate) struct Toy {
    directories: OpenDirectories<Directory>,
    pub(crate) order: Order,
    see: Box<See>,
    pub(crate) stop: AtomicBool,
    pub(crate) files: AtomicUsize,
    pub(crate) entered: AtomicUsize,
    pub(crate) finished: AtomicUsize,
    pub(crate) threads: AtomicUsize,
    pub(crate) failures: Mutex<Vec<(CString, CallError)>>,
    /// How often each name was seen.
    pub(crate) seen: Mutex<BTreeMap<CString, usize>>,
    /// Names of directories in the order in which they were finished.
    pub(crate) ends: Mutex<Vec<CString>>,
}

impl Toy {
    /// Makes a toy that keeps so many directories open.
    pub(crate) fn new(open: usize, see: impl Fn(&Toy, &CStr) + Sync + 'static) -> Toy {
        Toy {
            directories: OpenDirectories::new(open),
            order: Order::Any,
            see: Box::new(see),
            stop: AtomicBool::new(false),
            files: AtomicUsize::new(0),
            entered: AtomicUsize::new(0),
            finished: AtomicUsize::new(0),
            threads: AtomicUsize::new(1),
            failures: Mutex::default(),
            seen: Mutex::default(),
            ends: Mutex::default(),
        }
    }

    /// Walks a tree with so many workers.
    pub(crate) fn walk(&self, top: &Path, workers: usize) -> Outcome {
        let root = Single::root(&self.directories, ());
        let path = CString::new(top.as_os_str().as_encoded_bytes())?;
        let task = Task::new(root, Reader::of_operands(&[Operand::whole(path.clone(), path)]), 1);
        walk(self, Workers { busy: workers, waiting: workers }, task, |_| ());
        Ok(())
    }

    pub(crate) fn note(&self, name: &CStr) {
        let mut seen = locked(&self.seen);
        *seen.entry(name.to_owned()).or_default() += 1;
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

impl Operation for Toy {
    type Directory = Directory;
    type Found = Below<()>;
    type Shared = Nothing;
    type Local = ();

    fn local(&self, _: usize) {}

    fn directories(&self) -> &OpenDirectories<Directory> {
        &self.directories
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn order(&self) -> Order {
        self.order
    }

    fn waiting_room(&self, _: &Node<Directory>) -> usize {
        2
    }

    fn started(&self) {
        self.threads.fetch_add(1, Ordering::Relaxed);
    }

    fn enter(worker: &mut Worker<'_, Toy>, found: Below<()>) -> Option<Arc<Task<Directory>>> {
        let toy = worker.operation;
        let entered = Single::enter(toy, &found, |_, _| (!toy.is_stopped()).then_some(()));
        match entered {
            Ok(Some(task)) => {
                toy.entered.fetch_add(1, Ordering::Relaxed);
                task.set_room(2);
                return Some(Arc::new(task));
            }
            Ok(None) => {}
            Err(error) => locked(&toy.failures).push((found.name, error)),
        }
        worker.release_child(found.parent);
        None
    }

    fn handle(worker: &mut Worker<'_, Toy>, batch: Batch<'_, Directory>) {
        let toy = worker.operation;
        let mut has_large = false;
        for slot in &batch.entries.slots {
            let name = batch.entries.name(slot);
            if name == LARGE {
                has_large = true;
                continue;
            }
            let kind = slot
                .kind
                .or_else(|| statat(batch.handle.as_fd(), name).ok().map(|stat| stat.kind()));
            if kind == Some(Kind::Directory) {
                Below::push(worker, &batch.task.node, name, Follow::No);
            } else {
                toy.files.fetch_add(1, Ordering::Relaxed);
                (toy.see)(toy, name);
            }
        }
        if has_large {
            worker.leave_to_others();
            worker.start();
            (toy.see)(toy, LARGE);
        }
    }

    fn finish(worker: &mut Worker<'_, Toy>, node: &Arc<Node<Directory>>) -> Finish {
        let toy = worker.operation;
        toy.finished.fetch_add(1, Ordering::Relaxed);
        locked(&toy.ends).push(node.name().to_owned());
        Finish::Done
    }

    fn reopen_failed(&self, node: &Node<Directory>, error: CallError) {
        locked(&self.failures).push((node.name().to_owned(), error));
    }

    fn read_failed(&self, node: &Node<Directory>, error: CallError) {
        locked(&self.failures).push((node.name().to_owned(), error));
    }
}

/// Makes a tree: in each directory so many files, and so many directories down to a depth.
pub(crate) fn grow(at: &Path, files: usize, directories: usize, depth: usize) -> Outcome {
    for index in 0..files {
        std::fs::write(at.join(format!("f{index}")), "")?;
    }
    for index in 0..if depth == 0 { 0 } else { directories } {
        let below = at.join(format!("d{index}"));
        std::fs::create_dir(&below)?;
        grow(&below, files, directories, depth - 1)?;
    }
    Ok(())
}
