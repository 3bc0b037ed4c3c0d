//! Quotes names in messages as GNU's tools do, so that a terminal receives only text.
//!
//! `quoteaf` in GNU's terms, the shell-escape-always style: what is printed can be pasted into a
//! shell and means the same file. Bytes that are no printable text in the locale become `$'\ooo'`.

use std::sync::OnceLock;

/// Which characters the terminal is taken to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Charset {
    /// ASCII alone (the C locale).
    Ascii,
    /// UTF-8.
    Utf8,
}

/// Returns the locale's character set, as the environment says.
pub(crate) fn charset() -> Charset {
    static CHARSET: OnceLock<Charset> = OnceLock::new();
    *CHARSET.get_or_init(|| {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
            .iter()
            .filter_map(std::env::var_os)
            .find(|value| !value.is_empty())
            .unwrap_or_default();
        let locale = locale.to_string_lossy().to_lowercase();
        if locale.contains("utf-8") || locale.contains("utf8") {
            Charset::Utf8
        } else {
            Charset::Ascii
        }
    })
}

/// Quotes a name for a message: `'a b'`, `"it's"`, `'a'$'\n''b'`.
pub(crate) fn quote(name: &[u8]) -> String {
    quote_in(name, charset())
}

/// Quotes a name only where a shell would need it, as GNU does at the start of a message; a colon
/// is quoted too, for what follows the name begins with one.
pub(crate) fn quote_if_needed(name: &[u8]) -> String {
    quote_if_needed_in(name, charset())
}

fn quote_if_needed_in(name: &[u8], charset: Charset) -> String {
    let is_plain = |piece: Piece<'_>| match piece {
        Piece::Byte(_) => false,
        Piece::Text(text) => !matches!(
            text.as_bytes(),
            [b' '
                | b'!'
                | b'"'
                | b'$'
                | b'&'
                | b'\''
                | b'('
                | b')'
                | b'*'
                | b':'
                | b';'
                | b'<'
                | b'='
                | b'>'
                | b'?'
                | b'['
                | b'\\'
                | b'^'
                | b'`'
                | b'|']
        ),
    };
    let begins_plain = !matches!(name, [] | [b'#' | b'~', ..] | [b'{' | b'}']);
    if begins_plain && pieces(name, charset).all(is_plain) {
        return String::from_utf8_lossy(name).into_owned();
    }
    quote_in(name, charset)
}

/// Quotes a word as the locale does: ‘x’, or 'x' where that is all there is.
pub(crate) fn quote_word(word: &[u8]) -> String {
    let mut inner = String::with_capacity(word.len());
    for piece in pieces(word, charset()) {
        match piece {
            Piece::Text("'") if charset() == Charset::Ascii => inner.push_str("\\'"),
            Piece::Text(text) => inner.push_str(text),
            Piece::Byte(byte) => inner.push_str(&escaped(byte)),
        }
    }
    match charset() {
        Charset::Utf8 => format!("\u{2018}{inner}\u{2019}"),
        Charset::Ascii => format!("'{inner}'"),
    }
}

/// Characters that can be shown, or a byte that cannot. One that any style of quoting may escape is alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    Text(&'a str),
    Byte(u8),
}

pub(crate) fn pieces(name: &[u8], charset: Charset) -> impl Iterator<Item = Piece<'_>> {
    name.utf8_chunks().flat_map(move |chunk| {
        let mut rest = chunk.valid();
        // An archive may have names of megabytes, so that most characters are not looked at one by one.
        let texts = std::iter::from_fn(move || {
            let first = rest.chars().next()?;
            let plain = rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
            let (text, after) = rest.split_at(plain.max(first.len_utf8()));
            rest = after;
            Some((first, text))
        });
        let pieces = texts.flat_map(move |(first, text)| {
            let shown = is_shown(first, charset);
            let bytes = if shown { &[] } else { text.as_bytes() };
            let text = if shown { Some(Piece::Text(text)) } else { None };
            text.into_iter().chain(bytes.iter().map(|byte| Piece::Byte(*byte)))
        });
        pieces.chain(chunk.invalid().iter().map(|byte| Piece::Byte(*byte)))
    })
}

