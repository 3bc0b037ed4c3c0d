//! A parallel walk over directory trees.
//!
//! The walk works relative to descriptors, never by path, within a budget of descriptors. It reads
//! directories in large buffers and passes their entries to an [`Operation`] in batches. Workers
//! share a tree by donating subtrees, and a flat directory by working in it together. The worker
//! that handles the last entry of a directory finishes the directory: there are no phases. The
//! crate contains no code for copying or removing.
//!
//! | to | see |
//! | --- | --- |
//! | write an operation | [`Operation`], [`Directory`], [`Batch`] |
//! | start a walk | [`walk`], [`Task`], [`Workers`] |
//! | walk a tree that has one side | [`Single`] |
//! | exchange work with other processes | [`walk_with`], [`Outside`] |
//! | keep directories open within a budget | [`OpenDirectories`] |
//! | read the names of one directory | [`for_each_name`], [`is_empty`] |
//!
//! # Example
//!
//! An operation that counts files, on one worker. An operation for several differs only in the
//! [`Workers`] that [`walk`] gets.
//!
//! ```
//! use std::ffi::CString;
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicU64, Ordering};
//!
//! use haul_sys::CallError;
//! use haul_sys::fs::{Follow, Kind};
//! use haul_tree::{
//!     Batch, Below, Node, Nothing, OpenDirectories, Operand, Operation, Reader, Single, Task,
//!     Worker, Workers, walk,
//! };
//!
//! struct Count {
//!     directories: OpenDirectories<Single<()>>,
//!     files: AtomicU64,
//!     failures: AtomicU64,
//! }
//!
//! impl Operation for Count {
//!     type Directory = Single<()>;
//!     type Found = Below<()>;
//!     type Shared = Nothing;
//!     type Local = ();
//!
//!     fn local(&self, _: usize) {}
//!
//!     fn directories(&self) -> &OpenDirectories<Single<()>> {
//!         &self.directories
//!     }
//!
//!     fn is_stopped(&self) -> bool {
//!         false
//!     }
//!
//!     fn enter(worker: &mut Worker<'_, Count>, found: Below<()>) -> Option<Arc<Task<Single<()>>>> {
//!         if let Ok(Some(task)) = Single::enter(worker.operation, &found, |_, _| Some(())) {
//!             return Some(Arc::new(task));
//!         }
//!         worker.operation.failures.fetch_add(1, Ordering::Relaxed);
//!         worker.release_child(found.parent);
//!         None
//!     }
//!
//!     fn handle(worker: &mut Worker<'_, Count>, batch: Batch<'_, Single<()>>) {
//!         let node = &batch.task.node;
//!         for slot in &batch.entries.slots {
//!             if node.is_root() || slot.kind == Some(Kind::Directory) {
//!                 Below::push(worker, node, batch.entries.name(slot), Follow::No);
//!             } else {
//!                 worker.operation.files.fetch_add(1, Ordering::Relaxed);
//!             }
//!         }
//!     }
//!
//!     fn reopen_failed(&self, _: &Node<Single<()>>, _: CallError) {
//!         self.failures.fetch_add(1, Ordering::Relaxed);
//!     }
//!
//!     fn read_failed(&self, _: &Node<Single<()>>, _: CallError) {
//!         self.failures.fetch_add(1, Ordering::Relaxed);
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let scratch = tempfile::tempdir()?;
//! # std::fs::create_dir(scratch.path().join("below"))?;
//! # std::fs::write(scratch.path().join("one"), "")?;
//! # std::fs::write(scratch.path().join("below/two"), "")?;
//! # let top = CString::new(scratch.path().to_str().ok_or("no UTF-8")?)?;
//! let count = Count {
//!     directories: OpenDirectories::new(64),
//!     files: AtomicU64::new(0),
//!     failures: AtomicU64::new(0),
//! };
//! let root = Single::root(&count.directories, ());
//! let operands = [Operand::whole(top.clone(), top)];
//! walk(&count, Workers::ONE, Task::new(root, Reader::of_operands(&operands), 1), |_| ());
//! assert_eq!(count.files.into_inner(), 2);
//! # assert_eq!(count.failures.into_inner(), 0);
//! # Ok(())
//! # }
//! ```

mod entries;
mod handle;
mod identity;
mod joint;
mod meter;
mod names;
mod node;
mod open;
mod open_directories;
mod operation;
mod pool;
mod reader;
mod single;
mod task;

pub use entries::{Entries, Operand, Slot};
pub use handle::Handle;
pub use identity::{Identity, identity, verified};
pub use joint::{Nothing, Share};
pub use meter::Meter;
pub use names::{for_each_name, has_entry, has_no_entry, is_empty};
pub use node::{Directory, Node};
pub use open::Open;
pub use open_directories::OpenDirectories;
pub use operation::{
    Batch, Finish, Operation, Order, Outgoing, Outside, Worker, Workers, walk, walk_with,
};
pub use pool::{Demand, Spare};
pub use reader::{Chunk, End, Reader, Sequence};
pub use single::{Below, Single};
pub use task::{Children, Task};
