//! `haul install-links DIR`: makes links to the binary with the names of the tools that it replaces.

use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::ExitCode;

use crate::applet::entry::Applet;
use crate::ending::{print_and_end, usage_error};
use crate::file_error::describe;
use crate::getopt::Usage;
use crate::output::Output;

const PROGRAM: &str = "haul install-links";

const HELP: &str = "Usage: haul install-links DIRECTORY\n\
    Make a symbolic link to this binary in DIRECTORY for each command that stands\n\
    in for one of GNU's (haul --list-applets). A name that is taken is left alone\n\
    and reported, unless it is such a link already.\n";

/// Runs `install-links` with its arguments and the table of applets.
pub(crate) fn run(arguments: &[OsString], applets: &[Applet]) -> ExitCode {
    let output = Output::new(PROGRAM);
    match arguments {
        [word] if word == "--help" => print_and_end(&output, HELP),
        [directory] if !directory.as_encoded_bytes().starts_with(b"-") => {
            install(&output, Path::new(directory), applets)
        }
        _ => usage_error(&output, &Usage("give the one directory for the links".to_owned())),
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
        let shown = crate::escape::quote(link.as_os_str().as_encoded_bytes());
        match symlink(&binary, &link) {
            Ok(()) => output.line(&format!("{shown} is haul {} now", applet.name)),
            Err(_) if std::fs::read_link(&link).is_ok_and(|text| text == binary) => {}
            Err(error) => {
                output.error(&format!("cannot create symbolic link {shown}: {}", describe(&error)));
                code = ExitCode::FAILURE;
            }
        }
    }
    if output.finish() { code } else { ExitCode::FAILURE }
}
