//! A list of rules in their order, in which the first rule that applies decides.
//!
//! Rules without wildcards are found by a hash of the name, of the path, or of its last components. Only
//! those with wildcards are tried one by one, and only those before the rule that a hash has found.

use std::collections::HashMap;

use crate::pattern::{Scope, last};
use crate::query::Query;
use crate::rule::Rule;

/// An entry of a list.
#[derive(Clone, Debug)]
pub(crate) enum Entry {
    Rule(Rule),
    /// The rules of a kind of per-directory merge files, by its number.
    Merge(usize),
}

/// Positions of the first rules with one text.
#[derive(Clone, Copy, Debug)]
struct First {
    /// First rule for entries of any kind.
    any: usize,
    /// First rule for directories alone.
    directory: usize,
}

type Texts = HashMap<Box<[u8]>, First>;

/// Rules in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct RuleList {
    entries: Vec<Entry>,
    names: Texts,
    paths: Texts,
    /// Rules about last components, by their number.
    tails: Vec<(usize, Texts)>,
    /// Positions of the entries that no hash finds.
    tried: Vec<usize>,
}

impl RuleList {
    pub(crate) fn new(entries: Vec<Entry>) -> RuleList {
        let mut list = RuleList { entries, ..RuleList::default() };
        let RuleList { entries, names, paths, tails, tried } = &mut list;
        for (position, entry) in entries.iter().enumerate() {
            let keyed = match entry {
                Entry::Rule(rule) => rule.key().map(|key| (rule, key)),
                Entry::Merge(_) => None,
            };
            let Some((rule, key)) = keyed else {
                tried.push(position);
                continue;
            };
            let texts = match rule.pattern.scope {
                Scope::Name => &mut *names,
                Scope::Start | Scope::AfterSlash => &mut *paths,
                Scope::Last(count) => tail(tails, count),
            };
            let none = First { any: usize::MAX, directory: usize::MAX };
            let first = texts.entry(key.into()).or_insert(none);
            let of_kind =
                if rule.pattern.directories_only { &mut first.directory } else { &mut first.any };
            *of_kind = (*of_kind).min(position);
        }
        list
    }

    /// Returns whether no rule is in the list.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the first rule that applies. `merged` returns the first one of a kind of merge files.
    pub(crate) fn find<'a>(
        &'a self,
        query: &Query<'_>,
        merged: &dyn Fn(usize) -> Option<&'a Rule>,
    ) -> Option<&'a Rule> {
        let known = self.known(query);
        for position in self.tried.iter().take_while(|position| **position < known) {
            match &self.entries[*position] {
                Entry::Rule(rule) if rule.applies(query) => return Some(rule),
                Entry::Rule(_) => {}
                Entry::Merge(number) => {
                    if let Some(rule) = merged(*number) {
                        return Some(rule);
                    }
                }
            }
        }
        match self.entries.get(known) {
            Some(Entry::Rule(rule)) => Some(rule),
            _ => None,
        }
    }

    /// Returns the position of the first rule without wildcards that applies.
    fn known(&self, query: &Query<'_>) -> usize {
        let position = |texts: &Texts, text: &[u8]| match texts.get(text) {
            Some(first) if query.is_directory => first.any.min(first.directory),
            Some(first) => first.any,
            None => usize::MAX,
        };
        let mut found = usize::MAX;
        if !self.names.is_empty() {
            found = position(&self.names, query.name());
        }
        let path = query.path(false, false);
        if !self.paths.is_empty() {
            found = found.min(position(&self.paths, path));
        }
        for (count, texts) in &self.tails {
            if let Some(tail) = last(path, *count) {
                found = found.min(position(texts, tail));
            }
        }
        found
    }
}

/// Returns the rules about so many last components.
fn tail(tails: &mut Vec<(usize, Texts)>, count: usize) -> &mut Texts {
    let at = tails.iter().position(|(own, _)| *own == count).unwrap_or_else(|| {
        tails.push((count, Texts::new()));
        tails.len() - 1
    });
    &mut tails[at].1
}
