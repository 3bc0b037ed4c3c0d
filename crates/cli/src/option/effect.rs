//! What an option does with the settings of a command. Each row of a table has its effect, so that no option is read
//! and forgotten: a row without one does not compile.

use std::ffi::OsString;

use super::help::version;
use crate::ending::{CommandError, usage};
use crate::getopt::Takes::Nothing;
use crate::getopt::{Opt, Usage, Word, long};
use crate::page::Page;

/// A text that is printed instead of any work.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answer {
    Help,
    Version,
    /// Another text, which this makes.
    Text(fn() -> String),
}

impl Answer {
    /// Returns the text, for a program of this name.
    pub(crate) fn text(self, program: &str, help: impl FnOnce() -> Page) -> String {
        match self {
            Answer::Help => help().to_string(),
            Answer::Version => version(program),
            Answer::Text(text) => text(),
        }
    }
}

/// The effect of an option on what was read before it, an `R`. A value that an option need not have is empty without
/// one.
#[derive(Debug)]
pub(crate) enum Effect<R> {
    Answer(Answer),
    Set(fn(&mut R)),
    SetTo(fn(&mut R, OsString)),
    /// The same, and the value may be refused.
    Read(fn(&mut R, OsString) -> Result<(), CommandError>),
    /// The same, where no value and an empty one differ.
    ReadOptional(fn(&mut R, Option<OsString>) -> Result<(), CommandError>),
    /// It is refused: the option of GNU's of this name.
    Refuse(&'static str),
    /// It is refused with this message.
    RefuseWith(&'static str),
}

// Derived, both would demand them of what an effect changes.
impl<R> Clone for Effect<R> {
    fn clone(&self) -> Effect<R> {
        *self
    }
}

impl<R> Copy for Effect<R> {}

pub(crate) const fn answer<R>(answer: Answer) -> Effect<R> {
    Effect::Answer(answer)
}

pub(crate) const fn set<R>(act: fn(&mut R)) -> Effect<R> {
    Effect::Set(act)
}

pub(crate) const fn set_to<R>(act: fn(&mut R, OsString)) -> Effect<R> {
    Effect::SetTo(act)
}

pub(crate) const fn read<R>(act: fn(&mut R, OsString) -> Result<(), CommandError>) -> Effect<R> {
    Effect::Read(act)
}

pub(crate) const fn read_optional<R>(
    act: fn(&mut R, Option<OsString>) -> Result<(), CommandError>,
) -> Effect<R> {
    Effect::ReadOptional(act)
}

/// Haul does what the option asks for in any case, or the option changes nothing here.
pub(crate) const fn nothing<R>() -> Effect<R> {
    set(|_| {})
}

/// Refuses an option by its name.
pub(crate) const fn refuse<R>(name: &'static str) -> Effect<R> {
    Effect::Refuse(name)
}

/// Refuses an option with a message that names it and a way out.
pub(crate) const fn refuse_with<R>(text: &'static str) -> Effect<R> {
    Effect::RefuseWith(text)
}

/// Makes the row of `--help`.
pub(crate) const fn help_row<R>() -> Opt<Effect<R>> {
    long(answer(Answer::Help), "help", Nothing, "show this text and exit")
}

/// Makes the row of `--version`.
pub(crate) const fn version_row<R>() -> Opt<Effect<R>> {
    long(answer(Answer::Version), "version", Nothing, "show the version and exit")
}

impl<R> Effect<R> {
    /// Returns what is printed, if the run does nothing else.
    pub(crate) const fn answer(&self) -> Option<Answer> {
        match self {
            Effect::Answer(answer) => Some(*answer),
            _ => None,
        }
    }

    /// Does what the option says.
    pub(crate) fn apply(
        &self,
        settings: &mut R,
        value: Option<OsString>,
    ) -> Result<(), CommandError> {
        match self {
            Effect::Answer(_) => {}
            Effect::Set(act) => act(settings),
            Effect::SetTo(act) => act(settings, value.unwrap_or_default()),
            Effect::Read(act) => act(settings, value.unwrap_or_default())?,
            Effect::ReadOptional(act) => act(settings, value)?,
            Effect::Refuse(name) => {
                let shown = match name.len() {
                    1 => format!("-{name}"),
                    _ if name.starts_with('0') => "-0 to -7".to_owned(),
                    _ => format!("--{name}"),
                };
                return usage(format!("option '{shown}' is not supported by haul"));
            }
            Effect::RefuseWith(text) => return usage((*text).to_owned()),
        }
        Ok(())
    }
}

/// What the words of a command line ask for.
pub(crate) enum Asked {
    /// To print this, and to do nothing else.
    Print(String),
    /// The work of the command, with these operands.
    Work(Vec<OsString>),
}

/// Changes settings as the words of a command line say, in their order.
pub(crate) fn read_words<R>(
    words: Result<Vec<Word<Effect<R>>>, Usage>,
    settings: &mut R,
    program: &str,
    help: impl FnOnce() -> Page,
) -> Result<Asked, CommandError> {
    let mut operands = Vec::new();
    for word in words? {
        match word {
            Word::Operand(operand) => operands.push(operand),
            Word::Option { id: effect, value } => match effect.answer() {
                Some(answer) => return Ok(Asked::Print(answer.text(program, help))),
                None => effect.apply(settings, value)?,
            },
        }
    }
    Ok(Asked::Work(operands))
}
