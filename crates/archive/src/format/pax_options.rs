//! What the user wants changed in extended headers (`--pax-option`).

use super::pax::push;
use crate::pattern::{Matching, Pattern};

/// Changes of extended headers.
#[derive(Clone, Debug, Default)]
pub struct PaxOptions {
    /// Records whose keyword matches one of these are left out.
    delete: Vec<Pattern>,
    /// Records of every member, instead of its own of these keywords.
    overrides: Vec<(Vec<u8>, Vec<u8>)>,
    /// Records of the whole archive.
    globals: Vec<(Vec<u8>, Vec<u8>)>,
    /// The name of extended headers: `%d` and `%f` are the directory and the last part of the member's
    /// name, `%p` the number of this process, `%%` a percent sign.
    pub name: Option<Vec<u8>>,
    /// The name of the global header; `%n` is its number.
    pub global_name: Option<Vec<u8>>,
    /// Seconds since 1970 that extended headers get as their time.
    pub mtime: Option<i64>,
    /// The same of the global header.
    pub global_mtime: Option<i64>,
}

/// Keywords that tell how to read the archive.
const PROTECTED: &[&str] = &[
    "GNU.sparse.name",
    "GNU.sparse.major",
    "GNU.sparse.minor",
    "GNU.sparse.realsize",
    "GNU.sparse.numblocks",
    "GNU.sparse.size",
    "GNU.sparse.offset",
    "GNU.sparse.numbytes",
    "GNU.dumpdir",
    "GNU.volume.label",
    "GNU.volume.filename",
    "GNU.volume.size",
    "GNU.volume.offset",
];

fn pattern(text: &[u8]) -> Pattern {
    let how = Matching {
        wildcards: true,
        anchored: true,
        match_slash: true,
        ignore_case: false,
        recursion: false,
    };
    Pattern::new(text, how)
}

impl PaxOptions {
    /// Leaves out records. Returns `false` if that would make sparse files unreadable.
    pub fn delete(&mut self, keywords: &[u8]) -> bool {
        let pattern = pattern(keywords);
        if PROTECTED.iter().any(|keyword| pattern.matches(keyword.as_bytes())) {
            return false;
        }
        self.delete.push(pattern);
        true
    }

    /// Gives every member a record. Returns `false` for a keyword that tells how to read the archive.
    pub fn set(&mut self, keyword: &[u8], value: &[u8]) -> bool {
        let may = !is_protected(keyword);
        if may {
            self.overrides.push((keyword.to_vec(), value.to_vec()));
        }
        may
    }

    /// Gives the archive a record. Returns `false` for a keyword that tells how to read the archive.
    pub fn set_for_all(&mut self, keyword: &[u8], value: &[u8]) -> bool {
        let may = !is_protected(keyword);
        if may {
            self.globals.push((keyword.to_vec(), value.to_vec()));
        }
        may
    }

    /// Adds a record of a member. Returns whether the member has an extended header because of it.
    pub(super) fn push(&self, records: &mut Vec<u8>, keyword: &[u8], value: &[u8]) -> bool {
        if self.delete.iter().any(|pattern| pattern.matches(keyword)) {
            return false;
        }
        if !self.overrides.iter().any(|(other, _)| other == keyword) {
            push(records, keyword, value);
        }
        true
    }

    /// Adds the records that every extended header has.
    pub(super) fn finish(&self, records: &mut Vec<u8>) {
        for (keyword, value) in &self.overrides {
            push(records, keyword, value);
        }
    }

    /// Returns the records of the global header; empty if it is not needed.
    pub(super) fn global_records(&self) -> Vec<u8> {
        let mut records = Vec::new();
        for (keyword, value) in &self.globals {
            push(&mut records, keyword, value);
        }
        records
    }
}

fn is_protected(keyword: &[u8]) -> bool {
    PROTECTED.iter().any(|other| other.as_bytes() == keyword)
}

/// Returns the name of an extended header. `member` is the directory and the last part of the name of
/// its member.
pub(super) fn header_name(format: &[u8], member: Option<(&[u8], &[u8])>, number: u64) -> Vec<u8> {
    let (directory, leaf) = member.unwrap_or_default();
    let mut name = Vec::new();
    let mut rest = format;
    while let Some((byte, behind)) = rest.split_first() {
        rest = behind;
        match (byte, behind.split_first()) {
            (b'%', Some((letter, behind))) => {
                rest = behind;
                match letter {
                    b'%' => name.push(b'%'),
                    b'd' => name.extend_from_slice(directory),
                    b'f' => name.extend_from_slice(leaf),
                    b'p' => name.extend_from_slice(std::process::id().to_string().as_bytes()),
                    b'n' => name.extend_from_slice(number.to_string().as_bytes()),
                    other => name.extend_from_slice(&[b'%', *other]),
                }
            }
            _ => name.push(*byte),
        }
    }
    while name.last() == Some(&b'/') {
        name.pop();
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_formatted() {
        let member = Some((&b"a/b"[..], &b"c"[..]));
        assert_eq!(header_name(b"%d/Pax/%f%%%x", member, 0), b"a/b/Pax/c%%x");
        assert_eq!(header_name(b"/tmp/Head.%n/", None, 1), b"/tmp/Head.1");
    }

    #[test]
    fn what_tells_how_to_read_the_archive_stays() {
        let mut options = PaxOptions::default();
        assert!(!options.delete(b"GNU.*") && !options.set(b"GNU.sparse.size", b"1"));
        assert!(options.delete(b"?time") && options.set(b"user", b"x"));
        let mut records = Vec::new();
        assert!(!options.push(&mut records, b"atime", b"1"));
        assert!(options.push(&mut records, b"user", b"y"));
        assert!(records.is_empty());
        options.finish(&mut records);
        assert_eq!(records, b"9 user=x\n");
    }
}