/// Control characters, line and paragraph separators, and the format characters that turn the
/// direction of text are not shown; a combining mark is.
fn is_shown(character: char, charset: Charset) -> bool {
    if character.is_ascii() {
        return !character.is_ascii_control();
    }
    if charset == Charset::Ascii || !haul_manifest::is_shown(character) {
        return false;
    }
    // `escape_debug` leaves what Unicode calls printable; a mark is escaped only at the start.
    let mut buffer = *b"a\0\0\0\0";
    let length = character.len_utf8();
    if let Some(room) = buffer.get_mut(1..=length) {
        character.encode_utf8(room);
    }
    let text = buffer.get(..=length).and_then(|bytes| std::str::from_utf8(bytes).ok());
    text.is_some_and(|text| text.escape_debug().count() == 2)
}

pub(crate) fn escaped(byte: u8) -> String {
    match byte {
        0x07 => "\\a".to_owned(),
        0x08 => "\\b".to_owned(),
        b'\t' => "\\t".to_owned(),
        b'\n' => "\\n".to_owned(),
        0x0b => "\\v".to_owned(),
        0x0c => "\\f".to_owned(),
        b'\r' => "\\r".to_owned(),
        other => format!("\\{other:03o}"),
    }
}

fn quote_in(name: &[u8], charset: Charset) -> String {
    let plain = pieces(name, charset).all(|piece| matches!(piece, Piece::Text(_)));
    let has_quote = name.contains(&b'\'');
    if plain && !has_quote {
        return format!("'{}'", String::from_utf8_lossy(name));
    }
    if plain && !name.iter().any(|byte| b"\"$`\\!".contains(byte)) {
        return format!("\"{}\"", String::from_utf8_lossy(name));
    }
    let mut text = String::from("'");
    let mut in_escape = false;
    for piece in pieces(name, charset) {
        match piece {
            Piece::Byte(byte) => {
                if !in_escape {
                    text.push_str("'$'");
                    in_escape = true;
                }
                text.push_str(&escaped(byte));
            }
            Piece::Text(shown) => {
                if in_escape {
                    text.push_str("''");
                    in_escape = false;
                }
                if shown == "'" {
                    text.push_str("'\\''");
                } else {
                    text.push_str(shown);
                }
            }
        }
    }
    text.push('\'');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_as_gnu_does() {
        let cases: &[(&[u8], &str)] = &[
            (b"a", "'a'"),
            (b"", "''"),
            (b"a b", "'a b'"),
            (b"it's", "\"it's\""),
            (b"it's $5", "'it'\\''s $5'"),
            (b"a\nb", "'a'$'\\n''b'"),
            (b"\nb", "''$'\\n''b'"),
            (b"a\n", "'a'$'\\n'"),
            (b"\xff\xfe", "''$'\\377\\376'"),
            (b"\x1b[31m", "''$'\\033''[31m'"),
        ];
        for (name, quoted) in cases {
            assert_eq!(&quote_in(name, Charset::Utf8), quoted);
        }
    }

    #[test]
    fn names_at_the_start_of_a_message_are_quoted_where_a_shell_or_a_reader_needs_it() {
        let shown = |name: &str| quote_if_needed_in(name.as_bytes(), Charset::Utf8);
        for plain in ["a", "a#b", "x~", "a]", "a{", "é", "a@", "/n/#b", "-"] {
            assert_eq!(shown(plain), plain);
        }
        for quoted in ["a:b", "a=b", "#b", "~x", "{", "a?", "a^b", "a b", "a*", ""] {
            assert_eq!(shown(quoted), format!("'{quoted}'"));
        }
        assert_eq!(shown("it's"), "\"it's\"");
        assert_eq!(quote_if_needed_in("é".as_bytes(), Charset::Ascii), "''$'\\303\\251'");
    }

    #[test]
    fn the_locale_decides_what_can_be_shown() {
        assert_eq!(quote_in("é".as_bytes(), Charset::Utf8), "'é'");
        assert_eq!(quote_in("é".as_bytes(), Charset::Ascii), "''$'\\303\\251'");
        assert_eq!(quote_in("e\u{301}".as_bytes(), Charset::Utf8), "'e\u{301}'");
        assert_eq!(quote_in("\u{202e}x".as_bytes(), Charset::Utf8), "''$'\\342\\200\\256''x'");
    }
}
