//! The names that a command line selects, and the patterns that it leaves out.
//!
//! Options of matching hold for what follows them, so names are resolved while words are read.

use std::ffi::OsStr;
use std::io::Read as _;

use haul_archive::pattern::{Matching, Pattern};

use crate::ending::CommandError;
use crate::file_error::describe;
use crate::standard::opened;

/// Bytes of the longest list of names.
const LIST_MAX_BYTES: u64 = 1 << 30;

/// A name on the command line or in a list.
#[derive(Clone, Debug)]
pub(super) struct Name {
    /// Without slashes at its end.
    pub(super) text: Vec<u8>,
    pub(super) pattern: Pattern,
    /// Index of its directory in [`Names::directories`]; `None` is where the run began.
    pub(super) directory: Option<usize>,
    pub(super) has_wildcards: bool,
    /// Whether it stands for all below it.
    pub(super) recurses: bool,
    pub(super) found: u64,
}

/// All of them, and the options that hold for the next.
#[derive(Clone, Debug)]
pub(super) struct Names {
    pub(super) names: Vec<Name>,
    pub(super) excluded: Vec<Pattern>,
    /// What each `-C` said, from the directory before it.
    pub(super) directories: Vec<Vec<u8>>,
    pub(super) recurses: bool,
    pub(super) anchored: Option<bool>,
    pub(super) ignores_case: bool,
    pub(super) wildcards: Option<bool>,
    pub(super) match_slash: bool,
    pub(super) is_verbatim: bool,
    pub(super) unquotes: bool,
    ends_in_nul: bool,
    has_list: bool,
}

impl Default for Names {
    fn default() -> Names {
        Names {
            names: Vec::new(),
            excluded: Vec::new(),
            directories: Vec::new(),
            recurses: true,
            anchored: None,
            ignores_case: false,
            wildcards: None,
            match_slash: true,
            is_verbatim: false,
            unquotes: true,
            ends_in_nul: false,
            has_list: false,
        }
    }
}

