//! `cp --retry-failed FILE`: what a run could not copy is copied again, and nothing else.
//!
//! The list has the options and the directory of the run; the options given now follow them. A directory
//! whose attributes alone were lost gets them without being copied as a whole, and a name that was
//! to be another one of a file that did arrive is linked to it.

use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, CString, OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use haul_engine::error::{JournalFlaw, What};
use haul_engine::file_systems::FileSystems;
use haul_engine::known_names::KnownName;
use haul_engine::request::{
    Again, Appearance, Consent, Dereference, Existing, Force, Links, Make, Parents, Policy,
    Recursion, Request, Scope, Sync,
};
use haul_sys::fs::{CWD, Kind, statat, statat_follow};

use crate::error_list::{Listed, Reading, read};
use crate::escape::quote;

/// The operands to copy again.
pub(super) struct Retry {
    /// What is copied.
    pub(super) copies: Vec<Again>,
    /// What becomes another name of a file of the target.
    pub(super) links: Vec<Again>,
    /// Names in the target that other names of the same files are linked to.
    pub(super) known: Vec<KnownName>,
    /// Files with several names that lack attributes. They are overwritten in place, so that all names in the
    /// target get these.
    pub(super) in_place: Vec<Again>,
    /// Complete copies that lack only the flags that make them immutable or append-only.
    pub(super) unpinned: Vec<Again>,
    /// Directories that something is made in; they get their attributes once more.
    pub(super) parents: Vec<Again>,
    /// What the person should know beforehand.
    pub(super) warning: Option<String>,
}

/// Failures of the run as a whole: there is no entry to copy again.
const NOT_BEGUN: [What; 5] = [
    What::TargetDirectory,
    What::TargetOperand,
    What::ParentsNeedDirectory,
    What::JournalOpen,
    What::JournalRefused(JournalFlaw::InUse),
];

/// Failures that leave an entry with its contents and without some attribute.
const ATTRIBUTES: [What; 5] =
    [What::Ownership, What::Permissions, What::Times, What::Xattr, What::Flags];

fn is_one_of(failure: &Listed, actions: &[What]) -> bool {
    actions.iter().any(|action| action.code() == failure.what)
}

/// Reads a list.
pub(super) fn list(file: &OsStr) -> Result<Reading, String> {
    let reading = read(file, "cp")?;
    if reading.failures.iter().any(|failure| is_one_of(failure, &NOT_BEGUN)) {
        return Err(format!(
            "{} is of a run that did not begin; give the whole command again",
            quote(file.as_bytes())
        ));
    }
    Ok(reading)
}

