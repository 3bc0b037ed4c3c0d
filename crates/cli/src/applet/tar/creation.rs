//! The options of `tar -c`, as plain data.

use std::collections::HashMap;
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt as _;

use haul_archive::attributes::Attributes;
use haul_archive::create::{Atime, Holes, ModeChange, Newer, Owner, Plan, Sort, Tag, TagScope};
use haul_archive::filter::FRAME_BYTES;
use haul_archive::format::{Moment, PaxOptions, SparseVersion, WriteFormat};
use haul_sys::fs::Follow;
use haul_sys::process::{group_id, group_name, umask, user_id, user_name};

use super::owner_map::{self, Lookup};
use super::refuse::bad;
use super::times::time;
use super::{pax, task::Mode};
use crate::ending::CommandError;
use crate::getopt::choose;
use crate::option::data::size_or_zero;

/// Bytes of `--frame`: smaller ones would cost much size, and larger ones the seekable format has
/// not.
const FRAME_BYTES_MIN: u64 = 64 << 10;
const FRAME_BYTES_MAX: u64 = 1 << 30;

/// What is asked for about a new archive.
#[derive(Clone, Debug)]
pub(super) struct Creation {
    pub(super) format: WriteFormat,
    /// Whether a format was asked for.
    pub(super) format_is_given: bool,
    sparse: Option<SparseVersion>,
    sort: Sort,
    pub(super) follow: Follow,
    pub(super) copies_hard_links: bool,
    owner: Option<Owner>,
    group: Option<Owner>,
    mode: Option<ModeChange>,
    mtime: Option<Moment>,
    pub(super) clamps_mtime: bool,
    pub(super) stays_on_device: bool,
    pub(super) tags: Vec<Tag>,
    owner_map: HashMap<u32, Owner>,
    group_map: HashMap<u32, Owner>,
    pax: PaxOptions,
    has_pax_options: bool,
    holes: Holes,
    pub(super) checks_links: bool,
    atime: Atime,
    newer: Option<Newer>,
    /// Whether files that cannot be read are no failure.
    pub(super) ignores_failed_read: bool,
    /// Whether what was archived is removed.
    pub(super) removes_files: bool,
    /// Blocks of a record.
    pub(super) blocking: u64,
    /// Original bytes of a frame of Zstandard at most; 0 for a single frame.
    pub(super) frame_bytes: Option<u64>,
    /// Whether the data of large files begin at blocks of the archive.
    aligns: bool,
    /// Whether the ending of the archive's name chooses the compression.
    pub(super) by_name: bool,
}

impl Default for Creation {
    fn default() -> Creation {
        Creation {
            format: WriteFormat::Gnu,
            format_is_given: false,
            sparse: None,
            sort: Sort::None,
            follow: Follow::No,
            copies_hard_links: false,
            owner: None,
            group: None,
            mode: None,
            mtime: None,
            clamps_mtime: false,
            stays_on_device: false,
            tags: Vec::new(),
            owner_map: HashMap::new(),
            group_map: HashMap::new(),
            pax: PaxOptions::default(),
            has_pax_options: false,
            holes: Holes::Seek,
            checks_links: false,
            atime: Atime::Change,
            newer: None,
            ignores_failed_read: false,
            removes_files: false,
            blocking: 20,
            frame_bytes: None,
            aligns: false,
            by_name: false,
        }
    }
}

impl Creation {
    /// Returns the original bytes of a frame of Zstandard at most; 0 for a single frame.
    pub(super) fn frame_bytes(&self) -> u64 {
        self.frame_bytes.unwrap_or(FRAME_BYTES)
    }

    /// Sets the format that was asked for.
    pub(super) fn set_format(&mut self, format: WriteFormat) {
        (self.format, self.format_is_given) = (format, true);
    }

    pub(super) fn set_format_named(&mut self, name: &OsStr) -> Result<(), CommandError> {
        const FORMATS: &[(&str, WriteFormat)] = &[
            ("v7", WriteFormat::V7),
            ("oldgnu", WriteFormat::OldGnu),
            ("ustar", WriteFormat::Ustar),
            ("posix", WriteFormat::Posix),
            ("pax", WriteFormat::Posix),
            ("gnu", WriteFormat::Gnu),
        ];
        match FORMATS.iter().find(|(known, _)| name == *known) {
            Some((_, format)) => self.set_format(*format),
            None => return bad(&format!("{}: Invalid archive format", name.to_string_lossy())),
        }
        Ok(())
    }

    pub(super) fn keep_holes(&mut self) {
        self.sparse.get_or_insert_default();
    }

