//! Report of a call: what failed or differs, and totals, in the form that C reads.

use std::ffi::{CStr, CString, c_char, c_int};

use haul_engine::error::{Failure, Severity};

/// Items that a report keeps. A tree on a disk that fails has millions; the caller's function gets all.
pub(crate) const ITEMS_MAX: usize = 1000;

/// What a function returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Status {
    /// Everything was done; compared trees are equal.
    Ok = 0,
    /// Something failed.
    Failed = 1,
    /// Compared trees differ.
    Different = 2,
    /// The caller ended the call.
    Cancelled = 3,
    /// An argument is not valid. Nothing was done.
    Invalid = 4,
    /// The library has a bug.
    Bug = 5,
}

/// The kind of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum ItemKind {
    /// An entry was not copied, moved, removed or compared as requested.
    Failure = 1,
    /// The call goes on as requested; the caller may want to know.
    Warning = 2,
    /// Compared trees differ here.
    Difference = 3,
}

/// `struct haul_item`: one failure, warning or difference, as C reads it.
#[derive(Debug)]
#[repr(C)]
pub struct ItemView {
    /// Kind, one of the `HAUL_` constants.
    pub kind: c_int,
    /// Errno of the call that failed, 0 if none did.
    pub error_number: c_int,
    /// Permanent word for the action or the difference.
    pub action: *const c_char,
    /// Path of the source; empty if there is none.
    pub source: *const c_char,
    /// Path of the target; empty if there is none.
    pub target: *const c_char,
    /// Sentence with the paths, the action and the reason.
    pub message: *const c_char,
}

/// One failure, warning or difference. The strings live as long as the item, also if it is moved.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) kind: ItemKind,
    pub(crate) error_number: c_int,
    pub(crate) action: CString,
    pub(crate) source: CString,
    pub(crate) target: CString,
    pub(crate) message: CString,
}

/// Returns a string for C. Paths and messages have no NUL byte, for the kernel takes none.
fn c_string(bytes: impl Into<Vec<u8>>) -> CString {
    CString::new(bytes).unwrap_or_default()
}

impl Item {
    /// Returns the item of a failure of the engine.
    pub(crate) fn of_failure(failure: &Failure) -> Item {
        Item {
            kind: match failure.severity {
                Severity::Failure => ItemKind::Failure,
                Severity::Warning => ItemKind::Warning,
            },
            error_number: failure.errno.map_or(0, |errno| errno.raw_os_error()),
            action: c_string(failure.what.code()),
            source: c_string(failure.source.clone()),
            target: c_string(failure.target.clone()),
            message: c_string(failure.to_string()),
        }
    }

    /// Returns an item about two paths, of which one may be empty.
    pub(crate) fn new(
        (kind, error_number): (ItemKind, c_int),
        action: &str,
        (source, target): (&[u8], &[u8]),
        message: String,
    ) -> Item {
        Item {
            kind,
            error_number,
            action: c_string(action),
            source: c_string(source),
            target: c_string(target),
            message: c_string(message),
        }
    }

    /// Returns what C reads, which is valid as long as the item is.
    pub(crate) fn view(&self) -> ItemView {
        let pointer = |string: &CStr| string.as_ptr();
        ItemView {
            kind: self.kind as c_int,
            error_number: self.error_number,
            action: pointer(&self.action),
            source: pointer(&self.source),
            target: pointer(&self.target),
            message: pointer(&self.message),
        }
    }
}

/// `struct haul_totals`: what a call has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Totals {
    /// Entries copied, renamed, removed or compared, of any kind.
    pub entries: u64,
    /// Regular files among them; for a comparison, 0.
    pub files: u64,
    /// Directories among them; for a comparison, 0.
    pub directories: u64,
    /// Bytes copied, or compared.
    pub bytes: u64,
    /// Entries left as they are.
    pub skipped: u64,
    /// Failures.
    pub failures: u64,
    /// Warnings.
    pub warnings: u64,
    /// Differences.
    pub differences: u64,
    /// Entries of the target that a synchronisation has removed.
    pub deleted: u64,
}

/// What came of a call.
#[derive(Debug)]
pub struct Report {
    pub(crate) status: Status,
    pub(crate) totals: Totals,
    pub(crate) omitted: u64,
    items: Vec<(Item, ItemView)>,
}

impl Report {
    pub(crate) fn new() -> Report {
        Report { status: Status::Ok, totals: Totals::default(), omitted: 0, items: Vec::new() }
    }

    /// Returns the report of a call that was refused.
    pub(crate) fn refused(status: Status, action: &str, message: String) -> Report {
        let mut report = Report::new();
        report.status = status;
        report.totals.failures = 1;
        report.keep(Item::new((ItemKind::Failure, 0), action, (b"", b""), message));
        report
    }

    /// Returns the report of a call that the caller has ended.
    pub(crate) fn cancelled() -> Report {
        Report { status: Status::Cancelled, ..Report::new() }
    }

    /// Returns the report that a child of fork(2) gets of the call in which it was made.
    pub(crate) fn in_child() -> Report {
        let sentence = "only the parent of this process continues the call in which it was made";
        Report::refused(Status::Failed, "Forked", sentence.to_owned())
    }

    /// Returns the report of a call for which no thread can be started.
    pub(crate) fn without_thread(error: &std::io::Error) -> Report {
        let mut report = Report::new();
        report.status = Status::Failed;
        report.totals.failures = 1;
        let kind = (ItemKind::Failure, error.raw_os_error().unwrap_or(0));
        let message = format!("no thread can be started: {error}");
        report.keep(Item::new(kind, "Resources", (b"", b""), message));
        report
    }

    /// Keeps an item, if there is room.
    pub(crate) fn keep(&mut self, item: Item) {
        if self.items.len() < ITEMS_MAX {
            // The strings stay where they are when the item is moved.
            let view = item.view();
            self.items.push((item, view));
        } else {
            self.omitted += 1;
        }
    }

    /// Returns the number of kept items.
    pub(crate) fn count(&self) -> usize {
        self.items.len()
    }

    /// Returns what C reads of an item, if there is one.
    pub(crate) fn item(&self, index: usize) -> Option<&ItemView> {
        self.items.get(index).map(|(_, view)| view)
    }

    /// Returns the items.
    pub(crate) fn items(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().map(|(item, _)| item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_keeps_the_first_items_and_counts_the_others() {
        let mut report = Report::new();
        for number in 0..ITEMS_MAX + 2 {
            let paths = (number.to_string(), b"");
            let kind = (ItemKind::Warning, 5);
            report.keep(Item::new(kind, "Times", (paths.0.as_bytes(), paths.1), "text".into()));
        }
        assert_eq!((report.count(), report.omitted), (ITEMS_MAX, 2));
        assert_eq!(report.items().last().unwrap().source.to_bytes(), b"999");
        let view = report.item(999).unwrap();
        assert_eq!((view.kind, view.error_number), (2, 5));
        assert_eq!(view.source, report.items().last().unwrap().source.as_ptr());
        assert!(report.item(1000).is_none());
    }
}
