//! The findings as text and as JSON.

use std::os::unix::ffi::OsStrExt as _;

use serde_json::{Value, json};

use super::finding::{Finding, State};
use super::machine::Machine;
use super::place::Place;
use super::usage::{Copied, Usage};
use crate::escape::quote;
use crate::json_line;
use crate::lossless::name;
use crate::option::color::Paint;
use crate::report::why_not;
use crate::sizes;

/// Columns of a finding's name.
const NAME_COLUMNS: usize = 16;

/// Columns of a line.
const COLUMNS: usize = 80;

/// Returns the text about the machine.
pub(super) fn machine_text(machine: &Machine, paint: Paint) -> String {
    let amount = |bytes: Option<u64>| bytes.map_or_else(|| "unknown".to_owned(), sizes::bytes);
    let mut text = format!(
        "haul {} on Linux {}, {}, {}\nmemory: {}, {} available, {} not yet on storage\n\n",
        env!("CARGO_PKG_VERSION"),
        machine.kernel,
        std::env::consts::ARCH,
        sizes::plural(machine.processors as u64, "processor", "processors"),
        amount(machine.memory_bytes),
        amount(machine.available_bytes),
        amount(machine.unwritten_bytes),
    );
    machine.findings.iter().for_each(|finding| text += &lines(finding, paint));
    text
}

/// Returns the text about a path, after an empty line.
pub(super) fn place_text(place: &Place, paint: Paint) -> String {
    let system = &place.system;
    let mut text = format!(
        "\n{}: {} (type 0x{:x}), blocks of {}, {} free{}{}\n\n",
        quote(place.path.as_bytes()),
        shown_name(place),
        system.magic,
        sizes::bytes(system.block_bytes),
        sizes::bytes(system.available_bytes),
        if place.is_rotational { ", rotating disk" } else { "" },
        if place.is_remote() { ", treated as remote" } else { "" },
    );
    place.findings.iter().for_each(|finding| text += &lines(finding, paint));
    text.push('\n');
    text += &paint.bold("What haul uses here, within this file system:");
    text.push('\n');
    text.push_str(&usage_text(&place.usage));
    text
}

fn shown_name(place: &Place) -> &'static str {
    if place.name().is_empty() { "local file system" } else { place.name() }
}

/// Returns the lines of a finding, with its sign marked.
fn lines(finding: &Finding, paint: Paint) -> String {
    let (name, sign) = (finding.name, finding.state.sign());
    let head = format!("{sign} {name:NAME_COLUMNS$} ");
    let mut text = String::new();
    wrap(&mut text, &head, &finding.detail);
    if !finding.effect.is_empty() {
        wrap(&mut text, &" ".repeat(head.len()), finding.effect);
    }
    let mark = match finding.state {
        State::Present => Paint::green,
        State::Missing => Paint::red,
        State::Unknown => Paint::yellow,
    };
    // Marked at the end: a mark takes no column.
    text.replacen(sign, &mark(paint, &sign.to_string()), 1)
}

/// Adds words after a head, and further lines below the first word.
fn wrap(text: &mut String, head: &str, words: &str) {
    let mut line = head.to_owned();
    let mut has_word = false;
    for word in words.split_whitespace() {
        if has_word && line.len() + word.len() >= COLUMNS {
            text.push_str(line.trim_end());
            text.push('\n');
            line = " ".repeat(head.len());
            has_word = false;
        }
        if has_word {
            line.push(' ');
        }
        line.push_str(word);
        has_word = true;
    }
    text.push_str(line.trim_end());
    text.push('\n');
}

fn usage_text(usage: &Usage) -> String {
    let mut text = String::new();
    let mut row =
        |name: &str, words: &str| wrap(&mut text, &format!("  {name:NAME_COLUMNS$} "), words);
    for copied in &usage.copies {
        let title = format!("copy of {}", sizes::bytes(copied.bytes as u64));
        match &copied.method {
            Err(why) => row(&title, &format!("not tried: {why}")),
            Ok((method, refused)) => {
                row(&title, method);
                for refusal in refused {
                    let why = why_not(refusal.why);
                    row("", &format!("not {}: {why}", refusal.method.name()));
                }
            }
        }
    }
    row("workers", &usage.workers.to_string());
    row("holes", usage.holes);
    row("--durable", usage.durability);
    let cache = usage.restore_above.map_or_else(
        || "auto is keep".to_owned(),
        |bytes| {
            format!(
                "auto is keep, and restore for what a run copies beyond {}",
                sizes::bytes(bytes)
            )
        },
    );
    row("--cache", &cache);
    row("--profile", usage.profile.trim_start_matches("profile: "));
    text
}

/// Returns everything as one JSON object, without the line's end.
pub(super) fn json_text(machine: &Machine, places: &[Place]) -> String {
    json_line::line(json!({
        "event": "doctor",
        "version": env!("CARGO_PKG_VERSION"),
        "kernel": machine.kernel,
        "architecture": std::env::consts::ARCH,
        "processors": machine.processors,
        "memory_bytes": machine.memory_bytes,
        "available_bytes": machine.available_bytes,
        "unwritten_bytes": machine.unwritten_bytes,
        "findings": findings(&machine.findings),
        "paths": places.iter().map(place_json).collect::<Vec<_>>(),
    }))
}

fn findings(all: &[Finding]) -> Vec<Value> {
    let one = |finding: &Finding| {
        json!({
            "name": finding.name,
            "state": finding.state.word(),
            "detail": finding.detail,
            "effect": finding.effect,
        })
    };
    all.iter().map(one).collect()
}

fn place_json(place: &Place) -> Value {
    let usage = &place.usage;
    json!({
        "path": name(place.path.as_bytes()),
        "file_system": shown_name(place),
        "type": place.system.magic,
        "block_bytes": place.system.block_bytes,
        "free_bytes": place.system.available_bytes,
        "rotational": place.is_rotational,
        "remote": place.is_remote(),
        "findings": findings(&place.findings),
        "uses": {
            "copies": usage.copies.iter().map(copied_json).collect::<Vec<_>>(),
            "workers": usage.workers,
            "holes": usage.holes,
            "durable": usage.durability,
            "cache_restore_above_bytes": usage.restore_above,
            "profile": usage.profile,
        },
    })
}

fn copied_json(copied: &Copied) -> Value {
    let (method, refused, error) = match &copied.method {
        Ok((method, refused)) => (Some(*method), refused.as_slice(), None),
        Err(why) => (None, &[][..], Some(why)),
    };
    let refused = refused
        .iter()
        .map(|one| json!({ "method": one.method.name(), "reason": why_not(one.why) }));
    json!({
        "bytes": copied.bytes,
        "method": method,
        "refused": refused.collect::<Vec<_>>(),
        "error": error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_wrapped_below_its_first_word() {
        let mut text = String::new();
        wrap(&mut text, "+ name ", &"word ".repeat(30));
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.len() > 1 && lines.iter().all(|line| line.len() <= COLUMNS), "{text}");
        assert!(
            lines[0].starts_with("+ name word") && lines[1].starts_with("       word"),
            "{text}"
        );
    }
}
