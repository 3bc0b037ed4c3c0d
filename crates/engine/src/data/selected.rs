//! The selection of a run: what a request has of it, and the question that every walk asks.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use haul_select::{Cause, Choice, MergeFlaw, Selection, Within};
use haul_sys::Errno;
use haul_sys::fs::{Follow, Kind};
use haul_tree::Entries;

use super::error::{Failure, Operation, Severity, What};
use crate::names::path::join;

/// Entries that a run is about. Two are equal if they are the same one.
#[derive(Clone, Debug)]
pub struct Selected(pub Arc<Selection>);

impl PartialEq for Selected {
    fn eq(&self, other: &Selected) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Selected {}

/// Where a name comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listing {
    /// The list of operands.
    Operands,
    /// A directory, or the path of an operand.
    Directory,
}

/// The selection in a directory of a walk; `None` if everything is selected.
pub(crate) type Inside = Option<Arc<Within>>;

/// The selections that protect the entries of a directory of a target from removal: by the merge files of the target, and
/// by those of the source. An entry stays if one of them protects it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Protection {
    target: Inside,
    source: Inside,
}

impl Protection {
    /// Protects nothing.
    pub(crate) const NONE: Protection = Protection { target: None, source: None };

    /// Returns the protection for the list of operands.
    pub(crate) fn of_operands(selected: Option<&Selected>) -> Protection {
        Protection { target: of_operands(selected), source: of_operands(selected) }
    }

    /// Returns whether nothing is protected.
    pub(crate) fn is_none(&self) -> bool {
        self.target.is_none() && self.source.is_none()
    }

    /// Returns whether an entry of an open directory of the target stays.
    pub(crate) fn protects(&self, directory: impl AsFd, name: &CStr) -> bool {
        [&self.target, &self.source]
            .into_iter()
            .flatten()
            .any(|within| within.choose(&directory, name, None, Follow::No).is_excluded())
    }

    /// Takes the entries out of a batch that stay. Returns whether there are any.
    pub(crate) fn leave_out(&self, directory: impl AsFd, names: &mut Entries) -> bool {
        let mut leave_out = |within: &Inside| {
            within.as_deref().is_some_and(|within| {
                leave_out(within, Listing::Directory, &directory, names, Follow::No)
            })
        };
        let [target, source] = [leave_out(&self.target), leave_out(&self.source)];
        target || source
    }

    /// Returns the protection in a directory that both sides have, each with its name, or path for an operand, and its
    /// descriptor; first the source's.
    pub(crate) fn enter(
        &self,
        listing: Listing,
        [source, target]: [(&CStr, &OwnedFd); 2],
    ) -> Result<Protection, (What, Option<Errno>)> {
        let enter = |within, (name, directory)| enter(within, listing, (name, false), directory);
        Ok(Protection {
            target: enter(&self.target, target)?,
            source: enter(&self.source, source)?,
        })
    }

    /// Returns the protection in a directory that only the target has.
    pub(crate) fn enter_extraneous(
        &self,
        name: &CStr,
        directory: &OwnedFd,
    ) -> Result<Protection, (What, Option<Errno>)> {
        self.enter(Listing::Directory, [(name, directory), (name, directory)])
    }
}

/// Returns the selection for the list of operands.
pub(crate) fn of_operands(selected: Option<&Selected>) -> Inside {
    selected.map(|selected| Arc::new(Within::operands(&selected.0)))
}

/// Returns what becomes of an entry.
pub(crate) fn choose<'w>(
    within: &'w Within,
    listing: Listing,
    directory: impl AsFd,
    (name, kind): (&CStr, Option<Kind>),
    follow: Follow,
) -> Choice<'w> {
    match listing {
        Listing::Operands => within.choose_operand(directory, name, follow),
        Listing::Directory => within.choose(directory, name, kind, follow),
    }
}

/// Takes the entries out of a batch that are not selected. Leading directories of operands stay. Returns
/// whether any was taken out.
pub(crate) fn leave_out(
    within: &Within,
    listing: Listing,
    directory: impl AsFd,
    names: &mut Entries,
    follow: Follow,
) -> bool {
    let count = names.slots.len();
    names.retain(|names, slot| {
        let entry = (names.name(slot), slot.kind);
        names.rest(slot).is_some()
            || !choose(within, listing, &directory, entry, follow).is_excluded()
    });
    names.slots.len() < count
}

/// Returns the selection in a directory that a walk enters, which is open as `directory`. `is_leading` says
/// that only an operand below it is wanted.
pub(crate) fn enter(
    within: &Inside,
    listing: Listing,
    (name, is_leading): (&CStr, bool),
    directory: impl AsFd,
) -> Result<Inside, (What, Option<Errno>)> {
    let Some(within) = within else { return Ok(None) };
    let entered = match listing {
        _ if is_leading => Ok(within.lead(name)),
        Listing::Operands => within.enter_operand(name, directory),
        Listing::Directory => within.enter(name, directory),
    };
    entered.map(|within| Some(Arc::new(within))).map_err(|flaw| {
        let errno = match flaw {
            MergeFlaw::File(_, error) => Some(error.errno),
            MergeFlaw::Rule(..) => None,
        };
        (What::Rules, errno)
    })
}

/// Records that what is listed below an entry of a directory is not missing, because the run has reported why it does
/// not enter that entry.
pub(crate) fn meet_below(within: &Inside, name: &CStr) {
    if let Some(within) = within {
        within.meet_below(name);
    }
}

/// Records that what is listed below a directory is not missing, because the run has reported why it does not know
/// all names there.
pub(crate) fn meet_all(within: &Inside) {
    if let Some(within) = within {
        within.meet_all();
    }
}

/// Returns a failure for each listed name that no walk has met.
pub(crate) fn missing<'s>(
    selected: Option<&'s Selected>,
    (operation, operands): (Operation, &'s [CString]),
) -> impl Iterator<Item = Failure> + 's {
    let operand = operands.first().map_or(&[][..], |operand| operand.to_bytes());
    let names = selected.into_iter().flat_map(|selected| selected.0.missing());
    names.map(move |name| Failure {
        operation,
        what: if operation == Operation::Remove { What::Remove } else { What::Stat },
        source: join(&[operand, name]),
        target: Vec::new(),
        errno: Some(Errno::NOENT),
        severity: Severity::Failure,
    })
}

/// Describes what decided about an entry, if anything did.
pub(crate) fn describe(choice: &Choice<'_>) -> Option<Vec<u8>> {
    let rule = match choice {
        Choice::Selected(None) | Choice::Above => return None,
        Choice::Selected(Some(rule)) | Choice::Excluded(Cause::Rule(rule)) => rule,
        Choice::Excluded(Cause::MergeFile) => return Some(b"a merge file stays".to_vec()),
        Choice::Excluded(Cause::Unlisted) => return Some(b"it is not listed".to_vec()),
        Choice::Excluded(Cause::Size) => return Some(b"its size".to_vec()),
        Choice::Excluded(Cause::Time) => return Some(b"its modification time".to_vec()),
    };
    Some([b"'", rule.text(), b"' of ", rule.origin()].concat())
}
