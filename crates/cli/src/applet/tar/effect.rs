//! What an option of `tar` does. Each row of the tables has its effect, so that there is none without.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

use super::refuse::bad;
use crate::ending::CommandError;
use crate::escape::quote_word;
use crate::getopt::Opt;

/// What is printed instead of any work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Help,
    Version,
    Defaults,
}

/// What an option does with what was read before it. A value that an option need not have is empty without one.
#[derive(Debug)]
enum Act<R> {
    Answer(Answer),
    Set(fn(&mut R)),
    SetTo(fn(&mut R, OsString)),
    /// The same, and the value may be refused.
    Read(fn(&mut R, OsString) -> Result<(), CommandError>),
    /// The same, where no value and an empty one differ.
    ReadOptional(fn(&mut R, Option<OsString>) -> Result<(), CommandError>),
    /// It is refused: the option of GNU's of this name.
    Refuse(&'static str),
}

/// What an option holds for.
#[derive(Clone, Copy, Debug)]
enum Scope {
    Run,
    /// The names behind it. In vain if there are none, which is told by this name.
    NamesBehind(&'static str),
    /// It gives names.
    Names,
}

/// The effect of an option on what was read, an `R`.
#[derive(Debug)]
pub(super) struct Effect<R> {
    act: Act<R>,
    scope: Scope,
}

// Derived, both would demand them of what an effect changes.
impl<R> Clone for Act<R> {
    fn clone(&self) -> Act<R> {
        *self
    }
}

impl<R> Copy for Act<R> {}

impl<R> Clone for Effect<R> {
    fn clone(&self) -> Effect<R> {
        *self
    }
}

impl<R> Copy for Effect<R> {}

const fn of_run<R>(act: Act<R>) -> Effect<R> {
    Effect { act, scope: Scope::Run }
}

pub(super) const fn answer<R>(answer: Answer) -> Effect<R> {
    of_run(Act::Answer(answer))
}

pub(super) const fn set<R>(act: fn(&mut R)) -> Effect<R> {
    of_run(Act::Set(act))
}

pub(super) const fn set_to<R>(act: fn(&mut R, OsString)) -> Effect<R> {
    of_run(Act::SetTo(act))
}

pub(super) const fn read<R>(act: fn(&mut R, OsString) -> Result<(), CommandError>) -> Effect<R> {
    of_run(Act::Read(act))
}

pub(super) const fn read_optional<R>(
    act: fn(&mut R, Option<OsString>) -> Result<(), CommandError>,
) -> Effect<R> {
    of_run(Act::ReadOptional(act))
}

/// Haul does what the option asks for in any case, or the option changes nothing here.
pub(super) const fn nothing<R>() -> Effect<R> {
    set(|_| {})
}

/// Refuses an option by its name.
pub(super) const fn refuse<R>(name: &'static str) -> Effect<R> {
    of_run(Act::Refuse(name))
}

/// Makes an option hold for the names behind it.
pub(super) const fn for_names<R>(row: Opt<Effect<R>>) -> Opt<Effect<R>> {
    let id = Effect { scope: Scope::NamesBehind(row.long), ..row.id };
    Opt { id, ..row }
}

/// Makes an option one that gives names.
pub(super) const fn names<R>(row: Opt<Effect<R>>) -> Opt<Effect<R>> {
    Opt { id: Effect { scope: Scope::Names, ..row.id }, ..row }
}

impl<R> Effect<R> {
    /// Returns what is printed, if the run does nothing else.
    pub(super) const fn answer(&self) -> Option<Answer> {
        match self.act {
            Act::Answer(answer) => Some(answer),
            _ => None,
        }
    }

    /// Returns whether the option may stand in a list of names.
    pub(super) const fn is_about_names(&self) -> bool {
        !matches!(self.scope, Scope::Run)
    }

    /// Returns how a message names the option, if it is in vain unless names follow.
    pub(super) fn shown(&self, value: Option<&OsStr>) -> Option<String> {
        let Scope::NamesBehind(name) = self.scope else { return None };
        let name = if name == "directory" { "-C".to_owned() } else { format!("--{name}") };
        Some(match value.filter(|value| !value.is_empty()) {
            Some(value) => format!("{name} {}", quote_word(value.as_bytes())),
            None => name,
        })
    }

    /// Does what the option says.
    pub(super) fn apply(
        &self,
        reading: &mut R,
        value: Option<OsString>,
    ) -> Result<(), CommandError> {
        match self.act {
            Act::Answer(_) => {}
            Act::Set(act) => act(reading),
            Act::SetTo(act) => act(reading, value.unwrap_or_default()),
            Act::Read(act) => act(reading, value.unwrap_or_default())?,
            Act::ReadOptional(act) => act(reading, value)?,
            Act::Refuse(name) => {
                let shown = match name.len() {
                    1 => format!("-{name}"),
                    _ if name.starts_with('0') => "-0 to -7".to_owned(),
                    _ => format!("--{name}"),
                };
                return bad(&format!("option '{shown}' is not supported by haul"));
            }
        }
        Ok(())
    }
}
