//! Names by number, as one text without pointers.
//!
//! The loader of a program that is independent of its position fills in each pointer of each table before `main`,
//! and so copies the pages that have them. Most runs of haul trace nothing, and need no name of a call. The tables
//! are written as pairs and packed by the compiler.

/// Names by number: `ROWS` of them, sorted by number, with `BYTES` bytes in all.
pub(crate) struct Packed<const ROWS: usize, const BYTES: usize> {
    numbers: [i32; ROWS],
    /// Where each name ends in the text; it begins where the one before ends.
    ends: [u16; ROWS],
    text: [u8; BYTES],
}

/// Returns the number of bytes of all names.
pub(crate) const fn text_bytes(rows: &[(i32, &str)]) -> usize {
    let (mut bytes, mut row) = (0, 0);
    while row < rows.len() {
        bytes += rows[row].1.len();
        row += 1;
    }
    bytes
}

impl<const ROWS: usize, const BYTES: usize> Packed<ROWS, BYTES> {
    /// Packs a table that is sorted by number.
    pub(crate) const fn of(rows: &[(i32, &str)]) -> Self {
        let mut packed = Packed { numbers: [0; ROWS], ends: [0; ROWS], text: [0; BYTES] };
        assert!(BYTES <= u16::MAX as usize, "an end fits into 16 bits");
        let (mut row, mut end) = (0, 0);
        while row < ROWS {
            let name = rows[row].1.as_bytes();
            let mut byte = 0;
            while byte < name.len() {
                packed.text[end] = name[byte];
                end += 1;
                byte += 1;
            }
            packed.numbers[row] = rows[row].0;
            #[expect(clippy::cast_possible_truncation, reason = "asserted above")]
            {
                packed.ends[row] = end as u16;
            }
            row += 1;
        }
        packed
    }

    /// Returns the name of a number, if it has one.
    pub(crate) fn name(&self, number: i32) -> Option<&str> {
        let row = self.numbers.binary_search(&number).ok()?;
        Some(self.at(row))
    }

    /// Returns the number of a name, if one has it.
    pub(crate) fn number(&self, name: &str) -> Option<i32> {
        self.rows().find(|(_, known)| *known == name).map(|(number, _)| number)
    }

    /// Returns numbers and names in order.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (i32, &str)> {
        self.numbers.iter().enumerate().map(|(row, number)| (*number, self.at(row)))
    }

    fn at(&self, row: usize) -> &str {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        let name = &self.text[usize::from(start)..usize::from(self.ends[row])];
        // Whole names were packed, so it is text.
        std::str::from_utf8(name).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: &[(i32, &str)] = &[(-1, "first"), (0, ""), (7, "last")];

    #[test]
    fn a_packed_table_has_its_rows() {
        let packed = Packed::<{ ROWS.len() }, { text_bytes(ROWS) }>::of(ROWS);
        assert!(packed.rows().eq(ROWS.iter().copied()));
        for (number, name) in ROWS {
            assert_eq!(packed.name(*number), Some(*name));
            assert_eq!(packed.number(name), Some(*number));
        }
        assert_eq!((packed.name(1), packed.number("other")), (None, None));
    }
}
