//! Opens a journal: finds the file, verifies that it belongs to this user and this run, and locks
//! it; or creates a journal.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use haul_io::hidden::{LETTERS, name_of};
use haul_sys::data::ftruncate;
use haul_sys::fs::{Follow, fdatasync, fsync_names, open_directory, try_lock};
use haul_sys::{CallError, Errno};

use super::beginning::{Unread, is_of_complete_run, read_header};
use super::header::{self, Flaw, Relation};
use super::index::Index;
use super::others;
use super::own_file::{OpenError, Purpose, create_own, open_own, unlink_own, write_own};
use super::record::TargetIdentity;
use super::scan::Scanned;
use super::shared::Shared;
use super::sums::{NONCE_BYTES, Sums};
use super::volumes::{self, Set, scan_into};
use super::write::{File, Journal, Kept, Spot};
use crate::data::budget::LEAST_DESCRIPTORS;
use crate::data::error::{Failure, JournalFlaw, Operation, Severity, What};
use crate::data::request::{Request, Resume, TargetForm};
use crate::names::path::{directory_of, join as join_path, split};
use crate::plan::Plan;

/// Open journal, and the meaning that the target operand had when the run began.
pub(crate) struct Opened {
    pub(crate) journal: Journal,
    /// Form of the target that an earlier run determined, if there was one.
    pub(crate) form: Option<TargetForm>,
}

/// Opens the journal of the run, or creates one. The run writes nothing else before. If only a
/// journal of the same operands with other options exists, the function fails, and the user has to
/// decide which run is meant. `processes` carry out the run together; this is the first one.
pub(crate) fn open(
    request: &Request,
    resume: &Resume,
    plan: &Plan,
    processes: u64,
) -> Result<Opened, Failure> {
    let run = header::describe(request, resume);
    let this = &ThisRun { request, plan, run: &run, processes };
    let places = match &resume.journal {
        Some(path) => vec![at_path(plan, path)],
        None => beside_target(request, plan, &run),
    };
    let mut free = None;
    let mut other = None;
    for place in places {
        let spot = match place {
            Ok(spot) => spot,
            Err(lost) => {
                free = Some(Err(lost));
                continue;
            }
        };
        let shown = spot.shown.clone();
        let opened = match find(&spot, &run, Purpose::Writing) {
            // A new journal goes to the last candidate place that is free.
            Ok(None) => {
                if resume.journal.is_none() {
                    other = other.or_else(|| others::find(&spot, &run));
                }
                free = Some(Ok(spot));
                continue;
            }
            Ok(Some((fd, Found::Ours(header)))) => take_up(fd, spot, &header, this),
            Ok(Some((fd, Found::Complete(header)))) => {
                volumes::remove_all(spot.directory.as_fd(), &spot.name, &fd, &header);
                write_header(fd, spot, this)
            }
            Ok(Some((fd, Found::Torn))) => write_header(fd, spot, this),
            Err(trouble) => Err(trouble),
        };
        return opened.map_err(|trouble| failure(&trouble, &shown));
    }
    if let Some((shown, differences)) = other {
        return Err(failure(&OpenError::Flaw(JournalFlaw::OtherOptions(differences)), &shown));
    }
    match free {
        Some(Ok(spot)) => {
            let shown = spot.shown.clone();
            make(spot, this).map_err(|trouble| failure(&trouble, &shown))
        }
        Some(Err((shown, error))) => Err(failure(&OpenError::Call(error), &shown)),
        None => Err(failure(&OpenError::Gone, request.target.to_bytes())),
    }
}

/// Returns whether the target is the new name.
fn as_name(request: &Request, plan: &Plan) -> bool {
    let is_directory = !plan.target_name.is_empty();
    match request.form {
        TargetForm::Name => true,
        TargetForm::Guess | TargetForm::Contents => !is_directory,
        TargetForm::Directory | TargetForm::LastDirectory => false,
    }
}

