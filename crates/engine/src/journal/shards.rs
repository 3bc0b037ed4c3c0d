//! Shards of one copy: runs that know nothing of each other and write volumes of one journal.
//!
//! Each shard locks the journal itself with a shared lock as long as it runs, which excludes every
//! other kind of run, and its own volume exclusively, which excludes a second run of the same shard.
//! What concerns all shards is decided in turns, under the lock of a file of its own, the *gate*: who
//! makes the journal, and, at the end, whether this shard is the last one. So exactly one shard finds
//! all others complete, also if two end at the same time. Nothing takes long behind the gate.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::Duration;

use haul_sys::data::ftruncate;
use haul_sys::fs::{fdatasync, revalidate, try_lock, try_lock_shared};
use haul_sys::process::doze;

use super::beginning::{Unread, is_of_complete_run, read_header, read_last};
use super::gate::Turn;
use super::header;
use super::index::Index;
use super::open::{Found, Place, ThisRun, at_path, beside_target, failure, find, start_header};
use super::others;
use super::own_file::{OpenError, Purpose, create_own, open_own, write_own};
use super::record::{self, FRAME_BYTES, TargetIdentity};
use super::scan::{Scanned, Shards, last_record};
use super::sums::{NONCE_BYTES, Sums};
use super::volumes::{self, Set, scan_into};
use super::write::{File, Journal, Kept, Spot};
use crate::error::{Failure, JournalFlaw, What};
use crate::plan::Plan;
use crate::request::{Request, Resume, Shard};
use crate::walk::path::split;

/// How often, and for how long each time, a shard waits for a journal that is marked as complete: longer than
/// a run that has marked it waits for the clock of the target's file system.
const NAPS: usize = 30;
const NAP: Duration = Duration::from_millis(100);

/// Journal of a shard that begins.
pub(crate) enum ShardJournal {
    /// The shard has its volume.
    Opened(Box<Journal>),
    /// All shards were complete, this one included, and another run goes through the whole tree now.
    Completing,
}

/// Opens the journal for a shard, or creates it: the volume of the shard, and what earlier runs have
/// recorded of its entries. From then on the shard does not count as complete. Waits for the turn of
/// this process, which takes other shards a few calls.
pub(crate) fn open_shard(
    request: &Request,
    resume: &Resume,
    plan: &Plan,
    shard: Shard,
) -> Result<ShardJournal, Failure> {
    let run = header::describe(request, resume);
    let place: Option<Place> = match &resume.journal {
        Some(path) => Some(at_path(plan, path)),
        // All shards find the same place: what the target means does not depend on what is there.
        None => beside_target(request, plan, &run).pop(),
    };
    let spot = match place {
        Some(Ok(spot)) => spot,
        Some(Err((shown, error))) => return Err(failure(&OpenError::Call(error), &shown)),
        None => return Err(failure(&OpenError::Gone, request.target.to_bytes())),
    };
    let shown = spot.shown.clone();
    let this = &ThisRun { request, plan, run: &run, processes: 1 };
    begin(spot, this, resume.journal.is_none(), shard).map_err(|error| failure(&error, &shown))
}

/// The journal itself, as a shard has it open: with a shared lock.
struct Main {
    fd: OwnedFd,
    nonce: [u8; NONCE_BYTES],
    scanned: Scanned,
    index: Index,
}

