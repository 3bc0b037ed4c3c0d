//! Opens a journal: finds the file, verifies that it belongs to this user and this run, and locks
//! it; or creates a journal.

use std::ffi::{CStr, CString};
use std::os::fd::OwnedFd;

use haul_io::fully::write_fully;
use haul_io::hidden::{LETTERS, name_of};
use haul_io::retry::again;
use haul_sys::data::{ftruncate, pread};
use haul_sys::fs::{
    Access, Create, Follow, Kind, OpenHow, fdatasync, fstat, fsync_names, open_directory, openat,
    statat, try_lock, unlinkat,
};
use haul_sys::{CallError, Errno};

use super::beginning::{OTHERS_WRITE, Unread, is_of_complete_run, read_header};
use super::header::{self, Flaw, Relation};
use super::index::Index;
use super::others;
use super::record::TargetIdentity;
use super::scan::{Scanned, scan};
use super::sums::{NONCE_BYTES, Sums};
use super::write::{Journal, Spot};
use crate::error::{Failure, JournalFlaw, Operation, Severity, What};
use crate::plan::Plan;
use crate::request::{Request, Resume, TargetForm};
use crate::walk::path::{directory_of, join, split};

/// Number of attempts to open a name that other processes keep removing.
const ATTEMPTS: u32 = 4;

/// File mode of a journal.
const MODE: u32 = 0o600;

/// Open journal, and the meaning that the target operand had when the run began.
pub(crate) struct Opened {
    pub(crate) journal: Journal,
    /// Form of the target that an earlier run determined, if there was one.
    pub(crate) form: Option<TargetForm>,
}

/// Reason for which a journal cannot be opened.
enum OpenError {
    Call(CallError),
    Flaw(JournalFlaw),
    /// Another process removed the journal during the open.
    Gone,
}

impl From<CallError> for OpenError {
    fn from(error: CallError) -> OpenError {
        OpenError::Call(error)
    }
}

/// Opens the journal of the run, or creates one. The run writes nothing else before. If only a
/// journal of the same operands with other options exists, the function fails, and the user has to
/// decide which run is meant.
pub(crate) fn open(request: &Request, resume: &Resume, plan: &Plan) -> Result<Opened, Failure> {
    let run = header::describe(request, resume);
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
        let opened = match find(&spot, &run) {
            // A new journal goes to the last candidate place that is free.
            Ok(None) => {
                if resume.journal.is_none() {
                    other = other.or_else(|| others::find(&spot, &run));
                }
                free = Some(Ok(spot));
                continue;
            }
            Ok(Some(Found { fd, said: Some(header) })) => {
                take_up(fd, spot, &header, (request, plan, &run))
            }
            Ok(Some(Found { fd, said: None })) => write_header(fd, spot, (request, plan, &run)),
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
            make(spot, (request, plan, &run)).map_err(|trouble| failure(&trouble, &shown))
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
        TargetForm::Guess => !is_directory,
        TargetForm::Directory | TargetForm::LastDirectory => false,
    }
}

/// The run that opens a journal: its request, its plan, and its description in a header.
type ThisRun<'r> = (&'r Request, &'r Plan, &'r [u8]);

type Place = Result<Spot, (Vec<u8>, CallError)>;

