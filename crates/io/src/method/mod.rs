//! The ways to move a range of bytes: a file each, and a line each in [`LADDER`].

pub mod caching;
mod copy_range;
mod direct;
pub(crate) mod error;
pub(crate) mod hole_map;
pub(crate) mod id;
pub(crate) mod in_order;
pub(crate) mod job;
pub(crate) mod ladder;
mod mmap_write;
pub(crate) mod moved;
pub(crate) mod pair;
pub(crate) mod policy;
pub(crate) mod pump;
mod read_write;
mod reflink;
pub mod report;
mod ring;
mod sendfile;
pub(crate) mod shape;
pub mod sides;
mod splice;
pub mod trail;
mod uncached;
pub(crate) mod worth;

pub use id::MethodId;
pub(crate) use ring::ring_serves;

use haul_sys::sync::Mutex;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use haul_sys::CallError;

use crate::digest::block_digests::BlockDigests;
use crate::method::job::OpenFiles;
use crate::method::pair::Pair;
use crate::method::policy::DataPolicy;
use crate::method::report::Refusal;
use crate::method::sides::{Ends, Sides, Way};
use crate::system::kit::{Kit, Watch};

/// The methods in order of preference. The order is the policy: sharing blocks beats letting a
/// server copy; where the page cache is to be spared, a queue beats threads, which beat forgetting;
/// elsewhere moving pages within the kernel beats moving them through a buffer. The last method always
/// fits. Some of the others are used only on request (`--method`, a profile).
pub static LADDER: &[&dyn Method; MethodId::COUNT] = &[
    &reflink::Reflink,
    &copy_range::CopyRange,
    &ring::Ring,
    &direct::Direct,
    &uncached::Uncached,
    &splice::Splice,
    &sendfile::Sendfile,
    &mmap_write::MmapWrite,
    &read_write::ReadWrite,
];

/// Bytes of one request where each is a trip to somewhere else: what FUSE and common NFS servers take
/// at once. Larger ones are cut by the kernel and go one after another.
pub(crate) const FAR_REQUEST_BYTES: usize = 1 << 20;

/// What a method is called, and where it is documented.
#[derive(Debug)]
pub struct Info {
    /// The name, as options and reports spell it.
    pub name: &'static str,
    /// One sentence for people.
    pub summary: &'static str,
    /// Whether several workers can move one file with it.
    pub several: Several,
    /// The way that the files' bytes take, see [`crate::method::sides`].
    pub way: Way,
}

/// Whether several workers can move one file with a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Several {
    /// They can, each a range.
    Can,
    /// One worker has to move the whole file.
    Cannot,
}

/// Whether a method can serve, and if not, why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It can.
    Yes,
    /// It cannot, for this reason.
    No(&'static str),
    /// It can if it is asked for, but something else is better, for this reason.
    Unwise(&'static str),
}

/// Whether other workers write to the same target while a range is moved. It may differ between the ranges
/// of a file, and another worker may begin a range of [`Sharing::Several`] during one of [`Sharing::Sole`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// This worker alone: it may use the descriptors' positions.
    Sole,
    /// Several: only calls that take offsets.
    Several,
}

/// What becomes of a run of zeros that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zeros {
    /// They are written.
    Write,
    /// They are left out, for the target is known to be empty there.
    Skip,
}

/// What a range is of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Portion {
    /// The whole file, from its first byte to its last, at the same offsets of the target.
    File,
    /// All bytes of the source that the job wants, in whole blocks on both sides.
    Blocks,
    /// Any other range.
    Bytes,
}

/// What is asked of a method, as far as it matters for whether it fits.
#[derive(Clone, Copy, Debug)]
pub struct Want<'a> {
    /// The run's policy.
    pub policy: &'a DataPolicy,
    /// Number of bytes that the job wants of the source: the file's size as it was reported, or
    /// that of the part that is wanted.
    pub file_bytes: u64,
    /// Offset in the source at which the target ends, so that a last block may be padded and cut; `None` if
    /// the target has other bytes behind the job's.
    pub file_end: Option<u64>,
    /// What the range is of the file.
    pub portion: Portion,
    /// Whether others write to the target too.
    pub sharing: Sharing,
    /// Who else uses the open files.
    pub open_files: OpenFiles,
    /// What becomes of zeros.
    pub zeros: Zeros,
    /// Number of bytes that are moved without being written: zeros that are left out.
    pub left_out: &'a AtomicU64,
    /// The way that the bytes are to take.
    pub way: Way,
    /// The way that they do take on each side.
    pub sides: &'a Sides,
    /// Digests of the blocks as they are read, where they are recorded.
    pub digests: Option<&'a BlockDigests>,
    /// Where refusals are noted, if reports are wanted.
    pub notes: Option<&'a Mutex<Vec<Refusal>>>,
}