/// The run that opens a journal.
pub(super) struct ThisRun<'r> {
    pub(super) request: &'r Request,
    pub(super) plan: &'r Plan,
    /// Its description in a header.
    pub(super) run: &'r [u8],
    /// Number of processes that carry it out.
    pub(super) processes: u64,
}

/// Place for a journal, or the path and the error of its directory.
pub(super) type Place = Result<Spot, (Vec<u8>, CallError)>;

pub(super) fn failure(trouble: &OpenError, shown: &[u8]) -> Failure {
    let (what, errno) = match trouble {
        OpenError::Call(error) => (What::JournalOpen, Some(error.errno)),
        OpenError::Flaw(flaw) => (What::JournalRefused(*flaw), None),
        OpenError::Gone => (What::JournalRefused(JournalFlaw::InUse), None),
        OpenError::Volume(trouble, name) => {
            return failure(trouble, &join_path(&[split(shown).0, name.to_bytes()]));
        }
    };
    Failure {
        operation: Operation::Copy,
        what,
        source: Vec::new(),
        target: shown.to_vec(),
        errno,
        severity: Severity::Failure,
    }
}

pub(super) fn at_path(plan: &Plan, path: &CStr) -> Place {
    let name = CString::new(split(path.to_bytes()).1).unwrap_or_default();
    let shown = path.to_bytes().to_vec();
    match open_directory(&plan.source, &directory_of(path.to_bytes()), Follow::Yes) {
        Ok(directory) => Ok(Spot { directory, name, shown }),
        Err(error) => Err((shown, error)),
    }
}

/// Returns the candidate places for the journal of a run for which the user named no file: beside
/// the new name, where a later run finds the journal even if that name is a directory by then; or
/// in the target directory.
pub(super) fn beside_target(request: &Request, plan: &Plan, run: &[u8]) -> Vec<Place> {
    let letters = Sums::new([0; NONCE_BYTES]).of(run).to_le_bytes();
    let mut name = [0; LETTERS];
    for (to, from) in name.iter_mut().zip(letters) {
        *to = from;
    }
    let name = name_of(name);
    let at = |parent: &[u8], directory: haul_sys::Result<OwnedFd>| {
        let name = name.clone().unwrap_or_default();
        let shown = join_path(&[parent, name.to_bytes()]);
        match directory {
            Ok(directory) => Ok(Spot { directory, name, shown }),
            Err(error) => Err((shown, error)),
        }
    };
    let target = request.target.as_c_str();
    let mut spots = Vec::new();
    if matches!(request.form, TargetForm::Name | TargetForm::Guess) {
        let (parent, _) = split(target.to_bytes());
        let opened = open_directory(&plan.source, &directory_of(target.to_bytes()), Follow::Yes);
        spots.push(at(parent, opened));
    }
    // Skip a directory that is itself the copy: removing the journal would change its timestamps.
    if request.form != TargetForm::Name
        && let Ok(directory) = open_directory(&plan.source, target, Follow::Yes)
    {
        spots.push(at(target.to_bytes(), Ok(directory)));
    }
    spots
}

/// What an existing journal is.
pub(super) enum Found {
    /// The journal of this run.
    Ours(header::Header),
    /// The journal of another run, which is complete.
    Complete(header::Header),
    /// The process that created the file ended before it wrote the header.
    Torn,
}

