//! `dd`'s operands: numbers with suffixes, lists of words, and what they come to.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use haul_io::record::{Amount, Conv, LARGEST, Order, Owner};
use haul_sys::errno_text;
use haul_sys::fs::OFlags;

use crate::escape::{quote, quote_word};
use crate::getopt::words_of;
use crate::page::Argument;

const CONVERSIONS: &[(&str, Conv)] = &[
    ("ascii", Conv::ASCII.with(Conv::UNBLOCK).with(Conv::TWO_BUFFERS)),
    ("ebcdic", Conv::EBCDIC.with(Conv::BLOCK).with(Conv::TWO_BUFFERS)),
    ("ibm", Conv::IBM.with(Conv::BLOCK).with(Conv::TWO_BUFFERS)),
    ("block", Conv::BLOCK.with(Conv::TWO_BUFFERS)),
    ("unblock", Conv::UNBLOCK.with(Conv::TWO_BUFFERS)),
    ("lcase", Conv::LCASE.with(Conv::TWO_BUFFERS)),
    ("ucase", Conv::UCASE.with(Conv::TWO_BUFFERS)),
    ("sparse", Conv::SPARSE),
    ("swab", Conv::SWAB.with(Conv::TWO_BUFFERS)),
    ("noerror", Conv::NOERROR),
    ("nocreat", Conv::NOCREAT),
    ("excl", Conv::EXCL),
    ("notrunc", Conv::NOTRUNC),
    ("sync", Conv::SYNC),
    ("fdatasync", Conv::FDATASYNC),
    ("fsync", Conv::FSYNC),
];

/// The words of `iflag=` and `oflag=`, and what each sets.
type Flag = (&'static str, fn(&mut Flags));

const FLAGS: &[Flag] = &[
    ("append", |flags| flags.open |= OFlags::APPEND),
    ("direct", |flags| flags.open |= OFlags::DIRECT),
    ("directory", |flags| flags.open |= OFlags::DIRECTORY),
    ("dsync", |flags| flags.open |= OFlags::DSYNC),
    ("noatime", |flags| flags.open |= OFlags::NOATIME),
    ("nocache", |flags| flags.nocache = true),
    ("noctty", |flags| flags.open |= OFlags::NOCTTY),
    ("nofollow", |flags| flags.open |= OFlags::NOFOLLOW),
    ("nonblock", |flags| flags.open |= OFlags::NONBLOCK),
    ("sync", |flags| flags.open |= OFlags::SYNC),
    ("fullblock", |flags| flags.fullblock = true),
    ("count_bytes", |flags| flags.count_bytes = true),
    ("skip_bytes", |flags| flags.skip_bytes = true),
    ("seek_bytes", |flags| flags.seek_bytes = true),
];

const STATUS: &[(&str, Status)] =
    &[("none", Status::None), ("noxfer", Status::NoTransfer), ("progress", Status::Progress)];

/// Returns what each operand can be, for completions.
pub(super) fn keys() -> Vec<(&'static str, Argument)> {
    let flags = || Argument::List(words_of(FLAGS));
    let mut keys = vec![("if", Argument::Files), ("of", Argument::Files)];
    keys.extend(
        ["bs", "ibs", "obs", "cbs", "count", "skip", "iseek", "seek", "oseek"]
            .map(|key| (key, Argument::Free)),
    );
    keys.extend([
        ("conv", Argument::List(words_of(CONVERSIONS))),
        ("iflag", flags()),
        ("oflag", flags()),
        ("status", Argument::Words(words_of(STATUS))),
    ]);
    keys
}

/// The values of `iflag=` and `oflag=`: flags of the open file, and those of dd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flags {
    pub(super) open: OFlags,
    pub(super) nocache: bool,
    pub(super) fullblock: bool,
    pub(super) count_bytes: bool,
    pub(super) skip_bytes: bool,
    pub(super) seek_bytes: bool,
}

impl Flags {
    const NONE: Flags = Flags {
        open: OFlags::empty(),
        nocache: false,
        fullblock: false,
        count_bytes: false,
        skip_bytes: false,
        seek_bytes: false,
    };

