//! The header: which run a journal belongs to, and whether this program can read it.
//!
//! The header describes the run in [words](super::codes), one line for each thing that decides what ends
//! up in the target. How fast or how loud the run is does not matter, so `--jobs` or `-v` may differ.

use std::fmt::Write as _;

use super::aspect::{Aspect, Differences, SPELLED};
use super::codes::{self, Code as _};
use super::sums::{NONCE_BYTES, SUM_BYTES, Sum, Sums};
use crate::request::{Policy, Request, Resume};

/// What every journal begins with.
pub(super) const MAGIC: [u8; 8] = *b"haulJRNL";

/// Changes with every change of what records or headers mean. Version 3 describes the run by words of its
/// own; version 2 had the names of the program's types there.
pub(super) const VERSION: u32 = 3;

/// Bytes before the description.
const FIXED_BYTES: usize = MAGIC.len() + 4 + NONCE_BYTES + 1 + 4;

/// The longest description. Operands are bounded by what the kernel takes as arguments.
const MOST_BYTES: usize = 8 << 20;

/// What a header says.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) nonce: [u8; NONCE_BYTES],
    /// Whether the target was the new name when the run began; by now it may be a directory.
    pub(super) as_name: bool,
    pub(super) run: Vec<u8>,
    /// Where the records begin.
    pub(super) bytes: u64,
}

/// What is wrong with the beginning of a file that is to be a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    /// It is the beginning of one: whoever made it ended before it was written.
    Torn,
    /// It is something else.
    Foreign,
    /// It is a journal of another version.
    Version,
}

/// Spells a header.
pub(super) fn spell(nonce: [u8; NONCE_BYTES], as_name: bool, run: &[u8]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend(nonce);
    bytes.push(u8::from(as_name));
    bytes.extend(u32::try_from(run.len()).unwrap_or(0).to_le_bytes());
    bytes.extend(run);
    let sum = Sums::new(nonce).of(&bytes);
    bytes.extend(sum.to_le_bytes());
    bytes
}

/// Returns how much of a file has to be read to see its header, once its beginning is known.
pub(super) fn length(beginning: &[u8]) -> Result<usize, Flaw> {
    let is_ours = beginning.iter().zip(MAGIC).all(|(one, two)| *one == two);
    if !is_ours {
        return Err(Flaw::Foreign);
    }
    let Some((_, rest)) = beginning.split_at_checked(MAGIC.len()) else { return Err(Flaw::Torn) };
    let Some((version, rest)) = rest.split_first_chunk() else { return Err(Flaw::Torn) };
    if u32::from_le_bytes(*version) != VERSION {
        return Err(Flaw::Version);
    }
    let Some((length, _)) = rest.get(NONCE_BYTES + 1..).and_then(|rest| rest.split_first_chunk())
    else {
        return Err(Flaw::Torn);
    };
    match usize::try_from(u32::from_le_bytes(*length)) {
        Ok(length) if length <= MOST_BYTES => Ok(FIXED_BYTES + length + SUM_BYTES),
        _ => Err(Flaw::Torn),
    }
}

/// Bytes from which [`length`] can tell the rest.
pub(super) const BEGINNING_BYTES: usize = FIXED_BYTES;

/// Takes a header apart.
pub(super) fn read(bytes: &[u8]) -> Result<Header, Flaw> {
    let length = length(bytes)?;
    let told = bytes.get(..length).ok_or(Flaw::Torn)?;
    let (told, sum) = told.split_last_chunk().ok_or(Flaw::Torn)?;
    let nonce_at = MAGIC.len() + 4;
    let nonce = told.get(nonce_at..).and_then(|rest| rest.first_chunk()).ok_or(Flaw::Torn)?;
    if Sums::new(*nonce).of(told) != Sum::from_le_bytes(*sum) {
        return Err(Flaw::Torn);
    }
    let as_name = told.get(nonce_at + NONCE_BYTES).is_some_and(|byte| *byte != 0);
    let run = told.get(FIXED_BYTES..).unwrap_or(&[]).to_vec();
    Ok(Header { nonce: *nonce, as_name, run, bytes: length as u64 })
}

