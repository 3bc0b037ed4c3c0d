//! Header of a journal: identifies the run that a journal belongs to, and whether this program can
//! read it.
//!
//! The header describes the run in [words](super::codes), one line for each property that
//! determines the contents of the target. Speed and verbosity do not affect the target, so `--jobs`
//! or `-v` may differ.

use std::fmt::Write as _;

use super::codes::{self, Code as _};
use super::sums::{NONCE_BYTES, SUM_BYTES, Sum, Sums};
use crate::data::aspect::{Aspect, Differences, SPELLED};
use crate::data::request::{Policy, Request, Resume};

/// First bytes of every journal.
pub(super) const MAGIC: [u8; 8] = *b"haulJRNL";

/// Version of the format, incremented with every change of the meaning of records or headers.
/// Version 4 identifies files together with their file systems; version 3 had no such identity, so its
/// records prove nothing.
pub(super) const VERSION: u32 = 4;

/// Number of bytes before the description.
const FIXED_BYTES: usize = MAGIC.len() + 4 + NONCE_BYTES + 1 + 4;

/// Maximum length of a description. The kernel's limit on arguments bounds the operands.
const MOST_BYTES: usize = 8 << 20;

/// Contents of a header.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) nonce: [u8; NONCE_BYTES],
    /// Whether the target was the new name when the run began; the target may be a directory by
    /// now.
    pub(super) as_name: bool,
    pub(super) run: Vec<u8>,
    /// Offset of the first record.
    pub(super) bytes: u64,
}

/// Defect in the beginning of a file that should be a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    /// The header is incomplete: the process that created the journal ended before it wrote the
    /// whole header.
    Torn,
    /// The file is not a journal.
    Foreign,
    /// The journal has another version.
    Version,
}

/// Encodes a header.
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

/// Returns how many bytes of a file the header takes, given the beginning of the file.
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

/// Number of bytes that [`length`] needs to determine the length of the header.
pub(super) const BEGINNING_BYTES: usize = FIXED_BYTES;

/// Decodes a header.
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

/// Describes a run in words.
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
        // No word holds a NUL, so two different lists of words never have the same encoding.
        run.push(0);
        run.extend(word.to_bytes());
    }
    if let Some(selected) = &request.policy.selection {
        run.push(0);
        run.extend(format!("selection {:016x}", selected.0.fingerprint()).into_bytes());
    }
    run
}

/// Returns the values of a request that determine the contents and the verification of the target,
/// in the order of [`SPELLED`]. No value has a newline.
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
        // The words of the run have it.
        selection: _,
        // Runs that synchronise keep no journal.
        synchronize: _,
        data,
        hashing,
        changed_retries: _,
        appearance: _,
        striping: _,
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

/// Relation of another run to this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// The other run copies the same operands to the same target, with other options.
    SameOperands(Differences),
    /// The other run copies other operands.
    Other,
}

/// Compares the descriptions of two runs.
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

/// Parsed output of [`describe`].
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

/// Returns an operand without the parts that do not affect where it leads: `./` in front, slashes
/// at the end.
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
