//! Shell patterns, as `fnmatch` with GNU's extensions reads them.

use std::cell::OnceCell;
use std::collections::HashMap;

/// How a pattern is compared with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Matching {
    /// Whether `*`, `?` and `[` are special.
    pub wildcards: bool,
    /// Whether the pattern must match from the beginning of the name, or may begin behind any slash.
    pub anchored: bool,
    /// Whether wildcards match slashes.
    pub match_slash: bool,
    /// Whether upper and lower case are the same.
    pub ignore_case: bool,
    /// Whether the pattern also matches everything below a directory that it matches.
    pub recursion: bool,
}

impl Matching {
    /// Patterns to leave out members.
    pub const EXCLUDE: Matching = Matching {
        wildcards: true,
        anchored: false,
        match_slash: true,
        ignore_case: false,
        recursion: true,
    };

    /// Names of members.
    pub const NAME: Matching = Matching { wildcards: false, anchored: true, ..Matching::EXCLUDE };
}

/// A pattern and how it is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: Vec<char>,
    how: Matching,
}

/// Maps bytes that are no UTF-8 to characters of their own: behind the last character of Unicode there
/// is none, so the private ones at its end are used.
fn characters(bytes: &[u8]) -> Vec<char> {
    #[cfg(test)]
    tests::DECODED.with(|count| count.set(count.get() + 1));
    let mut text = Vec::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.extend(chunk.valid().chars());
        let private = |byte: &u8| char::from_u32(0x0010_ff00 + u32::from(*byte));
        text.extend(chunk.invalid().iter().filter_map(private));
    }
    text
}

fn folded(text: Vec<char>) -> Vec<char> {
    text.into_iter().flat_map(char::to_lowercase).collect()
}

/// A name that is compared with any number of patterns, decoded once.
struct Decoded<'n> {
    bytes: &'n [u8],
    plain: OnceCell<Vec<char>>,
    folded: OnceCell<Vec<char>>,
}

impl<'n> Decoded<'n> {
    const fn new(bytes: &'n [u8]) -> Decoded<'n> {
        Decoded { bytes, plain: OnceCell::new(), folded: OnceCell::new() }
    }

    fn characters(&self, how: Matching) -> &[char] {
        let plain = self.plain.get_or_init(|| characters(self.bytes));
        if how.ignore_case { self.folded.get_or_init(|| folded(plain.clone())) } else { plain }
    }
}

impl Pattern {
    /// Makes a pattern.
    #[must_use]
    pub fn new(text: &[u8], how: Matching) -> Pattern {
        let text = characters(text);
        Pattern { text: if how.ignore_case { folded(text) } else { text }, how }
    }

    /// Returns whether the pattern matches a name without a slash at its end.
    #[must_use]
    pub fn matches(&self, name: &[u8]) -> bool {
        self.matches_decoded(&Decoded::new(name))
    }

    fn matches_decoded(&self, name: &Decoded<'_>) -> bool {
        let name = name.characters(self.how);
        if self.matches_at(name) {
            return true;
        }
        let behind_slash = |pair: &[char]| matches!(pair, ['/', next] if *next != '/');
        let mut starts = name.windows(2).enumerate().filter(|(_, pair)| behind_slash(pair));
        !self.how.anchored
            && starts.any(|(at, _)| self.matches_at(name.get(at + 1..).unwrap_or_default()))
    }

    fn matches_at(&self, name: &[char]) -> bool {
        if !self.how.wildcards {
            return match name.strip_prefix(self.text.as_slice()) {
                Some([]) => true,
                Some(['/', ..]) => self.how.recursion,
                _ => false,
            };
        }
        if wild(&self.text, name, self.how.match_slash) {
            return true;
        }
        let slashes = name.iter().enumerate().filter(|(_, c)| **c == '/').map(|(at, _)| at);
        self.how.recursion
            && slashes.into_iter().any(|at| {
                wild(&self.text, name.get(..at).unwrap_or_default(), self.how.match_slash)
            })
    }
}

/// Any number of patterns, each with a number. Those without special characters are found by hashing, so that a million
/// of them cost a name no more than a few.
#[derive(Clone, Debug, Default)]
pub struct Patterns {
    special: Vec<(usize, Pattern)>,
    /// The first pattern of each text.
    plain: HashMap<Matching, HashMap<Vec<u8>, usize>>,
    count: usize,
}

impl Patterns {
    /// Adds a pattern; its number is that of the patterns before it.
    pub fn add(&mut self, text: &[u8], how: Matching) {
        let number = self.count;
        self.count += 1;
        if how.wildcards && text.iter().any(|byte| b"*?[\\".contains(byte)) {
            self.special.push((number, Pattern::new(text, how)));
        } else {
            let same = self.plain.entry(how).or_default();
            same.entry(hashed(text, how)).or_insert(number);
        }
    }

    /// Returns whether a pattern matches a name without a slash at its end.
    #[must_use]
    pub fn match_any(&self, name: &[u8]) -> bool {
        self.first_match(name).is_some()
    }

