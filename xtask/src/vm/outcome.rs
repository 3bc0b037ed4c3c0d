//! The result of one check on one file system: a line on the second serial port, and in the kept results.

use super::spent::Spent;
use crate::error::{Context, Error, Result};
use serde_json::{Value, json};

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// As GNU's tools, or as the check demands.
    Passed,
    Failed,
    /// The kernel does not have the file system, or this machine cannot make it.
    Absent,
}

impl Verdict {
    const NAMES: [(Self, &'static str); 3] =
        [(Self::Passed, "passed"), (Self::Failed, "failed"), (Self::Absent, "absent")];

    fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(verdict, _)| *verdict == self).map_or("", |(_, name)| name)
    }
}

/// One result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    /// The name of the file system.
    pub(super) on: String,
    /// The command, which is a column of the table.
    pub(super) command: String,
    /// The name of the check.
    pub(super) check: String,
    pub(super) verdict: Verdict,
    /// What differed, or why the file system is absent.
    pub(super) text: String,
    pub(super) spent: Spent,
}

/// What the driver says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// A check begins, so that the one is known in which a machine dies.
    Begin {
        on: String,
        command: String,
        check: String,
    },
    Ended(Outcome),
    /// Everything on a file system was done.
    Done {
        on: String,
    },
}

impl Outcome {
    /// Returns the outcome of a check that has just begun; it becomes what happens.
    pub(super) fn begun(on: &str, command: &str, check: &str) -> Self {
        Self {
            on: on.to_owned(),
            command: command.to_owned(),
            check: check.to_owned(),
            verdict: Verdict::Failed,
            text: String::new(),
            spent: Spent::default(),
        }
    }

    /// Returns what the driver says when the check begins.
    pub(super) fn beginning(&self) -> Message {
        let (on, command, check) = (self.on.clone(), self.command.clone(), self.check.clone());
        Message::Begin { on, command, check }
    }

    /// Takes over what a check has found, or why it could not be carried out.
    pub(super) fn judge(&mut self, found: Result<Vec<String>>) {
        (self.verdict, self.text) = match found {
            Ok(flaws) if flaws.is_empty() => (Verdict::Passed, String::new()),
            Ok(flaws) => (Verdict::Failed, flaws.join("; ")),
            Err(cause) => (Verdict::Failed, cause.to_string().replace('\n', ";")),
        };
    }

    pub(super) fn value(&self) -> Value {
        json!({"on": self.on, "command": self.command, "check": self.check,
            "verdict": self.verdict.name(), "text": self.text, "spent": self.spent.value()})
    }

    pub(super) fn of_value(value: &Value) -> Result<Self> {
        let named = value["verdict"].as_str().unwrap_or_default();
        let verdict = Verdict::NAMES.iter().find(|(_, name)| *name == named);
        let (verdict, _) =
            verdict.ok_or_else(|| Error::new(format!("no result of a check: {value}")))?;
        Ok(Self {
            on: word(value, "on")?,
            command: word(value, "command")?,
            check: word(value, "check")?,
            verdict: *verdict,
            text: word(value, "text")?,
            spent: Spent::of_value(&value["spent"]),
        })
    }
}

fn word(value: &Value, key: &str) -> Result<String> {
    let text = value[key].as_str().map(str::to_owned);
    text.ok_or_else(|| Error::new(format!("no {key} in {value}")))
}

impl Message {
    /// Returns the line without its end.
    pub(super) fn line(&self) -> String {
        match self {
            Self::Begin { on, command, check } => {
                json!({"begin": true, "on": on, "command": command, "check": check}).to_string()
            }
            Self::Ended(outcome) => outcome.value().to_string(),
            Self::Done { on } => json!({"done": true, "on": on}).to_string(),
        }
    }

    /// Reads a line.
    pub(super) fn of_line(line: &str) -> Result<Self> {
        let value: Value = serde_json::from_str(line).context("read", format_args!("{line:?}"))?;
        let on = word(&value, "on")?;
        match (&value["begin"], &value["done"]) {
            (Value::Bool(true), _) => {
                let (command, check) = (word(&value, "command")?, word(&value, "check")?);
                Ok(Self::Begin { on, command, check })
            }
            (_, Value::Bool(true)) => Ok(Self::Done { on }),
            _ => Outcome::of_value(&value).map(Self::Ended),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_is_the_verdict() {
        let mut outcome = Outcome::begun("ext4", "cp", "cp -a");
        outcome.judge(Ok(Vec::new()));
        assert_eq!(outcome.verdict, Verdict::Passed);
        outcome.judge(Ok(vec!["a".into(), "b".into()]));
        assert_eq!((outcome.verdict, outcome.text.as_str()), (Verdict::Failed, "a; b"));
        outcome.judge(Err(Error::new("c")));
        assert_eq!((outcome.verdict, outcome.text.as_str()), (Verdict::Failed, "c"));
    }

    #[test]
    fn a_message_survives_its_line() {
        let outcome = Outcome {
            on: "nfs-4.2".into(),
            command: "cp".into(),
            check: "cp -a".into(),
            verdict: Verdict::Failed,
            text: "a \"b\"\nc".into(),
            spent: Spent::default(),
        };
        let (on, check) = ("x".to_owned(), "y".to_owned());
        for message in [
            Message::Ended(outcome),
            Message::Begin { on: on.clone(), command: "cp".into(), check },
            Message::Done { on },
        ] {
            let line = message.line();
            assert!(!line.contains('\n'));
            assert_eq!(Message::of_line(&line).unwrap(), message);
        }
        for wrong in ["", "{}", "{\"on\": \"x\", \"verdict\": \"good\"}", "[  3.14] oops"] {
            assert!(Message::of_line(wrong).is_err(), "{wrong}");
        }
    }
}