    pub(super) fn set_sparse_version(&mut self, version: &OsStr) -> Result<(), CommandError> {
        self.sparse = Some(match &*version.to_string_lossy() {
            "0.0" | "0" => SparseVersion::V00,
            "0.1" => SparseVersion::V01,
            "1.0" | "1" => SparseVersion::V10,
            _ => return bad("Invalid sparse version value"),
        });
        Ok(())
    }

    pub(super) fn set_holes(&mut self, method: &OsStr) -> Result<(), CommandError> {
        const METHODS: &[(&str, Holes)] = &[("raw", Holes::Raw), ("seek", Holes::Seek)];
        self.holes = choose("--hole-detection", method, METHODS)?;
        self.keep_holes();
        Ok(())
    }

    pub(super) fn set_sort(&mut self, order: &OsStr) -> Result<(), CommandError> {
        const SORTS: &[(&str, Sort)] = &[("none", Sort::None), ("name", Sort::Name)];
        self.sort = choose("--sort", order, SORTS)?;
        Ok(())
    }

    pub(super) fn set_owner(&mut self, name: &OsStr) -> Result<(), CommandError> {
        self.owner = Some(owner(&name.to_string_lossy(), ("owner", user_id, user_name))?);
        Ok(())
    }

    pub(super) fn set_group(&mut self, name: &OsStr) -> Result<(), CommandError> {
        self.group = Some(owner(&name.to_string_lossy(), ("group", group_id, group_name))?);
        Ok(())
    }

    pub(super) fn map_owners(&mut self, file: &OsStr) -> Result<(), CommandError> {
        let lookup = Lookup { what: "UID", by_name: user_id, by_id: user_name };
        self.owner_map.extend(owner_map::read(file, lookup)?);
        Ok(())
    }

    pub(super) fn map_groups(&mut self, file: &OsStr) -> Result<(), CommandError> {
        let lookup = Lookup { what: "GID", by_name: group_id, by_id: group_name };
        self.group_map.extend(owner_map::read(file, lookup)?);
        Ok(())
    }

    pub(super) fn set_mode(&mut self, changes: &OsStr) -> Result<(), CommandError> {
        self.mode = ModeChange::parse(&changes.to_string_lossy(), umask());
        match self.mode {
            Some(_) => Ok(()),
            None => Err(CommandError::Plain("Invalid mode given on option".to_owned())),
        }
    }

    pub(super) fn set_mtime(&mut self, moment: &OsStr) -> Result<(), CommandError> {
        self.mtime = Some(time(&moment.to_string_lossy())?);
        Ok(())
    }

    /// Leaves out files that have not changed since a time; changes of attributes count, too, `by_change`.
    pub(super) fn set_newer(
        &mut self,
        moment: &OsStr,
        by_change: bool,
    ) -> Result<(), CommandError> {
        if self.newer.is_some() {
            return bad("More than one threshold date");
        }
        self.newer = Some(Newer { since: time(&moment.to_string_lossy())?, by_change });
        Ok(())
    }

    pub(super) fn set_atime(&mut self, method: &OsStr) -> Result<(), CommandError> {
        const METHODS: &[(&str, Atime)] = &[("replace", Atime::Replace), ("system", Atime::Keep)];
        self.atime = match method.is_empty() {
            true => Atime::Replace,
            false => choose("--atime-preserve", method, METHODS)?,
        };
        Ok(())
    }

    /// Leaves out what is in directories that have a file of this name.
    pub(super) fn exclude_tag(
        &mut self,
        file: &OsStr,
        scope: TagScope,
    ) -> Result<(), CommandError> {
        match CString::new(file.as_bytes()) {
            Ok(name) => self.tags.push(Tag::named(name, scope)),
            Err(_) => return bad("a name cannot contain a NUL"),
        }
        Ok(())
    }

    pub(super) fn add_pax(&mut self, list: &OsStr) -> Result<(), CommandError> {
        self.has_pax_options = true;
        pax::add(&mut self.pax, &list.to_string_lossy())
    }

    pub(super) fn set_blocking(&mut self, blocks: &OsStr) -> Result<(), CommandError> {
        let shown = blocks.to_string_lossy();
        match shown.parse() {
            Ok(blocks) if (1..=1 << 22).contains(&blocks) => self.blocking = blocks,
            _ => return bad(&format!("{shown}: Invalid blocking factor")),
        }
        Ok(())
    }

    pub(super) fn set_record_bytes(&mut self, bytes: &OsStr) -> Result<(), CommandError> {
        match bytes.to_string_lossy().parse::<u64>() {
            Ok(bytes) if bytes > 0 && bytes.is_multiple_of(512) && bytes <= 1 << 31 => {
                self.blocking = bytes / 512;
            }
            _ => return bad("Record size must be a multiple of 512."),
        }
        Ok(())
    }

