//! Patterns of rsync: what a pattern means, and whether it matches.
//!
//! The meaning is that of rsync(1), PATTERN MATCHING RULES: `*` and `?` stop at a slash, `**` does not, a
//! class never matches a slash, and a backslash is an escape only in a pattern that has a wildcard.

use crate::query::Query;

/// One element of a pattern with wildcards.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Byte(u8),
    /// `?`
    Any,
    /// A class in brackets, as a set of bytes.
    Class(Box<[u64; 4]>),
    /// `*`
    Star,
    /// `**`
    Stars,
    /// Nothing: a class without an end, or a backslash at the end.
    Never,
}

impl Part {
    fn matches(&self, byte: u8) -> bool {
        match self {
            Part::Byte(own) => *own == byte,
            Part::Any => byte != b'/',
            Part::Class(set) => set[usize::from(byte >> 6)] & (1 << (byte & 63)) != 0,
            Part::Star | Part::Stars | Part::Never => false,
        }
    }
}

/// The part of a path that a pattern is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The last component.
    Name,
    /// So many last components.
    Last(usize),
    /// The path from its beginning.
    Start,
    /// The path, and what is behind each of its slashes.
    AfterSlash,
}

/// The directory that the anchor of a pattern means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor<'a> {
    /// The root of the transfer.
    Root,
    /// A directory below it, by its path.
    Below(&'a [u8]),
    /// A directory outside of it, by its absolute path.
    Absolute(&'a [u8]),
}

/// The text of a pattern, for one that has no wildcards, or its elements.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    Literal(Box<[u8]>),
    Wild(Box<[Part]>),
}

/// A pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    form: Form,
    pub(crate) scope: Scope,
    /// Whether the pattern is compared with the absolute path.
    pub(crate) is_absolute: bool,
    /// Whether it matches directories alone.
    pub(crate) directories_only: bool,
    /// Whether it begins with `**`, which also matches nothing in front of the first component.
    begins_with_stars: bool,
    /// Whether it ends in `***`, which also matches the directory itself.
    ends_in_three: bool,
}

impl Pattern {
    /// Reads a pattern. `is_absolute` is the modifier `/`.
    pub(crate) fn new(text: &[u8], anchor: Anchor<'_>, is_absolute: bool) -> Pattern {
        let (text, directories_only) = match text.split_last() {
            Some((b'/', rest)) if !rest.is_empty() => (rest, true),
            _ => (text, false),
        };
        let is_anchored = text.first() == Some(&b'/');
        let prefix = match anchor {
            Anchor::Below(directory) | Anchor::Absolute(directory)
                if is_anchored && !is_absolute =>
            {
                directory
            }
            _ => b"",
        };
        let is_absolute = is_absolute || (is_anchored && matches!(anchor, Anchor::Absolute(_)));
        let body = if is_anchored { &text[1..] } else { text };
        let slashes = text.iter().filter(|byte| **byte == b'/').count();
        let is_wild = text.iter().any(|byte| b"*?[".contains(byte));
        let has_stars = is_wild && text.windows(2).any(|pair| pair == b"**");
        let begins_with_stars = has_stars && text.starts_with(b"**");
        let scope = if slashes == 0 && !has_stars {
            Scope::Name
        } else if is_anchored || begins_with_stars {
            Scope::Start
        } else if has_stars {
            Scope::AfterSlash
        } else {
            Scope::Last(slashes + 1)
        };
        let separator: &[u8] = if prefix.is_empty() { b"" } else { b"/" };
        let form = if is_wild {
            let literal = prefix.iter().chain(separator).map(|byte| Part::Byte(*byte));
            Form::Wild(literal.chain(parts(body)).collect())
        } else {
            Form::Literal([prefix, separator, body].concat().into())
        };
        let ends_in_three = has_stars && text.ends_with(b"***");
        Pattern { form, scope, is_absolute, directories_only, begins_with_stars, ends_in_three }
    }

    /// Returns the text of a pattern that can be found by a hash.
    pub(crate) fn literal(&self) -> Option<&[u8]> {
        match &self.form {
            Form::Literal(text) if !self.is_absolute => Some(text),
            _ => None,
        }
    }

    /// Returns whether the pattern matches an entry.
    pub(crate) fn matches(&self, query: &Query<'_>) -> bool {
        if self.directories_only && !query.is_directory {
            return false;
        }
        let text = match self.scope {
            Scope::Name => query.name(),
            _ if self.is_absolute => query.absolute(self.ends_in_three),
            _ => query.path(self.begins_with_stars, self.ends_in_three),
        };
        match self.scope {
            Scope::Name | Scope::Start => self.is(text),
            Scope::Last(count) => last(text, count).is_some_and(|text| self.is(text)),
            Scope::AfterSlash => {
                let slashes = text.iter().enumerate().filter(|(_, byte)| **byte == b'/');
                self.is(text) || slashes.into_iter().any(|(at, _)| self.is(&text[at + 1..]))
            }
        }
    }

