//! The names that a command line selects, and the patterns that it leaves out.
//!
//! Options of matching hold for what follows them, so names are resolved while words are read.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use std::sync::Arc;

use haul_archive::pattern::{Matching, Patterns};

use super::list_file::{self, Complaint};
use crate::ending::CommandError;

/// What `--exclude-vcs` leaves out.
pub(super) const VERSION_CONTROL: &[&str] = &[
    "CVS",
    ".cvsignore",
    "RCS",
    "SCCS",
    ".git",
    ".gitignore",
    ".gitattributes",
    ".gitmodules",
    ".svn",
    ".arch-ids",
    "{arch}",
    "=RELEASE-ID",
    "=meta-update",
    "=update",
    ".bzr",
    ".bzrignore",
    ".bzrtags",
    ".hg",
    ".hgignore",
    // As GNU tar has it, for a file that Mercurial names in the other way.
    ".hgrags",
    ".hgtags",
    "_darcs",
];

/// What `--exclude-backups` leaves out.
pub(super) const BACKUPS: &[&str] = &[".#*", "*~", "#*#"];

/// A name on the command line or in a list.
#[derive(Clone, Debug)]
pub(super) struct Name {
    /// Without slashes at its end.
    pub(super) text: Vec<u8>,
    /// Index of its directory in [`Names::directories`]; `None` is where the run began.
    pub(super) directory: Option<usize>,
    pub(super) has_wildcards: bool,
    /// Whether it stands for all below it.
    pub(super) recurses: bool,
    /// Index of the patterns before it in [`Names::scopes`].
    pub(super) scope: usize,
    pub(super) found: u64,
}

/// All of them, and the options that hold for the next.
#[derive(Clone, Debug)]
pub(super) struct Names {
    pub(super) names: Vec<Name>,
    /// The names as patterns, with the same numbers.
    selectors: Patterns,
    /// How many names have had the occurrence that is wanted.
    complete: usize,
    pub(super) excluded: Arc<Patterns>,
    /// The patterns that were there at each name, which leave nothing out of earlier names.
    pub(super) scopes: Vec<Arc<Patterns>>,
    /// What each `-C` said, from the directory before it.
    pub(super) directories: Vec<Vec<u8>>,
    pub(super) recurses: bool,
    pub(super) anchored: Option<bool>,
    pub(super) ignores_case: bool,
    pub(super) wildcards: Option<bool>,
    pub(super) match_slash: bool,
    pub(super) is_verbatim: bool,
    pub(super) unquotes: bool,
    /// What was wrong with lists, to be told when the run begins.
    pub(super) complaints: Vec<Complaint>,
    /// Options that hold for names behind them, and had none so far, as messages name them.
    pub(super) unconsumed: Vec<String>,
    /// Members up to the one of this name are left out.
    pub(super) starting: Option<Vec<u8>>,
    pub(super) ends_in_nul: bool,
    pub(super) has_list: bool,
}

impl Default for Names {
    fn default() -> Names {
        Names {
            names: Vec::new(),
            selectors: Patterns::default(),
            complete: 0,
            excluded: Arc::default(),
            scopes: Vec::new(),
            directories: Vec::new(),
            recurses: true,
            anchored: None,
            ignores_case: false,
            wildcards: None,
            match_slash: true,
            is_verbatim: false,
            unquotes: true,
            complaints: Vec::new(),
            unconsumed: Vec::new(),
            starting: None,
            ends_in_nul: false,
            has_list: false,
        }
    }
}