    /// Returns whether nothing is asked for that concerns how bytes are moved.
    pub(super) fn are_plain(&self) -> bool {
        let moving =
            OFlags::DIRECT | OFlags::DSYNC | OFlags::SYNC | OFlags::NONBLOCK | OFlags::APPEND;
        !self.nocache && !self.open.intersects(moving)
    }

    fn add(&mut self, word: &str) -> bool {
        match FLAGS.iter().find(|(name, _)| *name == word) {
            Some((_, set)) => set(self),
            None => return false,
        }
        true
    }
}

/// How much is printed at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    None,
    NoTransfer,
    Usual,
    Progress,
}

const BLOCK_BYTES: u64 = 512;

/// The request of a command line.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) input: Option<OsString>,
    pub(super) output: Option<OsString>,
    pub(super) ibs: u64,
    pub(super) obs: u64,
    pub(super) cbs: u64,
    pub(super) skip: Amount,
    pub(super) seek: Amount,
    pub(super) count: Amount,
    pub(super) conv: Conv,
    pub(super) iflags: Flags,
    pub(super) oflags: Flags,
    pub(super) status: Status,
    /// Whether a partial read is worth a warning.
    pub(super) warns: bool,
    /// Warnings about the operands themselves.
    pub(super) notes: Vec<String>,
}

impl Request {
    /// Returns how to process the records, without names and messages.
    pub(super) fn order(&self) -> Order {
        let (iflags, oflags) = (&self.iflags, &self.oflags);
        let is_named = self.input.is_some() && self.output.is_some();
        Order {
            ibs: self.ibs,
            obs: self.obs,
            cbs: self.cbs,
            skip: self.skip,
            seek: self.seek,
            count: self.count,
            conv: self.conv,
            is_full: iflags.fullblock,
            reads_direct: iflags.open.contains(OFlags::DIRECT),
            writes_direct: oflags.open.contains(OFlags::DIRECT),
            is_plain: iflags.are_plain() && oflags.are_plain(),
            warns: self.warns,
            owner: if is_named { Owner::Us } else { Owner::Others },
        }
    }
}

/// Why there is nothing to do: a message, and whether help is offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    Usage(String),
    Fatal(String),
}

struct Reading {
    request: Request,
    bs: u64,
    numbers: [Option<(u64, bool)>; 3],
}

/// Reads the operands.
pub(super) fn read(operands: &[OsString]) -> Result<Request, Wrong> {
    let request = Request {
        input: None,
        output: None,
        ibs: 0,
        obs: 0,
        cbs: 0,
        skip: Amount::default(),
        seek: Amount::default(),
        count: Amount::ALL,
        conv: Conv::default(),
        iflags: Flags::NONE,
        oflags: Flags::NONE,
        status: Status::Usual,
        warns: false,
        notes: Vec::new(),
    };
    let mut reading = Reading { request, bs: 0, numbers: [None; 3] };
    for operand in operands {
        reading.operand(operand)?;
    }
    reading.settle()
}

impl Reading {
    fn operand(&mut self, operand: &OsStr) -> Result<(), Wrong> {
        let bytes = operand.as_bytes();
        let unknown = || Wrong::Usage(format!("unrecognized operand {}", quote(bytes)));
        let at = bytes.iter().position(|byte| *byte == b'=').ok_or_else(unknown)?;
        let (name, value) = (bytes.get(..at).unwrap_or(b""), bytes.get(at + 1..).unwrap_or(b""));
        let request = &mut self.request;
        match name {
            b"if" => request.input = Some(OsStr::from_bytes(value).to_owned()),
            b"of" => request.output = Some(OsStr::from_bytes(value).to_owned()),
            b"conv" => {
                for word in words(value) {
                    let found = CONVERSIONS.iter().find(|(name, _)| name.as_bytes() == word);
                    let (_, conv) = found.ok_or_else(|| invalid("conversion", word))?;
                    request.conv = request.conv.with(*conv);
                }
            }
            b"iflag" => add_flags(&mut request.iflags, value, "input flag")?,
            b"oflag" => add_flags(&mut request.oflags, value, "output flag")?,
            b"status" => {
                for word in words(value) {
                    let found = STATUS.iter().find(|(name, _)| name.as_bytes() == word);
                    request.status = found.ok_or_else(|| invalid("status level", word))?.1;
                }
            }
            _ => return self.number(name, value).unwrap_or_else(|| Err(unknown())),
        }
        Ok(())
    }

