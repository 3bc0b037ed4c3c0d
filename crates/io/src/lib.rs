//! The bytes of one file: which of them to move, how to move them, and what an error means.
//!
//! Descriptors come in, counts and errors go out. This crate knows no trees and no paths, prints
//! nothing, reads no environment and starts no process. Every error is a (call, errno) from `haul-sys`,
//! or says that the run was stopped or the file changed.
//!
//! # Moving a file's bytes
//!
//! Segments choose the bytes, [`method`] moves them, and [`transfer`] distributes them to
//! one worker or several. A [`Watch`] counts the bytes that arrived and stops the move:
//!
//! ```
//! use std::fs::{self, File};
//! use std::os::fd::AsFd;
//! use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
//!
//! use haul_io::transfer::move_file;
//! use haul_io::{DataError, DataPolicy, Device, FileJob, Kit, Pair, Watch};
//! use haul_sys::fs::fstat;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let (from, to) = (folder.path().join("from"), folder.path().join("to"));
//! fs::write(&from, vec![7; 100_000])?;
//! let (source, target) = (File::open(&from)?, File::create(&to)?);
//! let (stat, policy) = (fstat(&source)?, DataPolicy::default());
//! let pair = Pair::new(Device::of(&source)?, Device::of(&target)?);
//! let job = FileJob::whole(source.as_fd(), target.as_fd(), &stat, &pair, &policy);
//!
//! let (stop, bytes) = (AtomicBool::new(false), AtomicU64::new(0));
//! let watch = Watch { stop: &stop, bytes: &bytes, pace: None };
//! let mut kit = Kit::new(); // buffers and pipes, one for each worker, used for file after file
//! let moved = move_file(&job, &mut kit, watch)?;
//! assert_eq!((moved.bytes, bytes.load(Ordering::Relaxed)), (100_000, 100_000));
//! assert_eq!(fs::read(&to)?, fs::read(&from)?);
//!
//! // Another thread, or a signal handler, may set the flag at any time.
//! stop.store(true, Ordering::Relaxed);
//! let target = File::create(&to)?;
//! let job = FileJob::whole(source.as_fd(), target.as_fd(), &stat, &pair, &policy);
//! assert_eq!(move_file(&job, &mut kit, watch).unwrap_err(), DataError::Stopped);
//! # Ok(())
//! # }
//! ```
//!
//! # Reading a stream in order
//!
//! A [`stream::Reader`] keeps several requests in flight and delivers blocks in order; an error comes
//! after the bytes that were read before it:
//!
//! ```
//! use std::os::fd::OwnedFd;
//! use std::sync::Arc;
//!
//! use haul_io::stream::{ReadPlan, Reader, Source};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("file");
//! std::fs::write(&path, b"one\ntwo\n")?;
//! let file = Arc::new(OwnedFd::from(std::fs::File::open(&path)?));
//! let mut reader = Reader::new(Source::Own(file), ReadPlan::whole())?;
//! let mut lines = 0;
//! while let Some(block) = reader.next()? {
//!     lines += block.iter().filter(|byte| **byte == b'\n').count();
//! }
//! assert_eq!(lines, 2);
//! # Ok(())
//! # }
//! ```
//!
//! # Modules
//!
//! | module | purpose |
//! | --- | --- |
//! | [`transfer`] | one file's bytes, or a part of them, by one worker or several: `cp`, `dd`, `split` |
//! | [`method`] | the ways to move a range, in order of preference; [`MethodId`] names them |
//! | [`quirk`] | the table of file systems: copying, removing, durability, latency |
//! | [`report`], [`residency`], [`sides`] | why a file was moved as it was, and what was cached |
//! | [`stream`] | bytes in order, requests in flight: `read`, `write`, `cat` |
//! | [`record`] | records, counted, padded and re-blocked: `dd` |
//! | [`split`], [`tee`] | one stream or file to several pieces, or to several descriptors |
//! | [`digest`] | digests of streams and of files |
//! | [`cache`] | what becomes of the page cache, and how large a file pushes others out of it |
//! | [`block_digests`], [`verification`], [`recheck`] | digests of what was read, to verify it later |
//! | [`trail`] | the pages behind a file whose requests the caller makes |
//! | [`gentle`] | how much of the time a gentle run works, by the pressure on the machine |
//! | [`stored`] | the evidence that one file is on stable storage |
//! | [`publish`], [`hidden`], [`inherit`] | how a finished file gets its name and attributes |
//! | [`retry`], [`fully`] | the loops that repeat a call, and that read or write a whole buffer |
//! | [`last_check`] | the removal of a name on condition that it still is the examined file's |
//! | [`space`] | the repetition of a call that found no space, after a flush |
//!
//! Private are the ladder (tries methods in order), the errno table (what an errno means), and segments
//! (holes and zeros).

pub mod cache;
pub mod digest;
mod file;
pub mod method;
pub mod record;
pub mod split;
pub mod stream;
pub mod sum;
mod system;
pub mod tee;
pub mod transfer;
mod verify;

pub use cache::residency;
pub use cache::residency::Residency;
pub use digest::block_digests;
pub use file::{attributes, flags, hidden, inherit, last_check, new_file, publish, stored};
pub use method::MethodId;
pub use method::error::DataError;
pub use method::hole_map::{data_ranges, has_hole_map};
pub use method::in_order::move_to_end;
pub use method::job::{Behind, Change, Extent, FileJob, OpenFiles};
pub use method::moved::{Detection, Moved, NotDirect};
pub use method::pair::{Device, Pair};
pub use method::policy::{Cache, Choice, DataPolicy, Preference, Reflink, Sparse, Tell};
pub use method::report::Report;
pub use method::{caching, report, sides, trail};
pub use system::kit::{Kit, Watch};
pub use system::pace::Pace;
pub use system::quirk::Quirk;
pub use system::{fully, gentle, quirk, retry, space};
pub use verify::{recheck, verification};