impl Names {
    /// Returns whether neither a name nor a list was given.
    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty() && !self.has_list
    }

    /// Returns whether everything is selected: there is no name, also if there is a list without one.
    pub(super) fn select_all(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns whether a name may come twice, because there is a list or more than one operand.
    pub(super) fn may_repeat(&self) -> bool {
        self.has_list || self.names.len() != 1
    }

    pub(super) fn set_null(&mut self, on: bool) {
        self.ends_in_nul = on;
        self.is_verbatim = on;
    }

    fn matching(&self, default: Matching) -> Matching {
        Matching {
            wildcards: self.wildcards.unwrap_or(default.wildcards),
            anchored: self.anchored.unwrap_or(default.anchored),
            match_slash: self.match_slash,
            ignore_case: self.ignores_case,
            recursion: self.recurses,
        }
    }

    /// Adds a name.
    pub(super) fn operand(&mut self, name: &[u8]) {
        let text = without_slashes(name);
        self.unconsumed.clear();
        let how = self.matching(Matching::NAME);
        let special = text.iter().any(|byte| b"*?[".contains(byte));
        if !self.scopes.last().is_some_and(|last| Arc::ptr_eq(last, &self.excluded)) {
            self.scopes.push(Arc::clone(&self.excluded));
        }
        self.selectors.add(text, how);
        self.names.push(Name {
            scope: self.scopes.len() - 1,
            text: text.to_vec(),
            directory: self.directories.len().checked_sub(1),
            recurses: self.recurses,
            has_wildcards: special && self.wildcards.is_none(),
            found: 0,
        });
    }

    /// Changes the directory of the names that follow.
    pub(super) fn directory(&mut self, directory: &[u8]) {
        self.directories.push(directory.to_vec());
    }

    pub(super) fn exclude(&mut self, pattern: &[u8]) {
        let mut text = pattern;
        while let [rest @ .., b'/'] = text {
            text = rest;
        }
        let how = self.matching(Matching::EXCLUDE);
        Arc::make_mut(&mut self.excluded).add(if text.is_empty() { pattern } else { text }, how);
    }

    /// Leaves out names that match these patterns as a whole or behind a slash, whatever options say.
    pub(super) fn exclude_all(&mut self, patterns: &[&str]) {
        for text in patterns {
            Arc::make_mut(&mut self.excluded).add(text.as_bytes(), Matching::EXCLUDE);
        }
    }

    /// Reads patterns from a file, one from each line.
    pub(super) fn exclude_from(&mut self, file: &OsStr) -> Result<(), CommandError> {
        for line in list_file::lines(file, b'\n')? {
            let pattern = pattern_of(&line);
            if !pattern.is_empty() {
                self.exclude(pattern);
            }
        }
        Ok(())
    }

    /// Returns the paths of all names, with the directories of `-C` before them.
    pub(super) fn paths(&self) -> Vec<OsString> {
        let path = |name: &Name| {
            let steps = self.directories.iter().take(name.directory.map_or(0, |index| index + 1));
            let mut path: PathBuf = steps.map(|step| OsStr::from_bytes(step)).collect();
            path.push(OsStr::from_bytes(&name.text));
            path.into_os_string()
        };
        self.names.iter().map(path).collect()
    }

    /// Returns whether a pattern leaves the member of this name out.
    pub(super) fn is_excluded(&self, name: &[u8]) -> bool {
        self.excluded.match_any(name)
    }

    /// Returns whether a pattern that came before a name leaves what is below it out.
    pub(super) fn is_excluded_in(&self, scope: usize, name: &[u8]) -> bool {
        self.scopes.get(scope).is_some_and(|patterns| patterns.match_any(name))
    }

    /// Returns whether a name may select this member, whatever is left out or counted.
    pub(super) fn may_select(&self, name: &[u8]) -> bool {
        self.selectors.match_any(name)
    }

    /// Returns whether a member is selected, and counts it for the first name that selects it.
    pub(super) fn select(&mut self, name: &[u8], occurrence: Option<u64>) -> bool {
        self.select_directory(name, occurrence).is_some()
    }

    /// Does the same, and returns the index of the directory that the member belongs in.
    pub(super) fn select_directory(
        &mut self,
        name: &[u8],
        occurrence: Option<u64>,
    ) -> Option<Option<usize>> {
        if self.starting.as_deref().is_some_and(|start| start != name) {
            return None;
        }
        self.starting = None;
        let selected = self.count(name, occurrence);
        // A name is found also if a pattern leaves its member out.
        selected.filter(|_| !self.is_excluded(name))
    }

    /// Counts a member for the first name that selects it, and returns the directory that it belongs in.
    fn count(&mut self, name: &[u8], occurrence: Option<u64>) -> Option<Option<usize>> {
        if self.select_all() {
            return Some(self.directories.len().checked_sub(1));
        }
        let number = self.selectors.first_match(name)?;
        let selector = self.names.get_mut(number)?;
        // What is below a directory belongs to its occurrence.
        let is_below = name.get(selector.text.len()) == Some(&b'/') && self.recurses;
        if !is_below || selector.found == 0 {
            selector.found += 1;
            self.complete += usize::from(occurrence == Some(selector.found));
        }
        let is_wanted = occurrence.is_none_or(|number| selector.found == number);
        is_wanted.then_some(selector.directory)
    }

    /// Returns the indices of the directories that selected members belong in.
    pub(super) fn used_directories(&self) -> BTreeSet<Option<usize>> {
        match self.select_all() {
            true => [self.directories.len().checked_sub(1)].into(),
            false => self.names.iter().map(|name| name.directory).collect(),
        }
    }

    /// Returns the path of a directory by its index: the steps that `-C` named, from where the run began.
    pub(super) fn path(&self, directory: Option<usize>) -> PathBuf {
        let mut path = PathBuf::from(".");
        let count = directory.map_or(0, |index| index + 1);
        path.extend(self.directories.iter().take(count).map(|step| OsStr::from_bytes(step)));
        path
    }

    /// Returns whether every name had its occurrence, so that the rest of the archive need not be
    /// read.
    pub(super) fn are_all_found(&self, occurrence: Option<u64>) -> bool {
        occurrence.is_some() && !self.select_all() && self.complete == self.names.len()
    }
}

/// Returns the pattern of a line, as GNU tar reads it: without white space at its end, so also without the
/// carriage return of a file of another system, and up to a NUL.
fn pattern_of(line: &[u8]) -> &[u8] {
    let mut text = line;
    // Unlike `is_ascii_whitespace`, isspace(3) has the vertical tab.
    while let [rest @ .., b' ' | b'\t'..=b'\r'] = text {
        text = rest;
    }
    text.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// Returns a name without slashes at its end.
pub(super) fn without_slashes(name: &[u8]) -> &[u8] {
    let mut text = name;
    while let [rest @ .., b'/'] = text
        && !rest.is_empty()
    {
        text = rest;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_name_that_matches_counts() {
        let mut names = Names::default();
        names.operand(b"a/");
        names.operand(b"a/b");
        names.exclude(b"*.o");
        assert!(names.select(b"a/b", None));
        assert!(!names.select(b"a/b.o", None));
        assert!(!names.select(b"ab", None));
        assert_eq!((names.names[0].found, names.names[1].found), (1, 0));
        assert!(names.select(b"a", Some(2)) && !names.select(b"a", Some(2)));
        assert!(!names.are_all_found(Some(2)) && !names.are_all_found(None));
        let mut names = Names::default();
        names.operand(b"a");
        assert!(!names.select(b"a", Some(2)) && !names.are_all_found(Some(2)));
        assert!(names.select(b"a", Some(2)) && names.are_all_found(Some(2)));
        assert_eq!(names.names[0].directory, None);
    }
}