impl Names {
    /// Returns whether neither a name nor a list was given: everything is selected.
    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty() && !self.has_list
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
        let mut text = name;
        while let [rest @ .., b'/'] = text
            && !rest.is_empty()
        {
            text = rest;
        }
        let how = self.matching(Matching::NAME);
        let special = text.iter().any(|byte| b"*?[".contains(byte));
        self.names.push(Name {
            text: text.to_vec(),
            pattern: Pattern::new(text, how),
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
        self.excluded.push(Pattern::new(if text.is_empty() { pattern } else { text }, how));
    }

    /// Leaves out names that match these patterns as a whole or behind a slash, whatever options say.
    pub(super) fn exclude_all(&mut self, patterns: &[&str]) {
        let new = |text: &&str| Pattern::new(text.as_bytes(), Matching::EXCLUDE);
        self.excluded.extend(patterns.iter().map(new));
    }

    /// Reads patterns from a file.
    pub(super) fn exclude_from(&mut self, file: &OsStr) -> Result<(), CommandError> {
        for line in lines(file, b'\n')? {
            if !line.is_empty() {
                self.exclude(&line);
            }
        }
        Ok(())
    }

    /// Reads names from a file.
    pub(super) fn files_from(&mut self, file: &OsStr) -> Result<(), CommandError> {
        self.has_list = true;
        let mut wants_directory = false;
        for line in lines(file, if self.ends_in_nul { 0 } else { b'\n' })? {
            if line.is_empty() {
                continue;
            }
            if std::mem::take(&mut wants_directory) {
                self.directory(&line);
            } else if self.is_verbatim || !line.starts_with(b"-") || line == b"-" {
                let quoted = self.unquotes && !self.ends_in_nul;
                self.operand(&if quoted { unquoted(&line) } else { line });
            } else if line == b"-C" || line == b"--directory" {
                wants_directory = true;
            } else if let Some(directory) =
                line.strip_prefix(b"-C").or_else(|| line.strip_prefix(b"--directory="))
            {
                let start = directory.iter().take_while(|byte| **byte == b' ').count();
                self.directory(directory.get(start..).unwrap_or_default());
            } else {
                let shown = String::from_utf8_lossy(&line).into_owned();
                return Err(CommandError::Plain(format!(
                    "{}: the option '{shown}' in a list of names is not supported by haul; \
                     --verbatim-files-from reads it as a name",
                    file.to_string_lossy()
                )));
            }
        }
        if wants_directory {
            return Err(CommandError::Plain(format!(
                "{}: the last line is an option without its argument",
                file.to_string_lossy()
            )));
        }
        Ok(())
    }

    /// Returns whether a pattern leaves the member of this name out.
    pub(super) fn is_excluded(&self, name: &[u8]) -> bool {
        self.excluded.iter().any(|pattern| pattern.matches(name))
    }

    /// Returns whether a name may select this member, whatever is left out or counted.
    pub(super) fn may_select(&self, name: &[u8]) -> bool {
        self.names.iter().any(|one| one.pattern.matches(name))
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
        if self.is_excluded(name) {
            return None;
        }
        if self.is_empty() {
            return Some(self.directories.len().checked_sub(1));
        }
        let selector = self.names.iter_mut().find(|one| one.pattern.matches(name))?;
        // What is below a directory belongs to its occurrence.
        let is_below = name.get(selector.text.len()) == Some(&b'/') && self.recurses;
        if !is_below || selector.found == 0 {
            selector.found += 1;
        }
        let is_wanted = occurrence.is_none_or(|number| selector.found == number);
        is_wanted.then_some(selector.directory)
    }

    /// Returns whether every name had its occurrence, so that the rest of the archive need not be
    /// read.
    pub(super) fn are_all_found(&self, occurrence: Option<u64>) -> bool {
        let is_found = |name: &Name| occurrence.is_some_and(|number| name.found >= number);
        !self.is_empty() && self.names.iter().all(is_found)
    }
}

fn lines(file: &OsStr, end: u8) -> Result<Vec<Vec<u8>>, CommandError> {
    let failed = |error: &std::io::Error| {
        let name = super::quoting::named(file.as_encoded_bytes());
        CommandError::Plain(format!("{name}: Cannot open: {}", describe(error)))
    };
    let mut bytes = Vec::new();
    let file = opened(file.as_encoded_bytes()).map_err(|error| failed(&error))?;
    let read = file.take(LIST_MAX_BYTES).read_to_end(&mut bytes);
    read.map_err(|error| failed(&error))?;
    if bytes.last() == Some(&end) {
        bytes.pop();
    }
    Ok(bytes.split(|byte| *byte == end).map(<[u8]>::to_vec).collect())
}

/// Replaces the escapes of C, as GNU tar reads names in lists.
fn unquoted(line: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(line.len());
    let mut rest = line;
    while let Some((byte, behind)) = rest.split_first() {
        rest = behind;
        if *byte != b'\\' {
            text.push(*byte);
            continue;
        }
        let Some((letter, behind)) = rest.split_first() else {
            text.push(b'\\');
            break;
        };
        let plain = match letter {
            b'a' => Some(7),
            b'b' => Some(8),
            b'f' => Some(12),
            b'n' => Some(b'\n'),
            b'r' => Some(b'\r'),
            b't' => Some(b'\t'),
            b'v' => Some(11),
            b'?' => Some(127),
            b'\\' => Some(b'\\'),
            _ => None,
        };
        let digits: Vec<u32> =
            rest.iter().take(3).map_while(|byte| char::from(*byte).to_digit(8)).collect();
        if let Some(plain) = plain {
            text.push(plain);
            rest = behind;
        } else if digits.is_empty() {
            text.push(b'\\');
        } else {
            let value = digits.iter().fold(0, |value, digit| value * 8 + digit);
            text.push(value.to_le_bytes()[0]);
            rest = rest.get(digits.len()..).unwrap_or_default();
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_of_lists_are_those_of_c() {
        assert_eq!(unquoted(b"a\\nb\\\\c\\101\\q\\"), b"a\nb\\cA\\q\\");
    }

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
        assert_eq!(names.names[0].directory, None);
    }
}
