//! One line of JSON for programs, with the version of its format, safe on a terminal.

use haul_manifest::safe_json;
use serde_json::Value;

use crate::held_back::held_back_ms;

/// The version of every `--json` line, as `docs/schema/README.md` explains it.
pub(crate) const SCHEMA: u32 = 1;

/// Returns an object as a line, without the line's end. A summary says how long a gentle run was held back.
pub(crate) fn line(mut object: Value) -> String {
    if let Some(map) = object.as_object_mut() {
        map.insert("schema".to_owned(), SCHEMA.into());
        if map.get("event").is_some_and(|event| event == "summary")
            && let Some(time) = held_back_ms()
        {
            map.insert("held_back_ms".to_owned(), time.into());
        }
    }
    safe_json(object.to_string())
}