    /// Reads an operand that has a number; `None` if there is none of that name.
    fn number(&mut self, name: &[u8], value: &[u8]) -> Option<Result<(), Wrong>> {
        // A buffer has one byte more than a record.
        let range = match name {
            b"ibs" | b"obs" | b"bs" => 1..=LARGEST - 1,
            b"cbs" => 1..=LARGEST,
            b"skip" | b"iseek" | b"seek" | b"oseek" | b"count" => 0..=LARGEST,
            _ => return None,
        };
        let number = match integer(value, &mut self.request.notes) {
            Ok(number) if range.contains(&number) => number,
            answer => {
                let is_large = answer.is_ok_and(|number| number > *range.end());
                let text = match answer {
                    _ if is_large => format!(": {}", errno_text(haul_sys::Errno::OVERFLOW)),
                    Err(Bad::Overflow) => {
                        format!(": {}", errno_text(haul_sys::Errno::OVERFLOW))
                    }
                    _ => String::new(),
                };
                let value = quote(value);
                return Some(Err(Wrong::Fatal(format!("invalid number: {value}{text}"))));
            }
        };
        let in_bytes = (number, value.contains(&b'B'));
        let [skip, seek, count] = &mut self.numbers;
        match name {
            b"ibs" => self.request.ibs = number,
            b"obs" => self.request.obs = number,
            b"bs" => self.bs = number,
            b"cbs" => self.request.cbs = number,
            b"skip" | b"iseek" => *skip = Some(in_bytes),
            b"seek" | b"oseek" => *seek = Some(in_bytes),
            _ => *count = Some(in_bytes),
        }
        Some(Ok(()))
    }

    fn settle(mut self) -> Result<Request, Wrong> {
        let request = &mut self.request;
        if self.bs > 0 {
            (request.ibs, request.obs) = (self.bs, self.bs);
        } else {
            request.conv = request.conv.with(Conv::TWO_BUFFERS);
        }
        for block in [&mut request.ibs, &mut request.obs] {
            if *block == 0 {
                *block = BLOCK_BYTES;
            }
        }
        if request.cbs == 0 {
            request.conv = request.conv.without(Conv::BLOCK.with(Conv::UNBLOCK));
        }
        if request.iflags.open.intersects(OFlags::DSYNC | OFlags::SYNC) {
            request.iflags.open |= OFlags::RSYNC;
        }
        if request.oflags.fullblock {
            return Err(invalid("output flag", b"fullblock"));
        }
        let [skip, seek, count] = self.numbers;
        let split = |number: Option<(u64, bool)>, flag: bool, block: u64, none: Amount| match number
        {
            None => none,
            Some((number, in_bytes)) if in_bytes || flag => {
                Amount { records: number / block, bytes: number % block }
            }
            Some((records, _)) => Amount { records, bytes: 0 },
        };
        let nothing = Amount::default();
        request.skip = split(skip, request.iflags.skip_bytes, request.ibs, nothing);
        request.seek = split(seek, request.oflags.seek_bytes, request.obs, nothing);
        request.count = split(count, request.iflags.count_bytes, request.ibs, Amount::ALL);
        let is_direct = (request.iflags.open | request.oflags.open).contains(OFlags::DIRECT);
        let is_counted = request.count.records > 0 && request.count.records < LARGEST;
        request.warns = !request.conv.any(Conv::TWO_BUFFERS)
            && !request.iflags.fullblock
            && (request.skip.records > 0 || is_counted || is_direct);
        check_together(request)?;
        Ok(self.request)
    }
}

