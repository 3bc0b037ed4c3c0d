//! What `--dry-run` and `--preflight` tell: what would be done and why, and what there is no room for.

use std::process::ExitCode;

use haul_engine::error::Failure;
use haul_engine::preflight::{Needs, Shortage};
use haul_engine::rehearse::{Audience, Intent, Reason, Step, rehearse};
use haul_engine::request::Request;
use serde_json::json;

use super::Format;
use super::json::{failure, kind};
use crate::escape::quote;
use crate::lossless::name;
use crate::output::Output;
use crate::sizes::{bytes, plural};

/// Whether entries are told, or only what fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Everything,
    Failures,
}

struct Teller<'a> {
    output: &'a Output,
    format: Format,
    told: Told,
}

impl Audience for Teller<'_> {
    fn step(&mut self, step: &Step) {
        if self.told == Told::Everything {
            self.output.line(&match self.format {
                Format::Json => step_json(step),
                Format::Text => step_text(step),
            });
        }
    }

    fn failed(&mut self, told: &Failure) {
        self.output.list(|| failure(told));
        if self.format == Format::Json {
            self.output.line(&failure(told));
        }
        self.output.error(&crate::message::of_copy(told));
    }
}

fn words(intent: Intent) -> (&'static str, &'static str) {
    match intent {
        Intent::Create => ("copy", "nothing is there"),
        Intent::Overwrite => ("overwrite", "a file is there"),
        Intent::Replace => ("replace", "what is there goes first"),
        Intent::BackUp => ("copy", "what is there gets a backup's name"),
        Intent::Merge => ("merge", "both are directories"),
        Intent::Link => ("link", "another name of a file before it"),
        Intent::Ask => ("ask about", "something is there"),
        Intent::Skip(reason) => (
            "skip",
            match reason {
                Reason::Exists => "something is there, and is to stay",
                Reason::NotOlder => "what is there is not older",
                Reason::SameFile => "both are one file",
                Reason::OtherDevice => "it is on another file system",
                Reason::GivenTwice => "it was given before",
            },
        ),
    }
}

fn step_text(step: &Step) -> String {
    let (verb, why) = words(step.intent);
    format!("would {verb} {} -> {} ({why})", quote(&step.source), quote(&step.target))
}

fn step_json(step: &Step) -> String {
    let (verb, why) = words(step.intent);
    json!({
        "event": "would",
        "action": verb.replace(' ', "-"),
        "reason": why,
        "kind": kind(step.kind),
        "bytes": step.bytes,
        "source": name(&step.source),
        "target": name(&step.target),
    })
    .to_string()
}

/// Says what would be done, and does nothing. The exit code is that of the copy, as far as it can
/// be foreseen.
pub(crate) fn dry_run(output: &Output, format: Format, request: &Request) -> ExitCode {
    let Some(needs) = talk_through(output, format, request, Told::Everything) else {
        return ended(output, false);
    };
    let shortages = needs.shortages(&request.policy);
    match format {
        Format::Json => output.line(&summary_json(&needs, &shortages)),
        Format::Text => output.line(&summary(&needs)),
    }
    for shortage in &shortages {
        output.error(&shortage_text(shortage, request));
    }
    ended(output, needs.failures == 0 && shortages.is_empty())
}

/// Holds what the copy needs against what the target has. Returns an exit code if that is to be
/// the end of it.
pub(crate) fn preflight(output: &Output, format: Format, request: &Request) -> Option<ExitCode> {
    let Some(needs) = talk_through(output, format, request, Told::Failures) else {
        return Some(ended(output, false));
    };
    let shortages = needs.shortages(&request.policy);
    if format == Format::Json {
        output.line(&summary_json(&needs, &shortages));
    }
    if shortages.is_empty() && needs.failures == 0 {
        return None;
    }
    for shortage in &shortages {
        output.error(&shortage_text(shortage, request));
    }
    output.error("nothing was copied, for --preflight found that not everything can be");
    Some(ended(output, false))
}

fn talk_through(output: &Output, format: Format, request: &Request, told: Told) -> Option<Needs> {
    let stop = haul_sys::process::hear_stop();
    let mut teller = Teller { output, format, told };
    let answer = rehearse(request, &mut teller, stop);
    if let Some(signal) = haul_sys::process::stop_signal() {
        output.finish();
        haul_sys::process::die_by(signal);
    }
    answer.map_err(|failure| teller.failed(&failure)).ok()
}

fn ended(output: &Output, is_good: bool) -> ExitCode {
    if output.finish() && is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn summary(needs: &Needs) -> String {
    let mut text = format!(
        "would make {}, {} of contents, {} to be allocated",
        plural(needs.inodes, "entry", "entries"),
        bytes(needs.bytes),
        bytes(needs.allocated)
    );
    for (amount, what) in [
        (needs.shareable, "shared with the source"),
        (needs.from_holes, "more for holes that are filled"),
        (needs.from_links, "more for hard links that are split"),
    ] {
        if amount > 0 {
            text.push_str(&format!(", {} {what}", bytes(amount)));
        }
    }
    if let Some((free, _)) = needs.free() {
        text.push_str(&format!("; {} are free", bytes(free)));
    }
    text
}

fn summary_json(needs: &Needs, shortages: &[Shortage]) -> String {
    let free = needs.free();
    json!({
        "event": "preflight",
        "entries": needs.inodes,
        "bytes": needs.bytes,
        "allocated": needs.allocated,
        "shareable": needs.shareable,
        "from_holes": needs.from_holes,
        "from_links": needs.from_links,
        "failures": needs.failures,
        "free_bytes": free.map(|free| free.0),
        "free_inodes": free.map(|free| free.1),
        "shortages": shortages.iter().map(|one| format!("{one:?}")).collect::<Vec<_>>(),
    })
    .to_string()
}

fn shortage_text(shortage: &Shortage, request: &Request) -> String {
    let target = quote(request.target.to_bytes());
    match *shortage {
        Shortage::Space(needed, free) => format!(
            "not enough space on the file system of {target}: {} are needed, {} are free",
            bytes(needed),
            bytes(free)
        ),
        Shortage::Inodes(needed, free) => format!(
            "not enough inodes on the file system of {target}: {needed} are needed, {free} are free"
        ),
        Shortage::FileSize(size, limit) => format!(
            "a file of {} is too large for the file system of {target}, whose limit is {}",
            bytes(size),
            bytes(limit)
        ),
        Shortage::NameLength(length, limit) => format!(
            "a name of {length} bytes is too long for the file system of {target}, whose limit is \
             {limit}"
        ),
        Shortage::Xattrs => {
            format!("the file system of {target} cannot hold extended attributes")
        }
        Shortage::Owners => {
            format!("the file system of {target} cannot hold owners and permissions")
        }
        Shortage::Specials(count) => format!(
            "the file system of {target} cannot hold {}",
            plural(count, "link or special file", "links and special files")
        ),
    }
}
