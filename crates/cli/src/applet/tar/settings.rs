//! What a command line of `tar` asks for, as plain data.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

use haul_archive::extract::Existing;
use haul_archive::filter::Filter;
use haul_archive::format::Zeros;
use haul_archive::transform::Transform;
use haul_sys::process::Zone;

use super::creation::Creation;
use super::names::Names;
use super::old_style::with_dashes;
use super::options::{Id, OPTIONS};
use super::refuse::bad;
use super::unsupported::UNSUPPORTED;
use crate::ending::CommandError;
use crate::getopt::{Opt, Usage, Word, parse_anywhere};
use crate::option::value::processors;

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
    ".hgrags",
    "_darcs",
];

/// What `--exclude-backups` leaves out.
const BACKUPS: &[&str] = &[".#*", "*~", "#*#"];

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    List,
    Extract,
    Create,
    Compare,
    Append,
}

/// How the archive is compressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    /// Read as its first bytes say, and written plain.
    Auto,
    Known(Filter),
    /// A program and its arguments.
    Program(Vec<String>),
}

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
    pub(super) names: Names,
    pub(super) extraction: Extraction,
    pub(super) creation: Creation,
}

/// What is asked for about extracted files.
#[derive(Debug, Default)]
pub(super) struct Extraction {
    pub(super) existing: Existing,
    pub(super) to_stdout: bool,
    pub(super) same_permissions: Option<bool>,
    pub(super) same_owner: Option<bool>,
    pub(super) touch: bool,
    pub(super) absolute_names: bool,
    pub(super) strip: usize,
    pub(super) top_level: Option<OsString>,
    pub(super) shows_transformed: bool,
    pub(super) jobs: Option<usize>,
    pub(super) transform: Transform,
}

impl Extraction {
    /// Returns the number of workers.
    pub(super) fn workers(&self) -> usize {
        self.jobs.unwrap_or_else(processors)
    }

    fn set(&mut self, id: Id, value: OsString) -> Result<(), CommandError> {
        match id {
            Id::Existing(existing) => self.existing = existing,
            Id::ToStdout => self.to_stdout = true,
            Id::SamePermissions(on) => self.same_permissions = Some(on),
            Id::SameOwner(on) => self.same_owner = Some(on),
            Id::OldOwner => self.same_owner = Some(false),
            Id::Touch => self.touch = true,
            Id::AbsoluteNames => self.absolute_names = true,
            Id::Transform => {
                if let Err(malformed) = self.transform.add(value.as_bytes()) {
                    return bad(&malformed.to_string());
                }
            }
            Id::ShowTransformed => self.shows_transformed = true,
            Id::OneTopLevel => self.top_level = Some(value),
            Id::StripComponents => match value.to_str().and_then(|text| text.parse().ok()) {
                Some(count) => self.strip = count,
                None => {
                    let shown = value.to_string_lossy();
                    return bad(&format!("{shown}: Invalid number of elements"));
                }
            },
            Id::Jobs => match value.to_str().and_then(|text| text.parse().ok()) {
                Some(jobs) if (1..=1024).contains(&jobs) => self.jobs = Some(jobs),
                _ => return bad("the number of --jobs must be 1 to 1024"),
            },
            _ => {}
        }
        Ok(())
    }
}

/// The result of reading a command line.
pub(super) enum Asked {
    Help,
    Version,
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
    let options: Vec<Opt<Id>> = OPTIONS.iter().chain(UNSUPPORTED).copied().collect();
    let mut words = Vec::new();
    let variable = std::env::var_os("TAR_OPTIONS").unwrap_or_default();
    let preset = variable.as_bytes().split(u8::is_ascii_whitespace);
    words.extend(preset.filter(|word| !word.is_empty()).map(|word| OsStr::from_bytes(word).into()));
    words.extend(with_dashes(arguments).map_err(CommandError::Usage)?);
    let mut asked = Reading::default();
    for word in parse_anywhere(&words, &options)? {
        match word {
            Word::Operand(name) => asked.names.operand(name.as_bytes()),
            Word::Option { id: Id::Help, .. } => return Ok(Asked::Help),
            Word::Option { id: Id::Version, .. } => return Ok(Asked::Version),
            Word::Option { id, value } => asked.set(id, value.unwrap_or_default())?,
        }
    }
    Ok(Asked::Work(Box::new(asked.finish()?)))
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
    names: Names,
    extraction: Extraction,
    creation: Creation,
    has_old_letter: bool,
}