/// Opens the journal at a place, if it exists.
pub(super) fn find(
    spot: &Spot,
    run: &[u8],
    purpose: Purpose,
) -> Result<Option<(OwnedFd, Found)>, OpenError> {
    let Some(fd) = open_own(spot.directory.as_fd(), &spot.name, purpose)? else {
        return Ok(None);
    };
    let found = match read_header(&fd) {
        Ok(header) if header.run == run => Found::Ours(header),
        Ok(header) if is_of_complete_run(&fd, &header) => Found::Complete(header),
        Ok(header) => {
            return Err(OpenError::Flaw(match header::compare(&header.run, run) {
                Relation::SameOperands(differences) => JournalFlaw::OtherOptions(differences),
                Relation::Other => JournalFlaw::AnotherRun,
            }));
        }
        Err(Unread::Flaw(Flaw::Torn)) => Found::Torn,
        Err(Unread::Flaw(Flaw::Foreign)) => {
            return Err(OpenError::Flaw(JournalFlaw::NotAJournal));
        }
        Err(Unread::Flaw(Flaw::Version)) => {
            return Err(OpenError::Flaw(JournalFlaw::OtherVersion));
        }
        Err(Unread::Call(error)) => return Err(error.into()),
    };
    Ok(Some((fd, found)))
}

/// Creates a journal where none exists.
fn make(spot: Spot, run: &ThisRun<'_>) -> Result<Opened, OpenError> {
    let fd = create_own(&spot.directory, &spot.name)?;
    match try_lock(&fd) {
        Ok(true) => {}
        Ok(false) => return Err(OpenError::Flaw(JournalFlaw::InUse)),
        Err(error) => return Err(give_up((spot.directory.as_fd(), &spot.name), &fd, error)),
    }
    let (directory, name, file) = (spot.directory.try_clone(), spot.name.clone(), fd.try_clone());
    let opened = write_header(fd, spot, run);
    match (opened, directory, file) {
        (Err(OpenError::Call(error)), Ok(directory), Ok(file)) => {
            Err(give_up((directory.as_fd(), &name), &file, error))
        }
        (opened, ..) => opened,
    }
}

