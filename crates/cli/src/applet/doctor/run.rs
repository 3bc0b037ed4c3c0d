//! `haul doctor [PATH]...`: examines the machine and the paths, and prints what it found.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::process::ExitCode;

use super::options::{Id, OPTIONS, help};
use super::{machine, place, print};
use crate::ending::{print_and_end, usage_error};
use crate::escape::quote_if_needed;
use crate::getopt::{Word, parse};
use crate::option::color::{COLOR, Paint};
use crate::option::help::version;
use crate::output::Output;
use crate::value::{When, when};

const PROGRAM: &str = "haul doctor";

/// How the findings are printed.
#[derive(Clone, Copy, Debug)]
enum Form {
    Json,
    Text(Paint),
}

/// Runs `doctor` with its arguments.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    let output = Output::new(PROGRAM);
    let words = match parse(arguments, OPTIONS) {
        Ok(words) => words,
        Err(usage) => return usage_error(&output, &usage),
    };
    let (mut is_json, mut color, mut paths) = (false, When::Auto, Vec::new());
    for word in words {
        match word {
            Word::Operand(path) => paths.push(path),
            Word::Option { id: Id::Json, .. } => is_json = true,
            Word::Option { id: Id::Color, value } => match when(COLOR, value.as_deref()) {
                Ok(when) => color = when,
                Err(usage) => return usage_error(&output, &usage),
            },
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
    let form = if is_json { Form::Json } else { Form::Text(Paint::new(color, &output)) };
    examine(&output, form, &paths)
}

fn examine(output: &Output, form: Form, paths: &[OsString]) -> ExitCode {
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
    match form {
        Form::Json => output.line(&print::json_text(&machine, &places)),
        Form::Text(paint) => {
            output.bytes(print::machine_text(&machine, paint).as_bytes());
            for place in &places {
                output.bytes(print::place_text(place, paint).as_bytes());
            }
        }
    }
    let written = output.finish();
    if is_complete && written { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