/// Finds out what to do about each failure of a list.
pub(super) fn plan(file: &OsStr, reading: &Reading, policy: &Policy) -> Result<Retry, String> {
    let cannot = |why: &str| format!("cannot retry {}: {why}", quote(file.as_bytes()));
    if policy.parents == Parents::Keep {
        return Err(cannot("what --parents makes cannot be made singly; give the command again"));
    }
    if policy.dereference == Dereference::Operands {
        return Err(cannot("with -H, what was an operand is not known; add -P or -L"));
    }
    let warning = (!reading.is_complete).then(|| {
        format!(
            "{} is not complete: the run that wrote it did not come to its end, and what it did not \
             get to is not in the list; give the whole command again",
            quote(file.as_bytes())
        )
    });
    let mut retry = Retry {
        copies: Vec::new(),
        links: Vec::new(),
        known: Vec::new(),
        in_place: Vec::new(),
        unpinned: Vec::new(),
        parents: Vec::new(),
        warning,
    };
    let known: HashMap<&CStr, &KnownName> =
        reading.known.iter().map(|known| (known.target.as_c_str(), known)).collect();
    let file_systems = FileSystems::default();
    let mut seen = HashSet::new();
    for failure in &reading.failures {
        let (Ok(source), Ok(target)) =
            (CString::new(failure.source.as_slice()), CString::new(failure.target.as_slice()))
        else {
            return Err(cannot("a name holds a NUL byte"));
        };
        let again = Again { source, target, scope: scope(failure, policy) };
        // One entry can have lost several attributes.
        if !seen.insert((again.source.clone(), again.target.clone(), again.scope == Scope::All)) {
            continue;
        }
        let is_link = is_one_of(failure, &[What::CreateHardLink]) && failure.has_errno;
        let is_unpinned = is_one_of(failure, &[What::NotPinned]);
        let is_whole = || {
            known.get(again.target.as_c_str()).is_some_and(|known| known.still_holds(&file_systems))
                || is_linked_copy(&again)
        };
        let stays_in_place =
            is_one_of(failure, &ATTRIBUTES) && is_writable(&again.target) && is_whole();
        let list = match policy.make {
            // What makes entries and names in them is done by then.
            Make::Copy if is_unpinned && again.scope == Scope::Alone => &mut retry.parents,
            // What is no copy any more is copied again.
            Make::Copy if is_unpinned && is_same_file(&again) => &mut retry.unpinned,
            Make::Copy if is_link => &mut retry.links,
            Make::Copy if stays_in_place => &mut retry.in_place,
            _ => &mut retry.copies,
        };
        list.push(again);
    }
    without_what_comes_along(&mut retry.copies);
    let is_copied = is_copied_again(&retry.copies);
    // Nothing is linked to a name that is about to be replaced.
    let stays = |known: &&KnownName| !is_copied(known.target.to_bytes());
    retry.known = reading.known.iter().filter(stays).cloned().collect();
    retry.in_place.retain(|again| !is_copied(again.target.to_bytes()));
    retry.unpinned.retain(|again| !is_copied(again.target.to_bytes()));
    if policy.preserve.times.wanted() {
        let parents = parents(reading, &known);
        let is_new =
            |parent: &Again| !retry.parents.iter().any(|other| other.target == parent.target);
        let new: Vec<Again> = parents.into_iter().filter(is_new).collect();
        retry.parents.extend(new);
    }
    Ok(retry)
}

/// Lists the directories above what failed, as far as they were copied, too.
fn parents(reading: &Reading, known: &HashMap<&CStr, &KnownName>) -> Vec<Again> {
    let was_copied = |path: &[u8]| {
        reading.sources.iter().any(|source| {
            let rest = path.strip_prefix(source.as_slice());
            rest.is_some_and(|rest| {
                rest.is_empty() || rest.starts_with(b"/") || source.ends_with(b"/")
            })
        })
    };
    let mut seen = HashSet::new();
    let mut parents = Vec::new();
    for failure in &reading.failures {
        let above = |path: &[u8]| path.rsplitn(2, |byte| *byte == b'/').nth(1).map(<[u8]>::to_vec);
        let own = source_of(failure, known);
        let (Some(source), Some(target)) = (own.as_deref().and_then(above), above(&failure.target))
        else {
            continue;
        };
        if was_copied(&source)
            && seen.insert(source.clone())
            && let (Ok(source), Ok(target)) = (CString::new(source), CString::new(target))
        {
            parents.push(Again { source, target, scope: Scope::Alone });
        }
    }
    parents
}

/// Returns the path in the source of an entry that failed. The failure of a hard link has the copy instead that
/// the entry was to be linked to: where that one has its source, the entry has its own.
fn source_of(failure: &Listed, known: &HashMap<&CStr, &KnownName>) -> Option<Vec<u8>> {
    if !is_one_of(failure, &[What::CreateHardLink]) {
        return Some(failure.source.clone());
    }
    let first = CString::new(failure.source.as_slice()).ok()?;
    let first = known.get(first.as_c_str())?;
    let (source, target) = roots(first.source.to_bytes(), first.target.to_bytes());
    Some([source, failure.target.strip_prefix(target)?].concat())
}

/// Returns the beginnings of two paths that end in the same names.
fn roots<'p>(one: &'p [u8], other: &'p [u8]) -> (&'p [u8], &'p [u8]) {
    let pairs = one.iter().rev().zip(other.iter().rev());
    let equal = pairs.take_while(|(one, other)| one == other).count();
    let mut ends = (one.len() - equal, other.len() - equal);
    // Only whole names are the same.
    let is_whole = |path: &[u8], end: usize| end == 0 || path[end - 1] == b'/';
    while ends.0 < one.len() && !(is_whole(one, ends.0) && is_whole(other, ends.1)) {
        ends = (ends.0 + 1, ends.1 + 1);
    }
    (&one[..ends.0], &other[..ends.1])
}