    fn is(&self, text: &[u8]) -> bool {
        match &self.form {
            Form::Literal(own) => **own == *text,
            Form::Wild(parts) => is_match(parts, text),
        }
    }
}

/// Returns the last components of a path, if it has so many.
pub(crate) fn last(path: &[u8], count: usize) -> Option<&[u8]> {
    let mut slashes = path.iter().enumerate().rev().filter(|(_, byte)| **byte == b'/');
    match slashes.nth(count - 1) {
        Some((at, _)) => Some(&path[at + 1..]),
        None => {
            let components = path.iter().filter(|byte| **byte == b'/').count() + 1;
            (components == count).then_some(path)
        }
    }
}

/// Compares a text with a pattern. Only the last `*` and the last `**` can have to take more of the text:
/// what an earlier one takes more, the later one could take as well. A `*` that has reached the end of the
/// text in vain ends the search, because what follows it is nowhere in the rest.
fn is_match(parts: &[Part], text: &[u8]) -> bool {
    let (mut part, mut at) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    let mut stars: Option<(usize, usize)> = None;
    loop {
        match parts.get(part) {
            None if at == text.len() => return true,
            Some(Part::Stars) if part + 1 == parts.len() => return true,
            Some(Part::Stars) => {
                part += 1;
                (stars, star) = (Some((part, at)), None);
                continue;
            }
            Some(Part::Star) => {
                part += 1;
                star = Some((part, at));
                continue;
            }
            Some(own) if text.get(at).is_some_and(|byte| own.matches(*byte)) => {
                (part, at) = (part + 1, at + 1);
                continue;
            }
            _ => {}
        }
        match (star, stars) {
            (Some((_, from)), _) if from == text.len() => return false,
            (Some((next, from)), _) if text[from] != b'/' => {
                star = Some((next, from + 1));
                (part, at) = (next, from + 1);
            }
            (_, Some((next, from))) if from < text.len() => {
                (stars, star) = (Some((next, from + 1)), None);
                (part, at) = (next, from + 1);
            }
            _ => return false,
        }
    }
}

/// Reads the elements of a pattern.
fn parts(text: &[u8]) -> Vec<Part> {
    let mut parts = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        parts.push(match byte {
            b'\\' => match rest.split_first() {
                Some((escaped, after)) => {
                    rest = after;
                    Part::Byte(*escaped)
                }
                None => Part::Never,
            },
            b'?' => Part::Any,
            b'*' if rest.first() == Some(&b'*') => {
                while let Some((b'*', after)) = rest.split_first() {
                    rest = after;
                }
                Part::Stars
            }
            b'*' => Part::Star,
            b'[' => match class(rest) {
                Some((set, after)) => {
                    rest = after;
                    Part::Class(Box::new(set))
                }
                None => Part::Never,
            },
            byte => Part::Byte(*byte),
        });
    }
    parts
}

/// Reads a class, behind its bracket. Returns the set and what follows the class; `None` if the class has
/// no end or an unknown name.
fn class(text: &[u8]) -> Option<([u64; 4], &[u8])> {
    let mut set = [false; 256];
    let (is_negated, mut rest) = match text.split_first() {
        Some((b'!' | b'^', rest)) => (true, rest),
        _ => (false, text),
    };
    let mut before: Option<u8> = None;
    let mut is_first = true;
    loop {
        let (byte, after) = rest.split_first()?;
        rest = after;
        before = match byte {
            b']' if !is_first => break,
            b'\\' => {
                let (escaped, after) = rest.split_first()?;
                rest = after;
                set[usize::from(*escaped)] = true;
                Some(*escaped)
            }
            b'-' if before.is_some() && !matches!(rest.first(), None | Some(b']')) => {
                let (mut end, mut after) = rest.split_first()?;
                if *end == b'\\' {
                    (end, after) = after.split_first()?;
                }
                rest = after;
                (before?..=*end).for_each(|byte| set[usize::from(byte)] = true);
                None
            }
            b'[' if rest.first() == Some(&b':') => {
                let end = rest.iter().position(|byte| *byte == b']')?;
                if end >= 2 && rest[end - 1] == b':' {
                    let is_member = named_class(&rest[1..end - 1])?;
                    (0..=u8::MAX).filter(|byte| is_member(*byte)).for_each(|byte| {
                        set[usize::from(byte)] = true;
                    });
                    rest = &rest[end + 1..];
                    None
                } else {
                    set[usize::from(b'[')] = true;
                    Some(b'[')
                }
            }
            byte => {
                set[usize::from(*byte)] = true;
                Some(*byte)
            }
        };
        is_first = false;
    }
    let mut words = [0_u64; 4];
    for byte in (0..=u8::MAX).filter(|byte| *byte != b'/' && set[usize::from(*byte)] != is_negated)
    {
        words[usize::from(byte >> 6)] |= 1 << (byte & 63);
    }
    Some((words, rest))
}

