//! What a command line of `split` asks for, and GNU's messages for invalid values.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use haul_io::DataPolicy;
use haul_io::split::{Alphabet, Names};

use super::input::BUFFER_BYTES;
use super::numbers::{Units, chunks, positive, whole};
use super::output::Fatal;
use crate::escape::quote_word;

/// How it is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    Bytes(u64),
    Lines(u64),
    LineBytes(u64),
    ByteChunks(Option<u64>, u64),
    LineChunks(Option<u64>, u64),
    Turns(Option<u64>, u64),
}

/// What the options change.
pub(super) struct Settings {
    pub(super) how: Option<How>,
    /// What the old form of `-l` has said so far.
    digits: bool,
    pub(super) alphabet: Alphabet,
    start: Option<Vec<u8>>,
    suffix_length: u64,
    additional: Vec<u8>,
    pub(super) elide: bool,
    pub(super) filter: Option<OsString>,
    pub(super) separator: Option<u8>,
    pub(super) unbuffered: bool,
    pub(super) verbose: bool,
    pub(super) buffer_bytes: usize,
    pub(super) policy: DataPolicy,
}

impl Settings {
    pub(super) fn new() -> Settings {
        Settings {
            how: None,
            digits: false,
            alphabet: Alphabet::Letters,
            start: None,
            suffix_length: 0,
            additional: Vec::new(),
            elide: false,
            filter: None,
            separator: None,
            unbuffered: false,
            verbose: false,
            buffer_bytes: BUFFER_BYTES,
            policy: DataPolicy::of_run(),
        }
    }

    pub(super) fn set_additional(&mut self, suffix: OsString) -> Result<(), Fatal> {
        let suffix = suffix.into_vec();
        if suffix.contains(&b'/') {
            let shown = quote_word(&suffix);
            let text = format!("invalid suffix {shown}, contains directory separator");
            return Err(Fatal::usage(text));
        }
        self.additional = suffix;
        Ok(())
    }

    pub(super) fn cut_by_bytes(&mut self, bytes: &OsStr) -> Result<(), Fatal> {
        self.once(How::Bytes(0))?;
        self.how = Some(How::Bytes(positive(bytes, Units::Bytes, "invalid number of bytes")?));
        Ok(())
    }

    pub(super) fn cut_by_lines(&mut self, lines: &OsStr) -> Result<(), Fatal> {
        self.once(How::Lines(0))?;
        self.how = Some(How::Lines(positive(lines, Units::None, "invalid number of lines")?));
        Ok(())
    }

    pub(super) fn cut_by_line_bytes(&mut self, bytes: &OsStr) -> Result<(), Fatal> {
        self.once(How::LineBytes(0))?;
        self.how = Some(How::LineBytes(positive(bytes, Units::Bytes, "invalid number of lines")?));
        Ok(())
    }

    pub(super) fn cut_by_number(&mut self, chunks: &OsStr) -> Result<(), Fatal> {
        self.once(How::ByteChunks(None, 0))?;
        self.how = Some(number(chunks.as_bytes())?);
        Ok(())
    }

    pub(super) fn set_suffix_length(&mut self, length: &OsStr) -> Result<(), Fatal> {
        self.suffix_length = whole(length, Units::None, "invalid suffix length")?;
        Ok(())
    }

    pub(super) fn set_buffer_bytes(&mut self, bytes: &OsStr) -> Result<(), Fatal> {
        let bytes = positive(bytes, Units::Bytes, "invalid IO block size")?;
        // Enough for any use; a larger buffer cannot be allocated.
        self.buffer_bytes = usize::try_from(bytes).unwrap_or(BUFFER_BYTES).min(64 << 20);
        Ok(())
    }

    /// A run is cut in one way.
    fn once(&mut self, how: How) -> Result<(), Fatal> {
        if self.how.is_some() || self.digits {
            return Err(Fatal::usage("cannot split in more than one way".to_owned()));
        }
        self.how = Some(how);
        Ok(())
    }

    /// `-1000`: the last of several counts.
    pub(super) fn old_lines(&mut self, digits: &OsStr) -> Result<(), Fatal> {
        if !self.digits {
            self.once(How::Lines(0))?;
        }
        self.digits = true;
        let lines = digits.to_str().unwrap_or_default().parse::<i64>().unwrap_or(i64::MAX);
        self.how = Some(How::Lines(lines.unsigned_abs()));
        Ok(())
    }

