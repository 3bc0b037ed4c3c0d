//! The shape of a copy: what is to be done with a file's holes and zeros, and whether it has a
//! size at all.

use haul_sys::fs::{Kind, Stat};

use crate::method::Zeros;
use crate::method::job::FileJob;
use crate::method::policy::Sparse;
use crate::system::quirk::Quirk;
use crate::system::quirk::{HoleMap, ReportedSize};
use crate::system::segment::Map;

/// What is to be done with a file's zeros and holes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) map: Map,
    pub(crate) zeros: Zeros,
}

impl Shape {
    /// Every byte of the source is a byte of the target.
    pub(crate) const DENSE: Shape = Shape { map: Map::Dense, zeros: Zeros::Write };
}

pub(crate) fn shape(job: &FileJob<'_>) -> Shape {
    if job.extent.is_some() {
        return Shape::DENSE;
    }
    let holes = job.stat.may_have_holes();
    let trusted = job.pair.source.hole_map == HoleMap::Trusted;
    match job.policy.sparse {
        Sparse::Never => Shape::DENSE,
        Sparse::Always => {
            Shape { map: if holes && trusted { Map::Ask } else { Map::Dense }, zeros: Zeros::Skip }
        }
        Sparse::Auto if holes && trusted => Shape { map: Map::Ask, zeros: Zeros::Write },
        Sparse::Auto if holes => Shape { map: Map::Dense, zeros: Zeros::Skip },
        Sparse::Auto => Shape::DENSE,
    }
}

/// Tells whether bytes have to be read and written in order: only reading to the end shows how
/// much there is, or the target has no offsets, or keeps what is not written to (a device). The caller
/// that wants a part of a file knows that it has offsets and a size.
pub(crate) fn is_a_stream(job: &FileJob<'_>) -> bool {
    let is_doubtful = job.stat.size == 0 && job.pair.source.hole_map == HoleMap::Doubted;
    job.extent.is_none() && (is_surely_a_stream(job) || is_doubtful)
}

/// The same, but for an empty file that may well be just that.
pub(crate) fn is_surely_a_stream(job: &FileJob<'_>) -> bool {
    job.stat.kind() != Kind::Regular
        || job.target_kind != Kind::Regular
        || job.pair.source.reported_size == ReportedSize::Guessed
}

/// Returns whether the reported size may never have been the number of bytes.
pub(crate) fn may_be_a_guess(job: &FileJob<'_>) -> bool {
    may_be_made_up(job.stat, job.pair.source)
}

/// Tells whether the kernel, or a program behind FUSE, may make a file up as it is read, so that its
/// size is a guess. A file that has blocks and ends before its size has lost something, whatever its
/// times say: FUSE takes a short answer for the end.
pub(crate) fn may_be_made_up(stat: &Stat, quirk: &Quirk) -> bool {
    let is_made_up = stat.blocks == 0 && quirk.hole_map == HoleMap::Doubted;
    quirk.reported_size == ReportedSize::Guessed || is_made_up
}
