//! Conversion of attributes between the form of `stat(2)` and that of FUSE.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::config::Clock;
use fuser::{FileAttr, FileType, INodeNo, TimeOrNow};
use rustix::fs::{FileType as Kind, Stat, Timespec, UTIME_NOW, UTIME_OMIT};

/// Converts attributes to FUSE's form, with a node number of this server and with times by the
/// server's clock.
#[expect(clippy::cast_possible_truncation, reason = "FUSE has 32 bits for what stat has 64 for")]
pub(crate) fn described(stat: &Stat, id: u64, clock: Clock) -> FileAttr {
    let mtime = shown(moment(stat.st_mtime, stat.st_mtime_nsec), clock);
    FileAttr {
        ino: INodeNo(id),
        size: u64::try_from(stat.st_size).unwrap_or(0),
        blocks: u64::try_from(stat.st_blocks).unwrap_or(0),
        atime: shown(moment(stat.st_atime, stat.st_atime_nsec), clock),
        mtime,
        ctime: match clock {
            Clock::ChangeIsModification => mtime,
            _ => shown(moment(stat.st_ctime, stat.st_ctime_nsec), clock),
        },
        crtime: UNIX_EPOCH,
        kind: kind(Kind::from_raw_mode(stat.st_mode)),
        perm: (stat.st_mode & 0o7777) as u16,
        nlink: u32::try_from(stat.st_nlink).unwrap_or(u32::MAX),
        uid: stat.st_uid,
        gid: stat.st_gid,
        rdev: stat.st_rdev as u32,
        blksize: u32::try_from(stat.st_blksize).unwrap_or(4096),
        flags: 0,
    }
}

pub(crate) const fn kind(kind: Kind) -> FileType {
    match kind {
        Kind::Directory => FileType::Directory,
        Kind::Symlink => FileType::Symlink,
        Kind::Fifo => FileType::NamedPipe,
        Kind::Socket => FileType::Socket,
        Kind::CharacterDevice => FileType::CharDevice,
        Kind::BlockDevice => FileType::BlockDevice,
        Kind::RegularFile | Kind::Unknown => FileType::RegularFile,
    }
}

fn moment<S: TryInto<i64>, N: TryInto<u32>>(seconds: S, nanoseconds: N) -> SystemTime {
    let seconds = seconds.try_into().unwrap_or(0);
    let part = Duration::from_nanos(u64::from(nanoseconds.try_into().unwrap_or(0)));
    let whole = Duration::from_secs(seconds.unsigned_abs());
    if seconds < 0 { UNIX_EPOCH - whole + part } else { UNIX_EPOCH + whole + part }
}

/// Converts a local time to the time of the server's clock.
fn shown(time: SystemTime, clock: Clock) -> SystemTime {
    match clock {
        Clock::Off(seconds) => shifted(time, seconds),
        Clock::Right | Clock::ChangeIsModification => time,
    }
}

/// Converts a time of the server's clock to the local time to store, so that reading it back
/// returns the time that was set.
pub(crate) fn stored(time: Option<TimeOrNow>, clock: Clock) -> Option<TimeOrNow> {
    match (time, clock) {
        (Some(TimeOrNow::SpecificTime(time)), Clock::Off(seconds)) => {
            Some(TimeOrNow::SpecificTime(shifted(time, -seconds)))
        }
        (time, _) => time,
    }
}

fn shifted(time: SystemTime, seconds: i64) -> SystemTime {
    let by = Duration::from_secs(seconds.unsigned_abs());
    if seconds < 0 { time - by } else { time + by }
}

/// Converts a time to set to the form of `utimensat(2)`.
pub(crate) fn to_set(time: Option<TimeOrNow>) -> Timespec {
    let special = |tv_nsec| Timespec { tv_sec: 0, tv_nsec };
    match time {
        None => special(UTIME_OMIT),
        Some(TimeOrNow::Now) => special(UTIME_NOW),
        Some(TimeOrNow::SpecificTime(time)) => match time.duration_since(UNIX_EPOCH) {
            Ok(since) => timespec(since),
            // fuser 0.18 treats both parts of a time before 1970 as if they counted down, while the
            // nanoseconds count up (a TODO in its time.rs); this reverses that conversion.
            Err(before) => {
                let before = timespec(before.duration());
                Timespec { tv_sec: -before.tv_sec, tv_nsec: before.tv_nsec }
            }
        },
    }
}

fn timespec(time: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: time.subsec_nanos().into(),
    }
}
