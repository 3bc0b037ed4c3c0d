//! `--pax-option`: a list of changes of extended headers, separated by commas.

use haul_archive::format::PaxOptions;

use super::refuse::bad;
use super::times;
use crate::ending::CommandError;
use crate::escape::quote_word;

/// Adds the changes of a list.
pub(super) fn add(options: &mut PaxOptions, list: &str) -> Result<(), CommandError> {
    for part in list.split(',').filter(|part| !part.is_empty()) {
        let Some((keyword, value)) = part.split_once('=') else {
            return bad(&format!("Keyword {part} is unknown or not yet implemented"));
        };
        if keyword.is_empty() {
            return bad(&format!("Malformed pax option: {}", quote_word(part.as_bytes())));
        }
        let (keyword, is_global) = match keyword.strip_suffix(':') {
            Some(keyword) => (keyword, false),
            None => (keyword, true),
        };
        one(options, keyword.trim_end(), value.trim_start(), is_global)?;
    }
    Ok(())
}

fn one(
    options: &mut PaxOptions,
    keyword: &str,
    value: &str,
    is_global: bool,
) -> Result<(), CommandError> {
    let bytes = value.as_bytes();
    match keyword {
        "delete" => {
            if !options.delete(bytes) {
                return bad(&format!("Pattern {} cannot be used", quote_word(bytes)));
            }
        }
        "exthdr.name" => options.name = Some(bytes.to_vec()),
        "globexthdr.name" => options.global_name = Some(bytes.to_vec()),
        "exthdr.mtime" => options.mtime = Some(seconds(value)?),
        "globexthdr.mtime" => options.global_mtime = Some(seconds(value)?),
        _ => {
            let value = value_of(value)?;
            let may = match is_global {
                true => options.set_for_all(keyword.as_bytes(), value.as_bytes()),
                false => options.set(keyword.as_bytes(), value.as_bytes()),
            };
            if !may {
                return bad(&format!("Keyword {keyword} cannot be overridden"));
            }
        }
    }
    Ok(())
}

/// A value in braces is a time.
fn value_of(value: &str) -> Result<String, CommandError> {
    match value.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        Some(time) => times::time(time).map(times::text),
        None => Ok(value.to_owned()),
    }
}

/// Reads seconds since 1970, or a time in braces.
fn seconds(value: &str) -> Result<i64, CommandError> {
    let value = value_of(value)?;
    match times::since_1970(&value) {
        Some(moment) => Ok(moment.seconds),
        None => bad("Time stamp is out of allowed range"),
    }
}
