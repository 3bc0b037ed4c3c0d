//! Changes of names by expressions of sed: `s/REGEX/REPLACEMENT/FLAGS`, as GNU tar's `--transform`.
//!
//! An expression that matches no byte goes on at the next byte; GNU tar never ends there.

use std::borrow::Cow;
use std::ffi::CString;
use std::fmt;

use haul_sys::regex::{Case, Regex, Syntax};

/// What a name is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameOf {
    /// A member.
    Member,
    /// The target of a hard link.
    HardLink,
    /// The target of a symbolic link.
    Symlink,
}

/// Which names an expression changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Scope {
    members: bool,
    hard_links: bool,
    symlinks: bool,
}

impl Scope {
    const ALL: Scope = Scope { members: true, hard_links: true, symlinks: true };
    const NONE: Scope = Scope { members: false, hard_links: false, symlinks: false };

    /// Applies a letter. Returns `false` for one that is none.
    const fn set(&mut self, letter: u8) -> bool {
        match letter {
            b'r' | b'R' => self.members = letter == b'r',
            b'h' | b'H' => self.hard_links = letter == b'h',
            b's' | b'S' => self.symlinks = letter == b's',
            _ => return false,
        }
        true
    }

    const fn has(self, of: NameOf) -> bool {
        match of {
            NameOf::Member => self.members,
            NameOf::HardLink => self.hard_links,
            NameOf::Symlink => self.symlinks,
        }
    }
}

/// A change of letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Letters {
    Keep,
    Upper,
    Lower,
    /// Only the next piece's first letter.
    NextUpper,
    NextLower,
}

/// A piece of a replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Literal(Vec<u8>),
    /// What a group matched; group 0 is the whole match.
    Group(usize),
    Letters(Letters),
}

#[derive(Debug)]
struct Expression {
    regex: Regex,
    groups: usize,
    scope: Scope,
    is_global: bool,
    /// The first match that is replaced, from 1.
    first: u64,
    replacement: Vec<Piece>,
}

/// Why an expression is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// It is not of the form.
    Form,
    /// The regular expression is invalid: the C library's text.
    Regex(String),
    /// A letter behind `flags=` is none.
    Scope(char),
    /// A letter behind the expression is none.
    Flag(char),
    /// The replacement refers to a group that the regular expression does not have.
    Group,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Malformed::Form => f.write_str("Invalid transform expression"),
            Malformed::Regex(text) => write!(f, "Invalid transform expression: {text}"),
            Malformed::Scope(letter) => write!(f, "Unknown transform flag: {letter}"),
            Malformed::Flag(letter) => {
                write!(f, "Unknown flag in transform expression: {letter}")
            }
            Malformed::Group => {
                f.write_str("Invalid transform replacement: back reference out of range")
            }
        }
    }
}

impl std::error::Error for Malformed {}

/// Expressions that are applied one after the other.
#[derive(Debug)]
pub struct Transform {
    expressions: Vec<Expression>,
    /// Of the expressions that follow (`flags=`).
    scope: Scope,
}

impl Default for Transform {
    fn default() -> Transform {
        Transform { expressions: Vec::new(), scope: Scope::ALL }
    }
}

impl Transform {
    /// Adds expressions that are joined by `;`.
    pub fn add(&mut self, text: &[u8]) -> Result<(), Malformed> {
        let mut rest = text;
        while !rest.is_empty() {
            rest = match rest.strip_prefix(b"flags=") {
                Some(flags) => self.flags(flags)?,
                None => self.expression(rest)?,
            };
        }
        Ok(())
    }

    /// Returns whether there is no expression.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.expressions.is_empty()
    }

    /// Returns a name after all changes.
    #[must_use]
    pub fn apply<'n>(&self, name: &'n [u8], of: NameOf) -> Cow<'n, [u8]> {
        let mut name = Cow::Borrowed(name);
        for expression in self.expressions.iter().filter(|expression| expression.scope.has(of)) {
            name = expression.apply(&name).into();
        }
        name
    }

    fn flags<'t>(&mut self, text: &'t [u8]) -> Result<&'t [u8], Malformed> {
        self.scope = Scope::NONE;
        let (flags, rest) = cut(text, b';');
        for letter in flags {
            if !self.scope.set(*letter) {
                return Err(Malformed::Scope(char::from(*letter)));
            }
        }
        Ok(rest)
    }

    /// Reads one expression, and returns what follows it.
    fn expression<'t>(&mut self, text: &'t [u8]) -> Result<&'t [u8], Malformed> {
        let [b's', delimiter, rest @ ..] = text else { return Err(Malformed::Form) };
        let (pattern, rest) = until(rest, *delimiter).ok_or(Malformed::Form)?;
        let (replacement, rest) = until(rest, *delimiter).ok_or(Malformed::Form)?;
        let mut scope = self.scope;
        let (mut is_global, mut first) = (false, 0);
        let (mut syntax, mut case) = (Syntax::Basic, Case::Exact);
        let (mut flags, rest) = cut(rest, b';');
        while let Some((letter, more)) = flags.split_first() {
            let digits = flags.iter().take_while(|byte| byte.is_ascii_digit()).count();
            flags = more;
            match letter {
                b'g' => is_global = true,
                b'i' => case = Case::Ignored,
                b'x' => syntax = Syntax::Extended,
                b'0'..=b'9' => {
                    let (number, behind) = more.split_at(digits - 1);
                    first = decimal(&[&[*letter], number].concat());
                    flags = behind;
                }
                _ if scope.set(*letter) => {}
                _ => return Err(Malformed::Flag(char::from(*letter))),
            }
        }
        let compiled = CString::new(pattern).map_err(|_| Malformed::Form)?;
        let regex = Regex::new(&compiled, syntax, case).map_err(Malformed::Regex)?;
        let replacement = pieces(replacement, *delimiter);
        let groups = groups(pattern, syntax);
        let is_known = |piece: &Piece| !matches!(piece, Piece::Group(group) if *group > groups);
        if !replacement.iter().all(is_known) {
            return Err(Malformed::Group);
        }
        // An expression that is tied to an end of the name cannot match twice.
        is_global &= !pattern.starts_with(b"^") && !pattern.ends_with(b"$");
        self.expressions.push(Expression { regex, groups, scope, is_global, first, replacement });
        Ok(rest)
    }
}

