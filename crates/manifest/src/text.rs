//! Names as bytes, and their two output forms.
//!
//! A Linux name is any bytes but `/` and NUL. A program must get back exactly those bytes, and a
//! terminal must never interpret them as control sequences; one type and one function serve these
//! two purposes.

use std::fmt;
use std::fmt::Write as _;

use serde::de::{self, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes that are usually, but not always, text: a name, a path, a link's text, the value of an
/// extended attribute.
///
/// Serialises without loss. Valid UTF-8 becomes a plain string; anything else becomes a map with
/// the single key `bytes`, whose value is the lower-case hexadecimal form: the name `a\xff` is
/// `{"bytes": "61ff"}` in JSON. The two forms are distinct, and both can be deserialised.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RawText(pub Vec<u8>);

impl RawText {
    /// Returns the bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl From<&[u8]> for RawText {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }
}

impl From<Vec<u8>> for RawText {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl From<&str> for RawText {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl From<String> for RawText {
    fn from(text: String) -> Self {
        Self(text.into_bytes())
    }
}

impl AsRef<[u8]> for RawText {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Shows the escaped form, see [`escape`].
impl fmt::Display for RawText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&escape(&self.0))
    }
}

impl fmt::Debug for RawText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", escape(&self.0))
    }
}

/// Returns `bytes` as one line that is safe to show on a terminal.
///
/// Printable text is left alone. A backslash is doubled; control characters and bytes that are not
/// UTF-8 become `\n`, `\t`, `\r` or `\x1b`; characters that are invisible or change the direction
/// of the text around them become `\u{202e}`; spaces at either end become `\x20`, so that they are
/// visible. The mapping is one to one.
#[must_use]
pub fn escape(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            push_escaped(&mut out, c);
        }
        for byte in chunk.invalid() {
            push_hex(&mut out, *byte);
        }
    }
    if out.starts_with(' ') {
        out.replace_range(..1, "\\x20");
    }
    if out.ends_with(' ') {
        out.replace_range(out.len() - 1.., "\\x20");
    }
    out
}

fn push_escaped(out: &mut String, c: char) {
    match c {
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\t' => out.push_str("\\t"),
        '\r' => out.push_str("\\r"),
        c if c.is_ascii_control() => push_hex(out, c as u8),
        c if !is_shown(c) => {
            out.extend(c.escape_unicode());
        }
        c => out.push(c),
    }
}

fn push_hex(out: &mut String, byte: u8) {
    // Writing to a String cannot fail.
    let _ = write!(out, "\\x{byte:02x}");
}

/// Returns whether a character is shown, in its place: it is no control character, not invisible, and does
/// not move others. Only such characters may reach a terminal from a name.
#[must_use]
pub fn is_shown(c: char) -> bool {
    !c.is_control() && !is_invisible(c)
}

/// Returns whether a character is invisible, or reorders other characters: soft hyphen, Hangul
/// fillers, zero-width and bidirectional controls, separators, interlinear marks, tags.
///
/// Source: Unicode Standard Annex 9 (bidirectional formatting characters) and the property
/// Default_Ignorable_Code_Point of Annex 44, without variation selectors, which emoji need.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

impl Serialize for RawText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => {
                let mut hex = String::with_capacity(self.0.len() * 2);
                for byte in &self.0 {
                    // Writing to a String cannot fail.
                    let _ = write!(hex, "{byte:02x}");
                }
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry("bytes", &hex)?;
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for RawText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawTextVisitor)
    }
}

struct RawTextVisitor;

impl<'de> Visitor<'de> for RawTextVisitor {
    type Value = RawText;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string, or a map with the hexadecimal key `bytes`")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<RawText, E> {
        Ok(RawText::from(text))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawText, A::Error> {
        let Some((key, hex)) = map.next_entry::<String, String>()? else {
            return Err(de::Error::missing_field("bytes"));
        };
        if key != "bytes" {
            return Err(de::Error::unknown_field(&key, &["bytes"]));
        }
        let bytes = decode_hex(hex.as_bytes())
            .ok_or_else(|| de::Error::custom("`bytes` is not hexadecimal"))?;
        Ok(RawText(bytes))
    }
}

fn decode_hex(hex: &[u8]) -> Option<Vec<u8>> {
    let (pairs, rest) = hex.as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    let digit = |c: u8| char::from(c).to_digit(16);
    pairs.iter().map(|[high, low]| u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()).collect()
}
