//! The settings of a command line as far as its words were read: what the effects of options change.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;

use haul_archive::attributes::{Attributes, Masks};
use haul_archive::format::WriteFormat;

use super::effect::Effect;
use super::list_file::{self, Complaint, Entry, How};
use super::quoting::named;
use super::refuse::bad;
use super::settings::Settings;
use super::task::{Compression, Mode};
use crate::ending::CommandError;
use crate::getopt::{Opt, Word, parse_anywhere};

/// A list of names that is being read.
struct List {
    identity: Option<(u64, u64)>,
    name: OsString,
    /// What asked for it.
    origin: String,
}

/// The settings as far as words were read.
#[derive(Default)]
pub(super) struct Reading {
    pub(super) mode: Option<Mode>,
    pub(super) file: Option<OsString>,
    pub(super) compression: Option<Compression>,
    /// What the words ask for beside the task, the archive and how it is compressed.
    pub(super) settings: Settings,
    pub(super) has_old_letter: bool,
    pub(super) has_same_order: bool,
    /// Lists that are being read, each named in the one before it.
    lists: Vec<List>,
    /// All options, for lists that have some.
    pub(super) options: Vec<Opt<Effect<Reading>>>,
}

impl Reading {
    pub(super) fn new(options: Vec<Opt<Effect<Reading>>>) -> Reading {
        Reading { options, ..Reading::default() }
    }

    /// Reads a list of names and of options for them.
    pub(super) fn list(&mut self, file: &OsStr) -> Result<(), CommandError> {
        self.settings.names.has_list = true;
        self.settings.names.unconsumed.clear();
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
            self.settings.names.complaints.push(Complaint { text, warning: None });
            return Ok(());
        }
        self.lists.push(List { identity, name: file.to_owned(), origin });
        let names = &self.settings.names;
        let how = How {
            ends_in_nul: names.ends_in_nul,
            is_verbatim: names.is_verbatim,
            unquotes: names.unquotes,
        };
        let (entries, complaint) = list_file::read(file, how)?;
        self.settings.names.complaints.extend(complaint);
        for entry in entries {
            match entry {
                Entry::Name(name) => self.settings.names.operand(&name),
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
        let all = parse_anywhere(words, &self.options).map_err(|usage| refused(&usage.0))?;
        for word in all {
            match word {
                Word::Operand(name) => self.settings.names.operand(name.as_bytes()),
                Word::Option { id: effect, value } if effect.is_about_names() => {
                    effect.act.apply(self, value)?;
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

    pub(super) fn set_mode(&mut self, mode: Mode) -> Result<(), CommandError> {
        if self.mode.replace(mode).is_some_and(|earlier| earlier != mode) {
            return bad(
                "You may not specify more than one '-Acdtrux', '--delete' or  '--test-label' option",
            );
        }
        Ok(())
    }

    pub(super) fn set_file(&mut self, value: OsString) -> Result<(), CommandError> {
        if self.file.is_some() {
            return bad("Multiple archive files require '-M' option");
        }
        self.file = Some(value);
        Ok(())
    }

    pub(super) fn show_totals(&mut self, signal: &OsStr) -> Result<(), CommandError> {
        if !signal.is_empty() {
            return bad("option '--totals=SIGNAL' is not supported by haul");
        }
        self.settings.shows_totals = true;
        Ok(())
    }

    pub(super) fn compress(&mut self, compression: Compression) -> Result<(), CommandError> {
        let earlier = self.compression.replace(compression);
        if earlier.is_some() && earlier != self.compression {
            return bad("Conflicting compression options");
        }
        Ok(())
    }

    /// Compresses by a program, which words may follow.
    pub(super) fn compress_by(&mut self, command: &str) -> Result<(), CommandError> {
        let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
        if words.is_empty() {
            return bad("the command of --use-compress-program is empty");
        }
        self.compress(Compression::Program(words))
    }

    /// Sets which attributes are wanted. They need the format posix, which a later option may change.
    pub(super) fn set_attributes(&mut self, set: impl FnOnce(&mut Attributes)) {
        set(&mut self.settings.attributes);
        if !self.settings.attributes.is_none() {
            self.settings.creation.format = WriteFormat::Posix;
        }
    }

    /// Sets which extended attributes are wanted; without a pattern all.
    pub(super) fn set_xattrs(&mut self, select: impl FnOnce(&mut Masks)) {
        self.set_attributes(|wanted| select(wanted.xattrs.get_or_insert_default()));
    }

    /// `-o`, which is two options: the owner of extracted files, and the format of a new archive.
    pub(super) fn set_old_owner(&mut self) {
        self.has_old_letter = true;
        self.settings.extraction.same_owner = Some(false);
    }

    pub(super) fn set_occurrence(&mut self, number: &OsStr) -> Result<(), CommandError> {
        let parsed = match number.is_empty() {
            true => Some(1),
            false => number.to_str().and_then(|text| text.parse().ok()),
        };
        self.settings.occurrence = parsed.filter(|number| *number > 0);
        match self.settings.occurrence {
            Some(_) => Ok(()),
            None => bad(&format!("{}: Invalid number", number.to_string_lossy())),
        }
    }
}
