//! Names in GNU tar's messages and listings: the `escape` style, in which a space stays a space.

use crate::escape::{Piece, charset, escaped, pieces};

/// Returns a name as listings show it.
pub(super) fn listed(name: &[u8]) -> String {
    quoted(name, None)
}

/// Returns a name as messages begin with it: a colon would look like the end of the name.
pub(super) fn named(name: &[u8]) -> String {
    quoted(name, Some(":"))
}

fn quoted(name: &[u8], special: Option<&str>) -> String {
    let is_plain = |byte: &u8| {
        matches!(byte, b' '..=b'~')
            && *byte != b'\\'
            && special.is_none_or(|it| it.as_bytes() != [*byte])
    };
    // An archive of a tree that leads to itself has thousands of names of thousands of bytes.
    if name.iter().all(is_plain) {
        return String::from_utf8_lossy(name).into_owned();
    }
    let mut text = String::with_capacity(name.len());
    for piece in pieces(name, charset()) {
        match piece {
            Piece::Byte(byte) => text.push_str(&escaped(byte)),
            Piece::Text("\\") => text.push_str("\\\\"),
            Piece::Text(shown) => {
                if special == Some(shown) {
                    text.push('\\');
                }
                text.push_str(shown);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_and_backslashes_are_escaped() {
        assert_eq!(listed(b"a b:c"), "a b:c");
        assert_eq!(named(b"a b:c"), "a b\\:c");
        assert_eq!(listed(b"a\nb\\\x1b\x07"), "a\\nb\\\\\\033\\a");
    }
}
