//! One thing that was tried: whether it is there, what it is, and what its absence means.

use haul_sys::CallError;

/// Whether something is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Present,
    Missing,
    /// It could not be tried.
    Unknown,
}

impl State {
    /// Returns the word for it in JSON.
    pub(super) const fn word(self) -> &'static str {
        match self {
            State::Present => "present",
            State::Missing => "missing",
            State::Unknown => "unknown",
        }
    }

    /// Returns the sign in front of its line.
    pub(super) const fn sign(self) -> char {
        match self {
            State::Present => '+',
            State::Missing => '-',
            State::Unknown => '?',
        }
    }
}

/// One thing that was tried.
#[derive(Clone, Debug)]
pub(super) struct Finding {
    /// Its name, which programs may rely on.
    pub(super) name: &'static str,
    pub(super) state: State,
    /// What it is, or why it is missing or unknown.
    pub(super) detail: String,
    /// What haul uses it for; if it is missing, what haul does without it.
    pub(super) effect: &'static str,
}

impl Finding {
    /// Something that is there.
    pub(super) fn present(name: &'static str, detail: impl Into<String>) -> Finding {
        Finding { name, state: State::Present, detail: detail.into(), effect: "" }
    }

    /// Something that is missing.
    pub(super) fn missing(name: &'static str, why: impl Into<String>) -> Finding {
        Finding { name, state: State::Missing, detail: why.into(), effect: "" }
    }

    /// Something that could not be tried.
    pub(super) fn unknown(name: &'static str, why: impl Into<String>) -> Finding {
        Finding { name, state: State::Unknown, detail: why.into(), effect: "" }
    }

    /// What a call that was tried says.
    pub(super) fn of<T>(
        name: &'static str,
        answer: Result<T, CallError>,
        detail: impl FnOnce(T) -> String,
    ) -> Finding {
        match answer {
            Ok(value) => Finding::present(name, detail(value)),
            Err(error) => Finding::missing(name, error.to_string()),
        }
    }

    /// States what haul does with it, and without it.
    pub(super) fn means(self, with: &'static str, without: &'static str) -> Finding {
        let effect = if self.state == State::Present { with } else { without };
        Finding { effect, ..self }
    }
}
