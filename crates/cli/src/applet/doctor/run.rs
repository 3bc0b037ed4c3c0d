//! `haul doctor [PATH]...`: examines the machine and the paths, and prints what it found.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::process::ExitCode;

use super::options::{Id, OPTIONS, help};
use super::{machine, place, print};
use crate::ending::{print_and_end, usage_error};
use crate::escape::quote_if_needed;
use crate::getopt::{Word, parse};
use crate::option::help::version;
use crate::output::Output;

const PROGRAM: &str = "haul doctor";

/// Runs `doctor` with its arguments.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    let output = Output::new(PROGRAM);
    let words = match parse(arguments, OPTIONS) {
        Ok(words) => words,
        Err(usage) => return usage_error(&output, &usage),
    };
    let (mut is_json, mut paths) = (false, Vec::new());
    for word in words {
        match word {
            Word::Operand(path) => paths.push(path),
            Word::Option { id: Id::Json, .. } => is_json = true,
            Word::Option { id: Id::Help, .. } => {
                return print_and_end(&output, &help().to_string());
            }
            Word::Option { id: Id::Version, .. } => {
                return print_and_end(&output, &version(PROGRAM));
            }
        }
    }
    if paths.is_empty() {
        paths.push(OsString::from("."));
    }
    examine(&output, is_json, &paths)
}

fn examine(output: &Output, is_json: bool, paths: &[OsString]) -> ExitCode {
    let machine = machine::examine();
    let mut places = Vec::new();
    let mut is_complete = true;
    for path in paths {
        match place::examine(path) {
            Ok(place) => places.push(place),
            Err(why) => {
                output
                    .error(&format!("cannot examine {}: {why}", quote_if_needed(path.as_bytes())));
                is_complete = false;
            }
        }
    }
    if is_json {
        output.line(&print::json_text(&machine, &places));
    } else {
        output.bytes(print::machine_text(&machine).as_bytes());
        for place in &places {
            output.bytes(print::place_text(place).as_bytes());
        }
    }
    let written = output.finish();
    if is_complete && written { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
