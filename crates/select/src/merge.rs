//! Per-directory merge files: which of them are in a directory, and the rules that are inherited.

use std::ffi::{CStr, CString};
use std::io::Read as _;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use haul_sys::fs::{CWD, Kind, OpenHow, fstat, openat};
use haul_sys::{Call, CallError, Errno};

use crate::builder::{BuildError, Context, Draft, MergeKind, Origin};
use crate::list::RuleList;
use crate::parse::{Flaw, Prefixes, Refusal};
use crate::pattern::Anchor;

/// Largest merge file that is read, in bytes.
const MOST_BYTES: u64 = 1 << 20;

/// A kind of merge files, with the rules that apply in one directory.
#[derive(Clone, Debug)]
pub(crate) struct Merge {
    pub(crate) kind: MergeKind,
    /// Rules of the directory itself, then those of the directories above it.
    pub(crate) lists: Vec<Arc<RuleList>>,
}

impl Merge {
    pub(crate) const fn new(kind: MergeKind) -> Merge {
        Merge { kind, lists: Vec::new() }
    }
}

/// A merge file that cannot be used, so that nothing is known about the entries of its directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeFlaw {
    /// The file cannot be read.
    File(CString, CallError),
    /// A rule in it is refused.
    Rule(CString, Refusal),
}

impl MergeFlaw {
    /// Returns the name of the file in its directory.
    #[must_use]
    pub fn name(&self) -> &CStr {
        match self {
            MergeFlaw::File(name, _) | MergeFlaw::Rule(name, _) => name,
        }
    }
}

/// Adds the rules of the merge files in a directory to those that are inherited.
pub(crate) fn read_all(
    context: &Context,
    merges: &mut Vec<Merge>,
    anchor: Anchor<'_>,
    directory: BorrowedFd<'_>,
) -> Result<(), MergeFlaw> {
    // A merge file may name further kinds, which are read in the same directory.
    let mut number = 0;
    while let Some(Merge { kind, lists }) = merges.get_mut(number) {
        let kind = kind.clone();
        if kind.flags.is_local {
            lists.clear();
        }
        if !kind.name.is_empty()
            && let Some(text) = contents(directory, &kind.name)?
        {
            add(context, merges, (number, &text), anchor)?;
        }
        number += 1;
    }
    Ok(())
}

/// Reads the merge files of the directories above a tree, from where the rule says to the one that contains
/// the tree. Without such a rule this makes no call.
pub(crate) fn read_above(
    context: &Context,
    merges: &mut Vec<Merge>,
    tree: &[u8],
) -> Result<(), MergeFlaw> {
    let mut number = 0;
    while let Some(Merge { kind, .. }) = merges.get(number) {
        let kind = kind.clone();
        let from = kind
            .from
            .as_deref()
            .filter(|from| tree.strip_prefix(*from).is_some_and(|rest| rest.starts_with(b"/")));
        let mut end = from.map_or(tree.len(), <[u8]>::len);
        while end < tree.len() {
            let directory = &tree[..end];
            let path = CString::new([directory, b"/", kind.name.as_bytes()].concat());
            if let Ok(path) = path
                && let Some(text) = contents_at(&path, &kind.name)?
            {
                let anchor = Anchor::Absolute(directory.strip_prefix(b"/").unwrap_or_default());
                add(context, merges, (number, &text), anchor)?;
            }
            if kind.flags.is_local {
                merges[number].lists.clear();
            }
            let next = tree[end + 1..].iter().position(|byte| *byte == b'/');
            end = next.map_or(tree.len(), |length| end + 1 + length);
        }
        number += 1;
    }
    Ok(())
}

/// Adds the rules of one file.
fn add(
    context: &Context,
    merges: &mut Vec<Merge>,
    (number, text): (usize, &[u8]),
    anchor: Anchor<'_>,
) -> Result<(), MergeFlaw> {
    let kind = merges[number].kind.clone();
    let kinds = merges.iter().map(|merge| merge.kind.clone()).collect();
    let mut draft = Draft { merges: kinds, ..Draft::default() };
    let directory = match anchor {
        Anchor::Root => &[][..],
        Anchor::Below(path) => path,
        Anchor::Absolute(path) => &[b"/", path].concat(),
    };
    let slash: &[u8] = if directory.is_empty() { b"" } else { b"/" };
    let origin = Origin {
        anchor,
        name: [directory, slash, kind.name.as_bytes()].concat().into(),
        prefixes: Prefixes::Rules,
        is_per_directory: true,
        depth: 0,
    };
    draft.add_file(context, &origin, &kind.flags, text).map_err(|error| match error {
        BuildError::Rule(Flaw { refusal, .. }) => MergeFlaw::Rule(kind.name.clone(), refusal),
        // Only a merge rule reads a file, and there is none in a file of a directory.
        BuildError::File(..)
        | BuildError::Outside(_)
        | BuildError::Nothing(_)
        | BuildError::Twice => MergeFlaw::Rule(kind.name.clone(), Refusal::MergeInside),
    })?;
    let Draft { entries, merges: kinds, clears } = draft;
    for (merge, kind) in merges.iter_mut().zip(&kinds) {
        merge.kind.name.clone_from(&kind.name);
    }
    let known = merges.len();
    merges.extend(kinds.into_iter().skip(known).map(Merge::new));
    let lists = &mut merges[number].lists;
    if clears {
        lists.clear();
    }
    let list = RuleList::new(entries);
    if !list.is_empty() {
        lists.insert(0, Arc::new(list));
    }
    Ok(())
}

/// Returns the text of a file in a directory, if it is there. A link is not followed.
fn contents(directory: BorrowedFd<'_>, name: &CStr) -> Result<Option<Vec<u8>>, MergeFlaw> {
    text_of(openat(directory, name, OpenHow::READ), name)
}

fn contents_at(path: &CStr, name: &CStr) -> Result<Option<Vec<u8>>, MergeFlaw> {
    text_of(openat(CWD, path, OpenHow::READ), name)
}

fn text_of(
    opened: haul_sys::Result<std::os::fd::OwnedFd>,
    name: &CStr,
) -> Result<Option<Vec<u8>>, MergeFlaw> {
    let flaw = |error: CallError| MergeFlaw::File(name.to_owned(), error);
    let opened = match opened {
        Ok(opened) => opened,
        Err(error) if matches!(error.errno, Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        Err(error) => return Err(flaw(error)),
    };
    let stat = fstat(&opened).map_err(flaw)?;
    let refused = |errno| flaw(CallError::new(Call::Openat, errno));
    if stat.kind() != Kind::Regular {
        return Err(refused(Errno::INVAL));
    }
    if stat.size > MOST_BYTES {
        return Err(refused(Errno::FBIG));
    }
    let mut text = Vec::new();
    let read = std::fs::File::from(opened).take(MOST_BYTES).read_to_end(&mut text);
    read.map_err(|error| {
        let errno = error.raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error);
        flaw(CallError::new(Call::Read, errno))
    })?;
    Ok(Some(text))
}

/// Returns whether a rule of some kind of merge files is in force.
pub(crate) fn find<'a>(
    merges: &'a [Merge],
    number: usize,
    query: &crate::query::Query<'_>,
) -> Option<&'a crate::rule::Rule> {
    let merged = |number| find(merges, number, query);
    merges[number].lists.iter().find_map(|list| list.find(query, &merged))
}

/// Returns whether a name is that of a merge file.
pub(crate) fn is_merge_file(merges: &[Merge], name: &[u8]) -> bool {
    merges.iter().any(|merge| !name.is_empty() && merge.kind.name.as_bytes() == name)
}
