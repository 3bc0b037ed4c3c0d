//! The functions that C calls. All pointers are read here; nothing behind this file is `unsafe`.
//!
//! Rules: a pointer from C is read before the call does anything, and copied; what C gets back belongs to a
//! report, or to a flag that is counted, so that the caller may free it while a call that uses it runs; no panic
//! leaves a function.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::offset_of;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::options::{Operation, Options};
use crate::report::{Item, ItemView, Report, Status, Totals};
use crate::run::{Answer, Caller, run};

/// `struct haul_cancel`: the wish to end calls, which any thread may express.
#[derive(Debug)]
pub struct CancelFlag(AtomicBool);

type ProgressFunction = unsafe extern "C" fn(*mut c_void, *const Totals) -> c_int;
type FoundFunction = unsafe extern "C" fn(*mut c_void, *const ItemView);

/// `struct haul_options`, as C writes it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CallerOptions {
    /// Size of the structure that the caller knows.
    pub size: usize,
    /// Flags.
    pub flags: u64,
    /// Number of workers; 0 is the usual one.
    pub jobs: u32,
    /// Number of descriptors; 0 is the usual one.
    pub descriptors: u32,
    /// Flag by which another thread ends the call.
    pub cancel: *const CancelFlag,
    /// Function that receives totals.
    pub progress: Option<ProgressFunction>,
    /// Function that receives items.
    pub found: Option<FoundFunction>,
    /// First argument of both functions.
    pub context: *mut c_void,
    /// Patterns of entries that are left out.
    pub exclude: *const *const c_char,
    /// Number of patterns.
    pub exclude_count: usize,
    /// Directory that names of an archive are relative to.
    pub directory: *const c_char,
    /// Owner of the members of an archive.
    pub owner: *const c_char,
    /// Group of the members of an archive.
    pub group: *const c_char,
}

impl CallerOptions {
    const NONE: CallerOptions = CallerOptions {
        size: size_of::<CallerOptions>(),
        flags: 0,
        jobs: 0,
        descriptors: 0,
        cancel: std::ptr::null(),
        progress: None,
        found: None,
        context: std::ptr::null_mut(),
        exclude: std::ptr::null(),
        exclude_count: 0,
        directory: std::ptr::null(),
        owner: std::ptr::null(),
        group: std::ptr::null(),
    };

    /// Size of the structure in the first version of the header. It never changes.
    const FIRST_BYTES: usize = offset_of!(CallerOptions, exclude_count) + size_of::<usize>();

    /// No version has a structure of this size: the caller has not set the field.
    const TOO_MANY_BYTES: usize = 4096;

    /// Copies the options of a caller. A structure of a later version is accepted if its further fields are
    /// zero, and the further fields of this version are zero for a caller of an earlier one.
    ///
    /// # Safety
    ///
    /// The pointer is null, or leads to as many readable bytes as the first field says.
    unsafe fn read(given: *const CallerOptions) -> Result<CallerOptions, String> {
        if given.is_null() {
            return Ok(CallerOptions::NONE);
        }
        let mut options = CallerOptions::NONE;
        // SAFETY: the caller vouches for the bytes; the copy needs no alignment. All bytes that are copied are
        // integers, or pointers for which zero is valid.
        unsafe {
            let bytes = given.cast::<u8>();
            let size = bytes.cast::<usize>().read_unaligned();
            let known = size_of::<CallerOptions>();
            if !(CallerOptions::FIRST_BYTES..CallerOptions::TOO_MANY_BYTES).contains(&size) {
                return Err("size is not set: initialise the options with HAUL_OPTIONS".to_owned());
            }
            if (known..size).any(|at| bytes.add(at).read() != 0) {
                return Err("the options have a field that this version does not know".to_owned());
            }
            std::ptr::copy_nonoverlapping(bytes, (&raw mut options).cast::<u8>(), known.min(size));
        }
        Ok(options)
    }
}

/// The caller's functions, which are called in the thread that created this value.
struct Functions {
    options: CallerOptions,
    cancel: Option<Arc<CancelFlag>>,
}