    pub(super) fn suffix(
        &mut self,
        alphabet: Alphabet,
        start: Option<&OsStr>,
    ) -> Result<(), Fatal> {
        self.alphabet = alphabet;
        let Some(start) = start.map(OsStr::as_bytes) else { return Ok(()) };
        if !start.iter().all(|character| alphabet.characters().contains(character)) {
            let kind = if alphabet == Alphabet::Decimal { "numerical" } else { "hexadecimal" };
            return Err(Fatal::usage(format!(
                "{}: invalid start value for {kind} suffix",
                quote_word(start)
            )));
        }
        let zeros = start.iter().take_while(|character| **character == b'0').count();
        let zeros = zeros.min(start.len().saturating_sub(1));
        self.start = Some(start[zeros..].to_vec());
        Ok(())
    }

    pub(super) fn separate(&mut self, word: &[u8]) -> Result<(), Fatal> {
        let separator = match word {
            [] => return Err(Fatal::new("empty record separator".to_owned())),
            [one] => *one,
            b"\\0" => 0,
            several => {
                let shown = quote_word(several);
                return Err(Fatal::new(format!("multi-character separator {shown}")));
            }
        };
        if self.separator.is_some_and(|before| before != separator) {
            return Err(Fatal::new("multiple separator characters specified".to_owned()));
        }
        self.separator = Some(separator);
        Ok(())
    }

    /// Returns the suffix' length and whether it may grow.
    fn suffix_length(&self, how: How) -> Result<(u64, bool), Fatal> {
        const USUAL: u64 = 2;
        let (How::ByteChunks(_, count) | How::LineChunks(_, count) | How::Turns(_, count)) = how
        else {
            return Ok(match self.suffix_length {
                0 => (USUAL, self.start.is_none()),
                length => (length, false),
            });
        };
        let start = self.start.as_deref().and_then(|start| std::str::from_utf8(start).ok());
        let start = start.and_then(|start| start.parse::<u64>().ok()).unwrap_or(0);
        // A start beyond the count is a later one of several runs, whose names have one length.
        let mut last = count - 1 + if start < count { start } else { 0 };
        let mut needed = 1;
        let characters = self.alphabet.characters().len() as u64;
        while last >= characters {
            last /= characters;
            needed += 1;
        }
        match self.suffix_length {
            0 => Ok((needed.max(USUAL), false)),
            length if length < needed => {
                Err(Fatal::new(format!("the suffix length needs to be at least {needed}")))
            }
            length => Ok((length, false)),
        }
    }

    pub(super) fn names(&self, how: How, prefix: &[u8]) -> Result<Names, Fatal> {
        /// No file has a path of so many bytes (`PATH_MAX` of `include/uapi/linux/limits.h`), and a message
        /// that has the name can be read.
        const FILE_LENGTH_MAX: u64 = 4096;
        /// No command can have so long a variable (`MAX_ARG_STRLEN` of `include/uapi/linux/binfmts.h`).
        const VARIABLE_LENGTH_MAX: u64 = 128 << 10;
        let (length, widens) = self.suffix_length(how)?;
        if self.start.as_ref().is_some_and(|start| start.len() as u64 > length) {
            let text = "numerical suffix start value is too large for the suffix length";
            return Err(Fatal::usage(text.to_owned()));
        }
        let length_max = if self.filter.is_some() { VARIABLE_LENGTH_MAX } else { FILE_LENGTH_MAX };
        let length = usize::try_from(length.min(length_max)).unwrap_or(2);
        let names = Names::new(prefix, &self.additional, self.alphabet, length);
        Ok(match &self.start {
            Some(start) => names.starting_at(start),
            None if widens => names.widening(),
            None => names,
        })
    }
}

fn number(word: &[u8]) -> Result<How, Fatal> {
    let word = word.trim_ascii_start();
    if let Some(rest) = word.strip_prefix(b"r/") {
        return chunks(rest).map(|(nth, count)| How::Turns(nth, count));
    }
    if let Some(rest) = word.strip_prefix(b"l/") {
        return chunks(rest).map(|(nth, count)| How::LineChunks(nth, count));
    }
    chunks(word).map(|(nth, count)| How::ByteChunks(nth, count))
}
