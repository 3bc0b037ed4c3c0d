//! The options of `--checkpoint`, as plain data.

use std::time::Duration;

use haul_sys::process::signal_number;

use super::list_file;
use super::refuse::bad;
use crate::ending::CommandError;

/// Records between two checkpoints, unless the user says otherwise.
pub(super) const RECORDS: u64 = 10;

/// What is done at a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Dot,
    Bell,
    Echo(Option<String>),
    TtyOut(String),
    Totals,
    Sleep(Duration),
    Exec(String),
    Wait(i32),
}

/// What the command line says about checkpoints.
#[derive(Clone, Debug, Default)]
pub(super) struct Checkpoints {
    pub(super) every: Option<u64>,
    pub(super) actions: Vec<Action>,
}

impl Checkpoints {
    /// Reads the argument of `--checkpoint`.
    pub(super) fn set_every(&mut self, value: &str) -> Result<(), CommandError> {
        let digits = match value.strip_prefix('.') {
            Some(rest) => {
                self.actions.push(Action::Dot);
                rest
            }
            None => value,
        };
        self.every = match digits.parse() {
            // None, as with GNU tar.
            Ok(0) => None,
            Ok(number) => Some(number),
            Err(_) if digits.is_empty() => Some(RECORDS),
            Err(_) => return bad(&format!("--checkpoint value is not an integer: {value}")),
        };
        Ok(())
    }

    /// Reads the argument of `--checkpoint-action`.
    pub(super) fn add(&mut self, text: &str) -> Result<(), CommandError> {
        let (word, value) = match text.split_once('=') {
            Some((word, value)) => (word, Some(value)),
            None => (text, None),
        };
        let action = match (word, value) {
            ("." | "dot", None) => Action::Dot,
            ("bell", None) => Action::Bell,
            ("echo", value) => Action::Echo(value.map(unquoted)),
            ("totals", None) => Action::Totals,
            ("ttyout", Some(value)) => Action::TtyOut(unquoted(value)),
            ("exec", Some(value)) => Action::Exec(unquoted(value)),
            ("sleep", Some(value)) => match value.parse() {
                Ok(seconds) => Action::Sleep(Duration::from_secs(seconds)),
                Err(_) => return plain(format!("{text}: not a valid timeout")),
            },
            ("wait", Some(value)) => match signal_number(value) {
                Some(number) => Action::Wait(number),
                None => return plain(format!("Unknown signal name: {value}")),
            },
            _ => return plain(format!("{text}: unknown checkpoint action")),
        };
        self.actions.push(action);
        Ok(())
    }

    /// Returns whether there are any.
    pub(super) const fn are_on(&self) -> bool {
        self.every.is_some() || !self.actions.is_empty()
    }

    /// Returns whether an action writes to what the user names, wherever that is.
    pub(super) fn reach_out(&self) -> bool {
        let reaches = |action: &Action| matches!(action, Action::Exec(_) | Action::TtyOut(_));
        self.actions.iter().any(reaches)
    }

    /// Returns whether an action may change files, so that none may be read before its turn.
    pub(super) fn interfere(&self) -> bool {
        let waits = |action: &Action| {
            matches!(action, Action::Exec(_) | Action::Wait(_) | Action::Sleep(_))
        };
        self.actions.iter().any(waits)
    }
}

fn plain<T>(text: String) -> Result<T, CommandError> {
    Err(CommandError::Plain(text))
}

/// Removes quotes around a text and replaces the escapes of C.
fn unquoted(text: &str) -> String {
    let inner = ["\"", "'"].iter().find_map(|quote| {
        text.strip_prefix(quote)?.strip_suffix(quote).filter(|inner| !inner.is_empty())
    });
    let bytes = list_file::unquoted(inner.unwrap_or(text).as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_read_or_refused() {
        let mut checkpoints = Checkpoints::default();
        for text in ["dot", ".", "bell", "echo", "echo=\"a\\nb\"", "sleep=3", "wait=SIGUSR1"] {
            assert!(checkpoints.add(text).is_ok(), "{text}");
        }
        assert_eq!(checkpoints.actions[4], Action::Echo(Some("a\nb".to_owned())));
        for text in ["", "sleep", "sleep=x", "wait=NONE", "dance", "dot=3"] {
            assert!(checkpoints.add(text).is_err(), "{text}");
        }
        assert!(checkpoints.set_every(".5").is_ok() && checkpoints.every == Some(5));
        assert!(checkpoints.set_every("0").is_ok() && checkpoints.every.is_none());
        assert!(checkpoints.set_every("x").is_err() && checkpoints.set_every("1x").is_err());
        assert!(checkpoints.set_every("").is_ok() && checkpoints.every == Some(RECORDS));
    }
}
