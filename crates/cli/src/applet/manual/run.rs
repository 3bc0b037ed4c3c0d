//! `haul manual [COMMAND]`: prints a manual page.

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use crate::applet::entry::{Applet, topics};
use crate::defaults;
use crate::ending::{CommandError, print_and_end, refused, usage};
use crate::getopt::Takes::Nothing;
use crate::getopt::{Opt, Origin, long, parse};
use crate::option::effect::{Asked, Effect, help_row, read_words, set, version_row};
use crate::output::Output;
use crate::page::{Argument, Page, Topic, of_command, of_haul};

const PROGRAM: &str = "haul manual";

#[derive(Debug, Default)]
struct Settings {
    lists: bool,
}

const OPTIONS: &[Opt<Effect<Settings>>] = &[
    help_row(),
    long(
        set(|manual| manual.lists = true),
        "list",
        Nothing,
        "list the commands that have a page and exit",
    ),
    version_row(),
];

/// Returns the page of `--help`.
pub(super) fn help() -> Page {
    Page::new(
        "Usage: haul manual [COMMAND]\n\
         Print the manual page haul-COMMAND(1), or haul(1), in the macros of man(7).\n\n",
    )
    .options(OPTIONS, Origin::Gnu)
    .examples([
        ("haul manual cp | man -l -", "read the page of cp"),
        ("haul manual > haul.1", "write the page of haul itself"),
    ])
    .exit("The exit status is 0 if the page was printed, 1 otherwise.")
    .operand(Argument::Free)
}

/// Runs `manual` with its arguments and the table of applets.
pub(crate) fn run(arguments: &[OsString], applets: &[Applet]) -> ExitCode {
    let output = Output::new(PROGRAM);
    match read(arguments, applets) {
        Ok(text) => print_and_end(&output, &text),
        Err(error) => refused(&output, &error),
    }
}

fn read(arguments: &[OsString], applets: &[Applet]) -> Result<String, CommandError> {
    let topics: Vec<Topic> = topics(applets);
    let mut settings = Settings::default();
    let operands = match read_words(parse(arguments, OPTIONS), &mut settings, PROGRAM, help)? {
        Asked::Print(text) => return Ok(text),
        Asked::Work(operands) => operands,
    };
    if settings.lists {
        return Ok(topics.iter().map(|topic| format!("{}\n", topic.name)).collect());
    }
    match operands.as_slice() {
        [] => Ok(of_haul(&topics, defaults::ABOUT)),
        [name] if name == "haul" => Ok(of_haul(&topics, defaults::ABOUT)),
        [name] => match topics.iter().find(|topic| name == OsStr::new(topic.name)) {
            Some(topic) => Ok(of_command(topic)),
            None => {
                let name = crate::escape::quote_word(name.as_encoded_bytes());
                usage(format!("there is no command {name}"))
            }
        },
        _ => usage("give one command".to_owned()),
    }
}
