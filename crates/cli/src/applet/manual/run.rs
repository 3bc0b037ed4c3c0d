//! `haul manual [COMMAND]`: prints a manual page.

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use crate::applet::entry::{Applet, topics};
use crate::defaults;
use crate::ending::{print_and_end, usage_error};
use crate::getopt::Takes::Nothing;
use crate::getopt::{Opt, Origin, Usage, Word, long, parse};
use crate::option::help::version;
use crate::output::Output;
use crate::page::{Argument, Page, Topic, of_command, of_haul};

const PROGRAM: &str = "haul manual";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Id {
    Help,
    List,
    Version,
}

const OPTIONS: &[Opt<Id>] = &[
    long(Id::Help, "help", Nothing, "show this text and exit"),
    long(Id::List, "list", Nothing, "list the commands that have a page and exit"),
    long(Id::Version, "version", Nothing, "show the version and exit"),
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
        Err(usage) => usage_error(&output, &usage),
    }
}

fn read(arguments: &[OsString], applets: &[Applet]) -> Result<String, Usage> {
    let topics: Vec<Topic> = topics(applets);
    let mut operands = Vec::new();
    for word in parse(arguments, OPTIONS)? {
        match word {
            Word::Operand(operand) => operands.push(operand),
            Word::Option { id: Id::Help, .. } => return Ok(help().to_string()),
            Word::Option { id: Id::List, .. } => {
                return Ok(topics.iter().map(|topic| format!("{}\n", topic.name)).collect());
            }
            Word::Option { id: Id::Version, .. } => return Ok(version(PROGRAM)),
        }
    }
    match operands.as_slice() {
        [] => Ok(of_haul(&topics, defaults::ABOUT)),
        [name] if name == "haul" => Ok(of_haul(&topics, defaults::ABOUT)),
        [name] => match topics.iter().find(|topic| name == OsStr::new(topic.name)) {
            Some(topic) => Ok(of_command(topic)),
            None => {
                let name = crate::escape::quote_word(name.as_encoded_bytes());
                Err(Usage(format!("there is no command {name}")))
            }
        },
        _ => Err(Usage("give one command".to_owned())),
    }
}