fn begin(
    spot: Spot,
    this: &ThisRun<'_>,
    looks_for_others: bool,
    shard: Shard,
) -> Result<ShardJournal, OpenError> {
    // Its name does not depend on the random number.
    let any = spot.set([0; NONCE_BYTES]);
    let _turn = Turn::take(any.directory, &any.gate())
        .map_err(|error| OpenError::Volume(Box::new(error), any.gate()))?;
    let mut naps = 0..NAPS;
    let Main { fd: main, nonce, scanned, mut index } = loop {
        match open_main(&spot, this, looks_for_others) {
            Err(OpenError::Flaw(JournalFlaw::InUse)) => match in_use(&spot, this, shard) {
                InUse::Completing => return Ok(ShardJournal::Completing),
                InUse::Marked if naps.next().is_some() => doze(NAP),
                InUse::Marked | InUse::Otherwise => {
                    return Err(OpenError::Flaw(JournalFlaw::InUse));
                }
            },
            opened => break opened?,
        }
    };
    let shards = divide(&main, nonce, &scanned, shard)?;
    let set = spot.set(nonce);
    let (fd, own) = set.take(shard.number, &mut index).map_err(|error| match error {
        OpenError::Volume(inner, _) if matches!(*inner, OpenError::Flaw(JournalFlaw::InUse)) => {
            OpenError::Flaw(JournalFlaw::ShardInUse)
        }
        error => error,
    })?;
    let own = void_mark(&fd, nonce, own, shard)?;
    let volumes = scanned.volumes.max(shard.count.saturating_add(1));
    // Otherwise no other volume has a record of this shard's entries, or of a directory that already has its
    // final mode.
    let has_others = shards.is_mixed
        || incomplete(&set, shard.count, |_| true).all(|number| number == shard.number);
    let others = if has_others { 1..volumes } else { 0..0 };
    for volume in others.filter(|volume| *volume != shard.number) {
        set.read(volume, &mut index)?;
    }
    index.settle();
    let kept = Kept { locks: [(0, main)].into(), records: 0 };
    let file = File { fd, spot, nonce, volume: shard.number, volumes, kept };
    Ok(ShardJournal::Opened(Box::new(Journal::new(file, own, index, &this.request.target))))
}

/// What another run does that has locked the journal.
enum InUse {
    /// It goes through the whole tree, because all shards of this copy are complete.
    Completing,
    /// It has marked the journal as complete and is about to end; or `haul clean` looks at it.
    Marked,
    Otherwise,
}

fn in_use(spot: &Spot, this: &ThisRun<'_>, shard: Shard) -> InUse {
    let Ok(Some(fd)) = open_own(spot.directory.as_fd(), &spot.name, Purpose::Reading) else {
        return InUse::Otherwise;
    };
    let Ok(header) = read_header(&fd) else { return InUse::Otherwise };
    // A run that goes through the whole tree has recorded that the copy is not complete.
    if is_of_complete_run(&fd, &header) {
        return InUse::Marked;
    }
    let set = spot.set(header.nonce);
    if header.run == this.run && incomplete(&set, shard.count, |_| true).next().is_none() {
        return InUse::Completing;
    }
    InUse::Otherwise
}

/// Opens the journal itself with a shared lock, or makes it.
fn open_main(spot: &Spot, this: &ThisRun<'_>, looks_for_others: bool) -> Result<Main, OpenError> {
    let fd = match find(spot, this.run, Purpose::Sharing)? {
        Some((fd, Found::Ours(header))) => {
            let mut index = Index::default();
            let nonce = header.nonce;
            let scanned = scan_into(&fd, nonce, (0, header.bytes), &mut index)?;
            let is_of_another_target = scanned.complete.is_some()
                && scanned.complete != TargetIdentity::of(&this.request.target);
            if !is_of_another_target {
                ftruncate(&fd, scanned.end)?;
                return Ok(Main { fd, nonce, scanned, index });
            }
            own_alone(&fd)?;
            spot.set(nonce).remove(scanned.volumes);
            fd
        }
        Some((fd, Found::Complete(header))) => {
            own_alone(&fd)?;
            volumes::remove_all(spot.set(header.nonce).directory, &spot.name, &fd, &header);
            fd
        }
        Some((fd, Found::Torn)) => {
            own_alone(&fd)?;
            fd
        }
        None => {
            if looks_for_others && let Some((shown, differences)) = others::find(spot, this.run) {
                let flaw = OpenError::Flaw(JournalFlaw::OtherOptions(differences));
                let name = CString::new(split(&shown).1).unwrap_or_default();
                return Err(OpenError::Volume(Box::new(flaw), name));
            }
            // If it exists now, a run that is no shard makes it at the same time.
            let fd = create_own(&spot.directory, &spot.name)?;
            own_alone(&fd)?;
            fd
        }
    };
    let (nonce, end) = start_header(&fd, spot, this)?;
    share(&fd)?;
    Ok(Main { fd, nonce, scanned: Scanned::nothing(end), index: Index::default() })
}

