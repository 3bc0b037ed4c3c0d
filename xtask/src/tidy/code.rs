//! Rust text as tokens and comments: enough of the syntax to find words that are code.
//!
//! A real parser would be a large dependency for a few questions of the kind "is this word used".
//! The tokeniser must recognise everything that is *not* code: comments, strings, characters and lifetimes.

/// A word, a number, `::`, or a single other character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    pub(crate) text: &'a str,
    /// Counted from 1.
    pub(crate) line: usize,
}

/// Splits Rust text into tokens, without comments, strings and characters.
pub(crate) fn tokens(text: &str) -> Vec<Token<'_>> {
    parts(text)
        .into_iter()
        .filter(|(kind, _)| *kind == Part::Code)
        .map(|(_, token)| token)
        .collect()
}

/// The comments of Rust text, with their slashes, each with the line on which it begins.
pub(crate) fn comments(text: &str) -> Vec<Token<'_>> {
    let is_comment =
        |(kind, token): &(Part, Token<'_>)| *kind == Part::Skipped && token.text.starts_with('/');
    parts(text).into_iter().filter(is_comment).map(|(_, token)| token).collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Code,
    /// A comment, string, character or lifetime.
    Skipped,
}

/// Splits Rust text into all its parts but white space.
fn parts(text: &str) -> Vec<(Part, Token<'_>)> {
    let mut parts = Vec::new();
    let (mut at, mut line) = (0, 1);
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        if first.is_ascii_whitespace() {
            line += usize::from(first == '\n');
            at += 1;
            continue;
        }
        let (length, part) = match skipped(rest) {
            Some(length) => (length, Some(Part::Skipped)),
            None if is_word(first) => {
                (rest.find(|c| !is_word(c)).unwrap_or(rest.len()), Some(Part::Code))
            }
            None if rest.starts_with("::") => (2, Some(Part::Code)),
            None => (first.len_utf8(), (!first.is_whitespace()).then_some(Part::Code)),
        };
        parts.extend(part.map(|part| (part, Token { text: &rest[..length], line })));
        line += rest[..length].matches('\n').count();
        at += length;
    }
    parts
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The length of the comment, string, character or lifetime that the text starts with.
fn skipped(rest: &str) -> Option<usize> {
    if !rest.starts_with(['/', '"', '\'', 'b', 'c', 'r']) {
        return None;
    }
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return Some(block_comment(rest));
    }
    let prefix = ["br", "cr", "r", "b", "c", ""].into_iter().find(|prefix| {
        rest.strip_prefix(prefix).is_some_and(|after| {
            let raw = prefix.ends_with('r') && after.trim_start_matches('#').starts_with('"');
            raw || (!prefix.ends_with('r') && after.starts_with(['"', '\'']))
        })
    })?;
    let after = &rest[prefix.len()..];
    Some(prefix.len() + if prefix.ends_with('r') { raw_string(after) } else { quoted(after) })
}

fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                break;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    at
}

fn raw_string(after: &str) -> usize {
    let hashes = after.len() - after.trim_start_matches('#').len();
    let end = format!("\"{}", "#".repeat(hashes));
    let body = hashes + 1;
    after[body..].find(&end).map_or(after.len(), |found| body + found + end.len())
}

/// The length of a string or character with escapes, or of a lifetime, which has no closing quote.
fn quoted(after: &str) -> usize {
    let mut chars = after.char_indices();
    let quote = chars.next().map_or('"', |(_, c)| c);
    if quote == '\'' {
        let mut two = after[1..].chars();
        if !(two.next() == Some('\\') || two.next() == Some('\'')) {
            return 1 + after[1..].find(|c| !is_word(c)).unwrap_or(after.len() - 1);
        }
    }
    while let Some((at, c)) = chars.next() {
        if c == '\\' {
            chars.next();
        } else if c == quote {
            return at + c.len_utf8();
        }
    }
    after.len()
}

/// Returns the tokens without the items that are compiled for tests only.
pub(crate) fn without_tests<'a>(tokens: &[Token<'a>]) -> Vec<Token<'a>> {
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match attribute(tokens, at) {
            Some(found) if is_for_tests(found.inner) => {
                if found.is_inner {
                    return Vec::new();
                }
                at = item_end(tokens, found.end);
            }
            _ => {
                kept.push(tokens[at]);
                at += 1;
            }
        }
    }
    kept
}

fn is_for_tests(inner: &[Token<'_>]) -> bool {
    let has = |word| inner.iter().any(|token| token.text == word);
    inner.first().is_some_and(|token| token.text == "cfg") && has("test") && !has("not")
}

/// The index after the item that begins at `at`, other attributes included.
fn item_end(tokens: &[Token<'_>], mut at: usize) -> usize {
    while let Some(next) = attribute(tokens, at) {
        at = next.end;
    }
    let mut depth = 0_usize;
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" => depth = depth.saturating_sub(1),
            "}" => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    break;
                }
            }
            ";" if depth == 0 => break,
            _ => {}
        }
    }
    at
}

