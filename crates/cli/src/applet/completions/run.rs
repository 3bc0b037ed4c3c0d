//! `haul completions SHELL`: prints the completions that a shell loads.

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use crate::applet::entry::{Applet, topics};
use crate::ending::{CommandError, print_and_end, refused, usage};
use crate::getopt::{Opt, Origin, parse, words_of};
use crate::option::effect::{Asked, Effect, help_row, read_words, version_row};
use crate::output::Output;
use crate::page::{Argument, Page, Topic};

const PROGRAM: &str = "haul completions";

const OPTIONS: &[Opt<Effect<()>>] = &[help_row(), version_row()];

/// Makes a script.
type Script = fn(&[Topic]) -> String;

const SHELLS: &[(&str, Script)] =
    &[("bash", crate::page::bash), ("zsh", crate::page::zsh), ("fish", crate::page::fish)];

/// Returns the page of `--help`.
pub(super) fn help() -> Page {
    Page::new(
        "Usage: haul completions SHELL\n\
         Print what makes SHELL (bash, zsh or fish) complete commands, options, values and\n\
         names of files behind 'haul'.\n\n",
    )
    .options(OPTIONS, Origin::Gnu)
    .text(
        "\nIn bash, 'complete -F _haul cp' completes cp in the same way, if that is a link to\n\
         haul.\n",
    )
    .examples([
        ("source <(haul completions bash)", "complete in this bash"),
        ("haul completions zsh > ~/.zfunc/_haul", "complete in zsh, if fpath has ~/.zfunc"),
        ("haul completions fish > ~/.config/fish/completions/haul.fish", "complete in fish"),
    ])
    .exit("The exit status is 0 if the text was printed, 1 otherwise.")
    .operand(Argument::Words(words_of(SHELLS)))
}

/// Runs `completions` with its arguments and the table of applets.
pub(crate) fn run(arguments: &[OsString], applets: &[Applet]) -> ExitCode {
    let output = Output::new(PROGRAM);
    match read(arguments, applets) {
        Ok(text) => print_and_end(&output, &text),
        Err(error) => refused(&output, &error),
    }
}

fn read(arguments: &[OsString], applets: &[Applet]) -> Result<String, CommandError> {
    let operands = match read_words(parse(arguments, OPTIONS), &mut (), PROGRAM, help)? {
        Asked::Print(text) => return Ok(text),
        Asked::Work(operands) => operands,
    };
    let [shell] = operands.as_slice() else {
        return usage("give one shell: bash, zsh or fish".to_owned());
    };
    let found = SHELLS.iter().find(|(name, _)| shell == OsStr::new(name));
    let Some((_, script)) = found else {
        let shell = crate::escape::quote_word(shell.as_encoded_bytes());
        return usage(format!("no completions for {shell}: give bash, zsh or fish"));
    };
    Ok(script(&topics(applets)))
}
