//! Finds the applet that the program's name or the first word asks for, and runs it.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use super::entry::{Applet, Run, topics};
use super::table::{APPLETS, missing_feature};
use crate::defaults::{self, Called};
use crate::ending::{called_through_haul, given_by_default, print_and_end};
use crate::escape::quote;
use crate::output::{Output, close_output};
use crate::suggest;

impl Applet {
    /// Runs it, and closes standard output.
    fn run(&self, words: &[OsString]) -> ExitCode {
        let code = match self.run {
            Run::Words(run) => run(words),
            Run::Table(run) => run(words, APPLETS),
        };
        let program =
            if self.drop_in { self.name.to_owned() } else { format!("haul {}", self.name) };
        close_output(&program, code, ExitCode::from(self.unwritten))
    }
}

impl Applet {
    /// Runs it as `haul NAME`. `-h` alone prints the short page there, or `--help` where there is none, unless the
    /// applet has an option of this letter; under its own name it is the error that it is in GNU's program.
    fn run_through_haul(&self, words: &[OsString]) -> ExitCode {
        called_through_haul(self.name);
        let is_h = matches!(words, [word] if word == "-h");
        let has_h = || (self.page)().all_options().any(|option| option.short.contains('h'));
        if is_h && !has_h() {
            return match (self.page)().short(self.name) {
                Some(text) => {
                    let program = format!("haul {}", self.name);
                    let code = print_and_end(&Output::new(&program), &text);
                    close_output(&program, code, ExitCode::from(self.unwritten))
                }
                None => self.run(&[OsString::from("--help")]),
            };
        }
        self.run_with_defaults(words, Called::ThroughHaul)
    }

    /// Runs it with the words that configuration files and `HAUL_OPTIONS` add before its own.
    fn run_with_defaults(&self, words: &[OsString], called: Called) -> ExitCode {
        let program =
            if self.drop_in { self.name.to_owned() } else { format!("haul {}", self.name) };
        let output = Output::new(&program);
        let defaults =
            match defaults::words(|| topics(APPLETS), (self.name, self.page), words, called) {
                Ok(defaults) => defaults,
                Err(text) => {
                    output.error(&text);
                    output.raw_error("The option --no-config ignores the defaults.\n");
                    return close_output(
                        &program,
                        ExitCode::FAILURE,
                        ExitCode::from(self.unwritten),
                    );
                }
            };
        for text in &defaults.ignored {
            output.error(text);
        }
        if defaults.are_shown {
            for (word, origin) in &defaults.given {
                output.line(&format!("default: {} from {origin}", word.to_string_lossy()));
            }
            output.flush();
        }
        if defaults.given.is_empty() {
            return self.run(words);
        }
        let added = defaults.given.iter().map(|(word, _)| word.clone());
        let all: Vec<OsString> = added.chain(words.iter().cloned()).collect();
        given_by_default(defaults.given);
        self.run(&all)
    }
}

/// Runs the applet that the program's name or the first word asks for.
pub(crate) fn dispatch(arguments: &[OsString]) -> ExitCode {
    let own_name = arguments.first().map(|path| file_name(path)).unwrap_or_default();
    let behind = |count| arguments.get(count..).unwrap_or(&[]);
    if let Some(applet) = APPLETS.iter().find(|applet| applet.drop_in && *applet.name == *own_name)
    {
        return applet.run_with_defaults(behind(1), Called::ByItsName);
    }
    if let Some(word) = arguments.get(1)
        && let Some(applet) = APPLETS.iter().find(|applet| word == applet.name)
    {
        return applet.run_through_haul(behind(2));
    }
    if let (Some("help"), Some(word)) =
        (arguments.get(1).and_then(|word| word.to_str()), arguments.get(2))
        && !word.as_encoded_bytes().starts_with(b"-")
    {
        return match APPLETS.iter().find(|applet| word == applet.name) {
            Some(applet) => applet.run_through_haul(&[OsString::from("--help")]),
            None => close_output("haul", without_applet(Some(word)), ExitCode::FAILURE),
        };
    }
    close_output("haul", without_applet(arguments.get(1)), ExitCode::FAILURE)
}

fn without_applet(word: Option<&OsString>) -> ExitCode {
    let output = Output::new("haul");
    let Some(word) = word else {
        output.raw_error(&overview());
        return ExitCode::from(2);
    };
    if let Some((name, feature)) =
        word.to_str().and_then(|name| Some((name, missing_feature(name)?)))
    {
        output.error(&format!("this build has no applet '{name}'"));
        output.raw_error(&format!(
            "Build haul with it: cargo build --release -p haul --features {feature}\n"
        ));
        return ExitCode::from(2);
    }
    match word.to_str() {
        Some("--help" | "-h" | "help") => print_and_end(&output, &overview()),
        Some("--version" | "-V") => {
            print_and_end(&output, &format!("haul {}\n", env!("CARGO_PKG_VERSION")))
        }
        Some("--list-applets") => {
            let names: String = APPLETS
                .iter()
                .filter(|applet| applet.drop_in)
                .map(|applet| format!("{}\n", applet.name))
                .collect();
            print_and_end(&output, &names)
        }
        _ => {
            let is_option = word.as_encoded_bytes().starts_with(b"-");
            let kind = if is_option { "option" } else { "command" };
            output.error(&format!("there is no {kind} {}", quote(word.as_encoded_bytes())));
            let names = APPLETS.iter().map(|applet| applet.name);
            let word = word.to_str().filter(|_| !is_option);
            if let Some(meant) = word.and_then(|word| suggest::command(word, names)) {
                output.raw_error(&format!("Did you mean 'haul {meant}'?\n"));
            }
            output.raw_error("Try 'haul --help' for the list of commands.\n");
            ExitCode::from(2)
        }
    }
}

fn file_name(path: &OsStr) -> OsString {
    Path::new(path).file_name().unwrap_or_default().to_owned()
}

fn overview() -> String {
    let mut text = String::from(
        "haul copies, moves, deletes and streams file data as fast as the storage allows.\n\n\
         Usage: haul COMMAND [OPTION]... [ARGUMENT]...\n\nCommands:\n",
    );
    for applet in APPLETS {
        text.push_str(&format!("  {:13} {}\n", applet.name, applet.summary));
    }
    text.push_str(
        "\n'haul help COMMAND' or 'haul COMMAND --help' says more. A link to haul that has\n\
         a command's name is that command.\n\n",
    );
    text.push_str(defaults::ABOUT);
    text
}
