//! The operations, as requests to the engine and the comparison.

use std::ffi::{CStr, CString, OsStr};
use std::ops::{ControlFlow, Range};
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use haul_engine::error::What;
use haul_engine::monitor::{self, Counts, Monitor, Report};
use haul_engine::relocate;
use haul_engine::remove::{self, Missing, Pace, Strategy};
use haul_engine::request::{Recursion, Request, TargetForm};
use haul_engine::select::Purpose;
use haul_manifest::{
    Aspects, CompareOptions, Finding, Outside, PageCache, Precision, Side, compare_for,
};
use haul_sys::fs::{CWD, Kind, statat, statat_follow};

use crate::carry::{Carry, Tell};
use crate::options::{
    CONTENTS_ONLY, FOLLOW_LINKS, GENTLE, IGNORE_MISSING, Operation, Options, VERIFY,
};
use crate::pack::Packing;
use crate::report::{Item, ItemKind, Totals};
use crate::unpack::Unpacking;

/// Prepares a call whose options are checked. `target` is not used by a removal. Fails with a sentence if a
/// pattern is not valid.
pub(crate) fn prepare(
    operation: Operation,
    (source, target): (&CStr, &CStr),
    (options, descriptors): (&Options, u64),
    stop: &'static AtomicBool,
) -> Result<Arc<dyn Carry>, String> {
    let (mut source, target) = (source.to_owned(), target.to_owned());
    let resources = options.resources(descriptors);
    Ok(match operation {
        Operation::CopyFile | Operation::CopyTree => {
            let selection = options.selection(Purpose::Read)?;
            let selects = selection.is_some();
            let follows = options.has(FOLLOW_LINKS);
            let is_directory = look(&source, follows).is_some_and(|kind| kind == Kind::Directory);
            if selects && is_directory {
                // The tree itself is the root of the patterns.
                source = with_slash(source);
            }
            let policy = options.copy_policy().selection(selection);
            let request =
                Request::of_names([source], target, policy, resources).form(TargetForm::Name);
            let (flags, control) = (options.flags, monitor::Control::new(stop));
            Arc::new(Copying { request, operation, flags, selects, control, own: Own::default() })
        }
        Operation::Sync => {
            let policy = options.sync_policy()?;
            if look(&source, true).is_some_and(|kind| kind == Kind::Directory) {
                // Its entries become those of the target.
                source = with_slash(source);
            }
            let request =
                Request::of_names([source], target, policy, resources).form(TargetForm::Contents);
            let (flags, control) = (options.flags, monitor::Control::new(stop));
            let selects = true;
            Arc::new(Copying { request, operation, flags, selects, control, own: Own::default() })
        }
        Operation::Pack => Arc::new(Packing::new((&source, &target), options, stop)?),
        Operation::Unpack => Arc::new(Unpacking::new((&source, &target), options, stop)),
        Operation::Move => {
            let policy = relocate::Policy::new().existing(options.existing());
            let request = relocate::Request::of_names([source], target, policy, resources)
                .form(TargetForm::Name)
                .removing(resources);
            Arc::new(Moving { request, control: relocate::Control::new(stop) })
        }
        Operation::Remove => {
            let missing = if options.has(IGNORE_MISSING) { Missing::Ignore } else { Missing::Fail };
            let strategy = if options.has(GENTLE) { Strategy::Gentle } else { Strategy::Full };
            let policy = remove::Policy::new()
                .recursion(Recursion::Yes)
                .missing(missing)
                .borders(options.borders())
                .pace(Pace { per_second: None, strategy });
            let request = remove::Request::of_names([source], policy, resources);
            Arc::new(Removing { request, control: monitor::Control::new(stop) })
        }
        Operation::Compare => {
            let contents_only = options.has(CONTENTS_ONLY);
            Arc::new(Comparing {
                roots: [source, target],
                contents_only,
                stop,
                own: Own::default(),
            })
        }
    })
}

/// Returns the name of a directory with a slash at its end.
fn with_slash(name: CString) -> CString {
    if name.to_bytes().ends_with(b"/") {
        return name;
    }
    CString::new([name.to_bytes(), b"/"].concat()).unwrap_or(name)
}

/// Counts of what the engine does not count.
#[derive(Default)]
struct Own {
    entries: AtomicU64,
    bytes: AtomicU64,
    failures: AtomicU64,
    unverified: AtomicU64,
    differences: AtomicU64,
}

fn one(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Passes the failures of the engine on.
struct Telling<'a> {
    tell: Tell<'a>,
    /// Counter of what was written and cannot be verified, if the caller relies on that.
    unverified: Option<&'a AtomicU64>,
}