/// Turns a shared lock into an exclusive one, if no other process has one.
fn own_alone(fd: &OwnedFd) -> Result<(), OpenError> {
    if try_lock(fd)? { Ok(()) } else { Err(OpenError::Flaw(JournalFlaw::InUse)) }
}

/// Turns an exclusive lock into a shared one.
fn share(fd: &OwnedFd) -> Result<(), OpenError> {
    if try_lock_shared(fd)? { Ok(()) } else { Err(OpenError::Flaw(JournalFlaw::InUse)) }
}

/// Records the number of shards, where the last record of the journal says something else: nothing, or
/// that a run is complete. Refuses another number while the copy is not complete.
fn divide(
    main: &OwnedFd,
    nonce: [u8; NONCE_BYTES],
    scanned: &Scanned,
    shard: Shard,
) -> Result<Shards, OpenError> {
    if let Some(shards) = scanned.shards
        && scanned.complete.is_none()
    {
        if shards.count == shard.count {
            return Ok(shards);
        }
        return Err(OpenError::Flaw(JournalFlaw::OtherShards { count: shards.count }));
    }
    append(main, nonce, scanned.end, &record::shards(shard.count))?;
    Ok(scanned.divided(shard.count))
}

/// Appends a record to a file of the journal, on stable storage. Returns the new end.
fn append(
    fd: &OwnedFd,
    nonce: [u8; NONCE_BYTES],
    end: u64,
    record: &[u8],
) -> haul_sys::Result<u64> {
    let mut frame = Vec::new();
    record::frame(&Sums::new(nonce), record, &mut frame);
    write_own(fd, &frame, end)?;
    fdatasync(fd)?;
    Ok(end + frame.len() as u64)
}

/// Makes a shard that was complete count as incomplete until it ends again.
fn void_mark(
    fd: &OwnedFd,
    nonce: [u8; NONCE_BYTES],
    scanned: Scanned,
    shard: Shard,
) -> haul_sys::Result<Scanned> {
    if !scanned.is_shard_complete {
        return Ok(scanned);
    }
    let end = append(fd, nonce, scanned.end, &record::shards(shard.count))?;
    Ok(Scanned { end, is_shard_complete: false, ..scanned })
}

/// State of a copy when one of its shards is complete.
pub(crate) enum Standing {
    /// Other shards are not complete: these.
    Waits(Vec<u64>),
    /// This shard is the last one. The journal, which no other process can open now, has the records
    /// of all volumes.
    Last(Box<Journal>),
}

impl Journal {
    /// Marks a shard as complete, and finds out whether it is the last one. The lock on its volume is
    /// released. Waits for the turn of this process.
    pub(crate) fn complete_shard(self, shard: Shard) -> Result<Standing, Failure> {
        let shown = self.shown().to_vec();
        self.end_shard(shard).map_err(|error| {
            let failure = failure(&error, &shown);
            let what = match failure.what {
                What::JournalOpen => What::ShardMark,
                what => what,
            };
            Failure { what, ..failure }
        })
    }

