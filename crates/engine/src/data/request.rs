//! Request for a copy: plain data, valid in itself, not yet checked against the file system.

use std::ffi::{CString, NulError};
use std::path::Path;

pub use haul_io::digest::Algorithm;
pub use haul_io::{Cache, DataPolicy, Reflink, Sparse};
pub use haul_tree::Order;

pub use crate::data::again::{Again, Scope};
pub use crate::data::resources::{Resources, WAITING_JOBS, default_jobs};
use crate::data::setters::setters;
use crate::names::path::{name_of, names_of};

pub use crate::data::attributes::{Accounts, IdMap, IdSet, ModeChanges};
pub use crate::data::selected::Selected;
pub use crate::data::synchronize::{
    Backups, Bases, BasisUse, Changes, Delete, Ownership, Parts, SameBy, Synchronize, TimeChange,
};

/// Symbolic links of the source that are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dereference {
    /// No link is followed: links are copied (`-P`).
    Never,
    /// Links that are operands are followed (`-H`).
    Operands,
    /// All links are followed (`-L`).
    Always,
}

/// Effort to keep an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Keep {
    /// The attribute is not kept.
    No,
    /// The attribute is kept if the target supports it; a lack of support is not reported. Any
    /// other failure counts.
    Try,
    /// The attribute is kept if the target supports it; a lack of support is a warning. Any other
    /// failure counts.
    Warn,
    /// Every failure is reported and makes the run fail.
    Must,
}

impl Keep {
    /// Returns whether the attribute is to be kept at all.
    #[must_use]
    pub const fn wanted(self) -> bool {
        !matches!(self, Keep::No)
    }
}

/// Treatment of the permission bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModePolicy {
    /// New files get the source's bits, less the umask.
    Usual,
    /// Files get all bits of the source, with its access-control list.
    Keep,
    /// New files get the bits that a program would give them: read and write (and search), less
    /// the umask.
    Default,
}

/// Attributes that are copied with the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Preserve {
    /// Permission bits and access-control list.
    pub mode: ModePolicy,
    /// Owner and group.
    pub ownership: Keep,
    /// Access and modification times.
    pub times: Keep,
    /// Hard links among the copied files.
    pub links: Links,
    /// Extended attributes, including file capabilities.
    pub xattr: Keep,
    /// The security context.
    pub context: Keep,
    /// Flags and project as chattr(1) sets them, of regular files and directories.
    pub flags: Keep,
}

impl Preserve {
    /// Preserves no attribute, only the data.
    pub const NOTHING: Preserve = Preserve {
        mode: ModePolicy::Usual,
        ownership: Keep::No,
        times: Keep::No,
        links: Links::Split,
        xattr: Keep::No,
        context: Keep::No,
        flags: Keep::No,
    };

    /// Preserves all attributes, as `cp -a` does: mode, owner and times must be kept; extended
    /// attributes, security context and flags are kept where the target supports them.
    pub const ALL: Preserve = Preserve {
        mode: ModePolicy::Keep,
        ownership: Keep::Must,
        times: Keep::Must,
        links: Links::Keep,
        xattr: Keep::Try,
        context: Keep::Try,
        flags: Keep::Try,
    };
}

setters!(Preserve {
    mode: ModePolicy,
    ownership: Keep,
    times: Keep,
    links: Links,
    xattr: Keep,
    context: Keep,
    flags: Keep,
});

/// Treatment of files with several names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// Each name becomes a separate file.
    Split,
    /// The names stay hard links of one file.
    Keep,
}

/// Existing targets that are replaced (`--update`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// All targets are replaced.
    Overwrite,
    /// No target is replaced; existing ones stay without a message.
    Keep,
    /// No target is replaced, and each existing one is a failure.
    KeepAndFail,
    /// Targets that are older than the source are replaced.
    Older,
}

/// Consent to the replacement of an existing target that the policy allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    /// No consent is necessary.
    NotNeeded,
    /// The user is asked (`-i`).
    Ask,
    /// Consent counts as denied, without a message (`-n`).
    Denied,
}

