//! Lists of names in files (`-T`): names, and options for the names that follow.

use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::os::unix::ffi::OsStringExt as _;

use super::quoting::named;
use super::warning::Warning;
use crate::ending::CommandError;
use crate::file_error::describe;
use crate::standard::opened;

/// What was wrong with a list.
#[derive(Clone, Debug)]
pub(super) struct Complaint {
    pub(super) text: String,
    /// The keyword of a warning; without one the run fails.
    pub(super) warning: Option<Warning>,
}

/// A line of a list.
pub(super) enum Entry {
    Name(Vec<u8>),
    /// The words of a line of options.
    Options(Vec<OsString>),
}

/// How a list is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct How {
    pub(super) ends_in_nul: bool,
    pub(super) is_verbatim: bool,
    pub(super) unquotes: bool,
}

/// Reads a list, and returns what is wrong with it, if anything is. Blocks.
pub(super) fn read(
    file: &OsStr,
    how: How,
) -> Result<(Vec<Entry>, Option<Complaint>), CommandError> {
    let bytes = whole(file)?;
    let has_nuls = !how.ends_in_nul && bytes.contains(&0);
    let complaint = has_nuls.then(|| Complaint {
        text: format!("{}: file name read contains nul character", named(file.as_encoded_bytes())),
        warning: Some(Warning::FilenameWithNuls),
    });
    let ends_in_nul = how.ends_in_nul || has_nuls;
    let mut entries = Vec::new();
    let mut lines = split(&bytes, if ends_in_nul { 0 } else { b'\n' });
    while let Some(line) = lines.next() {
        if line.is_empty() {
            continue;
        }
        let is_option = line.trim_ascii_start().starts_with(b"-") && line != b"-";
        if how.is_verbatim || has_nuls || !is_option {
            let quoted = how.unquotes && !ends_in_nul;
            entries.push(Entry::Name(if quoted { unquoted(line) } else { line.to_vec() }));
            continue;
        }
        let mut words = words(line);
        // The directory may be on a line of its own.
        if words.len() == 1 && matches!(line.trim_ascii(), b"-C" | b"--directory") {
            let next = lines.next().ok_or_else(|| {
                let text = "the last line is an option without its argument";
                CommandError::Plain(format!("{}: {text}", file.to_string_lossy()))
            })?;
            words.push(OsString::from_vec(next.to_vec()));
        }
        entries.push(Entry::Options(words));
    }
    Ok((entries, complaint))
}

/// Splits a line at spaces as a shell does: quotes and backslashes keep them.
pub(super) fn words(line: &[u8]) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = line.iter();
    while let Some(byte) = bytes.next() {
        match (quote, *byte) {
            (Some(open), byte) if byte == open => quote = None,
            (None, b'\'' | b'"') => {
                quote = Some(*byte);
                word.get_or_insert_default();
            }
            (None | Some(b'"'), b'\\') => word.get_or_insert_default().extend(bytes.next()),
            (None, b' ' | b'\t') => words.extend(word.take().map(OsString::from_vec)),
            (_, byte) => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word.map(OsString::from_vec));
    words
}

/// Reads the lines of a file.
pub(super) fn lines(file: &OsStr, end: u8) -> Result<Vec<Vec<u8>>, CommandError> {
    whole(file).map(|bytes| split(&bytes, end).map(<[u8]>::to_vec).collect())
}

fn split(bytes: &[u8], end: u8) -> impl Iterator<Item = &[u8]> {
    let bytes = bytes.strip_suffix(&[end]).unwrap_or(bytes);
    bytes.split(move |byte| *byte == end)
}

/// Reads a list of any length.
fn whole(file: &OsStr) -> Result<Vec<u8>, CommandError> {
    let failed = |error: &std::io::Error| {
        let name = super::quoting::named(file.as_encoded_bytes());
        CommandError::Plain(format!("{name}: Cannot open: {}", describe(error)))
    };
    let mut bytes = Vec::new();
    let mut file = opened(file.as_encoded_bytes()).map_err(|error| failed(&error))?;
    let read = file.read_to_end(&mut bytes);
    read.map_err(|error| failed(&error))?;
    Ok(bytes)
}

/// Replaces the escapes of C, as GNU tar reads names in lists.
pub(super) fn unquoted(line: &[u8]) -> Vec<u8> {
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
    fn words_are_split_as_by_a_shell() {
        let found = words(b" -C 'a b'c  --exclude=\"x y\" \\ d ");
        assert_eq!(found, ["-C", "a bc", "--exclude=x y", " d"].map(OsString::from));
    }
}
