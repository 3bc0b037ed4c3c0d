//! What a command line of `tar` asks for, as plain data.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;

use haul_archive::attributes::Attributes;
use haul_archive::filter::Filter;
use haul_archive::format::Zeros;
use haul_sys::process::Zone;

use super::checkpoint_options::Checkpoints;
use super::creation::Creation;
use super::extraction::Extraction;
use super::limits::Limits;
use super::list_file::{self, Complaint, Entry, How};
use super::names::{Names, without_slashes};
use super::old_style::with_dashes;
use super::option_table::OPTIONS;
use super::options::Id;
use super::own::{Among, Own};
use super::own_table::OWN;
use super::positional::{is_positional, shown_option};
use super::quoting::named;
use super::refuse::bad;
pub(super) use super::task::Compression;
use super::task::Mode;
use super::top_level::top_level;
use super::unsupported::UNSUPPORTED;
use super::warning::Warnings;
use crate::ending::CommandError;
use crate::getopt::{Opt, Usage, Word, parse_anywhere};
use crate::option::data::size_or_zero;

/// What `--exclude-vcs` leaves out.
const VERSION_CONTROL: &[&str] = &[
    "CVS",
    ".cvsignore",
    "RCS",
    "SCCS",
    ".git",
    ".gitignore",
    ".gitattributes",
    ".gitmodules",
    ".svn",
    ".arch-ids",
    "{arch}",
    "=RELEASE-ID",
    "=meta-update",
    "=update",
    ".bzr",
    ".bzrignore",
    ".bzrtags",
    ".hg",
    ".hgignore",
    // As GNU tar has it, for a file that Mercurial names in the other way.
    ".hgrags",
    ".hgtags",
    "_darcs",
];

/// What `--exclude-backups` leaves out.
const BACKUPS: &[&str] = &[".#*", "*~", "#*#"];

/// What a command line asks for.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) mode: Mode,
    pub(super) file: OsString,
    pub(super) compression: Compression,
    pub(super) verbosity: u32,
    pub(super) shows_blocks: bool,
    pub(super) shows_full_time: bool,
    pub(super) shows_totals: bool,
    pub(super) zone: Zone,
    pub(super) numeric_owner: bool,
    pub(super) zeros: Zeros,
    pub(super) may_seek: bool,
    pub(super) occurrence: Option<u64>,
    pub(super) limits: Limits,
    pub(super) names: Names,
    pub(super) extraction: Extraction,
    pub(super) creation: Creation,
    pub(super) own: Own,
    pub(super) checkpoints: Checkpoints,
    pub(super) warnings: Warnings,
    /// Where what is shown goes, instead of standard output or error.
    pub(super) index_file: Option<OsString>,
    pub(super) shows_omitted: bool,
    /// Attributes that are archived or restored beside the usual ones.
    pub(super) attributes: Attributes,
}

/// The result of reading a command line.
pub(super) enum Asked {
    Help,
    Version,
    Defaults,
    Work(Box<Settings>),
}

/// Why a command line is refused. The two have different exit statuses.
pub(super) enum Refused {
    /// The words are not options and arguments.
    Words(Usage),
    /// They contradict each other, or a file that they name cannot be read.
    Meaning(CommandError),
}

impl From<Usage> for Refused {
    fn from(usage: Usage) -> Refused {
        Refused::Words(usage)
    }
}

impl From<CommandError> for Refused {
    fn from(error: CommandError) -> Refused {
        Refused::Meaning(error)
    }
}

/// Reads the words of `TAR_OPTIONS` and of the command line.
pub(super) fn read(arguments: &[OsString]) -> Result<Asked, Refused> {
    let mut words = Vec::new();
    let variable = std::env::var_os("TAR_OPTIONS").unwrap_or_default();
    let preset = variable.as_bytes().split(u8::is_ascii_whitespace);
    words.extend(preset.filter(|word| !word.is_empty()).map(|word| OsStr::from_bytes(word).into()));
    words.extend(with_dashes(arguments).map_err(CommandError::Usage)?);
    let mut asked = Reading::default();
    for word in parse_anywhere(&words, &all_options())? {
        match word {
            Word::Operand(name) => asked.names.operand(name.as_bytes()),
            Word::Option { id: Id::Help, .. } => return Ok(Asked::Help),
            Word::Option { id: Id::Version, .. } => return Ok(Asked::Version),
            Word::Option { id: Id::ShowDefaults, .. } => return Ok(Asked::Defaults),
            Word::Option { id: Id::Own(id), value } => asked.own.set(id, value)?,
            Word::Option { id, value } => asked.option(id, value.unwrap_or_default())?,
        }
    }
    Ok(Asked::Work(Box::new(asked.finish()?)))
}

