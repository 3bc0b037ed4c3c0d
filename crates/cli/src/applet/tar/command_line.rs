//! The command line of `tar`: the words are read in their order, and what they ask for together is checked.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

use haul_archive::filter::Filter;
use haul_archive::format::WriteFormat;

use super::effect::{Answer, Effect};
use super::old_style::with_dashes;
use super::option_table::TABLES;
use super::own::Among;
use super::own_table::OWN;
use super::reading::Reading;
use super::refuse::bad;
use super::settings::Settings;
use super::task::{Compression, Mode};
use super::top_level::top_level;
use super::unsupported::UNSUPPORTED;
use crate::ending::CommandError;
use crate::getopt::{Opt, Usage, Word, parse_anywhere};

/// The result of reading a command line.
pub(super) enum Asked {
    Print(Answer),
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
    let mut asked = Reading::new(all_options());
    for word in parse_anywhere(&words, &asked.options)? {
        match word {
            Word::Operand(name) => asked.settings.names.operand(name.as_bytes()),
            Word::Option { id: effect, value } => {
                if let Some(answer) = effect.act.answer() {
                    return Ok(Asked::Print(answer));
                }
                let shown = effect.shown(value.as_deref());
                effect.act.apply(&mut asked, value)?;
                asked.settings.names.unconsumed.extend(shown);
            }
        }
    }
    Ok(Asked::Work(Box::new(asked.finish()?)))
}

fn all_options() -> Vec<Opt<Effect<Reading>>> {
    TABLES.concat().iter().chain(OWN).chain(UNSUPPORTED).copied().collect()
}

impl Reading {
    /// Refuses what `-c` cannot do.
    fn check_creation(&mut self) -> Result<(), CommandError> {
        if self.has_old_letter {
            self.settings.creation.set_format(WriteFormat::V7);
        }
        let mode = self.mode.unwrap_or(Mode::Create);
        self.settings.creation.check(mode, &self.settings.attributes)?;
        if self.settings.names.is_empty() {
            return bad("Cowardly refusing to create an empty archive");
        }
        let letter = if mode == Mode::Append { "-r" } else { "-c" };
        if self.has_same_order {
            return bad(&format!("'--same-order' cannot be used with '{letter}'"));
        }
        if self.settings.occurrence.is_some() {
            return bad(&format!("'--occurrence' cannot be used with '{letter}'"));
        }
        if self.settings.extraction.strip > 0 || self.settings.extraction.top_level.is_some() {
            return bad("--strip-components and --one-top-level are for -x");
        }
        if self.settings.extraction.to_stdout {
            return bad("-O is for -x");
        }
        if self.settings.limits.are_set() {
            return bad("--max-size and --max-entries are for -x, -t and -d");
        }
        if self.settings.shows_blocks {
            return bad("-R with -c is not supported by haul");
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
        } else if self.settings.creation.removes_files {
            return bad("--remove-files is for -c and -r");
        }
        if mode == Mode::Append {
            let is_packed = self.compression.is_some();
            if is_packed {
                return bad("Cannot update compressed archives");
            }
        }
        self.settings.extraction.check()?;
        let file = self.file.or_else(|| std::env::var_os("TAPE")).unwrap_or_else(|| "-".into());
        if self.settings.occurrence.is_some() && self.settings.names.is_empty() {
            return bad("--occurrence is meaningless without a file list");
        }
        let compression = self.compression.unwrap_or(Compression::Auto);
        let packing = match &compression {
            Compression::Auto if self.settings.creation.by_name => {
                Filter::of_name(file.as_encoded_bytes()).map(Compression::Known)
            }
            Compression::Auto => None,
            known => Some(known.clone()),
        };
        if self.settings.creation.frame_bytes.is_some()
            && (mode != Mode::Create || packing != Some(Compression::Known(Filter::Zstd)))
        {
            return bad("--frame is for -c with --zstd");
        }
        let (packing, extraction) = (packing.as_ref(), &self.settings.extraction);
        let removes_files = self.settings.creation.removes_files;
        self.settings.own.check(&Among {
            mode,
            file: &file,
            packing,
            extraction,
            removes_files,
        })?;
        if self.settings.own.aligns() && mode == Mode::Create {
            self.settings.creation.align()?;
        }
        if let Some(given) = &self.settings.extraction.top_level {
            self.settings.extraction.top =
                Some(top_level(given, &file).map_err(CommandError::Plain)?);
        }
        if self.settings.verbosity > 0 {
            self.settings.warnings.set_verbose();
        }
        self.settings.attributes.numeric = self.settings.numeric_owner;
        Ok(Settings { mode, file, compression, ..self.settings })
    }
}
