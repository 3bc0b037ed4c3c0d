//! What an option of `tar` does, and what it holds for: the run, or names.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

use crate::ending::CommandError;
use crate::escape::quote_word;
use crate::getopt::Opt;
use crate::option::effect;
pub(super) use crate::option::effect::Answer;

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
    pub(super) act: effect::Effect<R>,
    scope: Scope,
}

// Derived, both would demand them of what an effect changes.
impl<R> Clone for Effect<R> {
    fn clone(&self) -> Effect<R> {
        *self
    }
}

impl<R> Copy for Effect<R> {}

const fn of_run<R>(act: effect::Effect<R>) -> Effect<R> {
    Effect { act, scope: Scope::Run }
}

pub(super) const fn answer<R>(answer: Answer) -> Effect<R> {
    of_run(effect::answer(answer))
}

pub(super) const fn set<R>(act: fn(&mut R)) -> Effect<R> {
    of_run(effect::set(act))
}

pub(super) const fn set_to<R>(act: fn(&mut R, OsString)) -> Effect<R> {
    of_run(effect::set_to(act))
}

pub(super) const fn read<R>(act: fn(&mut R, OsString) -> Result<(), CommandError>) -> Effect<R> {
    of_run(effect::read(act))
}

pub(super) const fn read_optional<R>(
    act: fn(&mut R, Option<OsString>) -> Result<(), CommandError>,
) -> Effect<R> {
    of_run(effect::read_optional(act))
}

pub(super) const fn nothing<R>() -> Effect<R> {
    of_run(effect::nothing())
}

pub(super) const fn refuse<R>(name: &'static str) -> Effect<R> {
    of_run(effect::refuse(name))
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
}