fn all_options() -> Vec<Opt<Id>> {
    OPTIONS.iter().chain(OWN).chain(UNSUPPORTED).copied().collect()
}

/// A list of names that is being read.
struct List {
    identity: Option<(u64, u64)>,
    name: OsString,
    /// What asked for it.
    origin: String,
}

/// The settings as far as words were read.
#[derive(Default)]
struct Reading {
    mode: Option<Mode>,
    file: Option<OsString>,
    compression: Option<Compression>,
    verbosity: u32,
    shows_blocks: bool,
    shows_full_time: bool,
    shows_totals: bool,
    is_utc: bool,
    numeric_owner: bool,
    ignores_zeros: bool,
    never_seeks: bool,
    occurrence: Option<u64>,
    limits: Limits,
    names: Names,
    extraction: Extraction,
    creation: Creation,
    own: Own,
    has_old_letter: bool,
    has_same_order: bool,
    checkpoints: Checkpoints,
    warnings: Warnings,
    index_file: Option<OsString>,
    shows_omitted: bool,
    attributes: Attributes,
    /// Lists that are being read, each named in the one before it.
    lists: Vec<List>,
}

impl Reading {
    fn option(&mut self, id: Id, value: OsString) -> Result<(), CommandError> {
        let has_effect = matches!(id, Id::AddFile | Id::FilesFrom);
        let shown = (is_positional(id) && !has_effect).then(|| shown_option(id, &value));
        self.set(id, value)?;
        self.names.unconsumed.extend(shown);
        Ok(())
    }

    /// Reads a list of names and of options for them.
    fn list(&mut self, file: &OsStr) -> Result<(), CommandError> {
        self.names.has_list = true;
        self.names.unconsumed.clear();
        let found = std::fs::metadata(file).ok().filter(|_| file != "-");
        let identity = found.map(|found| (found.dev(), found.ino()));
        let origin = match self.lists.last() {
            Some(list) => list.name.to_string_lossy().into_owned(),
            None => "command line".to_owned(),
        };
        let earlier =
            self.lists.iter().find(|list| list.identity == identity && identity.is_some());
        if let Some(earlier) = earlier {
            let text = format!(
                "{}: file list requested from {origin} already read from {}",
                named(file.as_encoded_bytes()),
                earlier.origin
            );
            self.names.complaints.push(Complaint { text, warning: None });
            return Ok(());
        }
        self.lists.push(List { identity, name: file.to_owned(), origin });
        let names = &self.names;
        let how = How {
            ends_in_nul: names.ends_in_nul,
            is_verbatim: names.is_verbatim,
            unquotes: names.unquotes,
        };
        let (entries, complaint) = list_file::read(file, how)?;
        self.names.complaints.extend(complaint);
        for entry in entries {
            match entry {
                Entry::Name(name) => self.names.operand(&name),
                Entry::Options(words) => self.list_options(file, &words)?,
            }
        }
        self.lists.pop();
        Ok(())
    }

    fn list_options(&mut self, file: &OsStr, words: &[OsString]) -> Result<(), CommandError> {
        let refused = |text: &str| {
            let file = file.to_string_lossy();
            CommandError::Plain(format!("{file}: {text}; --verbatim-files-from reads it as a name"))
        };
        let all = parse_anywhere(words, &all_options()).map_err(|usage| refused(&usage.0))?;
        for word in all {
            match word {
                Word::Operand(name) => self.names.operand(name.as_bytes()),
                Word::Option { id, value } if is_positional(id) => {
                    self.set(id, value.unwrap_or_default())?;
                }
                Word::Option { .. } => {
                    let shown = words.first().map(|word| word.to_string_lossy());
                    let shown = shown.unwrap_or_default();
                    return Err(refused(&format!(
                        "the option '{shown}' in a list of names is not supported by haul"
                    )));
                }
            }
        }
        Ok(())
    }

