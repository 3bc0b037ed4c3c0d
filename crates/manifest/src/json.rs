//! JSON that is safe on a terminal: names in it may be anything, and serializers escape only what JSON demands.

use crate::text::is_shown;

/// Escapes every character of a JSON text that a terminal may obey or hide: DEL, the C1 controls, and
/// what turns the direction of text. Such characters can only be in strings, where `\u` means the same.
#[must_use]
pub fn safe_json(json: String) -> String {
    // White space between the values of an indented text is ASCII, and never within a string.
    let is_safe = |c: char| c.is_ascii_whitespace() || is_shown(c);
    if json.chars().all(is_safe) {
        return json;
    }
    let mut safe = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if is_safe(c) {
            safe.push(c);
        } else {
            // Characters above U+FFFF are two units: RFC 8259, section 7.
            for unit in c.encode_utf16(&mut [0; 2]) {
                safe.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn the_meaning_stays_and_nothing_is_obeyed(
            name: String,
            odd in "[\u{7f}-\u{a0}\u{200b}-\u{202e}\u{2066}-\u{2069}\u{e0001}a\"\\\\]{0,8}",
        ) {
            let value = serde_json::json!({ "name": name, (odd.clone()): odd });
            for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
                let safe = safe_json(text);
                let read: serde_json::Value = serde_json::from_str(&safe).unwrap();
                proptest::prop_assert_eq!(&read, &value);
                proptest::prop_assert!(safe.chars().all(|c| c == '\n' || is_shown(c)), "{:?}", safe);
            }
        }
    }

    #[test]
    fn plain_text_is_left_alone() {
        assert_eq!(safe_json("{\"a\":\"é 魚 👍🏽\"}".into()), "{\"a\":\"é 魚 👍🏽\"}");
        assert_eq!(safe_json("\"\u{85}\u{e0001}\"".into()), "\"\\u0085\\udb40\\udc01\"");
    }
}
