//! Reading lines of check files, in every form that GNU's programs read.

use haul_io::digest::Algorithm;

use super::base64;
use crate::sum_file::unescape;

/// A digest as a check file has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    Hex(Vec<u8>),
    Base64(Vec<u8>),
}

impl Expected {
    /// Returns whether it is that of these bytes.
    pub(super) fn is(&self, digest: &[u8]) -> bool {
        match self {
            Expected::Hex(bytes) => bytes == digest,
            Expected::Base64(text) => *text == base64::encode(digest),
        }
    }
}

/// A line that was understood.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) algorithm: &'static Algorithm,
    /// The digest's length.
    pub(super) bytes: usize,
    pub(super) expected: Expected,
    pub(super) name: Vec<u8>,
}

/// Whether lines are as BSD's programs write them in reverse, with one space: what the first line
/// was, all have to be, lest a name that begins with a space be taken for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reversed {
    Unknown,
    Yes,
    No,
}

/// What is known while a check file is read.
#[derive(Debug)]
pub(super) struct Reader {
    /// The algorithms whose tags are understood.
    tags: Vec<&'static Algorithm>,
    /// That of lines without a tag, if there may be such.
    untagged: Option<&'static Algorithm>,
    /// Whether digests may be in base64.
    base64: bool,
    /// What the last line was about, for messages.
    pub(super) current: &'static str,
    reversed: Reversed,
}

impl Reader {
    pub(super) fn new(
        tags: Vec<&'static Algorithm>,
        untagged: Option<&'static Algorithm>,
        base64: bool,
        current: &'static str,
    ) -> Reader {
        Reader { tags, untagged, base64, current, reversed: Reversed::Unknown }
    }

    /// Reads a line without its end.
    pub(super) fn read(&mut self, line: &[u8]) -> Option<Line> {
        let line = line.trim_ascii_start_blanks();
        let (escapes, text) = match line {
            [b'\\', rest @ ..] => (true, rest),
            all => (false, all),
        };
        if let Some(algorithm) = self.tag(text) {
            let behind = text.get(algorithm.tag.len()..)?;
            self.current = algorithm.tag;
            return self.tagged(algorithm, behind, escapes);
        }
        self.plain(self.untagged?, text, escapes)
    }

    /// Finds the algorithm whose tag a line begins with.
    fn tag(&self, text: &[u8]) -> Option<&'static Algorithm> {
        let ends = |algorithm: &&&'static Algorithm| {
            text.strip_prefix(algorithm.tag.as_bytes())
                .is_some_and(|behind| matches!(behind.first(), Some(b' ' | b'\t' | b'-' | b'(')))
        };
        self.tags.iter().find(ends).copied()
    }

    fn tagged(&self, algorithm: &'static Algorithm, behind: &[u8], escapes: bool) -> Option<Line> {
        let mut rest = behind;
        let mut bytes = algorithm.bytes;
        if let [b'-', digits @ ..] = rest {
            let count = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let (digits, after) = digits.split_at(count);
            let bits: usize = std::str::from_utf8(digits).ok()?.parse().ok()?;
            if bits == 0 || !bits.is_multiple_of(8) || bits / 8 > algorithm.bytes {
                return None;
            }
            bytes = bits / 8;
            rest = after;
        }
        rest = rest.strip_prefix(b" ").unwrap_or(rest);
        rest = rest.strip_prefix(b"(")?;
        let close = rest.iter().rposition(|byte| *byte == b')')?;
        let (name, after) = rest.split_at(close);
        let after = after.get(1..)?.trim_ascii_start_blanks();
        let digits = after.strip_prefix(b"=")?.trim_ascii_start_blanks();
        let expected = self.digits(digits, bytes)?;
        Some(Line { algorithm, bytes, expected, name: plain_name(name, escapes)? })
    }

    fn plain(&mut self, algorithm: &'static Algorithm, text: &[u8], escapes: bool) -> Option<Line> {
        let (algorithm, text) = prefixed(&self.tags, text).unwrap_or((algorithm, text));
        let blank = text.iter().position(|byte| matches!(byte, b' ' | b'\t'))?;
        let (digits, behind) = text.split_at(blank);
        let mut name = behind.get(1..)?;
        let bytes = match algorithm.length {
            haul_io::digest::Length::Fixed => algorithm.bytes,
            haul_io::digest::Length::Chosen => self.chosen_bytes(algorithm, digits)?,
        };
        let expected = self.digits(digits, bytes)?;
        if name.is_empty() {
            return None;
        }
        if name.len() == 1 || !matches!(name.first(), Some(b' ' | b'*')) {
            if self.reversed == Reversed::No {
                return None;
            }
            self.reversed = Reversed::Yes;
        } else if self.reversed != Reversed::Yes {
            self.reversed = Reversed::No;
            name = name.get(1..)?;
        }
        Some(Line { algorithm, bytes, expected, name: plain_name(name, escapes)? })
    }

    /// The length is that of the digits unless the line has one.
    fn chosen_bytes(&self, algorithm: &'static Algorithm, digits: &[u8]) -> Option<usize> {
        let hex = digits.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let fits = hex >= 2 && hex.is_multiple_of(2) && hex / 2 <= algorithm.bytes;
        fits.then_some(hex / 2)
    }

    fn digits(&self, text: &[u8], bytes: usize) -> Option<Expected> {
        if self.base64 && text.len() == base64::length(bytes) && text.len() != 2 * bytes {
            let padding = (3 - bytes % 3) % 3;
            let (letters, end) = text.split_at(text.len() - padding);
            let is_whole = letters.iter().all(|byte| base64::is_letter(*byte))
                && end.iter().all(|byte| *byte == b'=');
            return is_whole.then(|| Expected::Base64(text.to_vec()));
        }
        if text.len() != 2 * bytes {
            return None;
        }
        let value =
            |byte: u8| char::from(byte).to_digit(16).and_then(|value| u8::try_from(value).ok());
        text.chunks(2)
            .map(|pair| match pair {
                [high, low] => Some(value(*high)? << 4 | value(*low)?),
                _ => None,
            })
            .collect::<Option<Vec<u8>>>()
            .map(Expected::Hex)
    }
}

/// Finds an algorithm that marks its digits, and returns them without the mark.
fn prefixed<'t>(
    tags: &[&'static Algorithm],
    text: &'t [u8],
) -> Option<(&'static Algorithm, &'t [u8])> {
    tags.iter()
        .filter(|algorithm| !algorithm.prefix.is_empty())
        .find_map(|algorithm| Some((*algorithm, text.strip_prefix(algorithm.prefix.as_bytes())?)))
}

/// Undoes the escapes of a name; `None` if it has others.
fn plain_name(name: &[u8], escapes: bool) -> Option<Vec<u8>> {
    if !escapes {
        // A name ends at a NUL, as every name does.
        return Some(name.split(|byte| *byte == 0).next().unwrap_or_default().to_vec());
    }
    if name.contains(&0) { None } else { unescape(name) }
}

/// Blanks are spaces and tabs, and nothing else.
trait Blanks {
    fn trim_ascii_start_blanks(&self) -> &[u8];
}

impl Blanks for [u8] {
    fn trim_ascii_start_blanks(&self) -> &[u8] {
        let count = self.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        &self[count..]
    }
}
