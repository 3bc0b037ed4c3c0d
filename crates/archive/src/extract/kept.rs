//! Which files of an earlier extraction stay: those with the attributes and the bytes of the archive.

use std::ffi::CString;
use std::os::fd::{AsFd as _, OwnedFd};

use haul_io::digest::{Algorithm, Digest};
use haul_io::fully::read_fully;
use haul_sys::fs::{Follow, Kind, OpenHow, Stat, flistxattr, fstat, fsync, openat};

use super::policy::{Appearance, Times};
use super::shared::{Content, Job, Shared};

/// Bytes that are compared at a time.
const PIECE_BYTES: usize = 256 << 10;

/// Returns whether a file has attributes that a new one would not have: other than those that security modules
/// give to every file.
fn has_attributes(file: &OwnedFd) -> bool {
    let given = |name: &CString| {
        let name = name.to_bytes();
        name.starts_with(b"security.") && name != b"security.capability"
    };
    // A file system that has none cannot list them.
    flistxattr(file).is_ok_and(|names| !names.iter().all(given))
}

impl Shared {
    /// Returns whether the file of a job is there already. A file that was not completed has not the times
    /// of the archive, and one whose bytes did not reach storage has other bytes. Blocks.
    ///
    /// If it is, returns the digest of its bytes that is wanted, or no digest.
    pub(super) fn is_there(&self, job: &Job) -> Option<Option<Digest>> {
        let mut digest = self.hashes.map(Algorithm::start);
        let is_there = self.policy.resumes && self.found(job, digest.as_mut()).unwrap_or(false);
        is_there.then_some(digest)
    }

    fn found(&self, job: &Job, digest: Option<&mut Digest>) -> haul_sys::Result<bool> {
        let has_more = !job.member.xattrs.is_empty()
            || job.member.acls.iter().any(Option::is_some)
            || job.member.context.is_some();
        // What cannot be compared is made again.
        if has_more || job.member.regions.is_some() || self.policy.times == Times::Now {
            return Ok(false);
        }
        let how = OpenHow::READ.following(Follow::No);
        let file = openat(&*job.place.parent, &job.place.leaf, how)?;
        let stat = fstat(&file)?;
        let is_there = self.looks_complete(job, &stat)
            && !has_attributes(&file)
            && self.has_bytes(job, &file, digest)?;
        if is_there && self.policy.appearance == Appearance::Durable {
            // What was compared may be in memory alone. A file that cannot be written is made again.
            fsync(&file)?;
        }
        Ok(is_there)
    }

    fn looks_complete(&self, job: &Job, stat: &Stat) -> bool {
        let attributes = self.attributes(&job.member, job.owner);
        let mtime = job.member.mtime;
        stat.kind() == Kind::Regular
            && stat.size == job.member.size
            && (stat.mtime.seconds, stat.mtime.nanoseconds) == (mtime.seconds, mtime.nanoseconds)
            // Bits may be missing that only the owner of the archive gets; then it is made again.
            && stat.permissions() == attributes.mode & 0o7777
            && attributes.owner.is_none_or(|owner| owner == (stat.uid, stat.gid))
    }

    /// Compares the bytes of a file with those of the archive.
    fn has_bytes(
        &self,
        job: &Job,
        file: &OwnedFd,
        mut digest: Option<&mut Digest>,
    ) -> haul_sys::Result<bool> {
        let (mut found, mut stored) = (vec![0; PIECE_BYTES], vec![0; PIECE_BYTES]);
        let mut at = 0;
        while at < job.member.size {
            let left = usize::try_from(job.member.size - at).unwrap_or(usize::MAX);
            let want = left.min(PIECE_BYTES);
            let (found, stored) = (&mut found[..want], &mut stored[..want]);
            let start = usize::try_from(at).unwrap_or(usize::MAX);
            let expected = match (&job.content, &self.archive) {
                (Content::Bytes(bytes), _) => match bytes.get(start..start.saturating_add(want)) {
                    Some(bytes) => bytes,
                    None => return Ok(false),
                },
                (Content::InArchive(offset), Some(archive)) => {
                    let count = read_fully(archive.file.as_fd(), stored, offset + at)?;
                    &stored[..count]
                }
                (Content::InArchive(_), None) => return Ok(false),
            };
            let count = read_fully(file, found, at)?;
            if count != want || found != expected {
                return Ok(false);
            }
            if let Some(digest) = digest.as_deref_mut() {
                digest.update(expected);
            }
            at += want as u64;
        }
        Ok(true)
    }
}