    /// Returns the number of the first pattern that matches a name without a slash at its end.
    #[must_use]
    pub fn first_match(&self, name: &[u8]) -> Option<usize> {
        let plain = self.plain.iter().filter_map(|(how, texts)| first(texts, *how, name)).min();
        let decoded = Decoded::new(name);
        let mut before =
            self.special.iter().take_while(|(number, _)| plain.is_none_or(|one| *number < one));
        let special = before.find(|(_, pattern)| pattern.matches_decoded(&decoded));
        special.map(|(number, _)| *number).or(plain)
    }
}

/// Returns what is hashed of a pattern or a name.
fn hashed(text: &[u8], how: Matching) -> Vec<u8> {
    match how.ignore_case {
        true => folded(characters(text)).into_iter().collect::<String>().into_bytes(),
        false => text.to_vec(),
    }
}

/// Returns the smallest number of the texts that are a name, or a part of it that begins or ends at slashes as the rules
/// allow.
fn first(texts: &HashMap<Vec<u8>, usize>, how: Matching, name: &[u8]) -> Option<usize> {
    let other_case = how.ignore_case.then(|| hashed(name, how));
    let name = other_case.as_deref().unwrap_or(name);
    let behind_slash = |pair: &[u8]| matches!(pair, [b'/', next] if *next != b'/');
    let inner = name.windows(2).enumerate().filter(|(_, pair)| behind_slash(pair));
    let inner = inner.map(|(at, _)| at + 1).filter(|_| !how.anchored);
    let starts = std::iter::once(0).chain(inner).map(|start| name.get(start..).unwrap_or_default());
    let parts = starts.flat_map(|rest| {
        let slashes = rest.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        let ends = slashes.map(|(at, _)| at).filter(|_| how.recursion);
        ends.chain([rest.len()]).map(|end| rest.get(..end).unwrap_or_default())
    });
    parts.filter_map(|part| texts.get(part)).min().copied()
}

/// Compares by going back to the last `*` alone, so the time is bounded by the product of the lengths.
fn wild(pattern: &[char], name: &[char], match_slash: bool) -> bool {
    let (mut at, mut from) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    loop {
        let step = match (pattern.get(at), name.get(from)) {
            (Some('*'), _) => {
                star = Some((at + 1, from));
                at += 1;
                continue;
            }
            (None, None) => return true,
            (Some(_), Some(c)) => one(pattern.get(at..).unwrap_or_default(), *c, match_slash),
            _ => None,
        };
        if let Some(length) = step {
            (at, from) = (at + length, from + 1);
            continue;
        }
        match star {
            Some((behind, eaten)) if name.get(eaten).is_some_and(|c| match_slash || *c != '/') => {
                star = Some((behind, eaten + 1));
                (at, from) = (behind, eaten + 1);
            }
            _ => return false,
        }
    }
}

/// Compares the first element of a pattern with a character; returns the element's length.
fn one(pattern: &[char], c: char, match_slash: bool) -> Option<usize> {
    match pattern {
        ['?', ..] => (match_slash || c != '/').then_some(1),
        ['\\', escaped, ..] => (*escaped == c).then_some(2),
        ['[', rest @ ..] => match bracket(rest, c) {
            Some((matches, length)) => (matches && (match_slash || c != '/')).then_some(length + 1),
            None => (c == '[').then_some(1),
        },
        [literal, ..] => (*literal == c).then_some(1),
        [] => None,
    }
}

/// Compares a bracket expression, from behind its `[`; `None` if it is not closed.
fn bracket(text: &[char], c: char) -> Option<(bool, usize)> {
    let negated = matches!(text.first(), Some('!' | '^'));
    let mut at = usize::from(negated);
    let first = at;
    let mut found = false;
    loop {
        match text.get(at..)? {
            [] => return None,
            [']', ..] if at > first => return Some((found != negated, at + 1)),
            ['[', ':', rest @ ..] => {
                let length = rest.windows(2).position(|pair| pair == [':', ']'])?;
                let class: String = rest.get(..length)?.iter().collect();
                found |= is_in_class(&class, c);
                at += length + 4;
            }
            rest => {
                let (low, length) = element(rest)?;
                at += length;
                let after = text.get(at..)?;
                if let ['-', end, ..] = after
                    && *end != ']'
                {
                    let (high, length) = element(after.get(1..)?)?;
                    at += length + 1;
                    found |= (low..=high).contains(&c);
                } else {
                    found |= low == c;
                }
            }
        }
    }
}

fn element(text: &[char]) -> Option<(char, usize)> {
    match text {
        ['\\', escaped, ..] => Some((*escaped, 2)),
        [plain, ..] => Some((*plain, 1)),
        [] => None,
    }
}

fn is_in_class(class: &str, c: char) -> bool {
    match class {
        "alpha" => c.is_alphabetic(),
        "digit" => c.is_ascii_digit(),
        "alnum" => c.is_alphanumeric(),
        "upper" => c.is_uppercase(),
        "lower" => c.is_lowercase(),
        "space" => c.is_whitespace(),
        "blank" => matches!(c, ' ' | '\t'),
        "punct" => c.is_ascii_punctuation(),
        "print" => !c.is_control(),
        "graph" => !c.is_control() && !c.is_whitespace(),
        "cntrl" => c.is_control(),
        "xdigit" => c.is_ascii_hexdigit(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        /// How many texts were decoded.
        pub(super) static DECODED: Cell<usize> = const { Cell::new(0) };
    }

    fn decoded(run: impl FnOnce()) -> usize {
        let before = DECODED.get();
        run();
        DECODED.get() - before
    }

    #[test]
    fn a_name_is_decoded_once_whatever_the_number_of_patterns() {
        let mut all = Patterns::default();
        for number in 0..8000 {
            all.add(format!("dir/file{number}").as_bytes(), Matching::NAME);
        }
        let of_plain = decoded(|| assert_eq!(all.first_match(b"dir/file7999/f"), Some(7999)));
        assert_eq!(of_plain, 0);
        for number in 0..200 {
            all.add(format!("*.{number}").as_bytes(), Matching::EXCLUDE);
        }
        let of_special = decoded(|| assert_eq!(all.first_match(b"dir/x.199"), Some(8199)));
        assert_eq!(of_special, 1);
    }

    #[test]
    fn the_first_pattern_counts_of_whatever_kind() {
        let other_case = Matching { ignore_case: true, ..Matching::EXCLUDE };
        let mut all = Patterns::default();
        for (text, how) in [
            ("a*", Matching::EXCLUDE),
            ("d/b", Matching::NAME),
            ("d", Matching::NAME),
            ("B", other_case),
            ("*b", Matching::EXCLUDE),
            ("d", Matching::NAME),
        ] {
            all.add(text.as_bytes(), how);
        }
        for (name, expected) in [
            ("ab", Some(0)),
            ("d/b", Some(1)),
            ("d/c", Some(2)),
            ("x/b", Some(3)),
            ("e/bb", Some(4)),
            ("e", None),
        ] {
            assert_eq!(all.first_match(name.as_bytes()), expected, "{name}");
        }
    }

    fn excluded(pattern: &str, name: &str) -> bool {
        Pattern::new(pattern.as_bytes(), Matching::EXCLUDE).matches(name.as_bytes())
    }

    #[test]
    fn patterns_match_as_fnmatch_says() {
        let cases = [
            ("*.o", "a.o", true),
            ("*.o", "d/e/a.o", true),
            ("*.o", "a.o.c", false),
            ("d", "d/e", true),
            ("d", "x/d/e", true),
            ("d", "xd/e", false),
            ("d/*", "d/e/f", true),
            ("?", "é", true),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[]x]", "]", true),
            ("[[:digit:]]*", "7a", true),
            ("[a", "[a", true),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("a*b*c*d", "aXbXcXd", true),
            ("a*b*c*d", "aXbXcX", false),
            ("", "", true),
            ("*", "a/b", true),
            ("**", "a", true),
            ("a", "b", false),
            ("e/f", "d/e/f/g", true),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(excluded(pattern, name), expected, "{pattern} {name}");
            for (anchored, recursion, ignore_case) in
                [(true, true, false), (false, true, true), (true, false, true)]
            {
                let how = Matching { anchored, recursion, ignore_case, ..Matching::EXCLUDE };
                let one = Pattern::new(pattern.as_bytes(), how).matches(name.as_bytes());
                let mut all = Patterns::default();
                all.add(pattern.as_bytes(), how);
                assert_eq!(all.match_any(name.as_bytes()), one, "{pattern} {name} {how:?}");
            }
        }
    }