fn failure(trouble: &OpenError, shown: &[u8]) -> Failure {
    let (what, errno) = match trouble {
        OpenError::Call(error) => (What::JournalOpen, Some(error.errno)),
        OpenError::Flaw(flaw) => (What::JournalRefused(*flaw), None),
        OpenError::Gone => (What::JournalRefused(JournalFlaw::InUse), None),
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

fn at_path(plan: &Plan, path: &CStr) -> Place {
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
fn beside_target(request: &Request, plan: &Plan, run: &[u8]) -> Vec<Place> {
    let letters = Sums::new([0; NONCE_BYTES]).of(run).to_le_bytes();
    let mut name = [0; LETTERS];
    for (to, from) in name.iter_mut().zip(letters) {
        *to = from;
    }
    let name = name_of(name);
    let at = |parent: &[u8], directory: haul_sys::Result<OwnedFd>| {
        let name = name.clone().unwrap_or_default();
        let shown = join(&[parent, name.to_bytes()]);
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

/// Opens the journal at a place, if it exists.
fn find(spot: &Spot, run: &[u8]) -> Result<Option<Found>, OpenError> {
    for _ in 0..ATTEMPTS {
        match adopt(spot, run) {
            Err(OpenError::Gone) => {}
            answer => return answer,
        }
    }
    Err(OpenError::Gone)
}

/// Existing journal.
struct Found {
    fd: OwnedFd,
    /// Header of the journal; `None` if the process that created the file ended before it wrote the
    /// header, or if the journal belongs to another run, which is complete.
    said: Option<header::Header>,
}

fn adopt(spot: &Spot, run: &[u8]) -> Result<Option<Found>, OpenError> {
    let seen = match statat(&spot.directory, &spot.name) {
        Ok(seen) => seen,
        Err(error) if error.errno == Errno::NOENT => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if seen.kind() != Kind::Regular {
        return Err(OpenError::Flaw(JournalFlaw::NotAFile));
    }
    if seen.uid != haul_sys::process::identity().uid || seen.nlink != 1 {
        return Err(OpenError::Flaw(JournalFlaw::NotOurs));
    }
    if seen.mode & OTHERS_WRITE != 0 {
        return Err(OpenError::Flaw(JournalFlaw::OthersMayWrite));
    }
    let how = OpenHow { access: Access::ReadWrite, ..OpenHow::WRITE };
    let fd = match openat(&spot.directory, &spot.name, how) {
        Ok(fd) => fd,
        Err(error) if error.errno == Errno::NOENT => return Err(OpenError::Gone),
        Err(error) => return Err(error.into()),
    };
    if !try_lock(&fd)? {
        return Err(OpenError::Flaw(JournalFlaw::InUse));
    }
    // The previous holder of the lock may have removed the name, or another process may have put
    // another file there.
    let now = fstat(&fd)?;
    let named = statat(&spot.directory, &spot.name);
    if !now.same_file(&seen) || !named.is_ok_and(|named| named.same_file(&now)) {
        return Err(OpenError::Gone);
    }
    match read_header(&fd) {
        Ok(header) if header.run == run => Ok(Some(Found { fd, said: Some(header) })),
        Ok(header) if is_of_complete_run(&fd, &header) => Ok(Some(Found { fd, said: None })),
        Ok(header) => Err(OpenError::Flaw(match header::compare(&header.run, run) {
            Relation::SameOperands(differences) => JournalFlaw::OtherOptions(differences),
            Relation::Other => JournalFlaw::AnotherRun,
        })),
        Err(Unread::Flaw(Flaw::Torn)) => Ok(Some(Found { fd, said: None })),
        Err(Unread::Flaw(Flaw::Foreign)) => Err(OpenError::Flaw(JournalFlaw::NotAJournal)),
        Err(Unread::Flaw(Flaw::Version)) => Err(OpenError::Flaw(JournalFlaw::OtherVersion)),
        Err(Unread::Call(error)) => Err(error.into()),
    }
}

/// Creates a journal where none exists.
fn make(spot: Spot, run: ThisRun<'_>) -> Result<Opened, OpenError> {
    let how = OpenHow { access: Access::ReadWrite, create: Create::New(MODE), ..OpenHow::WRITE };
    let fd = match openat(&spot.directory, &spot.name, how) {
        Ok(fd) => fd,
        // Another process is creating the journal at the same time.
        Err(error) if error.errno == Errno::EXIST => {
            return Err(OpenError::Flaw(JournalFlaw::InUse));
        }
        Err(error) => return Err(error.into()),
    };
    match try_lock(&fd) {
        Ok(true) => {}
        Ok(false) => return Err(OpenError::Flaw(JournalFlaw::InUse)),
        Err(error) => return Err(give_up(&spot, error)),
    }
    let (directory, name) = (spot.directory.try_clone(), spot.name.clone());
    let opened = write_header(fd, spot, run);
    match (opened, directory) {
        (Err(OpenError::Call(error)), Ok(directory)) => {
            Err(give_up(&Spot { directory, name, shown: Vec::new() }, error))
        }
        (opened, _) => opened,
    }
}

/// Removes a file that could not be made into a journal.
fn give_up(spot: &Spot, error: CallError) -> OpenError {
    // An empty file that stays does not affect later runs.
    let _gone = unlinkat(&spot.directory, &spot.name);
    error.into()
}

/// Writes the header of a journal to a file that this run owns and has locked, and that has no
/// useful contents.
fn write_header(
    fd: OwnedFd,
    spot: Spot,
    (request, plan, run): ThisRun<'_>,
) -> Result<Opened, OpenError> {
    let nonce = haul_sys::process::random()?;
    let header = header::spell(nonce, as_name(request, plan), run);
    ftruncate(&fd, 0)?;
    write_fully(&fd, &header, 0)?;
    fdatasync(&fd)?;
    fsync_names(&spot.directory)?;
    let end = header.len() as u64;
    let empty = Scanned { index: Index::default(), end, records: 0, complete: None };
    let journal = Journal::new(fd, spot, Sums::new(nonce), empty, &request.target);
    Ok(Opened { journal, form: None })
}

/// Reads an existing journal, and truncates a torn record at the end. The journal of a complete run
/// is started anew if the target has been replaced since then, because the same words may mean
/// another copy now.
fn take_up(
    fd: OwnedFd,
    spot: Spot,
    header: &header::Header,
    (request, plan, run): ThisRun<'_>,
) -> Result<Opened, OpenError> {
    let sums = Sums::new(header.nonce);
    let scanned =
        scan(&sums, header.bytes, &mut |room, offset| again(|| pread(&fd, room, offset)))?;
    if scanned.complete.is_some() && scanned.complete != TargetIdentity::of(&request.target) {
        return write_header(fd, spot, (request, plan, run));
    }
    ftruncate(&fd, scanned.end)?;
    let form = match (header.as_name, request.form) {
        (true, _) => TargetForm::Name,
        (false, TargetForm::Guess) => TargetForm::Directory,
        (false, form) => form,
    };
    let journal = Journal::new(fd, spot, sums, scanned, &request.target);
    Ok(Opened { journal, form: Some(form) })
}