/// Cuts a text at a byte, which is in neither part.
fn cut(text: &[u8], at: u8) -> (&[u8], &[u8]) {
    let end = text.iter().position(|byte| *byte == at).unwrap_or(text.len());
    let (first, rest) = text.split_at(end);
    (first, rest.get(1..).unwrap_or_default())
}

/// Returns what comes before a delimiter that has no backslash, and what comes behind it.
fn until(text: &[u8], delimiter: u8) -> Option<(&[u8], &[u8])> {
    let mut at = 0;
    loop {
        match text.get(at)? {
            byte if *byte == delimiter => return Some((text.get(..at)?, text.get(at + 1..)?)),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Counts the groups of a regular expression.
fn groups(pattern: &[u8], syntax: Syntax) -> usize {
    let (mut count, mut at) = (0, 0);
    while let Some(byte) = pattern.get(at) {
        match byte {
            b'\\' => {
                count += usize::from(syntax == Syntax::Basic && pattern.get(at + 1) == Some(&b'('));
                at += 2;
            }
            b'[' => at = behind_bracket(pattern, at),
            b'(' => {
                count += usize::from(syntax == Syntax::Extended);
                at += 1;
            }
            _ => at += 1,
        }
    }
    count
}

/// Returns the place behind a bracket expression, in which a backslash means itself.
fn behind_bracket(pattern: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    if pattern.get(at) == Some(&b'^') {
        at += 1;
    }
    if pattern.get(at) == Some(&b']') {
        at += 1;
    }
    while let Some(byte) = pattern.get(at) {
        at += 1;
        let kind = pattern.get(at);
        match (byte, kind) {
            (b']', _) => break,
            (b'[', Some(kind @ (b':' | b'.' | b'='))) => {
                let rest = pattern.get(at + 1..).unwrap_or_default();
                let end = rest.windows(2).position(|pair| pair == [*kind, b']']);
                at += 1 + end.map_or(0, |end| end + 2);
            }
            _ => {}
        }
    }
    at
}

/// Reads a number; the largest for one that is too large.
fn decimal(digits: &[u8]) -> u64 {
    std::str::from_utf8(digits).ok().and_then(|text| text.parse().ok()).unwrap_or(u64::MAX)
}

/// Splits a replacement into its pieces.
fn pieces(text: &[u8], delimiter: u8) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut literal = Vec::new();
    let flush = |literal: &mut Vec<u8>, pieces: &mut Vec<Piece>| {
        if !literal.is_empty() {
            pieces.push(Piece::Literal(std::mem::take(literal)));
        }
    };
    let mut rest = text;
    while let Some((byte, behind)) = rest.split_first() {
        rest = behind;
        match byte {
            b'&' => {
                flush(&mut literal, &mut pieces);
                pieces.push(Piece::Group(0));
            }
            b'\\' => {
                flush(&mut literal, &mut pieces);
                let Some((letter, behind)) = rest.split_first() else { break };
                rest = behind;
                if letter.is_ascii_digit() {
                    let more = behind.iter().take_while(|byte| byte.is_ascii_digit()).count();
                    let (digits, behind) = behind.split_at(more);
                    let number = decimal(&[&[*letter], digits].concat());
                    pieces.push(Piece::Group(usize::try_from(number).unwrap_or(usize::MAX)));
                    rest = behind;
                } else {
                    pieces.push(escape(*letter, delimiter));
                }
            }
            _ => literal.push(*byte),
        }
    }
    flush(&mut literal, &mut pieces);
    pieces
}

/// Returns what a backslash and a letter mean.
fn escape(letter: u8, delimiter: u8) -> Piece {
    Piece::Literal(vec![match letter {
        b'L' => return Piece::Letters(Letters::Lower),
        b'l' => return Piece::Letters(Letters::NextLower),
        b'U' => return Piece::Letters(Letters::Upper),
        b'u' => return Piece::Letters(Letters::NextUpper),
        b'E' => return Piece::Letters(Letters::Keep),
        b'a' => 7,
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 11,
        b'\\' | b'&' => letter,
        _ if letter == delimiter => letter,
        _ => return Piece::Literal(vec![b'\\', letter]),
    }])
}

/// The change of letters that holds, and the one that holds after the next piece.
struct Changing {
    now: Letters,
    later: Letters,
}

impl Changing {
    fn set(&mut self, letters: Letters) {
        let is_single = |one| matches!(one, Letters::NextUpper | Letters::NextLower);
        if is_single(letters) && !is_single(self.later) {
            self.later = self.now;
        }
        self.now = letters;
    }

    fn push(&mut self, out: &mut Vec<u8>, text: &[u8]) {
        let start = out.len();
        out.extend_from_slice(text);
        let added = out.get_mut(start..).unwrap_or_default();
        match self.now {
            Letters::Keep => return,
            Letters::Upper => return added.make_ascii_uppercase(),
            Letters::Lower => return added.make_ascii_lowercase(),
            Letters::NextUpper => added.iter_mut().take(1).for_each(u8::make_ascii_uppercase),
            Letters::NextLower => added.iter_mut().take(1).for_each(u8::make_ascii_lowercase),
        }
        self.now = std::mem::replace(&mut self.later, Letters::Keep);
    }
}

impl Expression {
    fn apply(&self, name: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(name.len());
        let mut rest = name;
        let mut number = 0;
        let mut letters = Changing { now: Letters::Keep, later: Letters::Keep };
        while !rest.is_empty() {
            let Some(places) = self.regex.find(rest, self.groups) else { break };
            let Some(Some(whole)) = places.first() else { break };
            let place = |at: &std::ops::Range<usize>| rest.get(at.clone()).unwrap_or_default();
            number += 1;
            let is_replaced = number >= self.first;
            if is_replaced {
                out.extend_from_slice(place(&(0..whole.start)));
                for piece in &self.replacement {
                    match piece {
                        Piece::Literal(text) => letters.push(&mut out, text),
                        Piece::Letters(change) => letters.set(*change),
                        Piece::Group(group) => {
                            if let Some(Some(at)) = places.get(*group) {
                                letters.push(&mut out, place(at));
                            }
                        }
                    }
                }
            } else {
                out.extend_from_slice(place(&(0..whole.end)));
            }
            let end = whole.end;
            rest = rest.get(end..).unwrap_or_default();
            if is_replaced && !self.is_global {
                break;
            }
            // A match of nothing at the beginning would be found again.
            if end == 0
                && let Some((byte, behind)) = rest.split_first()
            {
                out.push(*byte);
                rest = behind;
            }
        }
        out.extend_from_slice(rest);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(expressions: &str, name: &str) -> Result<String, Malformed> {
        let mut transform = Transform::default();
        transform.add(expressions.as_bytes())?;
        let name = transform.apply(name.as_bytes(), NameOf::Member);
        Ok(String::from_utf8_lossy(&name).into_owned())
    }

    #[test]
    fn names_are_changed() {
        for (expressions, name, expected) in [
            ("s/a/b/", "aaa", "baa"),
            ("s/a/b/g", "aaa", "bbb"),
            ("s/a/b/2", "aaa", "aba"),
            ("s/a/b/2g", "aaa", "abb"),
            ("s,^x/,y\\,/,;s/y/z/", "x/x/", "z,/x/"),
            ("s/^a/b/g", "aaa", "baa"),
            ("s/\\(.*\\)\\/\\(.*\\)/\\2-\\1&/", "d/e", "e-dd/e"),
            ("s/(a|ab)(c|bcd)/[\\1]/x", "abcd", "[a]"),
            ("s/A/b/i", "a", "b"),
            ("s/.*/\\U&/", "abc/d", "ABC/D"),
            ("s/\\(.\\)\\(.*\\)/\\u\\1\\L\\2\\Ex\\&Y/", "aBC", "Abcx&Y"),
            ("s/x*/-/g", "abc", "-a-b-c"),
            ("s/a/\\q\\\\\\n/", "a", "\\q\\\n"),
            ("flags=R;s/a/b/", "a", "a"),
            ("s/a/b/RsH", "a", "a"),
            ("s/a/b/", "", ""),
            ("s/[)(\\(]([[:alpha:]])/\\1/x", "(z", "z"),
        ] {
            assert_eq!(changed(expressions, name).as_deref(), Ok(expected), "{expressions}");
        }
    }

    #[test]
    fn malformed_expressions_are_refused() {
        for (text, expected) in [
            ("y/a/b/", Malformed::Form),
            ("s", Malformed::Form),
            ("s/a/b", Malformed::Form),
            ("s/a", Malformed::Form),
            ("s/a/b/q", Malformed::Flag('q')),
            ("flags=q", Malformed::Scope('q')),
            ("s/a/\\1/", Malformed::Group),
            ("s/(a)/\\1/", Malformed::Group),
        ] {
            assert_eq!(changed(text, "a"), Err(expected), "{text}");
        }
        assert!(matches!(changed("s/\\(/b/", "a"), Err(Malformed::Regex(_))));
    }
}
