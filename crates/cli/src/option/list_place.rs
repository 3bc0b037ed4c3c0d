//! Where a file that a run writes beside its work (`--sum-file`, `--errors`, `--journal`) may be: not
//! where the run itself makes or removes a file, for one of the two would be lost.

use std::ffi::{OsStr, OsString};
use std::fs::{canonicalize, metadata, symlink_metadata};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use haul_engine::request::{Parents, Request, TargetForm};

use crate::escape::quote;

/// An option and the file that it names.
pub(crate) type Named<'n> = (&'static str, &'n OsStr);

/// Refuses a file that the copy itself would make.
pub(crate) fn refuse_made(named: Named<'_>, request: &Request) -> Result<(), String> {
    let Some(place) = place(named.1) else { return Ok(()) };
    for source in &request.sources {
        let source = Path::new(OsStr::from_bytes(source.as_bytes()));
        let root = root(source, request);
        for above in place.ancestors().filter(|above| is_same(above, &root)) {
            let below = place.strip_prefix(above).unwrap_or(Path::new(""));
            let is_itself = below.as_os_str().is_empty();
            let from = if is_itself { source.to_owned() } else { source.join(below) };
            let is_made = match symlink_metadata(&from) {
                // This is not a directory: the list could not be opened there.
                Ok(found) => !(is_itself && found.is_dir()),
                Err(_) => false,
            };
            if is_made {
                return Err(format!(
                    "{} {}: the copy of {} would be the same file; put it elsewhere",
                    named.0,
                    quote(named.1.as_bytes()),
                    quote(from.as_os_str().as_bytes())
                ));
            }
        }
    }
    Ok(())
}

/// Refuses a file where the copy could read, keep or replace one of the files `FILE.1`, `FILE.2` and so
/// on that several processes write beside it: inside of what is copied or made, whatever is there.
pub(crate) fn refuse_with_volumes(named: Named<'_>, request: &Request) -> Result<(), String> {
    let Some(place) = place(named.1) else { return Ok(()) };
    for source in &request.sources {
        let source = Path::new(OsStr::from_bytes(source.as_bytes()));
        let root = root(source, request);
        for tree in [source, &root] {
            if place.ancestors().skip(1).any(|above| is_same(above, tree)) {
                return Err(format!(
                    "{} {}: it and the files beside it that other ranks write would be inside {}; \
                     put it elsewhere",
                    named.0,
                    quote(named.1.as_bytes()),
                    quote(tree.as_os_str().as_bytes())
                ));
            }
        }
        // With --parents, directories above the root are made, too.
        if let Some(made) = root.ancestors().find(|made| is_volume(made, &place)) {
            return Err(format!(
                "{} {}: another rank would write {} beside it, which is a target; put it elsewhere",
                named.0,
                quote(named.1.as_bytes()),
                quote(made.as_os_str().as_bytes())
            ));
        }
    }
    Ok(())
}

/// Returns whether a path leads to a file whose name is that of a place with a number.
fn is_volume(path: &Path, place: &Path) -> bool {
    let Some(path) = without_links(path) else { return false };
    let (Some(name), Some(journal)) = (path.file_name(), place.file_name()) else { return false };
    let number = name.as_bytes().strip_prefix(journal.as_bytes());
    let number = number.and_then(|rest| rest.strip_prefix(b"."));
    path.parent() == place.parent()
        && number.is_some_and(|number| !number.is_empty() && number.iter().all(u8::is_ascii_digit))
}

/// Refuses a file that would be removed with an operand.
pub(crate) fn refuse_removed(named: Named<'_>, operands: &[OsString]) -> Result<(), String> {
    let Some(place) = place(named.1) else { return Ok(()) };
    for operand in operands {
        // A link is removed, and what it leads to stays.
        let is_link = symlink_metadata(operand).is_ok_and(|found| found.is_symlink());
        if !is_link && place.ancestors().skip(1).any(|above| is_same(above, Path::new(operand))) {
            return Err(format!(
                "{} {}: it would be removed with {}; put it elsewhere",
                named.0,
                quote(named.1.as_bytes()),
                quote(operand.as_bytes())
            ));
        }
    }
    Ok(())
}

/// Returns the path of the file without links; nothing for pipes and devices, which hold no data, and
/// where there is no such place, which opening the file tells.
fn place(name: &OsStr) -> Option<PathBuf> {
    match metadata(name) {
        Ok(found) if !found.is_file() => None,
        Ok(_) => canonicalize(name).ok(),
        Err(_) => without_links(Path::new(name)),
    }
}

/// Returns the path without links of what need not be there yet.
fn without_links(path: &Path) -> Option<PathBuf> {
    if let Ok(whole) = canonicalize(path) {
        return Some(whole);
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = canonicalize(parent.unwrap_or(Path::new("."))).ok()?;
    Some(parent.join(path.file_name()?))
}

/// Returns what becomes of an operand.
fn root(source: &Path, request: &Request) -> PathBuf {
    let target = Path::new(OsStr::from_bytes(request.target.as_bytes()));
    if request.form == TargetForm::Name || !target.is_dir() {
        return target.to_owned();
    }
    if request.policy.parents == Parents::Keep {
        let below = source.components().filter(|part| *part != Component::RootDir);
        return target.join(below.collect::<PathBuf>());
    }
    // `s/.` and `..` mean the contents of the directory.
    let bytes = source.as_os_str().as_bytes();
    let last = bytes.split(|byte| *byte == b'/').rfind(|part| !part.is_empty());
    match last {
        Some(b"." | b"..") | None => target.to_owned(),
        Some(name) => target.join(OsStr::from_bytes(name)),
    }
}

/// Returns whether two paths lead to the same file, or would if it were there.
pub(crate) fn is_same(one: &Path, other: &Path) -> bool {
    let same = |one: &Path, other: &Path| match (metadata(one), metadata(other)) {
        (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        _ => false,
    };
    if same(one, other) {
        return true;
    }
    let (Some(one), Some(other)) = (without_links(one), without_links(other)) else { return false };
    match (one.parent(), other.parent()) {
        (Some(above), Some(other_above)) => {
            one.file_name() == other.file_name() && same(above, other_above)
        }
        _ => false,
    }
}
