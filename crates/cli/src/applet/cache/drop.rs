//! Dropping pages: only those that can be read again.
//!
//! The kernel drops what is clean, not mapped and not in use at that moment, see posix_fadvise(2). So what stays is
//! counted afterwards and not assumed.

use haul_sys::sync::Mutex;
use std::ffi::OsString;

use haul_sys::data::{Advice, fadvise};
use haul_sys::errno_text;
use haul_sys::fs::fdatasync;
use serde_json::json;

use super::files::{Reached, Run, Sum, each_file};
use crate::escape::quote;
use crate::lossless::name as lossless;
use crate::sizes;

/// What becomes of pages that were changed and are not on storage yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Changed {
    /// They stay. The kernel begins to write them.
    Stay,
    /// They are written first.
    Written,
}

/// What a run of `drop` came to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Dropped {
    /// The files before it.
    pub(super) before: Sum,
    /// Bytes that were cached before and are not now.
    pub(super) dropped_bytes: u64,
    /// The files of which pages stay.
    pub(super) stays: Sum,
}

/// Drops the pages of all files, and prints a line for each file of which some stay.
pub(super) fn drop(run: &Run<'_>, trees: &[OsString], changed: Changed) -> Dropped {
    let all: Mutex<Dropped> = Mutex::default();
    each_file(run, (trees, Reached::Once), &|_| true, &|file| {
        let before = Sum::of(&file);
        if changed == Changed::Written
            && let Err(error) = fdatasync(&file.fd)
        {
            // The pages stay then, and are shown.
            run.fail("write back", &file.path, &errno_text(error.errno));
        }
        if let Err(error) = fadvise(&file.fd, 0, 0, Advice::DontNeed) {
            run.fail("drop the pages of", &file.path, &errno_text(error.errno));
        }
        let after = Sum::of(&file);
        let mut all = all.lock();
        all.before.add(before);
        all.dropped_bytes += before.cached_bytes.saturating_sub(after.cached_bytes);
        if after.cached_bytes == 0 {
            return;
        }
        all.stays.add(after);
        run.tell(
            || {
                json!({
                    "event": "stays",
                    "path": lossless(&file.path),
                    "cached_bytes": after.cached_bytes,
                    "dirty_bytes": after.dirty_bytes,
                    "memory_bytes": after.memory_bytes,
                })
            },
            || format!("stays: {}: {}", quote(&file.path), left(after)),
        );
    });
    all.into_inner()
}

/// Says how much stays, and why if that is known.
pub(super) fn left(sum: Sum) -> String {
    let bytes = sizes::bytes(sum.cached_bytes);
    let parts = [
        (sum.memory_bytes, "in memory only, as on tmpfs"),
        (sum.dirty_bytes, "not on storage yet"),
        (sum.cached_bytes.saturating_sub(sum.memory_bytes + sum.dirty_bytes), "in use or mapped"),
    ];
    let parts: Vec<_> = parts.into_iter().filter(|(part, _)| *part > 0).collect();
    match &parts[..] {
        [(_, why)] => format!("{bytes}, {why}"),
        several => several.iter().fold(bytes, |text, (part, why)| {
            format!("{text}, {} of it {why}", sizes::bytes(*part))
        }),
    }
}