fn scope(failure: &Listed, policy: &Policy) -> Scope {
    let is_attribute = is_one_of(failure, &ATTRIBUTES) || is_one_of(failure, &[What::NotPinned]);
    let is_directory = || {
        let name = CString::new(failure.source.as_slice()).unwrap_or_default();
        let stat = match policy.dereference {
            Dereference::Always => statat_follow(CWD, &name),
            Dereference::Operands | Dereference::Never => statat(CWD, &name),
        };
        stat.is_ok_and(|stat| stat.kind() == Kind::Directory)
    };
    if is_attribute && is_directory() { Scope::Alone } else { Scope::All }
}

/// Leaves out what lies below a directory that is copied again as a whole: two workers would copy
/// it at once.
fn without_what_comes_along(copies: &mut Vec<Again>) {
    let whole = whole(copies);
    copies.retain(|again| {
        let target = again.target.to_bytes();
        let is_twice = again.scope == Scope::Alone && whole.contains(target);
        !is_twice && !is_below(target, &whole)
    });
}

/// Returns a function that tells whether a target is copied again, alone or with a directory above it.
fn is_copied_again(copies: &[Again]) -> impl Fn(&[u8]) -> bool + use<> {
    let whole = whole(copies);
    move |target| whole.contains(target) || is_below(target, &whole)
}

/// Returns the targets that are copied again with all that is in them.
fn whole(copies: &[Again]) -> HashSet<Vec<u8>> {
    let whole = copies.iter().filter(|again| again.scope == Scope::All);
    whole.map(|again| again.target.to_bytes().to_vec()).collect()
}

fn is_below(target: &[u8], directories: &HashSet<Vec<u8>>) -> bool {
    let slashes = target.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    slashes.filter_map(|(at, _)| target.get(..at)).any(|above| directories.contains(above))
}

/// The policy by which a name becomes another one of a file of the target.
pub(super) fn linking(request: &Request) -> Request {
    let mut request = request.clone();
    request.policy.make = Make::HardLink;
    request.policy.recursion = Recursion::No;
    request.policy.dereference = Dereference::Never;
    request.policy.force = Force::First;
    request
}

/// The policy by which a file of the target with several names is overwritten in place: a file that appears as a
/// whole would get one of the names.
pub(super) fn overwriting(request: &Request) -> Request {
    let mut request = request.clone();
    if request.policy.appearance == Appearance::Durable {
        request.policy.sync = Sync::Files;
    }
    request.policy.appearance = Appearance::Gradual;
    request.policy.preserve.links = Links::Split;
    request.policy.force = Force::No;
    request
}

/// The policy by which a complete copy gets the flags that it lacks: no byte is written, no name is given, and no
/// rule about names that are taken applies.
pub(super) fn pinning(request: &Request) -> Request {
    let mut request = overwriting(request);
    request.policy.make = Make::Attributes;
    request.policy.existing = Existing::Overwrite;
    request.policy.consent = Consent::NotNeeded;
    request.policy.backup = None;
    request
}

/// Returns whether a target is no link but a file with the bytes of its source.
fn is_same_file(again: &Again) -> bool {
    let target = Path::new(OsStr::from_bytes(again.target.to_bytes()));
    target.symlink_metadata().is_ok_and(|file| file.is_file()) && is_copy(again, 1)
}

/// Returns whether a target has several names and the bytes of its source, so that writing to it changes
/// attributes alone.
fn is_linked_copy(again: &Again) -> bool {
    is_copy(again, 2)
}

/// Returns whether a target is a regular file with at least so many names and the bytes of its source.
fn is_copy(again: &Again, names: u64) -> bool {
    let open = |name: &CStr| File::open(OsStr::from_bytes(name.to_bytes()));
    let (Ok(source), Ok(target)) = (open(&again.source), open(&again.target)) else { return false };
    let has_names = target.metadata().is_ok_and(|file| file.is_file() && file.nlink() >= names);
    let is_file = source.metadata().is_ok_and(|file| file.is_file());
    has_names && is_file && have_same_bytes(source, target).unwrap_or(false)
}