/// Spells out what a run is.
pub(super) fn describe(request: &Request, resume: &Resume) -> Vec<u8> {
    let mut text = String::new();
    for (aspect, value) in SPELLED.iter().zip(values(request)) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}={value}", aspect.code());
    }
    let mut run = text.into_bytes();
    let is_relative = |path: &std::ffi::CString| !path.to_bytes().starts_with(b"/");
    let words = std::iter::once(&request.target).chain(&request.sources);
    if words.clone().any(is_relative) {
        run.extend(b"in=");
        run.extend(&resume.here);
    }
    for word in words {
        // No word holds a NUL, so no two lists of words look alike.
        run.push(0);
        run.extend(word.to_bytes());
    }
    run
}

/// Tells what of a request decides about what ends up in the target, and what was verified of it, in
/// the order of [`SPELLED`]. No value has a newline.
fn values(request: &Request) -> [String; SPELLED.len()] {
    let Policy {
        recursion,
        dereference,
        make,
        specials,
        preserve,
        existing,
        consent,
        backup,
        parents,
        force,
        target_links,
        borders,
        data,
        hashing,
        changed_retries: _,
        appearance: _,
        sync: _,
        bytes_per_second: _,
        order: _,
        umask,
        privileged,
    } = &request.policy;
    let word = str::to_owned;
    [
        word(recursion.code()),
        word(dereference.code()),
        word(make.code()),
        word(specials.code()),
        codes::preserve(preserve),
        word(existing.code()),
        word(consent.code()),
        codes::backup(backup.as_ref()),
        word(parents.code()),
        word(force.code()),
        word(target_links.code()),
        word(borders.code()),
        word(data.sparse.code()),
        word(data.reflink.code()),
        codes::hashing(*hashing),
        format!("{umask:o}"),
        word(codes::yes_or_no(*privileged)),
        word(request.form.code()),
    ]
}

/// How another run is related to this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// It copies the same to the same place, in another way.
    SameOperands(Differences),
    /// It copies something else.
    Other,
}

/// Compares what two runs are.
pub(super) fn compare(theirs: &[u8], ours: &[u8]) -> Relation {
    let (Some(theirs), Some(ours)) = (take_apart(theirs), take_apart(ours)) else {
        return Relation::Other;
    };
    let is_same_copy = theirs.here == ours.here
        && theirs.words.len() == ours.words.len()
        && theirs.words.iter().zip(&ours.words).all(|(one, two)| plain(one) == plain(two));
    if !is_same_copy {
        return Relation::Other;
    }
    let mut differences = Differences::default();
    for ((aspect, one), two) in SPELLED.into_iter().zip(theirs.values).zip(ours.values) {
        if one != two {
            differences.insert(aspect);
        }
    }
    if theirs.words != ours.words {
        differences.insert(Aspect::Operands);
    }
    Relation::SameOperands(differences)
}

/// What [`describe`] put together.
struct Told<'a> {
    values: Vec<&'a [u8]>,
    here: &'a [u8],
    words: Vec<&'a [u8]>,
}

fn take_apart(run: &[u8]) -> Option<Told<'_>> {
    let mut parts = run.split(|byte| *byte == 0);
    let mut rest = parts.next()?;
    let mut values = Vec::with_capacity(SPELLED.len());
    for aspect in SPELLED {
        rest = rest.strip_prefix(aspect.code().as_bytes())?.strip_prefix(b"=")?;
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        values.push(rest.get(..end)?);
        rest = rest.get(end + 1..)?;
    }
    Some(Told { values, here: rest, words: parts.collect() })
}

/// An operand without what does not matter to where it leads: `./` in front, slashes at the end.
fn plain(mut word: &[u8]) -> &[u8] {
    while let Some(rest) = word.strip_prefix(b"./") {
        word = rest;
    }
    while word.len() > 1
        && let Some(rest) = word.strip_suffix(b"/")
    {
        word = rest;
    }
    word
}