    #[test]
    fn options_change_what_matches() {
        let matches = |how, pattern: &str, name: &str| {
            Pattern::new(pattern.as_bytes(), how).matches(name.as_bytes())
        };
        let anchored = Matching { anchored: true, ..Matching::EXCLUDE };
        assert!(!matches(anchored, "*b", "a/c"));
        assert!(!matches(anchored, "b", "a/b"));
        let narrow = Matching { match_slash: false, anchored: true, ..Matching::EXCLUDE };
        assert!(!matches(Matching { recursion: false, ..narrow }, "a*", "a/b"));
        assert!(matches(narrow, "a*", "a/b"));
        assert!(matches(Matching { ignore_case: true, ..Matching::EXCLUDE }, "ÄB", "äb"));
        assert!(matches(Matching::NAME, "a*", "a*/b"));
        assert!(!matches(Matching::NAME, "a*", "ab"));
        assert!(!matches(Matching { recursion: false, ..Matching::NAME }, "a", "a/b"));
    }

    #[test]
    fn many_stars_take_no_exponential_time() {
        let name = "a".repeat(5000);
        assert!(!excluded(&"*a*".repeat(200), &"b".repeat(3000)));
        assert!(!excluded(&format!("{}b", "*a".repeat(100)), &name));
    }
}
