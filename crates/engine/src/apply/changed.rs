//! A source that changes while it is copied: copied again, kept as it is, or given up.
//!
//! A copy has to be what one read of the source from its beginning to its end gives. A small file that was
//! rewritten between its description and its only read is simply read again. If only the
//! ctime of a larger one changed, its bytes may or may not be others, so it is read once more; the user
//! is told in each case.

use std::os::fd::AsFd;
use std::time::Duration;

use haul_io::quirk::{ReportedSize, of_magic};
use haul_io::transfer::{SNAPSHOT_BYTES, move_file};
use haul_io::{Change, DataError, Moved, move_to_end};
use haul_sys::data::{ftruncate, seek_set};
use haul_sys::fs::{Kind, Stat, fstat, fstatfs};

use super::finished::{Finished, job};
use crate::context::{Worker, watch};
use crate::error::{Severity, What};

/// How long a file that changed is left alone before it is copied again on request: a writer that is
/// at work gets a chance to be done.
const CHANGED_WAIT: Duration = Duration::from_millis(50);

/// How often a small file is read again that was rewritten meanwhile. Each attempt is one request, so
/// only a writer that never rests meets all of them.
const SMALL_ATTEMPTS: u32 = 5;

/// How often a file is read again of which only the ctime changed.
const CTIME_ATTEMPTS: u32 = 1;

/// Copies a file again where it changed, and reports what that means for its copy. The description
/// becomes that of the file as it was copied.
pub(super) fn settle(
    worker: &mut Worker<'_, '_>,
    file: &Finished<'_>,
    stat: &mut Stat,
    moved: Result<Moved, DataError>,
) -> Result<Moved, DataError> {
    let run = worker.operation;
    let moved = moved.and_then(|moved| {
        if is_a_short_guess(worker, file, stat, &moved) {
            Err(DataError::Changed)
        } else {
            Ok(moved)
        }
    });
    let by_itself = match &moved {
        Err(DataError::Changed) if stat.size <= SNAPSHOT_BYTES => SMALL_ATTEMPTS,
        Err(DataError::Changed) => 0,
        // A changed mode or number of names may hide that bytes were written and the mtime set back.
        Ok(moved) if moved.change != Change::None => CTIME_ATTEMPTS,
        _ => 0,
    };
    let asked_for = match &moved {
        Err(DataError::Changed) => run.policy.changed_retries,
        _ => 0,
    };
    let again = move_again(worker, file, stat, (by_itself, asked_for));
    let moved = again.unwrap_or(moved)?;
    let has_changed = !stat.is_unchanged(file.stat);
    let (what, severity) = match moved.change {
        Change::None if has_changed && asked_for == 0 => (What::CopiedAgain, Severity::Warning),
        Change::None => return Ok(moved),
        Change::Attributes(now) => {
            *stat = now;
            (What::AttributesChanged, Severity::Warning)
        }
        Change::Unexplained(now) => {
            *stat = now;
            (What::MayHaveChanged, Severity::Failure)
        }
        Change::Bytes => return Err(DataError::Changed),
    };
    file.entry.report(run, what, None, severity);
    Ok(moved)
}

/// Returns whether a file of a server or a program gave fewer bytes than it claims. Such a size may be a
/// guess; but a short answer looks the same, so nothing is removed, or called verified, on that ground.
fn is_a_short_guess(
    worker: &mut Worker<'_, '_>,
    file: &Finished<'_>,
    stat: &Stat,
    moved: &Moved,
) -> bool {
    let has_to_be_sure = worker.operation.copied.is_some() || worker.operation.reads_targets();
    has_to_be_sure
        && stat.kind() == Kind::Regular
        && moved.bytes < stat.size
        && file.target.partial.is_none()
        && fstatfs(&file.source)
            .is_ok_and(|system| of_magic(system.magic).reported_size == ReportedSize::Claimed)
}

/// Copies a file again, at once as often as the first number says, and after a while as often as the
/// second. Returns how the last attempt ended; `None` if there was none.
fn move_again(
    worker: &mut Worker<'_, '_>,
    file: &Finished<'_>,
    stat: &mut Stat,
    (at_once, after_a_while): (u32, u32),
) -> Option<Result<Moved, DataError>> {
    let run = worker.operation;
    let target = &file.target;
    let is_rewritable = target.before.is_none_or(|before| before.kind() == Kind::Regular);
    let mut last = None;
    for attempt in 0..at_once.max(after_a_while) {
        if run.stopped() || !is_rewritable {
            break;
        }
        if attempt >= at_once {
            std::thread::sleep(CHANGED_WAIT);
        }
        let moved = once_more(worker, file, stat);
        let is_settled = match &moved {
            Ok(moved) => moved.change == Change::None,
            Err(error) => *error != DataError::Changed,
        };
        last = Some(moved);
        if is_settled {
            break;
        }
    }
    last
}

fn once_more(
    worker: &mut Worker<'_, '_>,
    file: &Finished<'_>,
    stat: &mut Stat,
) -> Result<Moved, DataError> {
    let run = worker.operation;
    let target = &file.target;
    let before = std::mem::replace(stat, fstat(&file.source)?);
    if let Some(digests) = &target.digests {
        digests.forget();
    }
    ftruncate(&target.fd, 0)?;
    seek_set(&target.fd, 0)?;
    seek_set(&file.source, 0)?;
    let target_dev = fstat(&target.fd)?.dev;
    let pair = run.pairs.of((stat.dev, file.source.as_fd()), (target_dev, target.fd.as_fd()));
    let watch = watch(worker);
    let job = job(&file.source, target, stat, &pair, run);
    if !stat.is_unchanged(&before) {
        return move_file(&job, &mut worker.local.kit, watch);
    }
    // Nothing happened to the file, and yet it has another size than it says (FUSE). More than it says is
    // all of it; less may be a short answer that was taken for the end.
    match move_to_end(&job, &mut worker.local.kit, watch)? {
        moved if moved.bytes < stat.size => Err(DataError::Changed),
        moved => Ok(moved),
    }
}
