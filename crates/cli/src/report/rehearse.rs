//! `--dry-run` and `--preflight`: prints what a copy would do, and what the target has no room for.

use std::process::ExitCode;

use haul_engine::error::Failure;
use haul_engine::preflight::Needs;
use haul_engine::rehearse::{Audience, rehearse};
use haul_engine::request::{Order, Request};

use super::console::{Rehearsal, Steps, SyncRehearsal};
use super::format::reporter;
use super::how::{Format, How};
use super::message::of_shortage;
use super::run::Ended;
use crate::metrics::Figures;
use crate::output::Output;

/// Prints what the copy would do, and does nothing. The exit code is that of the copy, as far as it can
/// be foreseen.
pub(crate) fn dry_run(output: &Output, how: &How, request: &Request) -> ExitCode {
    let format = how.format;
    let steps = if how.explain { Steps::Explained } else { Steps::All };
    let Some(needs) = run_rehearsal(output, format, request, steps) else {
        return ended(output, false);
    };
    let shortages = needs.shortages(&request.policy);
    output.line(&reporter(format).needs(&needs, &shortages));
    for shortage in &shortages {
        output.error(&of_shortage(shortage, request));
    }
    ended(output, needs.failures == 0 && shortages.is_empty())
}

/// Compares what the copy needs with what the target has. Returns an exit code if the copy must not
/// start.
pub(crate) fn preflight(output: &Output, format: Format, request: &Request) -> Option<ExitCode> {
    let Some(needs) = run_rehearsal(output, format, request, Steps::Failures) else {
        let _written = output.measured(Figures::not_begun);
        return Some(ended(output, false));
    };
    let shortages = needs.shortages(&request.policy);
    if reporter(format).is_complete() {
        output.line(&reporter(format).needs(&needs, &shortages));
    }
    if shortages.is_empty() && needs.failures == 0 {
        return None;
    }
    for shortage in &shortages {
        output.error(&of_shortage(shortage, request));
    }
    output.error("nothing was copied: --preflight found that the copy cannot succeed");
    let failures = needs.failures + shortages.len() as u64;
    let _written = output.measured(|| Figures { failures, ..Figures::default() });
    Some(ended(output, false))
}

fn run_rehearsal(
    output: &Output,
    format: Format,
    request: &Request,
    steps: Steps,
) -> Option<Needs> {
    let mut audience = Rehearsal { output, reporter: reporter(format), steps };
    let needs = rehearse_for(&mut audience, format, request);
    if let Some(signal) = haul_sys::process::stop_signal() {
        output.finish();
        haul_sys::process::die_by(signal);
    }
    needs
}

/// Rehearses a copy for an audience, until a signal stops it. Returns nothing if the copy could not begin.
fn rehearse_for(
    audience: &mut (dyn Audience + Send),
    format: Format,
    request: &Request,
) -> Option<Needs> {
    let stop = haul_sys::process::hear_stop();
    let mut request = request.clone();
    if format == Format::Text {
        // A person reads a directory's entries below its name.
        request.policy.order = Order::Listed;
    }
    rehearse(&request, audience, stop).map_err(|failure| audience.failed(&failure)).ok()
}

/// Prints the lines that a synchronisation would print, and does nothing. Each failure that can be foreseen is noted.
pub(crate) fn rehearse_sync(
    output: &Output,
    how: &How,
    request: &Request,
    note: &(dyn Fn(&Failure) + Sync),
) -> Ended {
    let reporter = reporter(how.format);
    let mut audience = SyncRehearsal { output, how, reporter, note };
    let needs = rehearse_for(&mut audience, how.format, request);
    let signal = haul_sys::process::stop_signal();
    if let Some(needs) = &needs
        && signal.is_none()
        && reporter.is_complete()
    {
        output.line(&reporter.needs(needs, &needs.shortages(&request.policy)));
    }
    let not_deleted = needs.as_ref().map_or(0, |needs| needs.not_deleted);
    let failures = needs.map_or(1, |needs| needs.failures);
    Ended { failures, not_deleted, signal, is_written: output.finish() }
}

fn ended(output: &Output, is_good: bool) -> ExitCode {
    if output.finish() && is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