impl Caller for Functions {
    fn progress(&mut self, totals: &Totals) -> Answer {
        let Some(function) = self.options.progress else { return Answer::Continue };
        // SAFETY: the caller vouches for the function and its context; the totals live through the call.
        match unsafe { function(self.options.context, totals) } {
            0 => Answer::Continue,
            _ => Answer::Cancel,
        }
    }

    fn found(&mut self, item: &Item) {
        if let Some(function) = self.options.found {
            let view = item.view();
            // SAFETY: the caller vouches for the function and its context; the item lives through the call.
            unsafe { function(self.options.context, &raw const view) }
        }
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(|cancel| cancel.0.load(Ordering::Relaxed))
    }
}

/// Reads what C has passed, carries out an operation, and gives the report to the caller.
///
/// # Safety
///
/// As [`haul_copy_tree`] says.
unsafe fn call(
    operation: Operation,
    (source, target): (*const c_char, Option<*const c_char>),
    options: *const CallerOptions,
    report: *mut *mut Report,
) -> c_int {
    // SAFETY: the caller vouches for all pointers.
    let done = match unsafe { read(source, target, options) } {
        Ok((source, target, options, mut functions)) => {
            run(operation, (source, target), &options, &mut functions)
        }
        Err(sentence) => Report::refused(Status::Invalid, "Invalid", sentence),
    };
    let status = done.status as c_int;
    if !report.is_null() {
        // SAFETY: the caller vouches for the place, whose present content is not read.
        unsafe { report.write(Box::into_raw(Box::new(done))) };
    }
    status
}

/// Reads the arguments.
///
/// # Safety
///
/// Each pointer is null or valid for as long as the result is used, strings end in a NUL, and a cancel flag is one
/// that [`haul_cancel_new`] made.
unsafe fn read<'a>(
    source: *const c_char,
    target: Option<*const c_char>,
    options: *const CallerOptions,
) -> Result<(&'a CStr, &'a CStr, Options, Functions), String> {
    let string = |pointer: *const c_char, null: &str| {
        if pointer.is_null() {
            return Err(null.to_owned());
        }
        // SAFETY: the caller vouches for the string.
        Ok(unsafe { CStr::from_ptr(pointer) })
    };
    let path = |pointer| string(pointer, "a path is NULL");
    let source = path(source)?;
    let target = target.map_or(Ok(c""), path)?;
    // SAFETY: the caller vouches for the options.
    let options = unsafe { CallerOptions::read(options)? };
    let CallerOptions { flags, jobs, descriptors, exclude, exclude_count, .. } = options;
    if exclude.is_null() && exclude_count > 0 {
        return Err("exclude is NULL".to_owned());
    }
    let pattern = |at| {
        // SAFETY: the caller vouches for as many pointers.
        let pattern = unsafe { exclude.add(at).read() };
        string(pattern, "a pattern is NULL").map(CStr::to_owned)
    };
    let exclude = (0..exclude_count).map(pattern).collect::<Result<_, _>>()?;
    let text = |pointer: *const c_char| match pointer.is_null() {
        true => None,
        // SAFETY: the caller vouches for the string.
        false => Some(unsafe { CStr::from_ptr(pointer) }.to_owned()),
    };
    let [directory, owner, group] = [options.directory, options.owner, options.group].map(text);
    let settings = Options { flags, exclude, jobs, descriptors, directory, owner, group };
    let cancel = if options.cancel.is_null() {
        None
    } else {
        // SAFETY: `haul_cancel_new` made it from an `Arc`, which the caller has not freed. The call has a
        // count of its own, so that the caller may free the flag while the call runs.
        unsafe {
            Arc::increment_strong_count(options.cancel);
            Some(Arc::from_raw(options.cancel))
        }
    };
    Ok((source, target, settings, Functions { options, cancel }))
}

