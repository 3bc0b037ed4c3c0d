//! The names of pieces: a prefix, a suffix that counts, and whatever is to come behind it.
//!
//! A suffix of the usual length grows before it is used up, in a way that keeps the names sorted:
//! the last letter of the alphabet becomes part of the prefix (`xyz`, then `xzaaa`).

/// The characters of a suffix, in the order in which they count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alphabet {
    /// `a` to `z`.
    Letters,
    /// `0` to `9`.
    Decimal,
    /// `0` to `9`, `a` to `f`.
    Hexadecimal,
}

impl Alphabet {
    /// Returns the characters.
    #[must_use]
    pub const fn characters(self) -> &'static [u8] {
        match self {
            Alphabet::Letters => b"abcdefghijklmnopqrstuvwxyz",
            Alphabet::Decimal => b"0123456789",
            Alphabet::Hexadecimal => b"0123456789abcdef",
        }
    }
}

/// Names, one after the other.
#[derive(Clone, Debug)]
pub struct Names {
    prefix: Vec<u8>,
    additional: Vec<u8>,
    characters: &'static [u8],
    /// The suffix, as places in the alphabet.
    suffix: Vec<usize>,
    widens: bool,
    is_first: bool,
}

impl Names {
    /// Starts to count: `start` is what the suffix ends in at first, in characters of the alphabet.
    #[must_use]
    pub fn new(prefix: &[u8], additional: &[u8], alphabet: Alphabet, length: usize) -> Names {
        Names {
            prefix: prefix.to_vec(),
            additional: additional.to_vec(),
            characters: alphabet.characters(),
            suffix: vec![0; length],
            widens: false,
            is_first: true,
        }
    }

    /// The same, but the suffix grows before it is used up.
    #[must_use]
    pub fn widening(mut self) -> Names {
        self.widens = true;
        self
    }

    /// The same, but the first suffix ends in these characters.
    #[must_use]
    pub fn starting_at(mut self, start: &[u8]) -> Names {
        for (place, character) in self.suffix.iter_mut().rev().zip(start.iter().rev()) {
            *place = self.characters.iter().position(|known| known == character).unwrap_or(0);
        }
        self
    }

    fn name(&self) -> Vec<u8> {
        let suffix = self.suffix.iter().filter_map(|place| self.characters.get(*place).copied());
        self.prefix.iter().copied().chain(suffix).chain(self.additional.iter().copied()).collect()
    }

    /// Counts on; tells whether there was another suffix.
    fn advance(&mut self) -> bool {
        let last = self.characters.len() - 1;
        for (index, place) in self.suffix.iter_mut().enumerate().rev() {
            if *place < last {
                *place += 1;
                if self.widens && index == 0 && *place == last {
                    self.prefix.extend(self.characters.last());
                    self.suffix = vec![0; self.suffix.len() + 1];
                }
                return true;
            }
            *place = 0;
        }
        false
    }
}

/// Ends when the suffixes are used up.
impl Iterator for Names {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        if !std::mem::replace(&mut self.is_first, false) && !self.advance() {
            return None;
        }
        Some(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(names: Names, nth: usize) -> Option<String> {
        let mut names = names;
        names.nth(nth).map(|name| String::from_utf8_lossy(&name).into_owned())
    }

    #[test]
    fn suffixes_widen_before_they_are_used_up_and_stay_sorted() {
        let names = || Names::new(b"x", b"", Alphabet::Letters, 2).widening();
        assert_eq!(name(names(), 0).unwrap(), "xaa");
        assert_eq!(name(names(), 25 * 26 - 1).unwrap(), "xyz");
        assert_eq!(name(names(), 25 * 26).unwrap(), "xzaaa");
        assert_eq!(name(names(), 25 * 26 + 25 * 26 * 26).unwrap(), "xzzaaaa");
        let all: Vec<Vec<u8>> = names().take(20_000).collect();
        assert!(all.is_sorted());
    }

    #[test]
    fn a_chosen_length_ends() {
        let names = || Names::new(b"x", b".t", Alphabet::Decimal, 1);
        assert_eq!(name(names(), 9).unwrap(), "x9.t");
        assert_eq!(name(names(), 10), None);
    }

    #[test]
    fn counting_may_start_anywhere() {
        let names = || Names::new(b"x", b"", Alphabet::Hexadecimal, 2).starting_at(b"9");
        assert_eq!(name(names(), 0).unwrap(), "x09");
        assert_eq!(name(names(), 1).unwrap(), "x0a");
        assert_eq!(
            name(Names::new(b"", b"", Alphabet::Hexadecimal, 3).starting_at(b"ff"), 1).unwrap(),
            "100"
        );
    }
}