    fn set(&mut self, id: Id, value: OsString) -> Result<(), CommandError> {
        match id {
            Id::Unsupported(name) => return unsupported(name),
            Id::List => self.mode(Mode::List)?,
            Id::File => self.file(value)?,
            Id::Extract => self.mode(Mode::Extract)?,
            Id::Create => self.mode(Mode::Create)?,
            Id::Append => self.mode(Mode::Append)?,
            Id::Compare => self.mode(Mode::Compare)?,
            Id::Format
            | Id::Posix
            | Id::OldArchive
            | Id::Sort
            | Id::Dereference
            | Id::HardDereference
            | Id::Owner
            | Id::Group
            | Id::Mode
            | Id::Mtime
            | Id::ClampMtime
            | Id::OneFileSystem
            | Id::AutoCompress(_)
            | Id::BlockingFactor
            | Id::Frame
            | Id::ExcludeTag(_)
            | Id::ExcludeCaches(_)
            | Id::OwnerMap
            | Id::GroupMap
            | Id::IgnoreFailedRead
            | Id::RemoveFiles
            | Id::Sparse
            | Id::SparseVersion
            | Id::PaxOption
            | Id::HoleDetection
            | Id::CheckLinks
            | Id::AtimePreserve
            | Id::Newer(_)
            | Id::RecordSize => self.creation.set(id, &value)?,
            Id::Totals if value.is_empty() => self.shows_totals = true,
            Id::Totals => return bad("option '--totals=SIGNAL' is not supported by haul"),
            Id::ForceLocal
            | Id::Help
            | Id::Version
            | Id::ShowDefaults
            | Id::DelayDirectories
            | Id::ReadFullRecords => {}
            Id::SameOrder => self.has_same_order = true,
            Id::OldOwner => {
                self.has_old_letter = true;
                self.extraction.set(id, value)?;
            }
            Id::Existing(_)
            | Id::ToStdout
            | Id::SamePermissions(_)
            | Id::SameOwner(_)
            | Id::Touch
            | Id::Devices
            | Id::AbsoluteNames
            | Id::StripComponents
            | Id::OneTopLevel
            | Id::ShowTransformed
            | Id::KeepDirectorySymlink
            | Id::RecursiveUnlink
            | Id::Transform
            | Id::Jobs => self.extraction.set(id, value)?,
            Id::Gzip
            | Id::Bzip2
            | Id::Xz
            | Id::Lzma
            | Id::Zstd
            | Id::Program(_)
            | Id::UseCompressProgram => self.set_compression(id, &value)?,
            Id::Occurrence => self.occurrence = Some(occurrence(&value)?),
            Id::MaxSize => self.limits.bytes = Some(size_or_zero("--max-size", &value)?),
            Id::MaxEntries => self.limits.entries = Some(entries(&value)?),
            _ if is_positional(id) || id == Id::StartingFile => {
                return self.set_names(id, &value);
            }
            _ => return self.set_shown(id, value),
        }
        Ok(())
    }