impl Monitor for Telling<'_> {
    fn report(&self, report: Report<'_>) {
        let Report::Failed(failure) = report else { return };
        let mut item = Item::of_failure(failure);
        if let (What::NotProved, Some(counter)) = (&failure.what, self.unverified) {
            item.kind = ItemKind::Failure;
            one(counter);
        }
        (self.tell)(item);
    }
}

fn totals_of(counts: &Counts) -> Totals {
    Totals {
        entries: counts.entries(),
        files: counts.files,
        directories: counts.directories,
        bytes: counts.bytes,
        skipped: counts.skipped,
        failures: counts.failures,
        warnings: counts.warnings,
        differences: 0,
        deleted: counts.deleted,
    }
}

struct Copying {
    request: Request,
    operation: Operation,
    flags: u64,
    /// Whether only a directory is copied, of which entries may be left out.
    selects: bool,
    control: monitor::Control<'static>,
    own: Own,
}

/// Why a copy does not begin.
struct Refusal {
    action: &'static str,
    error_number: i32,
    reason: &'static str,
}

impl Copying {
    /// Returns why the engine must not see the request. What the names become afterwards is copied as it is.
    fn refusal(&self, source: &CStr) -> Option<Refusal> {
        let is_sync = self.operation == Operation::Sync;
        match look(source, is_sync || self.flags & FOLLOW_LINKS != 0)? {
            kind if is_sync && kind != Kind::Directory => Some(Refusal {
                action: "Stat",
                error_number: haul_engine::error::Errno::NOTDIR.raw_os_error(),
                reason: "the source is no directory; haul_copy_file copies it",
            }),
            kind if self.selects && kind != Kind::Directory => Some(Refusal {
                action: "Stat",
                error_number: haul_engine::error::Errno::NOTDIR.raw_os_error(),
                reason: "the source is no directory, of which entries could be left out",
            }),
            Kind::Directory if self.operation == Operation::CopyFile => Some(Refusal {
                action: "OmittedDirectory",
                error_number: haul_engine::error::Errno::ISDIR.raw_os_error(),
                reason: "the source is a directory; haul_copy_tree copies it",
            }),
            // The engine writes bytes into a device or FIFO that exists.
            Kind::Regular if self.flags & VERIFY != 0 && is_special(&self.request.target) => {
                Some(Refusal {
                    action: "ReadBack",
                    error_number: 0,
                    reason: "the target is no file, so that the copy cannot be read again",
                })
            }
            _ => None,
        }
    }

    /// Reports why the copy does not begin, if there is a reason.
    fn is_refused(&self, tell: Tell<'_>) -> bool {
        let source = self.request.sources.first();
        let refusal = source.and_then(|source| Some((source, self.refusal(source)?)));
        let Some((source, refusal)) = refusal else { return false };
        one(&self.own.failures);
        let paths = (source.to_bytes(), self.request.target.to_bytes());
        let shown = String::from_utf8_lossy(paths.0);
        let message = format!("{shown}: {}", refusal.reason);
        let kind = (ItemKind::Failure, refusal.error_number);
        tell(Item::new(kind, refusal.action, paths, message));
        true
    }
}

/// Returns the kind of an entry, or of what it leads to.
fn look(path: &CStr, follows: bool) -> Option<Kind> {
    let stat = if follows { statat_follow(CWD, path) } else { statat(CWD, path) };
    stat.ok().map(|stat| stat.kind())
}

/// Returns whether a path leads to what is neither a file nor a directory.
fn is_special(path: &CStr) -> bool {
    let stat = statat_follow(CWD, path);
    stat.is_ok_and(|stat| !matches!(stat.kind(), Kind::Regular | Kind::Directory))
}

impl Carry for Copying {
    fn carry_out(&self, tell: Tell<'_>) {
        if !self.is_refused(tell) {
            let unverified = (self.flags & VERIFY != 0).then_some(&self.own.unverified);
            haul_engine::copy(&self.request, &Telling { tell, unverified }, &self.control);
        }
    }

    fn totals(&self) -> Totals {
        let mut totals = totals_of(&self.control.counts());
        // The engine counts these as warnings.
        let unverified = self.own.unverified.load(Ordering::Relaxed);
        totals.warnings = totals.warnings.saturating_sub(unverified);
        totals.failures += self.own.failures.load(Ordering::Relaxed) + unverified;
        totals
    }
}

struct Moving {
    request: relocate::Request,
    control: relocate::Control<'static>,
}

impl Carry for Moving {
    fn carry_out(&self, tell: Tell<'_>) {
        relocate::relocate(&self.request, &Telling { tell, unverified: None }, &self.control);
    }

    fn totals(&self) -> Totals {
        let counts = self.control.counts();
        let copied = totals_of(&counts.copied);
        Totals {
            entries: copied.entries + counts.renamed,
            skipped: copied.skipped + counts.skipped,
            failures: counts.failures,
            warnings: counts.warnings,
            ..copied
        }
    }
}

