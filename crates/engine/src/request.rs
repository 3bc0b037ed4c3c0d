//! What the caller wants: plain data, valid in itself, not yet held against the world.

use std::ffi::CString;

use haul_io::DataPolicy;
use haul_io::digest::Algorithm;

/// Which symbolic links of the source are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dereference {
    /// None: links are copied (`-P`).
    Never,
    /// Those that are operands (`-H`).
    Operands,
    /// All (`-L`).
    Always,
}

/// How hard an attribute is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Keep {
    /// Not at all.
    No,
    /// If the target can have it; that it cannot is not reported. Any other failure counts.
    Try,
    /// If the target can have it; that it cannot is a warning. Any other failure counts.
    Warn,
    /// Every failure is reported and makes the run fail.
    Must,
}

impl Keep {
    /// Tells whether anything is to be done.
    #[must_use]
    pub const fn wanted(self) -> bool {
        !matches!(self, Keep::No)
    }
}

/// What happens with the permission bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModePolicy {
    /// New files get the source's, less the umask.
    Usual,
    /// All of the source's, with its access-control list.
    Keep,
    /// New files get what a program would give them: read and write (and search), less the umask.
    Default,
}

/// Which attributes follow the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preserve {
    /// Permission bits and access-control list.
    pub mode: ModePolicy,
    /// Owner and group.
    pub ownership: Keep,
    /// Access and modification times.
    pub times: Keep,
    /// Hard links among what is copied.
    pub links: Links,
    /// Extended attributes, file capabilities among them.
    pub xattr: Keep,
    /// The security context.
    pub context: Keep,
}

impl Preserve {
    /// Nothing but the data.
    pub const NOTHING: Preserve = Preserve {
        mode: ModePolicy::Usual,
        ownership: Keep::No,
        times: Keep::No,
        links: Links::Split,
        xattr: Keep::No,
        context: Keep::No,
    };
}

/// What becomes of several names of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// Each name becomes a file of its own.
    Split,
    /// They stay names of one file.
    Keep,
}

/// Which existing targets are replaced (`--update`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// All.
    Overwrite,
    /// None; they stay without a word.
    Keep,
    /// None, and each is a failure.
    KeepAndFail,
    /// Those that are older than the source.
    Older,
}

/// What happens before an existing target is replaced that may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    /// Nothing.
    NotNeeded,
    /// A person is asked (`-i`).
    Ask,
    /// It is taken for denied, without a word (`-n`).
    Denied,
}

/// Which name an existing target gets before it is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackupKind {
    /// The name with the suffix.
    Simple,
    /// A numbered name if it has numbered backups already, else the name with the suffix.
    Existing,
    /// `name.~N~`, with the next number.
    Numbered,
}

/// How backups of existing targets are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backup {
    /// Which name they get.
    pub kind: BackupKind,
    /// The suffix of simple backups, without any slash.
    pub suffix: Vec<u8>,
}

/// Whether an operand's leading directories are made in the target as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parents {
    /// Only its last component counts.
    Cut,
    /// All of them (`--parents`).
    Keep,
}

/// When an existing target is removed instead of being written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Force {
    /// Never.
    No,
    /// When it cannot be opened (`-f`).
    IfUnopenable,
    /// Before anything else (`--remove-destination`).
    First,
}

/// What is made for each file of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Make {
    /// A copy.
    Copy,
    /// Another name of the source (`-l`).
    HardLink,
    /// A symbolic link to the source (`-s`).
    SymbolicLink,
    /// Nothing but the attributes (`--attributes-only`).
    Attributes,
}

/// What happens with FIFOs and devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Specials {
    /// They are made anew.
    Recreate,
    /// They are read like files, which may block and may never end.
    Read,
}

/// What happens at the border of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Borders {
    /// It is crossed.
    Cross,
    /// What is mounted inside is left out (`-x`).
    Stay,
}

/// What happens with directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recursion {
    /// They are left out, which is a failure.
    No,
    /// They are copied with all that is in them.
    Yes,
}

/// The order in which entries are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Whatever is fastest.
    Any,
    /// One after another, depth first, for somebody watches.
    Listed,
}

/// What a symbolic link in the target's place means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetLinks {
    /// A link to a directory is no directory; nothing is written through a dangling one.
    Strict,
    /// A link to a directory is as good as one (`--keep-directory-symlink`).
    KeepDirectory,
    /// Files are made where a dangling link points (POSIXLY_CORRECT).
    WriteDangling,
}

/// Whether the run waits until what it wrote is on stable storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sync {
    /// It leaves that to the kernel.
    No,
    /// It waits for each file, and for each directory when all its names are made (`--fsync`).
    Files,
}

/// How a regular file's new contents appear under its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appearance {
    /// Byte by byte: the name is there from the first one on.
    Gradual,
    /// At once, when everything is there; until then the old file stays (`--atomic`).
    Whole,
    /// The same, once it is on stable storage (`--durable`).
    Durable,
}

/// What is done about a target that is read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verify {
    /// It is not read again.
    No,
    /// If it is not what was read of the source, that is a failure (`--verify`).
    Compare,
    /// What differs is copied again, a few times (`--repair`).
    Repair,
}

/// Whether somebody wants a digest of each file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WholeDigest {
    /// Nobody does.
    No,
    /// It is told to the monitor (`--sum-file`).
    Tell,
}

/// What is remembered of the bytes, and what for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hashing {
    /// The algorithm.
    pub algorithm: &'static Algorithm,
    /// Whether targets are read again.
    pub verify: Verify,
    /// Whether digests are told.
    pub whole: WholeDigest,
}

