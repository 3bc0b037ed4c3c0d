//! One line of JSON for programs, with the version of its format, safe on a terminal.

use haul_manifest::safe_json;
use serde_json::Value;

/// The version of every `--json` line, as `docs/schema/README.md` explains it.
pub(crate) const SCHEMA: u32 = 1;

/// Returns an object as a line, without the line's end.
pub(crate) fn line(mut object: Value) -> String {
    if let Some(map) = object.as_object_mut() {
        map.insert("schema".to_owned(), SCHEMA.into());
    }
    safe_json(object.to_string())
}
