//! `--explain` for programs: how the bytes of a file were moved and why, and what was cached.

use haul_engine::monitor::Counts;
use haul_io::publish::Named;
use haul_io::report::{Compared, Report, SideReport, Speed, Why};
use haul_io::residency::Cached;
use serde_json::{Value, json};

use super::super::words;

/// Returns how a file was moved.
pub(super) fn report(report: &Report) -> Value {
    let refused: Vec<Value> = report
        .refused
        .iter()
        .map(|refusal| {
            let errno = match refusal.why {
                Why::Refused(error) => Some(error.errno.raw_os_error()),
                _ => None,
            };
            json!({
                "method": refusal.method.name(),
                "reason": words::why_not(refusal.why),
                "errno": errno,
            })
        })
        .collect();
    json!({
        "refused": refused,
        "ranges": report.ranges,
        "seconds": report.time.as_secs_f64(),
        "compared": report.compared.map(compared_json),
        "source": side_json(&report.source),
        "target": side_json(&report.target),
        "cached_before": cached_json(report.residency.before),
        "cached_after": cached_json(report.residency.after),
    })
}

/// Returns the calls that were refused before a file got its name by a plain rename under a lock.
pub(super) fn named_under_lock(named: Named) -> Value {
    match named {
        Named::AtOnce => Value::Null,
        Named::UnderLock { rename, link } => json!({
            "rename_errno": rename.errno.raw_os_error(),
            "link_errno": link.errno.raw_os_error(),
        }),
    }
}

fn compared_json(compared: Compared) -> Value {
    let speed_json =
        |speed: Speed| json!({ "bytes": speed.bytes, "seconds": speed.time.as_secs_f64() });
    json!({
        "one_worker": speed_json(compared.one),
        "two_workers": speed_json(compared.two),
        "workers": if compared.took_two { 2 } else { 1 },
    })
}

fn side_json(side: &SideReport) -> Value {
    json!({
        "way": words::way(side.way),
        "errno": side.error.map(|error| error.errno.raw_os_error()),
        "error": side.error.map(|error| error.to_string()),
    })
}

fn cached_json(cached: Cached) -> Value {
    json!({ "source": cached.source, "target": cached.target })
}

/// Returns what was cached; null where nothing was measured.
pub(super) fn cached(counts: &Counts) -> Value {
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