/// Returns the class of a name such as `alpha`, for bytes of ASCII.
fn named_class(name: &[u8]) -> Option<fn(u8) -> bool> {
    Some(match name {
        b"alnum" => |byte| byte.is_ascii_alphanumeric(),
        b"alpha" => |byte| byte.is_ascii_alphabetic(),
        b"blank" => |byte| matches!(byte, b' ' | b'\t'),
        b"cntrl" => |byte| byte.is_ascii_control(),
        b"digit" => |byte| byte.is_ascii_digit(),
        b"graph" => |byte| byte.is_ascii_graphic(),
        b"lower" => |byte| byte.is_ascii_lowercase(),
        b"print" => |byte| byte.is_ascii_graphic() || byte == b' ',
        b"punct" => |byte| byte.is_ascii_punctuation(),
        b"space" => |byte| byte.is_ascii_whitespace() || byte == 0x0b,
        b"upper" => |byte| byte.is_ascii_uppercase(),
        b"xdigit" => |byte| byte.is_ascii_hexdigit(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(pattern: &str, path: &str) -> bool {
        let (path, is_directory) = match path.strip_suffix('/') {
            Some(path) => (path, true),
            None => (path, false),
        };
        let text = format!("/home/{path}/");
        let query = Query { text: text.as_bytes(), base: 5, is_directory };
        Pattern::new(pattern.as_bytes(), Anchor::Root, false).matches(&query)
    }

    #[test]
    fn a_pattern_without_a_slash_matches_the_last_component() {
        assert!(is("foo", "foo") && is("foo", "a/b/foo") && !is("foo", "a/foo/b"));
        assert!(is("*.o", "a/x.o") && !is("*.o", "a.o/x"));
        assert!(is("a?c", "abc") && !is("a?c", "a/c") && !is("?", "") && !is("a?c", "ac"));
    }

    #[test]
    fn anchors_mean_the_root_and_slashes_inside_mean_last_components() {
        assert!(is("/foo", "foo") && !is("/foo", "a/foo"));
        assert!(is("b/c", "a/b/c") && is("b/c", "b/c") && !is("b/c", "ab/c") && !is("b/c", "c"));
        assert!(is("b/*", "a/b/c") && !is("b/*", "b/c/d"));
    }

    #[test]
    fn a_slash_at_the_end_means_directories() {
        assert!(is("foo/", "a/foo/") && !is("foo/", "a/foo"));
        assert!(is("*/", "foo/") && !is("*/", "foo"));
    }

    #[test]
    fn two_stars_cross_slashes_and_three_match_the_directory_too() {
        assert!(is("a/**", "a/b/c") && !is("/a/**", "a/") && is("/a/***", "a/"));
        assert!(is("/a/***", "a/b/c") && !is("/a/***", "a"));
        assert!(is("**/b", "b") && is("**/b", "x/y/b") && is("/x/**/b", "x/y/z/b"));
        assert!(is("x**b", "q/x/y/b") && !is("x**b", "qx/y/b"));
    }

    #[test]
    fn classes_are_those_of_the_manual() {
        assert!(is("[abc]", "b") && !is("[abc]", "d") && is("[!abc]", "d") && is("[^abc]", "d"));
        assert!(is("[a-c]x", "bx") && is("[]x]", "]") && is("[a-]", "-") && is("[\\]]", "]"));
        assert!(is("[[:digit:]]", "7") && !is("[[:digit:]]", "x") && is("[[:x]", ":"));
        assert!(!is("[[:odd:]]", "o") && !is("[ab", "a") && !is("a[^b]c", "a/c"));
    }

    #[test]
    fn a_backslash_escapes_only_beside_a_wildcard() {
        assert!(is("a\\*b?", "a*bc") && !is("a\\*b?", "axbc"));
        assert!(is("a\\b", "a\\b") && !is("a\\b", "ab") && !is("a*\\", "a"));
    }

    #[test]
    fn many_stars_take_no_exponential_time() {
        let pattern = format!("{}b", "*a".repeat(60));
        assert!(!is(&pattern, &"a".repeat(250)));
        let pattern = format!("{}b", "**/*a".repeat(30));
        assert!(!is(&pattern, &"aaaaaaaaa/".repeat(300)));
    }

    #[test]
    fn bytes_need_not_be_text() {
        let query = Query { text: b"/\xff\x80x/", base: 0, is_directory: false };
        assert!(Pattern::new(b"\xff?x", Anchor::Root, false).matches(&query));
        assert!(Pattern::new(b"[\x80-\xff]*", Anchor::Root, false).matches(&query));
    }
}
