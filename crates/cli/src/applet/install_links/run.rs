//! `haul install-links DIR`: makes links to the binary with the names of the tools that it replaces.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::ExitCode;

use crate::applet::entry::Applet;
use crate::ending::{print_and_end, refused, usage_error};
use crate::escape::quote;
use crate::file_error::describe;
use crate::getopt::{Opt, Origin, Usage, parse};
use crate::option::effect::{Asked, Effect, help_row, read_words, version_row};
use crate::output::Output;
use crate::page::{Argument, Page};

const PROGRAM: &str = "haul install-links";

const OPTIONS: &[Opt<Effect<()>>] = &[help_row(), version_row()];

/// Returns the page of `--help`.
pub(super) fn help() -> Page {
    Page::new(
        "Usage: haul install-links DIRECTORY\n\
         Make a symbolic link to this binary in DIRECTORY for each command that stands\n\
         in for one of GNU's (haul --list-applets). A name that is taken is left alone\n\
         and reported, unless it is such a link already.\n\n",
    )
    .options(OPTIONS, Origin::Gnu)
    .examples([(
        "mkdir ~/haul-links && haul install-links ~/haul-links",
        "make links for the first place of PATH",
    )])
    .exit("The exit status is 0 if all links exist, 1 otherwise.")
    .operand(Argument::Directories)
}

/// Runs `install-links` with its arguments and the table of applets.
pub(crate) fn run(arguments: &[OsString], applets: &[Applet]) -> ExitCode {
    let output = Output::new(PROGRAM);
    match read_words(parse(arguments, OPTIONS), &mut (), PROGRAM, help) {
        Ok(Asked::Print(text)) => print_and_end(&output, &text),
        Ok(Asked::Work(operands)) => match operands.as_slice() {
            [directory] => install(&output, Path::new(directory), applets),
            _ => usage_error(&output, &Usage("give the one directory for the links".to_owned())),
        },
        Err(error) => refused(&output, &error),
    }
}

fn install(output: &Output, directory: &Path, applets: &[Applet]) -> ExitCode {
    let binary = match std::env::current_exe() {
        Ok(binary) => binary,
        Err(error) => {
            output.error(&format!("cannot find this binary: {}", describe(&error)));
            return ExitCode::FAILURE;
        }
    };
    let mut code = ExitCode::SUCCESS;
    for applet in applets.iter().filter(|applet| applet.drop_in) {
        let link = directory.join(applet.name);
        let shown = quote(link.as_os_str().as_encoded_bytes());
        match symlink(&binary, &link) {
            Ok(()) => output.line(&format!("{shown} is haul {} now", applet.name)),
            Err(_) if std::fs::read_link(&link).is_ok_and(|text| text == binary) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                output.error(&format!("cannot create symbolic link {shown}: {}", describe(&error)));
                code = ExitCode::FAILURE;
            }
            // What is wrong with the directory is wrong for every further link.
            Err(error) => {
                let shown = quote(directory.as_os_str().as_encoded_bytes());
                output.error(&format!("cannot create links in {shown}: {}", describe(&error)));
                code = ExitCode::FAILURE;
                break;
            }
        }
    }
    if output.finish() { code } else { ExitCode::FAILURE }
}