fn check_together(request: &Request) -> Result<(), Wrong> {
    let sets = [
        (Conv::ASCII.with(Conv::EBCDIC).with(Conv::IBM), "any two of {ascii,ebcdic,ibm}"),
        (Conv::BLOCK.with(Conv::UNBLOCK), "block and unblock"),
        (Conv::LCASE.with(Conv::UCASE), "lcase and ucase"),
        (Conv::EXCL.with(Conv::NOCREAT), "excl and nocreat"),
    ];
    for (set, words) in sets {
        if request.conv.count(set) > 1 {
            return Err(Wrong::Fatal(format!("cannot combine {words}")));
        }
    }
    for flags in [request.iflags, request.oflags] {
        if flags.nocache && flags.open.contains(OFlags::DIRECT) {
            return Err(Wrong::Fatal("cannot combine direct and nocache".to_owned()));
        }
    }
    Ok(())
}

fn words(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',')
}

fn invalid(what: &str, word: &[u8]) -> Wrong {
    Wrong::Usage(format!("invalid {what}: {}", quote_word(word)))
}

fn add_flags(flags: &mut Flags, value: &[u8], what: &str) -> Result<(), Wrong> {
    for word in words(value) {
        let known = std::str::from_utf8(word).is_ok_and(|word| flags.add(word));
        if !known {
            return Err(invalid(what, word));
        }
    }
    Ok(())
}

/// Why a number is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bad {
    Invalid,
    Overflow,
}

/// Reads a product of numbers with suffixes: `2x512`, `1MiB`, `3kB`, `7B`.
fn integer(text: &[u8], notes: &mut Vec<String>) -> Result<u64, Bad> {
    let (first, rest) = factor(text)?;
    let Some(rest) = rest else { return first.ok_or(Bad::Overflow) };
    let second = match integer(rest, notes) {
        Ok(number) => Some(number),
        Err(Bad::Overflow) => None,
        Err(Bad::Invalid) => return Err(Bad::Invalid),
    };
    let product = match (first, second) {
        (Some(0), _) | (_, Some(0)) => Some(0),
        (Some(first), Some(second)) => first.checked_mul(second).filter(|all| *all <= LARGEST),
        _ => None,
    };
    if product == Some(0) && text.starts_with(b"0x") {
        notes.push(format!(
            "warning: {} is a zero multiplier; use {} if that is intended",
            quote_word(b"0x"),
            quote_word(b"00x")
        ));
    }
    product.ok_or(Bad::Overflow)
}

/// A number, `None` if it is too large, and what stands behind an `x`.
type Factor<'a> = (Option<u64>, Option<&'a [u8]>);

fn factor(text: &[u8]) -> Result<Factor<'_>, Bad> {
    // As strtoumax(3): white space and a sign may precede digits.
    let blanks = text.iter().take_while(|byte| matches!(byte, b' ' | 0x09..=0x0d)).count();
    let digits = text.get(blanks..).unwrap_or_default();
    let digits = digits.strip_prefix(b"+").unwrap_or(digits);
    let text = if digits.first().is_some_and(u8::is_ascii_digit) { digits } else { text };
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, suffix) = text.split_at_checked(digits).ok_or(Bad::Invalid)?;
    // A suffix alone counts once, so `xM` is M.
    let is_alone = digits == 0;
    if is_alone && !suffix.first().is_some_and(|letter| b"bcwkKMGTPEZYRQ".contains(letter)) {
        return Err(Bad::Invalid);
    }
    let number = number
        .iter()
        .try_fold(0_u64, |sum, digit| sum.checked_mul(10)?.checked_add(u64::from(digit - b'0')));
    let number = if is_alone { Some(1) } else { number };
    let end = suffix.iter().position(|byte| *byte == b'x').unwrap_or(suffix.len());
    let (suffix, rest) = match (suffix.get(..end), suffix.get(end + 1..)) {
        (Some(suffix), Some(rest)) => (suffix, Some(rest)),
        _ => (suffix, None),
    };
    let factor = multiplier(suffix)?;
    let number = match (number, factor) {
        (Some(0), _) => Some(0),
        (Some(number), Some(factor)) => number.checked_mul(factor).filter(|all| *all <= LARGEST),
        _ => None,
    };
    Ok((number, rest))
}