/// A range of one file that is to be moved to another, at the same offset or at another one.
pub struct RangeJob<'a> {
    /// Where the bytes come from.
    pub source: BorrowedFd<'a>,
    /// Where they go.
    pub target: BorrowedFd<'a>,
    /// Offset of the first byte in the source.
    pub source_offset: u64,
    /// Offset of the first byte in the target.
    pub target_offset: u64,
    /// Offset behind the last byte in the source. A source that ends before it ends the range.
    pub end: u64,
    /// Whether the method is to find out that the source ends there.
    pub at_end: AtEnd,
    /// The two file systems.
    pub pair: &'a Pair,
    /// What is asked.
    pub want: Want<'a>,
    /// How the method notices a stop and counts its progress.
    pub watch: Watch<'a>,
}

/// What is asked of a method at the end of its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtEnd {
    /// Nothing: the range is what is wanted.
    Stop,
    /// Whether the source ends there as well: a method that can ([`Method::probes_end`]) asks for one
    /// byte more, and moves it if it is there.
    Probe,
}

impl RangeJob<'_> {
    /// Counts zeros that are moved by not being written.
    pub(crate) fn leave_out(&self, bytes: u64) {
        self.want.left_out.fetch_add(bytes, Ordering::Relaxed);
        self.watch.counted(bytes);
    }

    /// Returns the two files.
    pub(crate) fn ends(&self) -> Ends<'_> {
        Ends { source: self.source, target: self.target, pair: self.pair, watch: self.watch }
    }

    /// Returns where a byte of the source goes in the target.
    pub(crate) fn target_at(&self, source_offset: u64) -> u64 {
        self.target_offset + (source_offset - self.source_offset)
    }

    /// Leaves out the first bytes of the range, which have arrived.
    pub(crate) fn skip(&mut self, bytes: u64) {
        self.source_offset += bytes;
        self.target_offset += bytes;
    }

    /// Returns the offset up to which a method that probes the end asks for bytes.
    pub(crate) fn limit(&self) -> u64 {
        match self.at_end {
            AtEnd::Stop => self.end,
            AtEnd::Probe => self.end + 1,
        }
    }

    /// Returns whether a source that gave fewer bytes than it was asked for has shown that the range
    /// is all of it.
    pub(crate) fn has_shown_end(&self, offset: u64) -> bool {
        self.at_end == AtEnd::Probe && offset == self.end
    }
}

/// Why a method did not finish a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A call failed.
    Call(CallError),
    /// The run was stopped.
    Stopped,
}

impl From<CallError> for Cause {
    fn from(error: CallError) -> Cause {
        Cause::Call(error)
    }
}

/// How an attempt ended. Byte counts are from the range's first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// The range was moved up to its end, or up to the source's end.
    Done(u64),
    /// The kernel refused this method; another one goes on behind `written`.
    NextMethod {
        /// Bytes that arrived.
        written: u64,
        /// What the kernel said.
        cause: CallError,
    },
    /// The range cannot be moved.
    Failed {
        /// Bytes that arrived.
        written: u64,
        /// Why it ended.
        cause: Cause,
    },
}

/// One way to move a range of bytes. Never falls through to another by itself.
pub trait Method: Sync {
    /// Returns the name and a sentence.
    fn info(&self) -> &'static Info;

    /// Tells whether the method can serve, without any system call.
    fn fits(&self, pair: &Pair, want: &Want<'_>) -> Fit;

    /// Tells whether the bytes pass through a buffer of ours, so that they can be seen.
    fn shows_bytes(&self) -> bool {
        false
    }

    /// Tells whether the method finds out by itself that the source ends where the range does, with no
    /// further call.
    fn probes_end(&self) -> bool {
        false
    }

    /// Moves the range. Blocks until it is moved, refused, failed or stopped.
    fn attempt(&self, job: &RangeJob<'_>, kit: &mut Kit) -> Attempt;
}

/// Ends an attempt by what the table says of a failed call that must not be made again.
pub(crate) fn ended(written: u64, error: CallError) -> Attempt {
    match crate::system::errno::verdict(error.call, error.errno) {
        crate::system::errno::Verdict::NextMethod(_) => {
            Attempt::NextMethod { written, cause: error }
        }
        crate::system::errno::Verdict::Retry
        | crate::system::errno::Verdict::Flush
        | crate::system::errno::Verdict::Fail => {
            Attempt::Failed { written, cause: Cause::Call(error) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::pair::Device;

    #[test]
    fn names_are_unique_and_the_last_method_always_fits() {
        for (index, method) in LADDER.iter().enumerate() {
            let name = method.info().name;
            assert!(!LADDER[..index].iter().any(|other| other.info().name == name), "{name}");
        }
        let unknown = &crate::system::quirk::UNKNOWN;
        let pair = Pair::new(Device { dev: 1, quirk: unknown }, Device { dev: 2, quirk: unknown });
        let policy =
            DataPolicy { reflink: crate::method::policy::Reflink::Never, ..DataPolicy::default() };
        let want = Want {
            policy: &policy,
            file_bytes: 0,
            file_end: Some(0),
            portion: Portion::Bytes,
            sharing: Sharing::Several,
            open_files: OpenFiles::Shared(crate::method::sides::Which::Target),
            zeros: Zeros::Skip,
            left_out: &AtomicU64::new(0),
            way: Way::Cached,
            sides: &Sides::default(),
            digests: None,
            notes: None,
        };
        assert_eq!(LADDER.last().map(|method| method.fits(&pair, &want)), Some(Fit::Yes));
    }
}
