//! Conversions of bytes: character sets, cases, swapped pairs, records of fixed length.

use super::order::Conv;

/// From ASCII to EBCDIC, as POSIX has it. Every value is there once.
#[rustfmt::skip]
const ASCII_TO_EBCDIC: [u8; 256] = [
    0x00, 0x01, 0x02, 0x03, 0x37, 0x2d, 0x2e, 0x2f, 0x16, 0x05, 0x25, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f,
    0x10, 0x11, 0x12, 0x13, 0x3c, 0x3d, 0x32, 0x26, 0x18, 0x19, 0x3f, 0x27, 0x1c, 0x1d, 0x1e, 0x1f,
    0x40, 0x5a, 0x7f, 0x7b, 0x5b, 0x6c, 0x50, 0x7d, 0x4d, 0x5d, 0x5c, 0x4e, 0x6b, 0x60, 0x4b, 0x61,
    0xf0, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0x7a, 0x5e, 0x4c, 0x7e, 0x6e, 0x6f,
    0x7c, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xd1, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6,
    0xd7, 0xd8, 0xd9, 0xe2, 0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8, 0xe9, 0xad, 0xe0, 0xbd, 0x9a, 0x6d,
    0x79, 0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x91, 0x92, 0x93, 0x94, 0x95, 0x96,
    0x97, 0x98, 0x99, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xc0, 0x4f, 0xd0, 0x5f, 0x07,
    0x20, 0x21, 0x22, 0x23, 0x24, 0x15, 0x06, 0x17, 0x28, 0x29, 0x2a, 0x2b, 0x2c, 0x09, 0x0a, 0x1b,
    0x30, 0x31, 0x1a, 0x33, 0x34, 0x35, 0x36, 0x08, 0x38, 0x39, 0x3a, 0x3b, 0x04, 0x14, 0x3e, 0xe1,
    0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49, 0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57,
    0x58, 0x59, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x70, 0x71, 0x72, 0x73, 0x74, 0x75,
    0x76, 0x77, 0x78, 0x80, 0x8a, 0x8b, 0x8c, 0x8d, 0x8e, 0x8f, 0x90, 0x6a, 0x9b, 0x9c, 0x9d, 0x9e,
    0x9f, 0xa0, 0xaa, 0xab, 0xac, 0x4a, 0xae, 0xaf, 0xb0, 0xb1, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7,
    0xb8, 0xb9, 0xba, 0xbb, 0xbc, 0xa1, 0xbe, 0xbf, 0xca, 0xcb, 0xcc, 0xcd, 0xce, 0xcf, 0xda, 0xdb,
    0xdc, 0xdd, 0xde, 0xdf, 0xea, 0xeb, 0xec, 0xed, 0xee, 0xef, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff,
];

/// Where IBM's table, as POSIX has it, differs.
const IBM: [(u8, u8); 5] = [(0x5e, 0x5f), (0x7e, 0xa1), (0xcb, 0x9a), (0xd5, 0xad), (0xe5, 0xbd)];

/// What bytes become, one by one and in records.
#[derive(Debug)]
pub(super) struct Converter {
    table: Option<[u8; 256]>,
    newline: u8,
    space: u8,
    cbs: u64,
    records: Records,
    swaps: bool,
    /// A byte that waits for the other one of its pair.
    saved: Option<u8>,
    column: u64,
    pending_spaces: u64,
    /// Records that were longer than they may be.
    pub(super) truncated: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Records {
    AsTheyAre,
    Block,
    Unblock,
}

impl Converter {
    pub(super) fn new(conv: Conv, cbs: u64) -> Converter {
        let table = table(conv);
        let of = |byte: u8| table.map_or(byte, |_| to_other(conv, byte));
        Converter {
            newline: of(b'\n'),
            space: of(b' '),
            table,
            cbs,
            records: if conv.any(Conv::BLOCK) {
                Records::Block
            } else if conv.any(Conv::UNBLOCK) {
                Records::Unblock
            } else {
                Records::AsTheyAre
            },
            swaps: conv.any(Conv::SWAB),
            saved: None,
            column: 0,
            pending_spaces: 0,
            truncated: 0,
        }
    }

    /// Tells whether bytes stay what they are.
    pub(super) fn is_idle(&self) -> bool {
        self.table.is_none() && !self.swaps && self.records == Records::AsTheyAre
    }

    /// Converts the next bytes.
    pub(super) fn feed(&mut self, bytes: &[u8], put: &mut Vec<u8>) {
        let translated: Vec<u8>;
        let mut bytes = bytes;
        if let Some(table) = &self.table {
            let of = |byte: &u8| table.get(usize::from(*byte)).copied().unwrap_or(*byte);
            translated = bytes.iter().map(of).collect();
            bytes = &translated;
        }
        let swapped: Vec<u8>;
        if self.swaps {
            swapped = self.swap(bytes);
            bytes = &swapped;
        }
        self.lay_out(bytes, put);
    }

