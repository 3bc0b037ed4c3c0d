//! `--owner-map` and `--group-map`: lines `OLD NEW`, where OLD is a name or `+ID`, and NEW is
//! `NAME`, `NAME:ID`, `:ID` or `+ID`.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::Read as _;

use haul_archive::create::Owner;

use super::quoting::named;
use crate::ending::CommandError;
use crate::file_error::describe;

/// How names and numbers of one kind are looked up.
#[derive(Clone, Copy)]
pub(super) struct Lookup {
    /// `UID` or `GID`.
    pub(super) what: &'static str,
    pub(super) by_name: fn(&[u8]) -> Option<u32>,
    pub(super) by_id: fn(u32) -> Option<Vec<u8>>,
}

/// Reads a map.
pub(super) fn read(file: &OsStr, lookup: Lookup) -> Result<HashMap<u32, Owner>, CommandError> {
    let shown = named(file.as_encoded_bytes());
    let failed = |error: &std::io::Error| {
        CommandError::Plain(format!("{shown}: Cannot open: {}", describe(error)))
    };
    let mut text = Vec::new();
    let mut opened = std::fs::File::open(file).map_err(|error| failed(&error))?;
    opened.read_to_end(&mut text).map_err(|error| failed(&error))?;
    let mut map = HashMap::new();
    for (at, line) in text.split(|byte| *byte == b'\n').enumerate() {
        let line = line.split(|byte| *byte == b'#').next().unwrap_or_default();
        let bad = |text: &str| {
            CommandError::Plain(format!("{}:{}: {text}", file.to_string_lossy(), at + 1))
        };
        let words = super::list_file::words(line);
        let (old, new) = match &words[..] {
            [] => continue,
            [old, new] => (old.as_encoded_bytes(), new.as_encoded_bytes()),
            _ => return Err(bad("malformed line")),
        };
        let old = match old.strip_prefix(b"+") {
            Some(digits) => id(digits, lookup.what).map_err(|text| bad(&text))?,
            None => known(old, lookup).map_err(|text| bad(&text))?,
        };
        let new = owner(new, lookup).map_err(|text| bad(&text))?;
        // GNU tar keeps the first of two lines.
        map.entry(old).or_insert(new);
    }
    Ok(map)
}

fn owner(text: &[u8], lookup: Lookup) -> Result<Owner, String> {
    let numbered = |name: Option<&[u8]>, id: u32| {
        let name = name.map(<[u8]>::to_vec).or_else(|| (lookup.by_id)(id)).unwrap_or_default();
        Owner { name, id: Some(u64::from(id)) }
    };
    if let Some(colon) = text.iter().position(|byte| *byte == b':') {
        let (name, number) = text.split_at(colon);
        let number = id(number.get(1..).unwrap_or_default(), lookup.what)?;
        return Ok(numbered(Some(name).filter(|name| !name.is_empty()), number));
    }
    match text.strip_prefix(b"+") {
        Some(digits) => Ok(numbered(None, id(digits, lookup.what)?)),
        None => Ok(numbered(Some(text), known(text, lookup)?)),
    }
}

fn id(digits: &[u8], what: &str) -> Result<u32, String> {
    let text = String::from_utf8_lossy(digits);
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    if !is_number {
        return Err(format!("invalid {what}: {text}"));
    }
    text.parse().map_err(|_| format!("{what} out of range: {text}"))
}

fn known(name: &[u8], lookup: Lookup) -> Result<u32, String> {
    let unknown = || format!("can't obtain {} of {}", lookup.what, String::from_utf8_lossy(name));
    (lookup.by_name)(name).ok_or_else(unknown)
}
