//! `haul doctor [PATH]...`: examines the machine and the paths, and prints what it found.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::process::ExitCode;

use super::options::{OPTIONS, Settings, help};
use super::{machine, place, print};
use crate::ending::{print_and_end, refused};
use crate::escape::quote_if_needed;
use crate::getopt::parse;
use crate::option::color::Paint;
use crate::option::effect::{Asked, read_words};
use crate::output::Output;

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
    let mut settings = Settings::new();
    let mut paths = match read_words(parse(arguments, OPTIONS), &mut settings, PROGRAM, help) {
        Ok(Asked::Print(text)) => return print_and_end(&output, &text),
        Ok(Asked::Work(paths)) => paths,
        Err(error) => return refused(&output, &error),
    };
    if paths.is_empty() {
        paths.push(OsString::from("."));
    }
    let form = match settings.is_json {
        true => Form::Json,
        false => Form::Text(Paint::new(settings.color, &output)),
    };
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
