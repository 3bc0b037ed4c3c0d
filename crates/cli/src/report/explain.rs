//! `--explain`: how each file's bytes were moved and why, and what was cached; for people and for
//! programs.

use haul_engine::monitor::{Counts, MovedFile};
use haul_io::report::{Report, SideReport, Why};
use haul_io::residency::Cached;
use haul_io::sides::Way;
use serde_json::{Value, json};

use crate::escape::quote;
use crate::sizes;

/// Returns the lines for one file, without the last line's end.
pub(super) fn text(file: &MovedFile) -> String {
    let method = haul_io::ladder::name(file.moved.line);
    let (source, target) = (quote(&file.source), quote(&file.target));
    let bytes = sizes::bytes(file.moved.bytes);
    let Some(report) = file.moved.report.as_deref() else {
        return format!("{source} -> {target}: {method}, {bytes}");
    };
    let mut text = format!(
        "{source} -> {target}: {method}, {bytes} in {}, {} {}",
        sizes::duration(report.time),
        report.ranges,
        if report.ranges == 1 { "range" } else { "ranges" },
    );
    for refusal in &report.refused {
        let name = haul_io::ladder::name(refusal.line);
        text.push_str(&format!("\n  not {name}: {}", why_text(refusal.why)));
    }
    for (side, name) in [(&report.source, "source"), (&report.target, "target")] {
        if side.way != Way::Cached || side.trouble.is_some() {
            text.push_str(&format!("\n  {name}: {}", side_text(side)));
        }
    }
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

fn amount(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "not told".to_owned(), sizes::bytes)
}

fn why_text(why: Why) -> String {
    match why {
        Why::Unfit(reason) | Why::Unwise(reason) => reason.to_owned(),
        Why::Refused(error) => format!("refused, {error}"),
        Why::RefusedBefore => "refused before, between these file systems".to_owned(),
        Why::NotAsked => "another method was asked for".to_owned(),
        Why::NotPreferred => "the profile prefers another for this size".to_owned(),
    }
}

const fn way_name(way: Way) -> &'static str {
    match way {
        Way::Cached => "cached",
        Way::Uncached => "uncached",
        Way::Direct => "direct",
    }
}

fn side_text(side: &SideReport) -> String {
    match side.trouble {
        None => way_name(side.way).to_owned(),
        Some(error) => format!("{}, for {error}", way_name(side.way)),
    }
}

/// Returns the same for programs.
pub(super) fn json(report: &Report) -> Value {
    let refused: Vec<Value> = report
        .refused
        .iter()
        .map(|refusal| {
            let errno = match refusal.why {
                Why::Refused(error) => Some(error.errno.raw_os_error()),
                _ => None,
            };
            json!({
                "method": haul_io::ladder::name(refusal.line),
                "reason": why_text(refusal.why),
                "errno": errno,
            })
        })
        .collect();
    json!({
        "refused": refused,
        "ranges": report.ranges,
        "seconds": report.time.as_secs_f64(),
        "source": side_json(&report.source),
        "target": side_json(&report.target),
        "cached_before": cached_json(report.residency.before),
        "cached_after": cached_json(report.residency.after),
    })
}

fn side_json(side: &SideReport) -> Value {
    json!({
        "way": way_name(side.way),
        "errno": side.trouble.map(|error| error.errno.raw_os_error()),
        "error": side.trouble.map(|error| error.to_string()),
    })
}

fn cached_json(cached: Cached) -> Value {
    json!({ "source": cached.source, "target": cached.target })
}

/// Returns the summary's line about the page cache; nothing where nothing was measured.
pub(super) fn counts_text(counts: &Counts) -> String {
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
    if cached.sampled > 0 {
        let (sampled, files) = (cached.sampled, cached.measured);
        text.push_str(&format!(
            " (of {sampled} of the {files} files, small ones, a sample was asked)"
        ));
    }
    if cached.untold > 0 {
        text.push_str(&format!(" (without {} that the kernel does not tell of)", cached.untold));
    }
    text.push('\n');
    text
}

/// Returns the same for programs.
pub(super) fn counts_json(counts: &Counts) -> Value {
    let cached = &counts.cached;
    if cached.measured + cached.untold == 0 {
        return Value::Null;
    }
    json!({
        "source_before": cached.source_before,
        "source_after": cached.source_after,
        "target_before": cached.target_before,
        "target_after": cached.target_after,
        "files": cached.measured,
        "sampled": cached.sampled,
        "untold": cached.untold,
    })
}
