//! One rule: a pattern, what it does, and where it comes from.

use std::sync::Arc;

use crate::pattern::Pattern;
use crate::query::Query;

/// A filter rule.
#[derive(Clone, Debug)]
pub struct Rule {
    pub(crate) pattern: Pattern,
    pub(crate) includes: bool,
    /// Whether it applies to what the pattern does not match (the modifier `!`).
    pub(crate) is_negated: bool,
    /// The rule as it was given, with its sign.
    pub(crate) text: Box<[u8]>,
    /// The option or the file that has it.
    pub(crate) origin: Arc<[u8]>,
}

impl Rule {
    /// Returns whether the rule selects what it applies to.
    #[must_use]
    pub const fn includes(&self) -> bool {
        self.includes
    }

    /// Returns the rule with its sign, such as `- *.o`.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Returns the option that gave the rule, or the file that has it.
    #[must_use]
    pub fn origin(&self) -> &[u8] {
        &self.origin
    }

    /// Returns whether the rule applies to an entry.
    pub(crate) fn applies(&self, query: &Query<'_>) -> bool {
        self.pattern.matches(query) != self.is_negated
    }

    /// Returns the text by which a hash finds the rule; `None` if it has to be tried.
    pub(crate) fn key(&self) -> Option<&[u8]> {
        self.pattern.literal().filter(|_| !self.is_negated)
    }
}
