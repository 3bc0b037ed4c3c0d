//! Escaping of names, because a file name may contain terminal escape sequences.

use std::fmt::Write as _;

/// Escapes control characters and those that change the direction of text.
pub(super) fn escaped(name: &str) -> String {
    let mut safe = String::with_capacity(name.len());
    for character in name.chars() {
        let is_direction = matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        match character {
            '\n' => safe.push_str("\\n"),
            '\t' => safe.push_str("\\t"),
            _ if character.is_control() || is_direction => {
                // Writing to a String cannot fail.
                let _written = write!(safe, "\\u{{{:x}}}", u32::from(character));
            }
            _ => safe.push(character),
        }
    }
    safe
}

/// Escapes a name for XML as well.
pub(super) fn xml(name: &str) -> String {
    escaped(name)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_is_left() {
        assert_eq!(escaped("plain näme 魚"), "plain näme 魚");
        assert_eq!(escaped("a\nb\x1b[31m\u{202e}"), "a\\nb\\u{1b}[31m\\u{202e}");
        assert_eq!(xml("<a&\"b\">"), "&lt;a&amp;&quot;b&quot;&gt;");
    }

    proptest::proptest! {
        #[test]
        fn no_control_character_survives(name: String) {
            proptest::prop_assert!(!escaped(&name).chars().any(char::is_control));
        }
    }
}