/// Compares two files from their beginnings to their ends.
fn have_same_bytes(one: File, other: File) -> io::Result<bool> {
    let (mut one, mut other) = (BufReader::new(one), BufReader::new(other));
    loop {
        let (first, second) = (one.fill_buf()?, other.fill_buf()?);
        let count = first.len().min(second.len());
        if count == 0 {
            return Ok(first.len() == second.len());
        }
        if first.get(..count) != second.get(..count) {
            return Ok(false);
        }
        one.consume(count);
        other.consume(count);
    }
}

/// Returns whether a name is a regular file that this process may write to.
fn is_writable(target: &CStr) -> bool {
    let path = Path::new(OsStr::from_bytes(target.to_bytes()));
    let is_regular = std::fs::symlink_metadata(path).is_ok_and(|file| file.is_file());
    is_regular && std::fs::OpenOptions::new().write(true).open(path).is_ok()
}

/// Options that are about one run, not about how something is copied.
const OF_A_RUN: [&str; 11] = [
    "config",
    "dry-run",
    "errors",
    "job",
    "metrics",
    "no-config",
    "no-target-directory",
    "preflight",
    "retry-failed",
    "strip-trailing-slashes",
    "target-directory",
];

/// The options of a command line, spelled out, without the target and the list.
pub(super) fn options(arguments: &[OsString]) -> Vec<OsString> {
    use super::options::OPTIONS;
    use crate::getopt::{Opt, Word, parse};
    // Each is known by its place in the table.
    let places: Vec<Opt<usize>> =
        OPTIONS.iter().enumerate().map(|(at, option)| option.known_as(at)).collect();
    let words = parse(arguments, &places).unwrap_or_default();
    words
        .into_iter()
        .filter_map(|word| match word {
            Word::Option { id, value } if !OF_A_RUN.contains(&OPTIONS[id].long) => {
                Some(spelled(OPTIONS[id].short, OPTIONS[id].long, value))
            }
            Word::Option { .. } | Word::Operand(_) => None,
        })
        .collect()
}

fn spelled(short: &str, long: &str, value: Option<OsString>) -> OsString {
    let mut word = OsString::from(if long.is_empty() { "-" } else { "--" });
    let first = short.chars().next().map(String::from).unwrap_or_default();
    word.push(if long.is_empty() { first.as_str() } else { long });
    if let Some(value) = value {
        word.push(if long.is_empty() { "" } else { "=" });
        word.push(value);
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(what: &str, target: &str) -> Listed {
        Listed {
            what: what.to_owned(),
            has_errno: true,
            source: b"nowhere".to_vec(),
            target: target.as_bytes().to_vec(),
        }
    }

    #[test]
    fn options_are_remembered_as_they_were_meant() {
        let words =
            ["-at", "dir", "--pres=mode", "-S", ".bak", "--errors=x", "a", "--sparse", "always"];
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        let expected = ["--archive", "--preserve=mode", "--suffix=.bak", "--sparse=always"];
        assert_eq!(options(&words), expected);
    }

    #[test]
    fn paths_that_end_in_the_same_names_have_roots() {
        for (one, other, expected) in [
            ("s/x/1", "t/x/1", ("s/", "t/")),
            ("x/1", "t/x/1", ("", "t/")),
            ("as/x", "bs/x", ("as/", "bs/")),
            ("/s/x", "s/x", ("/", "")),
            ("a", "b", ("a", "b")),
        ] {
            let (one, other) = roots(one.as_bytes(), other.as_bytes());
            assert_eq!((one, other), (expected.0.as_bytes(), expected.1.as_bytes()));
        }
    }

    #[test]
    fn nothing_is_copied_twice_at_once() {
        let failures =
            vec![listed("Read", "t/d/x"), listed("ReadDirectory", "t/d"), listed("Read", "t/dx")];
        let sources = vec![b"s".to_vec()];
        let reading = Reading {
            arguments: Vec::new(),
            directory: OsString::new(),
            sources,
            failures,
            known: Vec::new(),
            is_complete: true,
        };
        let policy = Policy::plain(0);
        let retry = plan(OsStr::new("list"), &reading, &policy).unwrap();
        let targets: Vec<CString> = retry.copies.into_iter().map(|again| again.target).collect();
        assert_eq!(targets, [c"t/d".to_owned(), c"t/dx".to_owned()]);
    }
}
