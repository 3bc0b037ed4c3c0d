//! The outside of a walk: exchanges work with other processes that walk the same tree.
//!
//! Another process is to the pool what an idle worker is: while one asks for work, workers donate
//! the oldest half of their stacks and offer their directories and files. [`Outside`] takes from
//! that what the operation can send, and adds calls for what arrives. A directory, batch or file
//! that was sent is still owed to its directory; the caller releases it when the other process
//! reports that it is done.

use std::sync::Arc;

use super::Operation;
use super::worker::{Crew, Job, Joinable, Worker, Workers, stream};
use crate::entries::Entries;
use crate::node::Node;
use crate::reader::{End, Memory, Next};
use crate::task::Task;

/// Work that leaves the walk.
pub enum Outgoing<O: Operation> {
    /// A directory that was found and not entered. Its parent waits for it.
    Found(O::Found),
    /// Entries of a directory, which waits for them as for one child.
    Entries(Arc<Node<O::Directory>>, Entries),
    /// A file that workers share; the caller has joined it.
    Shared(Arc<O::Shared>),
}

/// Connection of a walk to other processes.
pub struct Outside<'w, O: Operation> {
    crew: &'w Crew<'w, O>,
    memory: Memory,
}

/// Walks a tree as [`walk`](super::walk) does, with `outside` on a thread of its own. The walk
/// does not end before `outside` returns; then it ends as soon as all workers are idle.
///
/// # Panics
///
/// Panics if the operation or `outside` panicked.
pub fn walk_with<O: Operation, R>(
    operation: &O,
    workers: Workers,
    root: Task<O::Directory>,
    outside: impl FnOnce(&mut Outside<'_, O>) + Send,
    end: impl FnOnce(&mut Worker<'_, O>) -> R,
) -> R {
    let root = Arc::new(root);
    let crew = Crew::new(operation, workers, &root);
    crew.pool.open();
    std::thread::scope(|scope| {
        let crew = &crew;
        scope.spawn(move || {
            let _closes = Closing(crew);
            outside(&mut Outside { crew, memory: Memory::default() });
        });
        let mut worker = Worker::new(crew, scope, 0);
        worker.push_task(root);
        worker.work();
        end(&mut worker)
    })
}

/// Lets a walk end when its outside has returned or panicked.
struct Closing<'w, O: Operation>(&'w Crew<'w, O>);

impl<O: Operation> Drop for Closing<'_, O> {
    fn drop(&mut self) {
        self.0.pool.close();
    }
}

impl<'w, O: Operation> Outside<'w, O>
where
    O::Directory: 'static,
{
    /// Returns the operation of the walk.
    #[must_use]
    pub fn operation(&self) -> &'w O {
        self.crew.operation
    }

    /// Returns how many workers wait for work.
    #[must_use]
    pub fn idle_workers(&self) -> usize {
        self.crew.pool.idle()
    }

    /// Returns how many workers wait for work that there is not: none while there is room in a file that
    /// workers share.
    #[must_use]
    pub fn free_workers(&self) -> usize {
        self.crew.pool.free()
    }

    /// Returns whether there are several workers, or can be.
    #[must_use]
    pub fn has_several_workers(&self) -> bool {
        self.crew.pool.has_several()
    }

    /// Returns whether all workers wait for work and there is none.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.crew.pool.is_idle()
    }

    /// Sets how many pieces of work other processes ask for. While it is not 0, workers donate and
    /// offer what they can do without.
    pub fn ask(&self, pieces: usize) {
        self.crew.pool.ask(pieces);
    }

    /// Adds a call, which an idle worker makes before it takes anything else.
    pub fn call(&self, call: impl FnOnce(&mut Worker<'_, O>) + Send + 'static) {
        self.crew.pool.add(Job::Call(Box::new(call)));
    }

    /// Takes work that workers donated or offer, if there is any that the functions accept. A batch
    /// has at most `most_entries` entries. May read a directory, which blocks for that long.
    pub fn take(
        &mut self,
        most_entries: usize,
        found: impl Fn(&O::Found) -> bool,
        node: impl Fn(&Node<O::Directory>) -> bool,
        shared: impl Fn(&O::Shared) -> bool,
    ) -> Option<Outgoing<O>> {
        let is_sent = |job: &Job<O>| matches!(job, Job::Enter(it) if found(it));
        if let Some(Job::Enter(it)) = self.crew.pool.take_if(is_sent) {
            return Some(Outgoing::Found(it));
        }
        let joined = self.crew.pool.join_if(|offer| match offer {
            Joinable::Directory(task) => node(&task.node),
            Joinable::Shared(file) => shared(file),
        })?;
        match joined {
            Joinable::Directory(task) => self.draw(&task, most_entries),
            Joinable::Shared(file) => Some(Outgoing::Shared(file)),
        }
    }

    /// Draws entries of a directory that the caller has joined.
    fn draw(&mut self, task: &Arc<Task<O::Directory>>, most: usize) -> Option<Outgoing<O>> {
        let mut entries = Entries::default();
        let mut next = Next::End;
        // A directory that cannot be opened is reported by the workers in it.
        let opened = match &task.held {
            Some(held) => Ok(Arc::clone(held)),
            None => self.operation().directories().of(&task.node),
        };
        if let Ok(handle) = opened {
            let mut reader = task.reader.lock();
            let share = share(reader.waiting()).min(most);
            let how = (self.operation().chunk(&task.node), End::Back, share);
            let (after, error) =
                reader.draw(stream::<O>(task, &handle), how, &mut self.memory, &mut entries);
            drop(reader);
            next = after;
            if let Some(error) = error {
                self.operation().read_failed(&task.node, error);
            }
        }
        task.leave();
        if next == Next::End {
            self.crew.pool.withdraw(&Joinable::Directory(Arc::clone(task)));
        }
        if entries.slots.is_empty() {
            let node = Arc::clone(&task.node);
            self.call(move |worker| worker.release(node));
            return None;
        }
        Some(Outgoing::Entries(Arc::clone(&task.node), entries))
    }
}

/// Least number of entries that are worth the opening of their directory by another process.
const LEAST_ENTRIES: usize = 8;

/// Returns how many of the entries that wait in memory go to another process: half of them, so that the
/// last ones are spread evenly and this process keeps work. Of a directory that is not read yet, as many
/// as possible.
fn share(waiting: usize) -> usize {
    if waiting == 0 { usize::MAX } else { waiting.div_ceil(2).max(LEAST_ENTRIES) }
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn half_of_what_waits_is_sent_but_not_less_than_a_unit_is_worth() {
        let shares = [(1000, 500), (21, 11), (16, 8), (15, 8), (5, 8), (0, usize::MAX)];
        for (waiting, expected) in shares {
            assert_eq!(share(waiting), expected, "{waiting} wait");
        }
    }
}