/// An attribute found among tokens.
pub(crate) struct Attribute<'t, 'a> {
    /// What is between the brackets.
    pub(crate) inner: &'t [Token<'a>],
    /// The index after the closing bracket.
    pub(crate) end: usize,
    /// Whether it is `#![…]`, which applies to the enclosing item.
    is_inner: bool,
}

/// Returns the attribute that begins at `at`, if one does.
pub(crate) fn attribute<'t, 'a>(tokens: &'t [Token<'a>], at: usize) -> Option<Attribute<'t, 'a>> {
    let is = |index: usize, text| tokens.get(index).is_some_and(|token| token.text == text);
    let is_inner = is(at + 1, "!");
    let open = at + 1 + usize::from(is_inner);
    if !is(at, "#") || !is(open, "[") {
        return None;
    }
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(open) {
        match token.text {
            "[" => depth += 1,
            "]" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(Attribute { inner: &tokens[open + 1..index], end: index + 1, is_inner });
        }
    }
    None
}

/// Returns each path such as `std::fs::File` with its first line; groups in braces are expanded.
pub(crate) fn paths<'a>(tokens: &[Token<'a>]) -> Vec<(usize, Vec<&'a str>)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at].text.starts_with(is_word) {
            at = path(tokens, at, &[], &mut found);
        } else {
            at += 1;
        }
    }
    found
}

/// Reads one path from `at` on, behind `prefix`; returns the index after it.
fn path<'a>(
    tokens: &[Token<'a>],
    mut at: usize,
    prefix: &[&'a str],
    found: &mut Vec<(usize, Vec<&'a str>)>,
) -> usize {
    let is = |index: usize, text| tokens.get(index).is_some_and(|token| token.text == text);
    let mut segments = prefix.to_vec();
    let line = tokens.get(at).map_or(0, |token| token.line);
    while let Some(token) = tokens.get(at).filter(|token| token.text.starts_with(is_word)) {
        segments.push(token.text);
        at += 1;
        if is(at, "::") && is(at + 1, "{") {
            return group(tokens, at + 2, &segments, found);
        }
        if !is(at, "::") {
            break;
        }
        at += 1;
    }
    found.push((line, segments));
    at
}

fn group<'a>(
    tokens: &[Token<'a>],
    mut at: usize,
    prefix: &[&'a str],
    found: &mut Vec<(usize, Vec<&'a str>)>,
) -> usize {
    while let Some(token) = tokens.get(at) {
        match token.text {
            "}" => return at + 1,
            // The new name of an import is no path behind the prefix.
            "as" => at += 2,
            text if text.starts_with(is_word) => at = path(tokens, at, prefix, found),
            _ => at += 1,
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> String {
        tokens(text).iter().map(|token| token.text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn comments_are_found_with_their_lines() {
        let text = "a // one\n\"// no\" /* two\n three */ b\n/// four";
        let found: Vec<_> = comments(text).iter().map(|token| (token.line, token.text)).collect();
        assert_eq!(found, [(1, "// one"), (2, "/* two\n three */"), (4, "/// four")]);
    }

    #[test]
    fn comments_strings_characters_and_lifetimes_are_no_code() {
        let cases = [
            ("a // unsafe\nb", "a b"),
            ("a /* unsafe /* nested */ still */ b", "a b"),
            (r#"a "unsafe \" unsafe" b"#, "a b"),
            ("a r#\"unsafe \" unsafe\"# b", "a b"),
            (r#"a b"unsafe" c"unsafe" br"unsafe\" b"#, "a b"),
            (r"a '\'' 'u' b'\\' '\u{1F600}' 'ß' b", "a b"),
            ("fn f<'unsafe_>(x: &'static str) {}", "fn f < > ( x : & str ) { }"),
            ("r#type::x", "r # type :: x"),
        ];
        for (text, expected) in cases {
            assert_eq!(words(text), expected, "{text}");
        }
    }

    #[test]
    fn lines_count_through_what_is_skipped() {
        let tokens = tokens("/* \n\n */ a \"\n\" b");
        assert_eq!(tokens.iter().map(|token| token.line).collect::<Vec<_>>(), [3, 4]);
    }

    #[test]
    fn test_items_go_and_nothing_else() {
        let cases = [
            ("a; #[cfg(test)] mod tests { fn x() { {} } } b", "a ; b"),
            ("#[cfg(test)] #[path = \"x\"] mod tests; b", "b"),
            ("#[cfg(all(test, unix))] fn f() -> [u8; 2] { [1; 2] } b", "b"),
            ("#[cfg(not(test))] a", "# [ cfg ( not ( test ) ) ] a"),
            ("#![cfg(test)] a", ""),
        ];
        for (text, expected) in cases {
            let kept = without_tests(&tokens(text));
            let kept: Vec<_> = kept.iter().map(|token| token.text).collect();
            assert_eq!(kept.join(" "), expected, "{text}");
        }
    }

    #[test]
    fn groups_are_spelled_out() {
        let tokens = tokens("use std::{fs::{self, File as F}, io}; x::y(); use {a::b};");
        let paths: Vec<_> = paths(&tokens).iter().map(|(_, path)| path.join("::")).collect();
        let expected = ["use", "std::fs::self", "std::fs::File", "std::io", "x::y", "use", "a::b"];
        assert_eq!(paths, expected);
    }
}