/// Removes a file that could not be made into a journal.
fn give_up(
    (directory, name): (BorrowedFd<'_>, &CStr),
    file: &OwnedFd,
    error: CallError,
) -> OpenError {
    // An empty file that stays does not affect later runs.
    let _gone = unlink_own(directory, name, file);
    error.into()
}

/// Writes the header of a journal to a file that this run owns and has locked, and that has no
/// useful contents.
fn write_header(fd: OwnedFd, spot: Spot, this: &ThisRun<'_>) -> Result<Opened, OpenError> {
    let (nonce, end) = start_header(&fd, &spot, this)?;
    let empty = Scanned::nothing(end);
    let journal = assemble((fd, spot), nonce, empty, Index::default(), this)?;
    Ok(Opened { journal, form: None })
}

/// Writes the header, on stable storage; returns the random number, and where the records begin.
pub(super) fn start_header(
    fd: &OwnedFd,
    spot: &Spot,
    this: &ThisRun<'_>,
) -> haul_sys::Result<([u8; NONCE_BYTES], u64)> {
    let nonce = haul_sys::process::random()?;
    let header = header::spell(nonce, as_name(this.request, this.plan), this.run);
    ftruncate(fd, 0)?;
    write_own(fd, &header, 0)?;
    fdatasync(fd)?;
    fsync_names(&spot.directory)?;
    Ok((nonce, header.len() as u64))
}

/// Reads an existing journal, and truncates a torn record at the end. The journal of a complete run
/// is started anew if the target has been replaced since then, because the same words may mean
/// another copy now.
fn take_up(
    fd: OwnedFd,
    spot: Spot,
    header: &header::Header,
    this: &ThisRun<'_>,
) -> Result<Opened, OpenError> {
    let request = this.request;
    let mut index = Index::default();
    let scanned = scan_into(&fd, header.nonce, (0, header.bytes), &mut index)?;
    if scanned.complete.is_some() && scanned.complete != TargetIdentity::of(&request.target) {
        let directory = spot.directory.as_fd();
        Set { directory, journal: &spot.name, nonce: header.nonce }.remove(scanned.volumes);
        return write_header(fd, spot, this);
    }
    ftruncate(&fd, scanned.end)?;
    let form = match (header.as_name, request.form) {
        (true, _) => TargetForm::Name,
        (false, TargetForm::Guess) => TargetForm::Directory,
        (false, form) => form,
    };
    let journal = assemble((fd, spot), header.nonce, scanned, index, this)?;
    Ok(Opened { journal, form: Some(form) })
}

/// Says what it means for a journal that there is no descriptor for a volume.
fn too_many(error: OpenError) -> OpenError {
    match error {
        OpenError::Volume(inner, _)
            if matches!(*inner, OpenError::Call(CallError { errno: Errno::MFILE, .. })) =>
        {
            OpenError::Flaw(JournalFlaw::TooManyVolumes)
        }
        error => error,
    }
}

/// Adds the other volumes, and records how many this run may make.
fn assemble(
    (fd, spot): (OwnedFd, Spot),
    nonce: [u8; NONCE_BYTES],
    scanned: Scanned,
    mut index: Index,
    this: &ThisRun<'_>,
) -> Result<Journal, OpenError> {
    let set = Set { directory: spot.directory.as_fd(), journal: &spot.name, nonce };
    let mut kept = Kept::default();
    for volume in 1..scanned.volumes {
        if volume < this.processes {
            // The process that writes this volume locks it.
            set.read(volume, &mut index)?;
        } else if let Some((fd, records)) = set.keep(volume, &mut index).map_err(too_many)? {
            kept.locks.insert(volume, fd);
            kept.records += records;
        }
    }
    index.settle();
    let rest = this.request.resources.descriptors.saturating_sub(kept.locks.len() as u64);
    if !kept.locks.is_empty() && rest < LEAST_DESCRIPTORS {
        return Err(OpenError::Flaw(JournalFlaw::TooManyVolumes));
    }
    let volumes = scanned.volumes.max(this.processes);
    let journal = Journal::new(
        File { fd, spot, nonce, volume: 0, volumes, kept },
        scanned,
        index,
        &this.request.target,
    );
    if this.processes > 1 {
        // The other processes make their volumes after this. The record also says that the run is
        // not complete.
        journal.note_volumes(volumes)?;
    }
    Ok(journal)
}

/// Opens the journal for another process than the first one: the volume that it writes, and what
/// earlier runs have recorded.
pub(crate) fn join(
    request: &Request,
    plan: &Plan,
    shared: &Shared,
    volume: u64,
) -> Result<Journal, Failure> {
    let spot = at_path(plan, &shared.path)
        .map_err(|(shown, error)| failure(&OpenError::Call(error), &shown))?;
    let shown = spot.shown.clone();
    read_all(&request.target, spot, shared, volume).map_err(|trouble| failure(&trouble, &shown))
}

/// Reads the journal and all its volumes, and opens the one of this process. Makes nothing where the
/// journal is not seen: the place may be one that each machine has for itself.
pub(super) fn read_all(
    target: &CStr,
    spot: Spot,
    shared: &Shared,
    own: u64,
) -> Result<Journal, OpenError> {
    let Shared { nonce, volumes, .. } = *shared;
    let directory = spot.directory.as_fd();
    let set = Set { directory, journal: &spot.name, nonce };
    let mut index = Index::default();
    let main = open_own(directory, &spot.name, Purpose::Reading)?
        .ok_or(OpenError::Flaw(JournalFlaw::NotSeen))?;
    match read_header(&main) {
        Ok(header) if header.nonce == nonce => {
            scan_into(&main, nonce, (0, header.bytes), &mut index)?;
        }
        Ok(_) | Err(Unread::Flaw(_)) => return Err(OpenError::Flaw(JournalFlaw::AnotherRun)),
        Err(Unread::Call(error)) => return Err(error.into()),
    }
    let (fd, scanned) = set.take(own, &mut index)?;
    for volume in (1..volumes).filter(|volume| *volume != own) {
        set.read(volume, &mut index)?;
    }
    index.settle();
    let kept = Kept::default();
    let file = File { fd, spot, nonce, volume: own, volumes, kept };
    Ok(Journal::new(file, scanned, index, target))
}