    /// Sets how the archive is compressed.
    fn set_compression(&mut self, id: Id, value: &OsStr) -> Result<(), CommandError> {
        match id {
            Id::Gzip => self.compress(Compression::Known(Filter::Gzip))?,
            Id::Bzip2 => self.compress(Compression::Known(Filter::Bzip2))?,
            Id::Xz => self.compress(Compression::Known(Filter::Xz))?,
            Id::Lzma => self.compress(Compression::Known(Filter::Lzma))?,
            Id::Zstd => self.compress(Compression::Known(Filter::Zstd))?,
            Id::Program(program) => {
                self.compress(Compression::Program(vec![program.to_owned()]))?;
            }
            Id::UseCompressProgram => {
                let words = value.to_string_lossy();
                let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
                if words.is_empty() {
                    return bad("the command of --use-compress-program is empty");
                }
                self.compress(Compression::Program(words))?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Sets what is shown, and how.
    fn set_shown(&mut self, id: Id, value: OsString) -> Result<(), CommandError> {
        match id {
            Id::Verbose => self.verbosity += 1,
            Id::BlockNumber => self.shows_blocks = true,
            Id::FullTime => self.shows_full_time = true,
            Id::Utc => self.is_utc = true,
            Id::NumericOwner => self.numeric_owner = true,
            Id::IgnoreZeros => self.ignores_zeros = true,
            Id::Seek(may) => self.never_seeks = !may,
            Id::Acls(_)
            | Id::Selinux(_)
            | Id::Xattrs(_)
            | Id::XattrsInclude
            | Id::XattrsExclude => self.set_attributes(id, &value),
            Id::Checkpoint => self.checkpoints.set_every(&value.to_string_lossy())?,
            Id::CheckpointAction => self.checkpoints.add(&value.to_string_lossy())?,
            Id::Warning => self.warnings.set(&value.to_string_lossy())?,
            Id::IndexFile => self.index_file = Some(value),
            Id::ShowOmitted => self.shows_omitted = true,
            _ => {}
        }
        Ok(())
    }

    /// Sets which attributes are wanted. They need the format posix, which a later option may change.
    fn set_attributes(&mut self, id: Id, value: &OsStr) {
        let wanted = &mut self.attributes;
        match id {
            Id::Acls(on) => wanted.acls = on,
            Id::Selinux(on) => wanted.contexts = on,
            Id::Xattrs(false) => wanted.xattrs = None,
            Id::XattrsInclude => {
                wanted.xattrs.get_or_insert_default().include(value.as_bytes());
            }
            Id::XattrsExclude => {
                wanted.xattrs.get_or_insert_default().exclude(value.as_bytes());
            }
            _ => {
                wanted.xattrs.get_or_insert_default();
            }
        }
        if !wanted.is_none() {
            self.creation.set_posix();
        }
    }

    /// Sets what selects names.
    fn set_names(&mut self, id: Id, value: &OsStr) -> Result<(), CommandError> {
        match id {
            Id::Directory => self.names.directory(value.as_bytes()),
            Id::FilesFrom => self.list(value)?,
            Id::AddFile => self.names.operand(value.as_bytes()),
            Id::StartingFile => {
                self.names.starting = Some(without_slashes(value.as_bytes()).to_vec());
            }
            Id::Exclude => self.names.exclude(value.as_bytes()),
            Id::ExcludeFrom => self.names.exclude_from(value)?,
            Id::Null(on) => self.names.set_null(on),
            Id::Verbatim(on) => self.names.is_verbatim = on,
            Id::Unquote(on) => self.names.unquotes = on,
            Id::Recursion(on) => self.names.recurses = on,
            Id::Anchored(on) => self.names.anchored = Some(on),
            Id::IgnoreCase(on) => self.names.ignores_case = on,
            Id::Wildcards(on) => self.names.wildcards = Some(on),
            Id::WildcardsMatchSlash(on) => self.names.match_slash = on,
            Id::ExcludeVcs => self.names.exclude_all(VERSION_CONTROL),
            Id::ExcludeBackups => self.names.exclude_all(BACKUPS),
            _ => {}
        }
        Ok(())
    }

    /// Refuses what `-c` cannot do.
    fn check_creation(&mut self) -> Result<(), CommandError> {
        if self.has_old_letter {
            self.creation.set(Id::OldArchive, OsStr::new(""))?;
        }
        let mode = self.mode.unwrap_or(Mode::Create);
        self.creation.check(mode, &self.attributes)?;
        if self.names.is_empty() {
            return bad("Cowardly refusing to create an empty archive");
        }
        let letter = if mode == Mode::Append { "-r" } else { "-c" };
        if self.has_same_order {
            return bad(&format!("'--same-order' cannot be used with '{letter}'"));
        }
        if self.occurrence.is_some() {
            return bad(&format!("'--occurrence' cannot be used with '{letter}'"));
        }
        if self.extraction.strip > 0 || self.extraction.top_level.is_some() {
            return bad("--strip-components and --one-top-level are for -x");
        }
        if self.extraction.to_stdout {
            return bad("-O is for -x");
        }
        if self.limits.are_set() {
            return bad("--max-size and --max-entries are for -x, -t and -d");
        }
        if self.shows_blocks {
            return bad("-R with -c is not supported by haul");
        }
        Ok(())
    }

    fn mode(&mut self, mode: Mode) -> Result<(), CommandError> {
        if self.mode.replace(mode).is_some_and(|earlier| earlier != mode) {
            return bad(
                "You may not specify more than one '-Acdtrux', '--delete' or  '--test-label' option",
            );
        }
        Ok(())
    }

    fn file(&mut self, value: OsString) -> Result<(), CommandError> {
        if self.file.is_some() {
            return bad("Multiple archive files require '-M' option");
        }
        self.file = Some(value);
        Ok(())
    }

    fn compress(&mut self, compression: Compression) -> Result<(), CommandError> {
        let earlier = self.compression.replace(compression);
        if earlier.is_some() && earlier != self.compression {
            return bad("Conflicting compression options");
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Settings, CommandError> {
        let Some(mode) = self.mode else {
            return bad(
                "You must specify one of the '-Acdtrux', '--delete' or '--test-label' options",
            );
        };
        if matches!(mode, Mode::Create | Mode::Append) {
            self.check_creation()?;
        } else if self.creation.removes_files {
            return bad("--remove-files is for -c and -r");
        }
        if mode == Mode::Append {
            let is_packed = self.compression.is_some();
            if is_packed {
                return bad("Cannot update compressed archives");
            }
        }
        self.extraction.check()?;
        let file = self.file.or_else(|| std::env::var_os("TAPE")).unwrap_or_else(|| "-".into());
        if self.occurrence.is_some() && self.names.is_empty() {
            return bad("--occurrence is meaningless without a file list");
        }
        let compression = self.compression.unwrap_or(Compression::Auto);
        let packing = match &compression {
            Compression::Auto if self.creation.by_name => {
                Filter::of_name(file.as_encoded_bytes()).map(Compression::Known)
            }
            Compression::Auto => None,
            known => Some(known.clone()),
        };
        if self.creation.frame_bytes.is_some()
            && (mode != Mode::Create || packing != Some(Compression::Known(Filter::Zstd)))
        {
            return bad("--frame is for -c with --zstd");
        }
        let (packing, extraction) = (packing.as_ref(), &self.extraction);
        let removes_files = self.creation.removes_files;
        self.own.check(&Among { mode, file: &file, packing, extraction, removes_files })?;
        if self.own.aligns() && mode == Mode::Create {
            self.creation.align()?;
        }
        if let Some(given) = &self.extraction.top_level {
            self.extraction.top = Some(top_level(given, &file).map_err(CommandError::Plain)?);
        }
        if self.verbosity > 0 {
            self.warnings.set_verbose();
        }
        self.attributes.numeric = self.numeric_owner;
        Ok(Settings {
            mode,
            file,
            compression,
            verbosity: self.verbosity,
            shows_blocks: self.shows_blocks,
            shows_full_time: self.shows_full_time,
            shows_totals: self.shows_totals,
            zone: if self.is_utc { Zone::Utc } else { Zone::Local },
            numeric_owner: self.numeric_owner,
            zeros: if self.ignores_zeros { Zeros::Skip } else { Zeros::End },
            may_seek: !self.never_seeks,
            occurrence: self.occurrence,
            limits: self.limits,
            names: self.names,
            extraction: self.extraction,
            creation: self.creation,
            own: self.own,
            checkpoints: self.checkpoints,
            warnings: self.warnings,
            index_file: self.index_file,
            shows_omitted: self.shows_omitted,
            attributes: self.attributes,
        })
    }
}

fn unsupported<T>(name: &str) -> Result<T, CommandError> {
    let shown = match name.len() {
        1 => format!("-{name}"),
        _ if name.starts_with('0') => "-0 to -7".to_owned(),
        _ => format!("--{name}"),
    };
    bad(&format!("option '{shown}' is not supported by haul"))
}

fn entries(value: &OsStr) -> Result<u64, CommandError> {
    value.to_str().and_then(|text| text.parse().ok()).map_or_else(
        || bad(&format!("invalid --max-entries '{}': give a number", value.to_string_lossy())),
        Ok,
    )
}

fn occurrence(value: &OsStr) -> Result<u64, CommandError> {
    if value.is_empty() {
        return Ok(1);
    }
    match value.to_str().and_then(|text| text.parse().ok()) {
        Some(number) if number > 0 => Ok(number),
        _ => bad(&format!("{}: Invalid number", value.to_string_lossy())),
    }
}