    /// Gives out what waited for more.
    pub(super) fn finish(&mut self, put: &mut Vec<u8>) {
        if let Some(saved) = self.saved.take() {
            self.lay_out(&[saved], put);
        }
        match self.records {
            Records::Block if self.column > 0 => self.pad(put),
            Records::Unblock if self.column > 0 => put.push(self.newline),
            _ => {}
        }
    }

    fn swap(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut swapped = Vec::with_capacity(bytes.len() + 1);
        for byte in bytes {
            match self.saved.take() {
                Some(before) => swapped.extend_from_slice(&[*byte, before]),
                None => self.saved = Some(*byte),
            }
        }
        swapped
    }

    fn lay_out(&mut self, bytes: &[u8], put: &mut Vec<u8>) {
        match self.records {
            Records::AsTheyAre => put.extend_from_slice(bytes),
            Records::Block => bytes.iter().for_each(|byte| self.block(*byte, put)),
            Records::Unblock => bytes.iter().for_each(|byte| self.unblock(*byte, put)),
        }
    }

    fn pad(&self, put: &mut Vec<u8>) {
        for _ in self.column..self.cbs {
            put.push(self.space);
        }
    }

    fn block(&mut self, byte: u8, put: &mut Vec<u8>) {
        if byte == self.newline {
            self.pad(put);
            self.column = 0;
            return;
        }
        if self.column == self.cbs {
            self.truncated += 1;
        } else if self.column < self.cbs {
            put.push(byte);
        }
        self.column += 1;
    }

    fn unblock(&mut self, byte: u8, put: &mut Vec<u8>) {
        if self.column >= self.cbs {
            self.column = 0;
            self.pending_spaces = 0;
            put.push(self.newline);
        }
        self.column += 1;
        if byte == self.space {
            self.pending_spaces += 1;
            return;
        }
        for _ in 0..std::mem::take(&mut self.pending_spaces) {
            put.push(self.space);
        }
        put.push(byte);
    }
}

fn to_other(conv: Conv, byte: u8) -> u8 {
    if !conv.any(Conv::EBCDIC.with(Conv::IBM)) {
        return byte;
    }
    if conv.any(Conv::IBM)
        && let Some((_, ibm)) = IBM.iter().find(|(ascii, _)| *ascii == byte)
    {
        return *ibm;
    }
    ASCII_TO_EBCDIC.get(usize::from(byte)).copied().unwrap_or(byte)
}

fn to_ascii(byte: u8) -> u8 {
    let found = ASCII_TO_EBCDIC.iter().position(|ebcdic| *ebcdic == byte);
    found.and_then(|ascii| u8::try_from(ascii).ok()).unwrap_or(byte)
}

/// Builds the table of all translations, in their order: from EBCDIC, case, to EBCDIC.
fn table(conv: Conv) -> Option<[u8; 256]> {
    let sets = Conv::ASCII.with(Conv::EBCDIC).with(Conv::IBM);
    if !conv.any(sets.with(Conv::LCASE).with(Conv::UCASE)) {
        return None;
    }
    let mut table = [0; 256];
    for (byte, place) in (0_u8..=255).zip(&mut table) {
        let mut to = if conv.any(Conv::ASCII) { to_ascii(byte) } else { byte };
        if conv.any(Conv::UCASE) {
            to = to.to_ascii_uppercase();
        } else if conv.any(Conv::LCASE) {
            to = to.to_ascii_lowercase();
        }
        *place = to_other(conv, to);
    }
    Some(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(conv: Conv, cbs: u64, parts: &[&[u8]]) -> (Vec<u8>, u64) {
        let mut converter = Converter::new(conv, cbs);
        let mut put = Vec::new();
        parts.iter().for_each(|part| converter.feed(part, &mut put));
        converter.finish(&mut put);
        (put, converter.truncated)
    }

    #[test]
    fn every_byte_comes_back_from_ebcdic() {
        let all: Vec<u8> = (0..=255).collect();
        let there = converted(Conv::EBCDIC, 0, &[&all]).0;
        assert_ne!(there, all);
        assert_eq!(converted(Conv::ASCII, 0, &[&there]).0, all);
    }

    #[test]
    fn pairs_are_swapped_over_parts() {
        assert_eq!(converted(Conv::SWAB, 0, &[b"abc", b"de", b"f", b"g"]).0, b"badcfeg");
    }

    #[test]
    fn records_are_padded_cut_and_stripped() {
        assert_eq!(
            converted(Conv::BLOCK, 4, &[b"ab\nabc", b"def\n\nx"]),
            (b"ab  abcd    x   ".to_vec(), 1)
        );
        assert_eq!(converted(Conv::UNBLOCK, 4, &[b"ab  a b", b" abcd"]).0, b"ab\na b\nabcd\n");
    }
}
