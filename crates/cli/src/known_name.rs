//! The lines of a list of errors (`--errors FILE`) that have names of files with several names: `cp
//! --retry-failed` links to these what was not copied.

use std::ffi::CString;

use haul_engine::file_systems::FileSystemId;
use haul_engine::known_names::{FileState, KnownName};
use haul_sys::fs::Time;
use serde_json::{Value, json};

use crate::json_line;
use crate::lossless::{bytes, name};

/// The event of these lines.
pub(crate) const EVENT: &str = "known-name";

/// Returns the line for a name.
pub(crate) fn line(known: &KnownName) -> String {
    json_line::line(json!({
        "event": EVENT,
        "source": name(known.source.to_bytes()),
        "target": name(known.target.to_bytes()),
        "source_state": state(known.source_state),
        "source_ctime": time(known.source_ctime),
        "target_state": state(known.target_state),
        "source_file_system": known.source_on.to_string(),
        "target_file_system": known.target_on.to_string(),
    }))
}

fn state(of: FileState) -> Value {
    let FileState { dev, ino, size, mtime } = of;
    json!({ "dev": dev, "ino": ino, "size": size, "mtime": time(mtime) })
}

fn time(of: Time) -> Value {
    json!([of.seconds, of.nanoseconds])
}

/// Returns whether a line says on which file systems the files are.
pub(crate) fn has_file_systems(value: &Value) -> bool {
    value.get("source_file_system").is_some()
}

/// Reads a line as [`line`] writes it. `path` interprets a path of the run that wrote it.
pub(crate) fn read(value: &Value, path: impl Fn(Vec<u8>) -> Vec<u8>) -> Option<KnownName> {
    let path = |key: &str| CString::new(path(value.get(key).and_then(bytes)?)).ok();
    Some(KnownName {
        source: path("source")?,
        target: path("target")?,
        source_state: read_state(value.get("source_state")?)?,
        source_ctime: read_time(value.get("source_ctime")?)?,
        target_state: read_state(value.get("target_state")?)?,
        source_on: read_file_system(value.get("source_file_system")?)?,
        target_on: read_file_system(value.get("target_file_system")?)?,
    })
}

fn read_state(value: &Value) -> Option<FileState> {
    let number = |key: &str| value.get(key).and_then(Value::as_u64);
    Some(FileState {
        dev: number("dev")?,
        ino: number("ino")?,
        size: number("size")?,
        mtime: read_time(value.get("mtime")?)?,
    })
}

fn read_file_system(value: &Value) -> Option<FileSystemId> {
    let digits = value.as_str()?;
    u128::from_str_radix(digits, 16).ok().map(FileSystemId::of_number)
}

fn read_time(value: &Value) -> Option<Time> {
    let nanoseconds = value.get(1)?.as_u64()?.try_into().ok()?;
    Some(Time { seconds: value.get(0)?.as_i64()?, nanoseconds })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_written() {
        let state = |ino| FileState {
            dev: u64::MAX,
            ino,
            size: 3,
            mtime: Time { seconds: -1, nanoseconds: 999_999_999 },
        };
        let known = KnownName {
            source: c"a\xff\n".to_owned(),
            target: c"/t".to_owned(),
            source_state: state(1),
            source_ctime: Time { seconds: i64::MAX, nanoseconds: 1 },
            target_state: state(2),
            source_on: FileSystemId::of_number(3),
            target_on: FileSystemId::of_number(u128::MAX),
        };
        let value = serde_json::from_str(&line(&known)).unwrap();
        assert_eq!(read(&value, |path| path), Some(known));
        let keys: Vec<&String> = value.as_object().unwrap().keys().collect();
        for key in keys.into_iter().filter(|key| !["schema", "event"].contains(&key.as_str())) {
            let mut lacking = value.clone();
            lacking.as_object_mut().unwrap().remove(key);
            assert_eq!(read(&lacking, |path| path), None, "{key}");
        }
    }
}
