//! `cp --shard`: what a copy in several runs does not have.

use std::ffi::{CStr, CString};

use haul_engine::request::{Parents, Request, TargetForm};

use super::settings::Settings;
use crate::ending::CommandError;
use crate::escape::quote;
use crate::getopt::Usage;
use crate::option::list_place;

/// Refuses operands that would not mean the same to each shard, and a journal in their way.
pub(super) fn refuse_operands(settings: &Settings, request: &Request) -> Result<(), CommandError> {
    if settings.trust.shard.is_none() {
        return Ok(());
    }
    if request.form == TargetForm::Guess && request.policy.parents == Parents::Cut {
        return Err(CommandError::Usage(Usage(format!(
            "--shard needs -T or -t: after the first shard has made {}, the others would copy into it",
            quote(request.target.to_bytes())
        ))));
    }
    if request.policy.parents == Parents::Cut
        && let Some(name) = given_twice(request)
    {
        return Err(CommandError::Plain(format!(
            "--shard: two operands would become {} in {}; copy them with two commands",
            quote(name),
            quote(request.target.to_bytes())
        )));
    }
    if let Some(name) = &settings.trust.journal {
        list_place::refuse_with_volumes(("--journal", name), request)
            .map_err(CommandError::Plain)?;
    }
    Ok(())
}

/// Returns a name that two operands would have in the target. The contents of a directory (`a/.`) may
/// have any.
fn given_twice(request: &Request) -> Option<&[u8]> {
    let mut names: Vec<&[u8]> =
        request.sources.iter().map(CString::as_c_str).map(last_name).collect();
    if names.len() > 1 && names.contains(&b".".as_slice()) {
        return names.into_iter().find(|name| *name != b".").or(Some(b"."));
    }
    names.sort_unstable();
    names.windows(2).find_map(|pair| match pair {
        [one, two] if one == two => Some(*one),
        _ => None,
    })
}

/// Returns the last component of a path, or `.` for the contents of a directory.
fn last_name(path: &CStr) -> &[u8] {
    let mut parts = path.to_bytes().split(|byte| *byte == b'/');
    match parts.rfind(|part| !part.is_empty()) {
        Some(b"..") | None => b".",
        Some(name) => name,
    }
}