impl Reading {
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
            | Id::RecordSize => self.creation.set(id, &value)?,
            Id::Totals if value.is_empty() => self.shows_totals = true,
            Id::Totals => return bad("option '--totals=SIGNAL' is not supported by haul"),
            Id::ForceLocal
            | Id::Help
            | Id::Version
            | Id::DelayDirectories
            | Id::ReadFullRecords
            | Id::NoAttributes => {}
            Id::OldOwner => {
                self.has_old_letter = true;
                self.extraction.set(id, value)?;
            }
            Id::Existing(_)
            | Id::ToStdout
            | Id::SamePermissions(_)
            | Id::SameOwner(_)
            | Id::Touch
            | Id::AbsoluteNames
            | Id::StripComponents
            | Id::OneTopLevel
            | Id::ShowTransformed
            | Id::Transform
            | Id::Jobs => self.extraction.set(id, value)?,
            Id::Verbose => self.verbosity += 1,
            Id::BlockNumber => self.shows_blocks = true,
            Id::FullTime => self.shows_full_time = true,
            Id::Utc => self.is_utc = true,
            Id::NumericOwner => self.numeric_owner = true,
            Id::IgnoreZeros => self.ignores_zeros = true,
            Id::Seek(may) => self.never_seeks = !may,
            Id::Gzip => self.compress(Compression::Known(Filter::Gzip))?,
            Id::Bzip2 => self.compress(Compression::Known(Filter::Bzip2))?,
            Id::Xz => self.compress(Compression::Known(Filter::Xz))?,
            Id::Lzma => self.compress(Compression::Known(Filter::Lzma))?,
            Id::Zstd => self.compress(Compression::Known(Filter::Zstd))?,
            Id::UseCompressProgram => {
                let words = value.to_string_lossy();
                let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
                if words.is_empty() {
                    return bad("the command of --use-compress-program is empty");
                }
                self.compress(Compression::Program(words))?;
            }
            Id::Occurrence => self.occurrence = Some(occurrence(&value)?),
            _ => return self.set_names(id, &value),
        }
        Ok(())
    }

    /// Sets what selects names.
    fn set_names(&mut self, id: Id, value: &OsStr) -> Result<(), CommandError> {
        match id {
            Id::Directory => self.names.directory(value.as_bytes()),
            Id::FilesFrom => self.names.files_from(value)?,
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
        self.creation.check()?;
        if self.names.is_empty() {
            return bad("Cowardly refusing to create an empty archive");
        }
        if let Some(Compression::Known(filter @ Filter::Bzip2)) = self.compression {
            return bad(&format!("writing {} is not supported by haul", filter.name()));
        }
        if self.occurrence.is_some() {
            return bad("--occurrence cannot be used with -c");
        }
        if self.extraction.strip > 0 || self.extraction.top_level.is_some() {
            return bad("--strip-components and --one-top-level are for -x");
        }
        if self.extraction.to_stdout {
            return bad("-O is for -x");
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
            if self.creation.format_is_given {
                return bad("-r uses the format of the archive; --format is for -c");
            }
        }
        let file = self.file.or_else(|| std::env::var_os("TAPE")).unwrap_or_else(|| "-".into());
        if self.occurrence.is_some() && self.names.is_empty() {
            return bad("--occurrence is meaningless without a file list");
        }
        let compression = self.compression.unwrap_or(Compression::Auto);
        if self.creation.frame_bytes.is_some() {
            let filter = match &compression {
                Compression::Known(filter) => Some(*filter),
                Compression::Auto if self.creation.by_name => {
                    Filter::of_name(file.as_encoded_bytes())
                }
                _ => None,
            };
            if mode != Mode::Create || filter != Some(Filter::Zstd) {
                return bad("--frame is for -c with --zstd");
            }
        }
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
            names: self.names,
            extraction: self.extraction,
            creation: self.creation,
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

fn occurrence(value: &OsStr) -> Result<u64, CommandError> {
    if value.is_empty() {
        return Ok(1);
    }
    match value.to_str().and_then(|text| text.parse().ok()) {
        Some(number) if number > 0 => Ok(number),
        _ => bad(&format!("{}: Invalid number", value.to_string_lossy())),
    }
}