    pub(super) fn set_frame(&mut self, bytes: &OsStr) -> Result<(), CommandError> {
        match size_or_zero("--frame", bytes)? {
            bytes if bytes == 0 || (FRAME_BYTES_MIN..=FRAME_BYTES_MAX).contains(&bytes) => {
                self.frame_bytes = Some(bytes);
            }
            _ => return bad("--frame is 0, or from 64K to 1G"),
        }
        Ok(())
    }

    /// Checks what only makes sense together, and chooses the format.
    pub(super) fn check(&mut self, mode: Mode, wanted: &Attributes) -> Result<(), CommandError> {
        let wants = [
            ("--pax-option", self.has_pax_options),
            ("--acls", wanted.acls),
            ("--selinux", wanted.contexts),
            ("--xattrs", wanted.xattrs.is_some()),
        ];
        if let Some((option, _)) = wants.iter().find(|(_, is_wanted)| *is_wanted) {
            if !self.format_is_given {
                self.format = WriteFormat::Posix;
            }
            if self.format != WriteFormat::Posix && matches!(mode, Mode::Create | Mode::Append) {
                return bad(&format!("{option} can be used only on POSIX archives"));
            }
        }
        if self.clamps_mtime && self.mtime.is_none() {
            return bad("--clamp-mtime needs a date specified using --mtime");
        }
        if self.sparse.is_some() && !self.format.has_sparse() {
            return bad("GNU features wanted on incompatible archive format");
        }
        Ok(())
    }

    /// Returns the time since which files have to have changed.
    pub(super) const fn newer(&self) -> Option<Newer> {
        self.newer
    }

    /// Makes the data of large files begin at blocks of the archive.
    pub(super) fn align(&mut self) -> Result<(), CommandError> {
        if !self.format_is_given {
            self.format = WriteFormat::Posix;
        }
        if self.format != WriteFormat::Posix {
            return bad("--reflink needs extended headers: --format=posix");
        }
        self.aligns = true;
        Ok(())
    }

    /// Returns whether symbolic links are followed.
    pub(super) const fn follow(&self) -> Follow {
        self.follow
    }

    /// Returns the plan, without what other options say.
    pub(super) fn plan(&self) -> Plan {
        Plan {
            sort: self.sort,
            follow: self.follow,
            copies_hard_links: self.copies_hard_links,
            names_may_repeat: self.follow == Follow::Yes,
            owner: self.owner.clone(),
            group: self.group.clone(),
            owner_map: self.owner_map.clone(),
            group_map: self.group_map.clone(),
            tags: self.tags.clone(),
            mode: self.mode.clone(),
            mtime: self.mtime,
            clamps_mtime: self.clamps_mtime,
            stays_on_device: self.stays_on_device,
            sparse: self.sparse,
            aligns: self.aligns,
            pax: self.pax.clone(),
            holes: self.holes,
            checks_links: self.checks_links,
            atime: self.atime,
            newer: self.newer,
            ..Plan::new(self.format)
        }
    }
}

type IdOfName = fn(&[u8]) -> Option<u32>;
type NameOfId = fn(u32) -> Option<Vec<u8>>;

/// Reads `NAME`, `NAME:ID`, `:ID` and a number.
fn owner(
    text: &str,
    (what, by_name, by_id): (&str, IdOfName, NameOfId),
) -> Result<Owner, CommandError> {
    let number = |text: &str| text.parse::<u64>().ok().filter(|id| i64::try_from(*id).is_ok());
    let invalid = || bad(&format!("{text}: Invalid {what} or {what} ID"));
    let name_of = |id: u64| u32::try_from(id).ok().and_then(by_id).unwrap_or_default();
    if let Some((name, id)) = text.split_once(':') {
        return match number(id) {
            Some(id) if name.is_empty() => Ok(Owner { name: name_of(id), id: Some(id) }),
            Some(id) => Ok(Owner { name: name.as_bytes().to_vec(), id: Some(id) }),
            None => invalid(),
        };
    }
    if let Some(id) = by_name(text.as_bytes()) {
        return Ok(Owner { name: text.as_bytes().to_vec(), id: Some(u64::from(id)) });
    }
    // The standard library would read a sign.
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    match number(text).filter(|_| digits) {
        Some(id) => Ok(Owner { name: name_of(id), id: Some(id) }),
        None if text.starts_with(|c: char| c.is_ascii_digit()) => invalid(),
        None => Ok(Owner { name: text.as_bytes().to_vec(), id: None }),
    }
}