/// Name that an existing target gets before it is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackupKind {
    /// The name with the suffix.
    Simple,
    /// A numbered name if the target has numbered backups already, otherwise the name with the
    /// suffix.
    Existing,
    /// `name.~N~`, with the next number.
    Numbered,
}

/// Backups of existing targets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backup {
    /// Kind of the backup name.
    pub kind: BackupKind,
    /// Suffix of simple backups, without any slash.
    pub suffix: Vec<u8>,
}

/// Whether an operand's leading directories are created in the target as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parents {
    /// Only the last component is created.
    Cut,
    /// All directories are created (`--parents`).
    Keep,
}

/// When an existing target is removed before a new file is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Force {
    /// Never.
    No,
    /// If the target cannot be opened (`-f`).
    IfUnopenable,
    /// Before any attempt to open the target (`--remove-destination`).
    First,
}

/// Kind of entry that is created for each file of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Make {
    /// A copy.
    Copy,
    /// A hard link to the source (`-l`).
    HardLink,
    /// A symbolic link to the source (`-s`).
    SymbolicLink,
    /// No new content, only the attributes (`--attributes-only`).
    Attributes,
}

/// Treatment of FIFOs and devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Specials {
    /// They are created again.
    Recreate,
    /// They are read like files, which may block and may never end.
    Read,
}

/// Treatment of mount points inside the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Borders {
    /// Other file systems are entered.
    Cross,
    /// Directories on which others are mounted stay empty (`-x`).
    Stay,
}

/// Treatment of directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recursion {
    /// Directories are omitted, which is a failure.
    No,
    /// Directories are copied with their content.
    Yes,
}

/// Meaning of a symbolic link in the target's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetLinks {
    /// A link to a directory does not count as a directory; no data is written through a dangling
    /// link.
    Strict,
    /// A link to a directory counts as a directory (`--keep-directory-symlink`).
    KeepDirectory,
    /// Files are created where a dangling link points (POSIXLY_CORRECT).
    WriteDangling,
}

/// Whether the run waits until its writes are on stable storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sync {
    /// The run does not wait; the kernel writes later.
    No,
    /// The run waits for each file, and for each directory when all its names are created
    /// (`--fsync`).
    Files,
    /// A file counts as complete only after a common flush of a group of files, and after the file itself
    /// has shown that its bytes are on stable storage. Names are left to the caller, as a move's are.
    Groups,
}

/// How the new content of a regular file appears under its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appearance {
    /// Byte by byte: the name exists from the first one on.
    Gradual,
    /// Atomically, when the content is complete; until then the old file stays (`--atomic`).
    Whole,
    /// Atomically, when the content is on stable storage (`--durable`).
    Durable,
}

/// Striping of new files on Lustre: how many servers store the bytes of one. An existing file that is
/// overwritten keeps its striping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Striping {
    /// A file gets the default of its directory.
    Inherit,
    /// A file gets the striping of its source, and a directory the default of its source.
    Keep,
    /// A file of 1 GiB or more gets a stripe for each GiB, up to 160; a smaller one the default.
    BySize,
}

/// Verification: whether the run reads a target again, and what it does about differences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verify {
    /// The target is not read again.
    No,
    /// A difference from the data read of the source is a failure (`--verify`).
    Compare,
    /// Blocks that differ are copied again, a few times (`--repair`).
    Repair,
}

/// Whether a digest of each whole file is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WholeDigest {
    /// No digest is computed.
    No,
    /// The monitor receives the digest (`--sum-file`).
    Tell,
}

/// Digests of the bytes, and their use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hashing {
    /// Digest algorithm.
    pub algorithm: &'static Algorithm,
    /// Verification of targets.
    pub verify: Verify,
    /// Digests of whole files.
    pub whole: WholeDigest,
}

impl Hashing {
    /// Returns the digests of a copy that is verified: each target is read again, and a difference is a
    /// failure. For [`Appearance::Whole`] and [`Appearance::Durable`]: a file that appears gradually may not be
    /// open for reading, which is a warning.
    #[must_use]
    pub fn verifying() -> Hashing {
        let algorithm = &haul_io::digest::TABLE[0];
        Hashing { algorithm, verify: Verify::Compare, whole: WholeDigest::No }
    }
}

