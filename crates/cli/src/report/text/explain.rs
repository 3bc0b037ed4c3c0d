//! `--explain`: how the bytes of a file were moved and why, and what was cached.

use haul_engine::monitor::{Counts, MovedFile};
use haul_io::cache::ledger::LedgerSummary;
use haul_io::publish::Named;
use haul_io::report::{Compared, SideReport, Speed};
use haul_io::sides::Way;

use super::super::words;
use crate::escape::quote;
use crate::sizes;

/// Returns the lines for one file, without the last line's end.
pub(super) fn lines(file: &MovedFile) -> String {
    let method = file.moved.method_name();
    let (source, target) = (quote(&file.source), quote(&file.target));
    let bytes = sizes::bytes(file.moved.bytes);
    let named = match file.named {
        Named::AtOnce => String::new(),
        Named::UnderLock { rename, link } => {
            format!("\n  named by a plain rename under a lock: {rename}; {link}")
        }
    };
    let Some(report) = file.moved.report.as_deref() else {
        return format!("{source} -> {target}: {method}, {bytes}{named}");
    };
    let mut text = format!(
        "{source} -> {target}: {method}, {bytes} in {}, {} {}",
        sizes::duration(report.time),
        report.ranges,
        if report.ranges == 1 { "range" } else { "ranges" },
    );
    for refusal in &report.refused {
        let name = refusal.method.name();
        text.push_str(&format!("\n  not {name}: {}", words::why_not(refusal.why)));
    }
    if let Some(compared) = report.compared {
        text.push_str(&format!("\n  {}", workers(compared)));
    }
    for (side, name) in [(&report.source, "source"), (&report.target, "target")] {
        if side.way != Way::Cached || side.error.is_some() {
            text.push_str(&format!("\n  {name}: {}", side_text(side)));
        }
    }
    text.push_str(&named);
    let (before, after) = (report.residency.before, report.residency.after);
    text.push_str(&format!(
        "\n  cached: source {} before, {} after; target {} before, {} after",
        amount(before.source),
        amount(after.source),
        amount(before.target),
        amount(after.target),
    ));
    text
}

/// Returns what was found out about the number of workers.
fn workers(compared: Compared) -> String {
    let speed = |speed: Speed| sizes::rate(speed.bytes, speed.time);
    let (one, two) = (speed(compared.one), speed(compared.two));
    if compared.took_two {
        format!("two workers, at {two}: one moved {one}")
    } else {
        format!("one worker, at {one}: two moved {two} and take more processor time")
    }
}

fn amount(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "unknown".to_owned(), sizes::bytes)
}

fn side_text(side: &SideReport) -> String {
    match side.error {
        None => words::way(side.way).to_owned(),
        Some(error) => format!("{}, for {error}", words::way(side.way)),
    }
}

/// Returns the summary's line about files that went past the page cache for the sake of other processes;
/// nothing if none did.
pub(super) fn past_cache(ledger: &LedgerSummary) -> String {
    let (true, Some(available)) = (ledger.past_bytes > 0, ledger.available_bytes) else {
        return String::new();
    };
    let why = if ledger.is_harmful {
        "other processes had to read pages again"
    } else {
        "a run pushes out an eighth of it at most"
    };
    format!(
        "spared:  {} went past the page cache; {} of memory are available, and {why}\n",
        sizes::bytes(ledger.past_bytes),
        sizes::bytes(available),
    )
}

/// Returns the summary's line about the page cache; nothing where nothing was measured.
pub(super) fn cached(counts: &Counts) -> String {
    let cached = &counts.cached;
    if cached.measured + cached.untold == 0 {
        return String::new();
    }
    let mut text = format!(
        "cached:  sources {} before, {} after; targets {} before, {} after",
        sizes::bytes(cached.source_before),
        sizes::bytes(cached.source_after),
        sizes::bytes(cached.target_before),
        sizes::bytes(cached.target_after),
    );
    text.push('\n');
    let mut note = |said: &str| text.push_str(&format!("         {said}\n"));
    // Otherwise nothing tells why a file of one byte leaves 4 KiB in the cache. Of large files it cannot be seen.
    let page = haul_sys::memory::page_bytes();
    let excess = cached.source_after.max(cached.target_after).saturating_sub(counts.bytes);
    if excess > counts.bytes / 8 && excess <= counts.files.saturating_mul(page) {
        note(&format!("the end of a file counts as a whole page of {}", sizes::bytes(page)));
    }
    if cached.sampled > 0 {
        note("of many small files a sample was measured");
    }
    if cached.untold > 0 {
        let untold = sizes::grouped(cached.untold);
        note(&format!("without {untold} that the kernel does not report"));
    }
    text
}
