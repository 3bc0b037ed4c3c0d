//! One header block of 512 bytes: its fields, its checksum, and which format wrote it.
//!
//! Layouts: POSIX.1-2017 `pax`, "ustar Interchange Format"; GNU tar's manual, "Basic Tar Format".

use std::ops::Range;

use super::number::{parse, parse_unsigned, write_octal};
use super::refusal::Refusal;

/// Bytes of a block.
pub const BLOCK_BYTES: usize = 512;

/// One block.
pub(super) type Block = [u8; BLOCK_BYTES];

/// The places of the fields.
pub(super) mod field {
    use std::ops::Range;

    pub(in super::super) const NAME: Range<usize> = 0..100;
    pub(in super::super) const MODE: Range<usize> = 100..108;
    pub(in super::super) const UID: Range<usize> = 108..116;
    pub(in super::super) const GID: Range<usize> = 116..124;
    pub(in super::super) const SIZE: Range<usize> = 124..136;
    pub(in super::super) const MTIME: Range<usize> = 136..148;
    pub(in super::super) const CHECKSUM: Range<usize> = 148..156;
    pub(in super::super) const TYPE: usize = 156;
    pub(in super::super) const LINK: Range<usize> = 157..257;
    pub(in super::super) const MAGIC: Range<usize> = 257..265;
    pub(in super::super) const USER: Range<usize> = 265..297;
    pub(in super::super) const GROUP: Range<usize> = 297..329;
    pub(in super::super) const MAJOR: Range<usize> = 329..337;
    pub(in super::super) const MINOR: Range<usize> = 337..345;
    pub(in super::super) const PREFIX: Range<usize> = 345..500;
    /// star's prefix is shorter; the times follow it.
    pub(super) const STAR_PREFIX: Range<usize> = 345..476;
    /// Where star's older versions have the flag that blocks continue a sparse map, and four regions.
    pub(in super::super) const STAR_EXTENDED: usize = 355;
    pub(in super::super) const STAR_SPARSE: Range<usize> = 356..452;
    pub(in super::super) const GNU_ATIME: Range<usize> = 345..357;
    /// Four regions of a sparse file, of 24 bytes each.
    pub(in super::super) const GNU_SPARSE: Range<usize> = 386..482;
    pub(in super::super) const GNU_EXTENDED: usize = 482;
    pub(in super::super) const GNU_REAL_SIZE: Range<usize> = 483..495;
}

/// Which program's layout a header has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Without a magic: names of 100 bytes, no names of owners.
    V7,
    /// POSIX ustar, also under extended headers.
    Ustar,
    /// The layout of GNU tar before POSIX.
    Gnu,
    /// The same, by GNU tar up to 1.12: the mode has the bits of the kind of file, too.
    OldGnu,
}

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Checked {
    /// All bytes are 0.
    Zero,
    /// The checksum is right.
    Header,
    /// It is not.
    Invalid,
}

/// Compares the checksum. Some old programs added the bytes up as signed numbers.
pub(super) fn check(block: &Block) -> Checked {
    if block.iter().all(|byte| *byte == 0) {
        return Checked::Zero;
    }
    let own = bytes(block, field::CHECKSUM);
    match parse(own) {
        Ok(told) if told == sum(block, i32::from) => Checked::Header,
        Ok(told) if told == sum(block, |byte| i32::from(byte.cast_signed())) => Checked::Header,
        _ => Checked::Invalid,
    }
}

/// Adds up a block, in which the checksum itself counts as spaces.
fn sum(block: &Block, number: impl Fn(u8) -> i32) -> i64 {
    let add = |bytes: &[u8]| bytes.iter().map(|byte| number(*byte)).sum::<i32>();
    i64::from(add(block) - add(bytes(block, field::CHECKSUM)) + add(&[b' '; 8]))
}

/// Writes the checksum: six digits, a NUL and a space.
pub(super) fn seal(block: &mut Block) {
    if let Some(place) = block.get_mut(field::CHECKSUM) {
        place.fill(b' ');
    }
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    // Six digits and a NUL; the space behind them stays.
    if let Some(place) = block.get_mut(148..155) {
        write_octal(place, i64::from(sum));
    }
}

/// Returns a field's bytes.
pub(super) fn bytes(block: &Block, range: Range<usize>) -> &[u8] {
    block.get(range).unwrap_or_default()
}

/// Returns a field's text up to its NUL.
pub(super) fn text(block: &Block, range: Range<usize>) -> &[u8] {
    let bytes = bytes(block, range);
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// A block with a valid checksum. A number is parsed when its meaning is needed: a field without a meaning is
/// no reason to refuse a member.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header<'b> {
    block: &'b Block,
    pub(super) layout: Layout,
    pub(super) type_flag: u8,
}