/// Returns what a suffix multiplies by, `None` if that is more than 64 bits have.
fn multiplier(suffix: &[u8]) -> Result<Option<u64>, Bad> {
    const LETTERS: &[u8] = b"KMGTPEZYRQ";
    let (first, rest) = match suffix {
        [] | b"B" | b"c" => return Ok(Some(1)),
        b"w" => return Ok(Some(2)),
        b"b" => return Ok(Some(512)),
        [first, rest @ ..] => (first, rest),
    };
    let letter = if *first == b'k' { b'K' } else { *first };
    let power = LETTERS.iter().position(|known| *known == letter).ok_or(Bad::Invalid)?;
    let power = u32::try_from(power + 1).map_err(|_| Bad::Invalid)?;
    match rest {
        b"" | b"iB" => Ok(1024_u64.checked_pow(power)),
        b"B" => Ok(1000_u64.checked_pow(power)),
        _ => Err(Bad::Invalid),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Result<u64, Bad> {
        integer(text.as_bytes(), &mut Vec::new())
    }

    #[test]
    fn numbers_are_products_with_suffixes() {
        assert_eq!(number("2x3w"), Ok(12));
        assert_eq!(number("1kB"), Ok(1000));
        assert_eq!(number("1kiB"), Ok(1024));
        assert_eq!(number("8M"), Ok(8 << 20));
        assert_eq!(number("5B"), Ok(5));
        assert_eq!(number("2b"), Ok(1024));
        assert_eq!(number("99999999999999999999"), Err(Bad::Overflow));
        assert_eq!(number("0x99999999999999999999"), Ok(0));
        assert_eq!(number("1Y"), Err(Bad::Overflow));
        assert_eq!(number("0Q"), Ok(0));
        assert_eq!(number("3xM"), Ok(3 << 20));
        assert_eq!(number("k"), Ok(1024));
        assert_eq!(number(" 2"), Ok(2));
        assert_eq!(number("\t +2x\n3"), Ok(6));
        for wrong in [
            " ", "+", " k", "+k", "2 ", "++2", "+ 2", "", "x1", "1x", "1xx1", "1KK", "-1", "1BB",
            "1q",
        ] {
            assert_eq!(number(wrong), Err(Bad::Invalid), "{wrong}");
        }
    }

    fn of(words: &[&str]) -> Result<Request, Wrong> {
        read(&words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn amounts_may_be_in_bytes() {
        let request = of(&["bs=10", "skip=25B", "count=3", "oflag=seek_bytes", "seek=7"]).unwrap();
        assert_eq!(request.skip, Amount { records: 2, bytes: 5 });
        assert_eq!(request.seek, Amount { records: 0, bytes: 7 });
        assert_eq!(request.count, Amount { records: 3, bytes: 0 });
        assert!(request.warns);
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        assert_eq!(
            of(&["conv=lcase,ucase"]).unwrap_err(),
            Wrong::Fatal("cannot combine lcase and ucase".to_owned())
        );
        assert!(matches!(of(&["oflag=fullblock"]), Err(Wrong::Usage(_))));
        assert!(matches!(of(&["oflag=direct,nocache"]), Err(Wrong::Fatal(_))));
        assert!(matches!(of(&["conv=nothing"]), Err(Wrong::Usage(_))));
        assert!(matches!(of(&["bs=0"]), Err(Wrong::Fatal(_))));
        let largest = i64::MAX.to_string();
        for name in ["bs", "ibs", "obs"] {
            let text =
                format!("invalid number: '{largest}': {}", errno_text(haul_sys::Errno::OVERFLOW));
            assert_eq!(of(&[&format!("{name}={largest}")]).unwrap_err(), Wrong::Fatal(text));
            assert!(of(&[&format!("{name}={}", i64::MAX - 1)]).is_ok());
        }
        assert!(of(&[&format!("count={largest}")]).is_ok());
        assert!(matches!(of(&["file"]), Err(Wrong::Usage(_))));
    }
}