    fn end_shard(self, shard: Shard) -> Result<Standing, OpenError> {
        let end = self.written_end();
        let (file, target) = self.into_file();
        let File { fd, spot, nonce, volumes, mut kept, .. } = file;
        let set = spot.set(nonce);
        let _turn = Turn::take(set.directory, &set.gate())?;
        let now = TargetIdentity::of(&target);
        // A target that no shard has made yet is a file of another shard.
        let nothing = TargetIdentity { ino: 0, birth: None };
        append(&fd, nonce, end, &record::shard_complete(shard.count, now.unwrap_or(nothing)))?;
        let is_this = |told| told == nothing || Some(told) == now;
        let others = incomplete(&set, shard.count, is_this);
        let waits: Vec<u64> = others.filter(|number| *number != shard.number).collect();
        // The locks end before the turn does: the next shard to end may be the last one.
        drop(fd);
        let Some(main) = kept.locks.remove(&0).filter(|_| waits.is_empty()) else {
            drop(kept);
            return Ok(Standing::Waits(waits));
        };
        own_alone(&main)?;
        Ok(match read_everything(main, spot, (nonce, volumes), (&target, shard.count))? {
            Everything::Read(journal) => Standing::Last(journal),
            Everything::Lacks(shards) => Standing::Waits(shards),
        })
    }
}

/// Result of reading a journal and all its volumes.
enum Everything {
    Read(Box<Journal>),
    /// The volumes of these shards are damaged: their records end before the mark.
    Lacks(Vec<u64>),
}

/// Returns the journal with the records of all volumes; further ones go to the journal itself.
fn read_everything(
    main: OwnedFd,
    spot: Spot,
    (nonce, volumes): ([u8; NONCE_BYTES], u64),
    (target, shards): (&CStr, u64),
) -> Result<Everything, OpenError> {
    let begin = match read_header(&main) {
        Ok(header) => header.bytes,
        Err(Unread::Flaw(_)) => return Err(OpenError::Flaw(JournalFlaw::NotAJournal)),
        Err(Unread::Call(error)) => return Err(error.into()),
    };
    let mut index = Index::default();
    let scanned = scan_into(&main, nonce, (0, begin), &mut index)?;
    let set = spot.set(nonce);
    let mut lacks = Vec::new();
    for volume in 1..volumes {
        let scanned = set.read(volume, &mut index)?;
        if volume <= shards && !scanned.is_some_and(|scanned| scanned.is_shard_complete) {
            lacks.push(volume);
        }
    }
    if !lacks.is_empty() {
        return Ok(Everything::Lacks(lacks));
    }
    index.settle();
    let file = File { fd: main, spot, nonce, volume: 0, volumes, kept: Kept::default() };
    Ok(Everything::Read(Box::new(Journal::new(file, scanned, index, target))))
}

/// Returns the shards, of so many, that are not complete for this target.
fn incomplete(
    set: &Set<'_>,
    count: u64,
    is_this: impl Fn(TargetIdentity) -> bool,
) -> impl Iterator<Item = u64> {
    // A client of NFS may remember that a volume did not exist when this run began.
    revalidate(set.directory);
    (1..=count).filter(move |number| !is_marked(set, *number, count, &is_this))
}

/// Returns whether the last record of a volume says that its shard, one of so many, is complete, and
/// that the target was this one. A volume that cannot be read counts as incomplete.
fn is_marked(
    set: &Set<'_>,
    number: u64,
    count: u64,
    is_this: impl Fn(TargetIdentity) -> bool,
) -> bool {
    let Ok(Some(fd)) = open_own(set.directory, &set.name(number), Purpose::Reading) else {
        return false;
    };
    let any = TargetIdentity { ino: 0, birth: None };
    let length = FRAME_BYTES + record::shard_complete(count, any).len();
    let last = match read_header(&fd) {
        Ok(header) if header.nonce == set.nonce => read_last(&fd, &header, length),
        _ => None,
    };
    let last = last.unwrap_or_default();
    match last_record(&Sums::new(set.nonce), &last) {
        Some(record::Read::ShardComplete { count: told, target }) => {
            told == count && is_this(target)
        }
        _ => false,
    }
}