impl<'b> Header<'b> {
    /// Reads the layout and the kind.
    pub(super) fn of(block: &'b Block) -> Header<'b> {
        let layout = match bytes(block, field::MAGIC) {
            [b'u', b's', b't', b'a', b'r', 0, ..] => Layout::Ustar,
            b"ustar  \0" => match parse_unsigned(bytes(block, field::MODE)) {
                Ok(mode) if mode & !0o7777 != 0 => Layout::OldGnu,
                _ => Layout::Gnu,
            },
            _ => Layout::V7,
        };
        Header { block, layout, type_flag: block[field::TYPE] }
    }

    /// Returns whether a member is another one for readers that look at five bytes of the magic alone: they find the
    /// numbers of a device and a prefix of the name behind them.
    pub(super) fn depends_on_magic(self) -> bool {
        let is_unknown =
            self.layout == Layout::V7 && bytes(self.block, field::MAGIC).starts_with(b"ustar");
        let is_device = matches!(self.type_flag, b'3' | b'4');
        is_unknown && (is_device || !text(self.block, field::PREFIX).is_empty())
    }

    /// Returns whether star wrote the header.
    pub(super) fn is_star(self) -> bool {
        self.layout == Layout::Ustar && is_star(self.block)
    }

    fn number(self, range: Range<usize>) -> Result<u64, Refusal> {
        parse_unsigned(bytes(self.block, range))
    }

    fn small(self, range: Range<usize>) -> Result<u32, Refusal> {
        self.number(range).and_then(low_32)
    }

    /// Returns the text of a field that V7 has not.
    fn named(self, range: Range<usize>) -> &'b [u8] {
        if self.layout == Layout::V7 { b"" } else { text(self.block, range) }
    }

    /// Returns the name with the prefix of its layout.
    pub(super) fn name(self) -> Vec<u8> {
        let name = text(self.block, field::NAME);
        let prefix = match self.layout {
            Layout::Ustar if self.is_star() => text(self.block, field::STAR_PREFIX),
            Layout::Ustar => text(self.block, field::PREFIX),
            Layout::V7 | Layout::Gnu | Layout::OldGnu => b"",
        };
        if prefix.is_empty() { name.to_vec() } else { [prefix, b"/", name].concat() }
    }

    /// Returns the target of a link.
    pub(super) fn link(self) -> Vec<u8> {
        text(self.block, field::LINK).to_vec()
    }

    /// Returns the bytes of data that the header claims.
    pub(super) fn size(self) -> Result<u64, Refusal> {
        self.number(field::SIZE)
    }

    /// Returns the twelve permission bits.
    pub(super) fn mode(self) -> Result<u32, Refusal> {
        Ok(self.small(field::MODE)? & 0o7777)
    }

    /// Returns the owner's number.
    pub(super) fn uid(self) -> Result<u64, Refusal> {
        self.number(field::UID)
    }

    /// Returns the group's number.
    pub(super) fn gid(self) -> Result<u64, Refusal> {
        self.number(field::GID)
    }

    /// Returns the seconds of the last change.
    pub(super) fn mtime(self) -> Result<i64, Refusal> {
        parse(bytes(self.block, field::MTIME))
    }

    /// Returns the seconds of the last access of GNU's layouts; 0 is none.
    pub(super) fn atime(self) -> Result<i64, Refusal> {
        match self.layout {
            Layout::Gnu | Layout::OldGnu => parse(bytes(self.block, field::GNU_ATIME)),
            Layout::Ustar | Layout::V7 => Ok(0),
        }
    }

    /// Returns the owner's name.
    pub(super) fn user(self) -> Vec<u8> {
        self.named(field::USER).to_vec()
    }

    /// Returns the group's name.
    pub(super) fn group(self) -> Vec<u8> {
        self.named(field::GROUP).to_vec()
    }

    /// Returns the numbers of a device.
    pub(super) fn device(self) -> Result<(u32, u32), Refusal> {
        match self.layout {
            Layout::V7 => Ok((0, 0)),
            _ => Ok((self.small(field::MAJOR)?, self.small(field::MINOR)?)),
        }
    }
}

fn low_32(number: u64) -> Result<u32, Refusal> {
    u32::try_from(number).map_err(|_| Refusal::NumberTooLarge)
}

/// Tells star's headers, which have times where the end of the prefix would be: GNU tar's test.
fn is_star(block: &Block) -> bool {
    let is_time = |at: usize| match block.get(at..at + 12) {
        Some([first, .., last]) => (b'0'..=b'7').contains(first) && *last == b' ',
        _ => false,
    };
    block.get(475) == Some(&0) && is_time(476) && is_time(488)
}

/// Appends zeros up to a whole block.
pub(super) fn pad(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(BLOCK_BYTES), 0);
}

/// Returns the directory and the last part of a name; the directory is `.` if the name has none.
pub(super) fn parts(name: &[u8]) -> (&[u8], &[u8]) {
    let mut path = name;
    while let [rest @ .., b'/'] = path {
        path = rest;
    }
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => {
            (path.get(..slash).unwrap_or_default(), path.get(slash + 1..).unwrap_or_default())
        }
        None => (&b"."[..], path),
    }
}

/// Returns a name in a directory beside a file: `DIR`, the name of that directory between slashes, and
/// `FILE`.
pub(super) fn beside(name: &[u8], directory: &[u8]) -> Vec<u8> {
    let (parent, leaf) = parts(name);
    [parent, directory, leaf].concat()
}
