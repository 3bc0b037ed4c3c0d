//! The types of a check and of its findings.

use super::Tree;
use std::fmt;

/// One house rule.
pub(crate) struct Check {
    /// The file's name, with hyphens.
    pub(crate) name: &'static str,
    pub(crate) run: fn(&Tree) -> Vec<Finding>,
    /// The smallest tree, as paths and texts, that the check must refuse.
    #[cfg_attr(not(test), expect(dead_code, reason = "only the tests run the examples"))]
    pub(crate) refused: &'static [(&'static str, &'static str)],
}

/// One violation of a rule: its place, and what to do instead.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    path: String,
    line: Option<usize>,
    message: String,
}

impl Finding {
    /// Makes a finding about a file as a whole.
    pub(crate) fn file(path: &str, message: impl Into<String>) -> Self {
        Self { path: path.into(), line: None, message: message.into() }
    }

    /// Makes a finding about a line, counted from 1.
    pub(crate) fn line(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.into(), line: Some(line), message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.message),
            None => write!(f, "{}: {}", self.path, self.message),
        }
    }
}
