//! Names in JSON, lossless: a name that is UTF-8 is a string, any other is
//! `{"bytes":"<hexadecimal>"}`, as in `haul compare`.

use serde_json::{Value, json};

/// Returns a name as a JSON value.
pub(crate) fn name(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => Value::from(text),
        Err(_) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            json!({ "bytes": hex })
        }
    }
}

/// Reads a name as [`name`] writes it; a name with a NUL is refused.
pub(crate) fn bytes(value: &Value) -> Option<Vec<u8>> {
    let bytes = match value {
        Value::String(text) => text.as_bytes().to_vec(),
        Value::Object(object) => {
            let hex = object.get("bytes")?.as_str()?;
            let digits: Vec<u8> = hex
                .chars()
                .map(|digit| digit.to_digit(16).map(|d| d as u8))
                .collect::<Option<_>>()?;
            let pairs = digits.chunks_exact(2);
            if !pairs.remainder().is_empty() {
                return None;
            }
            pairs.filter_map(|pair| Some(pair.first()? << 4 | pair.last()?)).collect()
        }
        _ => return None,
    };
    (!bytes.contains(&0)).then_some(bytes)
}
