//! haul's tar against GNU's: the same command line, one after the other.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::Outcome;
use super::run::{Call, Done, haul};
use super::scratch::Scratch;

/// Returns the folder of the GNU tar that `cargo xtask gnu tar` built, if it did.
fn built() -> Option<PathBuf> {
    let target = haul().parent()?.parent()?.join("gnu-tar/source");
    let entries = std::fs::read_dir(target).ok()?;
    let mut folders = entries.flatten().map(|entry| entry.path().join("src"));
    folders.find(|folder| folder.join("tar").is_file())
}

/// Starts GNU tar: the one that was built, whose version is haul's model, or else the system's.
pub(crate) fn gnu_tar() -> Call {
    let call = Call::of("tar");
    match built() {
        Some(folder) => {
            let path = std::env::var("PATH").unwrap_or_default();
            call.env("PATH", &format!("{}:{path}", folder.display()))
        }
        None => call,
    }
}

/// Returns whether GNU tar is 1.35 or later; older ones write and say some things in another way.
pub(crate) fn is_current() -> Outcome<bool> {
    let said = gnu_tar().word("--version").run()?.text();
    let version = said.lines().next().and_then(|line| line.rsplit(' ').next()).unwrap_or_default();
    let minor = version.split('.').nth(1).and_then(|minor| minor.parse::<u32>().ok());
    Ok(version.starts_with("1.") && minor.is_some_and(|minor| minor >= 35))
}

/// Starts haul's tar.
pub(crate) fn ours() -> Call {
    Call::of(haul()).word("tar")
}

/// Runs a command line of words without spaces with GNU tar and with haul. `reset` makes the state in
/// which each begins. Returns GNU's result and haul's.
pub(crate) fn both(
    scratch: &Scratch,
    words: &str,
    reset: &dyn Fn() -> Outcome,
) -> Outcome<(Done, Done)> {
    let words: Vec<&str> = words.split(' ').collect();
    reset()?;
    let gnu = gnu_tar().words(&words).in_dir(scratch.path()).run()?;
    reset()?;
    let haul = ours().words(&words).in_dir(scratch.path()).run()?;
    Ok((gnu, haul))
}

/// Returns what `haul tar` should print where GNU tar prints this: the line about help names the command
/// as it was called.
pub(crate) fn expected_errors(gnu: &Done) -> String {
    let theirs = "Try 'tar --help' or 'tar --usage' for more information.";
    gnu.errors().replace(theirs, "Try 'haul tar --help' for more information.")
}

/// Demands that output, messages and exit status are the same.
///
/// # Panics
///
/// If they are not.
pub(crate) fn demand_same(words: &str, gnu: &Done, haul: &Done) {
    assert_eq!(haul.text(), gnu.text(), "output: {words}");
    assert_eq!(haul.errors(), expected_errors(gnu), "messages: {words}");
    assert_eq!(haul.code(), gnu.code(), "status: {words}");
}

/// Returns the names below a directory, and the bytes of the files.
pub(crate) fn contents(scratch: &Scratch, below: &str) -> Outcome<BTreeMap<String, Vec<u8>>> {
    let found = Call::of("find").words([below, "-printf", "%y %p\n"]).in_dir(scratch.path());
    let mut all = BTreeMap::new();
    for line in found.succeed()?.text().lines() {
        let (kind, name) = line.split_once(' ').unwrap_or_default();
        let bytes = match kind {
            "f" => std::fs::read(scratch.at(name))?,
            "l" => std::fs::read_link(scratch.at(name))?.into_os_string().into_encoded_bytes(),
            _ => Vec::new(),
        };
        all.insert(line.to_owned(), bytes);
    }
    Ok(all)
}