/// How everything is to be copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Whether directories are copied.
    pub recursion: Recursion,
    /// Which links are followed.
    pub dereference: Dereference,
    /// What is made for each file.
    pub make: Make,
    /// What happens with FIFOs and devices.
    pub specials: Specials,
    /// Which attributes follow.
    pub preserve: Preserve,
    /// Which existing targets are replaced.
    pub existing: Existing,
    /// Whether a person has to agree.
    pub consent: Consent,
    /// Whether they are kept under another name.
    pub backup: Option<Backup>,
    /// Whether leading directories of operands are made.
    pub parents: Parents,
    /// When it is removed.
    pub force: Force,
    /// What a link in the target's place means.
    pub target_links: TargetLinks,
    /// Whether mounts are entered.
    pub borders: Borders,
    /// The bytes.
    pub data: DataPolicy,
    /// What is remembered of them.
    pub hashing: Option<Hashing>,
    /// How often a file is copied again that changed meanwhile.
    pub changed_retries: u32,
    /// How they appear under their names.
    pub appearance: Appearance,
    /// Whether they are on stable storage before the run ends.
    pub sync: Sync,
    /// The rate that all workers together keep to.
    pub bytes_per_second: Option<u64>,
    /// The order.
    pub order: Order,
    /// The process's umask.
    pub umask: u32,
    /// Whether a failure to keep the owner is to be expected, for want of privilege.
    pub privileged: bool,
}

impl Policy {
    /// What a plain `cp` does.
    #[must_use]
    pub const fn plain(umask: u32) -> Policy {
        Policy {
            recursion: Recursion::No,
            dereference: Dereference::Always,
            make: Make::Copy,
            specials: Specials::Recreate,
            preserve: Preserve::NOTHING,
            existing: Existing::Overwrite,
            consent: Consent::NotNeeded,
            backup: None,
            parents: Parents::Cut,
            force: Force::No,
            target_links: TargetLinks::Strict,
            borders: Borders::Cross,
            data: DataPolicy::PLAIN,
            hashing: None,
            changed_retries: 0,
            appearance: Appearance::Gradual,
            sync: Sync::No,
            bytes_per_second: None,
            order: Order::Any,
            umask,
            privileged: false,
        }
    }

    /// Tells whether a regular file gets its name only when it is complete.
    #[must_use]
    pub fn appears_whole(&self) -> bool {
        self.appearance != Appearance::Gradual && self.make == Make::Copy
    }

    /// Tells what is done about targets once they are written.
    #[must_use]
    pub fn verify(&self) -> Verify {
        self.hashing.map_or(Verify::No, |hashing| hashing.verify)
    }

    /// Tells whether each name is on stable storage before the run ends.
    #[must_use]
    pub fn syncs_names(&self) -> bool {
        self.sync == Sync::Files || self.appearance == Appearance::Durable
    }

    /// Tells whether FIFOs and devices are read as if they were files: without recursion always,
    /// for then each was named by a person.
    #[must_use]
    pub fn reads_specials(&self) -> bool {
        self.recursion == Recursion::No || self.specials == Specials::Read
    }
}

/// How the target operand is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetForm {
    /// A directory if it is one, else the new name.
    Guess,
    /// A directory, said so (`-t`).
    Directory,
    /// A directory, for there are several sources.
    LastDirectory,
    /// The new name, even if it is a directory (`-T`).
    Name,
}

/// How much of an entry is copied again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of it, with what is in it.
    All,
    /// The directory alone, with its attributes and without what is in it.
    Alone,
}

/// One entry that is copied again, whatever it lies in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Again {
    /// What to copy.
    pub source: CString,
    /// The name that it gets; the directory that this lies in has to be there.
    pub target: CString,
    /// How much of it.
    pub extent: Extent,
}

/// How much of the machine to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resources {
    /// The most workers that run at once while they keep processors busy, at least 1.
    pub jobs: usize,
    /// The most workers where they mostly wait for storage that is far away; no more than `jobs`
    /// if it is less.
    pub waiting_jobs: usize,
    /// Descriptors that the process may have open, those it has included.
    pub descriptors: u64,
}

/// Workers of a run whose storage is remote: each waits for the server most of the time.
const WAITING_JOBS: usize = 32;

impl Resources {
    /// All that the process may have: a worker for each processor, more of them where they wait for remote
    /// storage, and the descriptors of its soft limit.
    #[must_use]
    pub fn available() -> Resources {
        let jobs = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Resources {
            jobs,
            waiting_jobs: jobs.max(WAITING_JOBS),
            descriptors: haul_sys::process::nofile_limit(),
        }
    }
}

/// How a run goes on that ended before everything was done (`--resume`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resume {
    /// Where the journal is, if not beside the target.
    pub journal: Option<CString>,
    /// The path of the current directory, by which relative operands are told from others.
    pub here: Vec<u8>,
}

/// A copy that somebody wants.
#[derive(Clone, Debug)]
pub struct Request {
    /// What to copy, as it was given.
    pub sources: Vec<CString>,
    /// Where to, as it was given.
    pub target: CString,
    /// How the target is meant.
    pub form: TargetForm,
    /// How everything is to be copied.
    pub policy: Policy,
    /// How much of the machine to use.
    pub resources: Resources,
    /// Whether a journal is kept, by which a later run goes on.
    pub resume: Option<Resume>,
}

impl Request {
    /// Asks for a copy of the sources: into the target if that is a directory, else to that name. No
    /// journal is kept, and all [available](Resources::available) resources are used.
    #[must_use]
    pub fn new(
        sources: impl IntoIterator<Item = CString>,
        target: CString,
        policy: Policy,
    ) -> Request {
        Request {
            sources: sources.into_iter().collect(),
            target,
            form: TargetForm::Guess,
            policy,
            resources: Resources::available(),
            resume: None,
        }
    }
}