struct Removing {
    request: remove::Request,
    control: monitor::Control<'static>,
}

impl Carry for Removing {
    fn carry_out(&self, tell: Tell<'_>) {
        remove::remove(&self.request, &Telling { tell, unverified: None }, &self.control);
    }

    fn totals(&self) -> Totals {
        totals_of(&self.control.counts())
    }
}

struct Comparing {
    roots: [CString; 2],
    contents_only: bool,
    stop: &'static AtomicBool,
    own: Own,
}

impl Comparing {
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn goes_on(&self) -> ControlFlow<()> {
        if self.is_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl Carry for Comparing {
    fn carry_out(&self, tell: Tell<'_>) {
        let [a, b] =
            self.roots.each_ref().map(|root| Path::new(OsStr::from_bytes(root.to_bytes())));
        let aspects =
            if self.contents_only { Aspects::contents_only() } else { Aspects::preserved() };
        let options =
            CompareOptions { precision: Precision::Stored, ..CompareOptions::new(aspects) };
        compare_for(
            &mut Listening { comparing: self, tell, reading: Reading(self) },
            a,
            b,
            &options,
        );
    }

    fn totals(&self) -> Totals {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Totals {
            entries: read(&self.own.entries),
            bytes: read(&self.own.bytes),
            failures: read(&self.own.failures),
            differences: read(&self.own.differences),
            ..Totals::default()
        }
    }
}

/// Receives the findings of a comparison, which ends at the next entry when it is stopped.
struct Listening<'a> {
    comparing: &'a Comparing,
    tell: Tell<'a>,
    reading: Reading<'a>,
}

impl Outside for Listening<'_> {
    fn report(&mut self, finding: Finding) -> ControlFlow<()> {
        let [a, b] = self.comparing.roots.each_ref().map(|root| root.to_bytes());
        let below = |root: &[u8], path: &[u8]| match path {
            [] => root.to_vec(),
            path => [root, b"/", path].concat(),
        };
        let item = match &finding {
            Finding::Difference(difference) => {
                one(&self.comparing.own.differences);
                let path = difference.path.as_bytes();
                let paths = (below(a, path), below(b, path));
                let kind = (ItemKind::Difference, 0);
                let word = difference.what.label();
                Item::new(kind, word, (&paths.0, &paths.1), difference.to_string())
            }
            Finding::Failure { side, failure, .. } => {
                one(&self.comparing.own.failures);
                let path = failure.path.as_bytes();
                let paths = match side {
                    Side::A => (below(a, path), Vec::new()),
                    Side::B => (Vec::new(), below(b, path)),
                };
                let kind = (ItemKind::Failure, failure.errno);
                Item::new(kind, failure.action.code(), (&paths.0, &paths.1), finding.to_string())
            }
        };
        (self.tell)(item);
        self.comparing.goes_on()
    }

    fn selects(&mut self, _: &CStr, _: Option<BorrowedFd<'_>>, _: Option<BorrowedFd<'_>>) -> bool {
        one(&self.comparing.own.entries);
        !self.comparing.is_stopped()
    }

    fn page_cache(&mut self) -> Option<&mut dyn PageCache> {
        Some(&mut self.reading)
    }
}

/// Counts the bytes that a comparison reads, which ends within a file when it is stopped.
struct Reading<'a>(&'a Comparing);

impl PageCache for Reading<'_> {
    fn begin(&mut self, _: [BorrowedFd<'_>; 2]) {}

    fn has_read(&mut self, _: [BorrowedFd<'_>; 2], range: Range<u64>) -> ControlFlow<()> {
        self.0.own.bytes.fetch_add(range.end - range.start, Ordering::Relaxed);
        self.0.goes_on()
    }

    fn end(&mut self, _: [BorrowedFd<'_>; 2]) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_ends_within_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let roots = ["a", "b"].map(|name| {
            let path = folder.path().join(name);
            std::fs::write(&path, vec![7; 1 << 20]).unwrap();
            CString::new(path.into_os_string().into_encoded_bytes()).unwrap()
        });
        let read_by = |stop: &'static AtomicBool| {
            let paths = (roots[0].as_c_str(), roots[1].as_c_str());
            let options = (&Options { flags: CONTENTS_ONLY, ..Options::default() }, 64);
            let call = prepare(Operation::Compare, paths, options, stop).unwrap();
            call.carry_out(&|item| panic!("{item:?}"));
            call.totals().bytes
        };
        static STOPPED: AtomicBool = AtomicBool::new(true);
        assert_eq!(read_by(&haul_io::stream::NEVER), 1 << 20);
        assert!(read_by(&STOPPED) < 1 << 20);
    }
}