/// Policy of a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Policy {
    /// Treatment of directories.
    pub recursion: Recursion,
    /// Symbolic links that are followed.
    pub dereference: Dereference,
    /// Kind of entry that is created for each file.
    pub make: Make,
    /// Treatment of FIFOs and devices.
    pub specials: Specials,
    /// Attributes that are copied.
    pub preserve: Preserve,
    /// Existing targets that are replaced.
    pub existing: Existing,
    /// Consent to their replacement.
    pub consent: Consent,
    /// Backup of replaced targets.
    pub backup: Option<Backup>,
    /// Whether leading directories of operands are created.
    pub parents: Parents,
    /// When an existing target is removed before a new file is created.
    pub force: Force,
    /// Meaning of a symbolic link in the target's place.
    pub target_links: TargetLinks,
    /// Treatment of mount points.
    pub borders: Borders,
    /// Entries that are copied; `None` copies all of them.
    pub selection: Option<Selected>,
    /// Rules that make the target the same as the source; `None` copies. Regular files then appear whole
    /// ([`Appearance`]), and existing targets, consent, backups and `force` must be as in a plain copy.
    pub synchronize: Option<Synchronize>,
    /// Copy of the bytes.
    pub data: DataPolicy,
    /// Digests of the bytes.
    pub hashing: Option<Hashing>,
    /// Number of times a file is copied again that changed during the copy.
    pub changed_retries: u32,
    /// How the content of files appears under their names.
    pub appearance: Appearance,
    /// Striping of new files. A target that is not on Lustre is refused, unless it is inherited.
    pub striping: Striping,
    /// Whether the run waits until its writes are on stable storage.
    pub sync: Sync,
    /// Rate limit for all workers together.
    pub bytes_per_second: Option<u64>,
    /// Order of the entries.
    pub order: Order,
    /// Umask of the process.
    pub umask: u32,
    /// Whether the process has the privilege to set owners. Without it, a failure to keep the
    /// owner is expected.
    pub(crate) privileged: bool,
}

setters!(Policy {
    recursion: Recursion,
    dereference: Dereference,
    make: Make,
    specials: Specials,
    preserve: Preserve,
    existing: Existing,
    consent: Consent,
    backup: Option<Backup>,
    parents: Parents,
    force: Force,
    target_links: TargetLinks,
    borders: Borders,
    selection: Option<Selected>,
    synchronize: Option<Synchronize>,
    data: DataPolicy,
    hashing: Option<Hashing>,
    changed_retries: u32,
    appearance: Appearance,
    striping: Striping,
    sync: Sync,
    bytes_per_second: Option<u64>,
    order: Order,
    umask: u32,
});

/// The policy of [`Policy::new`].
impl Default for Policy {
    fn default() -> Policy {
        Policy::new()
    }
}

impl Policy {
    /// Returns the policy of a plain `cp` by this process: files are copied, directories are not,
    /// symbolic links are followed, no attribute is preserved. The process's umask and privileges are
    /// found out now.
    #[must_use]
    pub fn new() -> Policy {
        Policy::plain(haul_sys::fs::current_umask())
    }

    /// Returns the policy of `cp -a` by this process: trees are copied, symbolic links stay links, all
    /// attributes are [preserved](Preserve::ALL).
    #[must_use]
    pub fn archive() -> Policy {
        Policy::new()
            .recursion(Recursion::Yes)
            .dereference(Dereference::Never)
            .preserve(Preserve::ALL)
    }

    /// Returns the policy of `haul sync -a` by this process, which makes the target the same as the source: existing
    /// files that are the same stay, others appear whole; symbolic links, devices and FIFOs are copied, mode, owner
    /// and times are preserved. [`Synchronize::delete`] removes what the source does not have.
    #[must_use]
    pub fn mirror() -> Policy {
        let preserve = Preserve::NOTHING.mode(ModePolicy::Keep).ownership(Keep::Must);
        Policy::archive()
            .preserve(preserve.times(Keep::Must))
            .appearance(Appearance::Whole)
            .synchronize(Some(Synchronize::default()))
    }

