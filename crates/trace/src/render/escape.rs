//! Escaping of names, because a file name may contain terminal escape sequences.

use std::fmt::Write as _;

use haul_manifest::is_shown;

/// Escapes control characters, invisible ones, and those that change the direction of text.
pub(super) fn escaped(name: &str) -> String {
    let mut safe = String::with_capacity(name.len());
    for character in name.chars() {
        match character {
            '\n' => safe.push_str("\\n"),
            '\t' => safe.push_str("\\t"),
            _ if !is_shown(character) => {
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
        // No document may have them.
        .replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_is_left() {
        assert_eq!(escaped("plain näme 魚"), "plain näme 魚");
        assert_eq!(escaped("a\nb\x1b[31m\u{202e}"), "a\\nb\\u{1b}[31m\\u{202e}");
        assert_eq!(escaped("a\u{2028}b\u{200b}\u{85}"), "a\\u{2028}b\\u{200b}\\u{85}");
        assert_eq!(xml("<a&\"b\">"), "&lt;a&amp;&quot;b&quot;&gt;");
        assert_eq!(xml("a\u{ffff}b"), "a\u{fffd}b");
    }

    proptest::proptest! {
        #[test]
        fn nothing_that_is_not_shown_survives(name: String) {
            proptest::prop_assert!(escaped(&name).chars().all(is_shown));
        }
    }
}