/// Declares the functions that take two paths.
macro_rules! functions_of_two_paths {
    ($($(#[$doc:meta])* $name:ident($operation:ident);)+) => { $(
        $(#[$doc])*
        ///
        /// # Safety
        ///
        /// `source` and `target` are NULL or strings that end in a NUL; `options` is NULL or leads to a structure
        /// of the size that its first field says, with functions that do not unwind and a flag of
        /// [`haul_cancel_new`]; `report` is NULL or leads to a place for a pointer. All stay valid until the
        /// function returns.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            source: *const c_char,
            target: *const c_char,
            options: *const CallerOptions,
            report: *mut *mut Report,
        ) -> c_int {
            // SAFETY: the caller vouches for all of it.
            unsafe { call(Operation::$operation, (source, Some(target)), options, report) }
        }
    )+ };
}

functions_of_two_paths! {
    /// Copies a file of any kind but a directory.
    haul_copy_file(CopyFile);
    /// Copies a file or a tree.
    haul_copy_tree(CopyTree);
    /// Moves a file or a tree, also to another file system.
    haul_move(Move);
    /// Compares two files or trees.
    haul_compare(Compare);
    /// Makes a tree the same as another one.
    haul_sync(Sync);
    /// Makes an archive of a file or a tree.
    haul_pack(Pack);
    /// Extracts an archive into a directory.
    haul_unpack(Unpack);
}

/// Removes a file or a tree.
///
/// # Safety
///
/// As for [`haul_copy_tree`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn haul_remove(
    path: *const c_char,
    options: *const CallerOptions,
    report: *mut *mut Report,
) -> c_int {
    // SAFETY: the caller vouches for all of it.
    unsafe { call(Operation::Remove, (path, None), options, report) }
}

/// Returns the number of items that a report has.
///
/// # Safety
///
/// `report` is NULL or a report that was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn haul_report_items(report: *const Report) -> usize {
    // SAFETY: the caller vouches for the report.
    unsafe { report.as_ref() }.map_or(0, Report::count)
}

/// Returns an item of a report, which lives as long as the report; NULL if there is none with this index.
///
/// # Safety
///
/// As for [`haul_report_items`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn haul_report_item(report: *const Report, index: usize) -> *const ItemView {
    // SAFETY: the caller vouches for the report.
    let item = unsafe { report.as_ref() }.and_then(|report| report.item(index));
    item.map_or(std::ptr::null(), |item| item)
}

/// Returns the number of items that a report does not have, because there were too many.
///
/// # Safety
///
/// As for [`haul_report_items`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn haul_report_omitted(report: *const Report) -> u64 {
    // SAFETY: the caller vouches for the report.
    unsafe { report.as_ref() }.map_or(0, |report| report.omitted)
}

/// Returns the totals of a report, which live as long as the report; NULL for NULL.
///
/// # Safety
///
/// As for [`haul_report_items`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn haul_report_totals(report: *const Report) -> *const Totals {
    // SAFETY: the caller vouches for the report.
    unsafe { report.as_ref() }.map_or(std::ptr::null(), |report| &raw const report.totals)
}

/// Frees a report with its items. NULL is ignored.
///
/// # Safety
///
/// `report` is NULL or a report that was not freed, and no pointer into it is used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn haul_report_free(report: *mut Report) {
    if !report.is_null() {
        // SAFETY: `call` made it from a box, and the caller has not freed it before.
        drop(unsafe { Box::from_raw(report) });
    }
}

/// Makes a flag by which any thread ends calls.
#[unsafe(no_mangle)]
pub extern "C" fn haul_cancel_new() -> *const CancelFlag {
    Arc::into_raw(Arc::new(CancelFlag(AtomicBool::new(false))))
}

/// Asks all calls that have the flag to end, for good. A signal handler may call it. NULL is ignored.
///
/// # Safety
///
/// `cancel` is NULL or a flag that was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn haul_cancel_request(cancel: *const CancelFlag) {
    // SAFETY: the caller vouches for the flag.
    if let Some(cancel) = unsafe { cancel.as_ref() } {
        cancel.0.store(true, Ordering::Relaxed);
    }
}

/// Frees a flag; a call that has it keeps it until it returns. NULL is ignored.
///
/// # Safety
///
/// As for [`haul_cancel_request`]; the flag is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn haul_cancel_free(cancel: *const CancelFlag) {
    if !cancel.is_null() {
        // SAFETY: `haul_cancel_new` made it from an `Arc`, and the caller has not freed it before.
        drop(unsafe { Arc::from_raw(cancel) });
    }
}

/// Returns the version of the library, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn haul_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}