    /// Returns the policy of a plain `cp` by a process with this umask, whose privileges are found out
    /// now.
    #[must_use]
    pub fn plain(umask: u32) -> Policy {
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
            selection: None,
            synchronize: None,
            data: DataPolicy::of_run(),
            hashing: None,
            changed_retries: 0,
            appearance: Appearance::Gradual,
            striping: Striping::Inherit,
            sync: Sync::No,
            bytes_per_second: None,
            order: Order::Any,
            umask,
            privileged: is_privileged(),
        }
    }

    /// Returns whether a regular file gets its name only when it is complete.
    #[must_use]
    pub fn appears_whole(&self) -> bool {
        self.appearance != Appearance::Gradual && self.make == Make::Copy
    }

    /// Returns the verification of targets.
    #[must_use]
    pub fn verify(&self) -> Verify {
        self.hashing.map_or(Verify::No, |hashing| hashing.verify)
    }

    /// Returns whether the run waits until each name is on stable storage.
    #[must_use]
    pub(crate) fn syncs_names(&self) -> bool {
        self.sync == Sync::Files || self.appearance == Appearance::Durable
    }

    /// Returns whether FIFOs and devices are read like files. Without recursion they always are,
    /// because the user named each of them; a synchronisation never reads them.
    #[must_use]
    pub(crate) fn reads_specials(&self) -> bool {
        (self.recursion == Recursion::No && self.synchronize.is_none())
            || self.specials == Specials::Read
    }
}

/// Returns whether this process may override permission bits and set owners: whether it is root.
pub(crate) fn is_privileged() -> bool {
    haul_sys::process::identity().uid == 0
}

/// Interpretation of the target operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetForm {
    /// A directory if it is one, otherwise the new name.
    Guess,
    /// A directory, by option (`-t`).
    Directory,
    /// A directory, because there are several sources.
    LastDirectory,
    /// The new name, even if it is a directory (`-T`).
    Name,
    /// A directory, into which a source that ends in a slash puts its entries, and any other source itself, as in
    /// rsync(1). The directory is made if its parent exists, unless the only source is not a directory: the target then
    /// is the new name.
    Contents,
}

/// Parameters for a run that resumes an interrupted one (`--resume`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resume {
    /// Path of the journal, if it is not beside the target.
    pub journal: Option<CString>,
    /// Path of the current directory, because equal relative operands mean other files elsewhere.
    pub here: Vec<u8>,
}

/// A request for a copy.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Request {
    /// Sources as they were given.
    pub sources: Vec<CString>,
    /// Target as it was given.
    pub target: CString,
    /// Interpretation of the target.
    pub form: TargetForm,
    /// Policy of the copy.
    pub policy: Policy,
    /// Resources of the copy.
    pub resources: Resources,
    /// Whether the run keeps a journal, so that a later run can resume.
    pub resume: Option<Resume>,
}

setters!(Request {
    form: TargetForm,
    policy: Policy,
    resources: Resources,
    resume: Option<Resume>,
});

impl Request {
    /// Creates a request to copy the sources: into the target if that is a directory, otherwise to
    /// that name. The run keeps no journal and uses all [available](Resources::available)
    /// resources. Fails if a path contains a NUL byte.
    pub fn new(
        sources: impl IntoIterator<Item = impl AsRef<Path>>,
        target: impl AsRef<Path>,
        policy: Policy,
    ) -> Result<Request, NulError> {
        Ok(Request::of_names(names_of(sources)?, name_of(target)?, policy, Resources::available()))
    }

    /// Does the same for names that the kernel can take, with these resources.
    #[must_use]
    pub fn of_names(
        sources: impl IntoIterator<Item = CString>,
        target: CString,
        policy: Policy,
        resources: Resources,
    ) -> Request {
        Request {
            sources: sources.into_iter().collect(),
            target,
            form: TargetForm::Guess,
            policy,
            resources,
            resume: None,
        }
    }
}
