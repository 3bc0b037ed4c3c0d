//! The applets: a file each, and a line each in [`APPLETS`].

mod bench;
mod bench_calls;
mod bench_help;
mod bench_options;
mod bench_plan;
mod bench_watch;
mod cat;
mod cat_format;
mod clean;
pub(crate) mod common;
mod compare;
mod cp;
mod cp_help;
mod cp_options;
mod cp_profile;
mod cp_retry;
mod cp_values;
mod data_options;
mod dd;
#[cfg(test)]
mod fuzz;
mod install_links;
mod list_place;
mod mv;
mod mv_help;
mod mv_options;
mod read;
mod read_direct_splice;
mod rm;
mod rm_help;
mod rm_options;
mod split;
mod split_input;
mod split_numbers;
mod split_options;
mod split_output;
mod split_turns;
mod stream_options;
mod sums;
mod tee;
mod trace;
mod trace_help;
mod trace_options;
mod trace_sinks;
mod trace_words;
mod trust_options;
mod tune;
mod verify;
mod verify_sums;
mod write;
mod write_target;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use crate::escape::quote;
use crate::output::{Output, close_output};

/// A command within haul.
pub(crate) struct Applet {
    /// What it is called, on the command line and as a link's name.
    pub(crate) name: &'static str,
    /// One line for the overview.
    pub(crate) summary: &'static str,
    /// Whether a link of this name stands for it, as with the tools that people know.
    pub(crate) drop_in: bool,
    /// The exit status if standard output could not take what was written.
    pub(crate) unwritten: u8,
    /// Runs it with the words behind its name.
    pub(crate) run: fn(&[OsString]) -> ExitCode,
}

/// All applets, in the order in which the overview shows them.
pub(crate) static APPLETS: &[Applet] = &[
    Applet {
        name: "cp",
        summary: "copy files and trees, as GNU cp",
        drop_in: true,
        unwritten: 1,
        run: cp::run,
    },
    Applet {
        name: "mv",
        summary: "move files and trees, as GNU mv, durably across file systems",
        drop_in: true,
        unwritten: 1,
        run: mv::run,
    },
    Applet {
        name: "rm",
        summary: "remove files and trees, as GNU rm",
        drop_in: true,
        unwritten: 1,
        run: rm::run,
    },
    Applet {
        name: "cat",
        summary: "write files to standard output, as GNU cat",
        drop_in: true,
        unwritten: 1,
        run: cat::run,
    },
    Applet {
        name: "dd",
        summary: "copy and convert by records, as GNU dd",
        drop_in: true,
        unwritten: 1,
        run: dd::run,
    },
    Applet {
        name: "read",
        summary: "write files to a pipe, with many large reads in flight",
        drop_in: false,
        unwritten: 1,
        run: read::run,
    },
    Applet {
        name: "write",
        summary: "write a pipe to files, with many large writes in flight",
        drop_in: false,
        unwritten: 1,
        run: write::run,
    },
    Applet {
        name: "tee",
        summary: "copy standard input to files and standard output, as GNU tee",
        drop_in: true,
        unwritten: 1,
        run: tee::run,
    },
    Applet {
        name: "split",
        summary: "cut a file into pieces, as GNU split",
        drop_in: true,
        unwritten: 1,
        run: split::run,
    },
    Applet {
        name: "md5sum",
        summary: "print or check MD5 sums, as GNU md5sum",
        drop_in: true,
        unwritten: 1,
        run: sums::md5sum,
    },
    Applet {
        name: "sha1sum",
        summary: "print or check SHA-1 sums, as GNU sha1sum",
        drop_in: true,
        unwritten: 1,
        run: sums::sha1sum,
    },
    Applet {
        name: "sha224sum",
        summary: "print or check SHA-224 sums, as GNU sha224sum",
        drop_in: true,
        unwritten: 1,
        run: sums::sha224sum,
    },
    Applet {
        name: "sha256sum",
        summary: "print or check SHA-256 sums, as GNU sha256sum",
        drop_in: true,
        unwritten: 1,
        run: sums::sha256sum,
    },
    Applet {
        name: "sha384sum",
        summary: "print or check SHA-384 sums, as GNU sha384sum",
        drop_in: true,
        unwritten: 1,
        run: sums::sha384sum,
    },
    Applet {
        name: "sha512sum",
        summary: "print or check SHA-512 sums, as GNU sha512sum",
        drop_in: true,
        unwritten: 1,
        run: sums::sha512sum,
    },
    Applet {
        name: "b2sum",
        summary: "print or check BLAKE2b sums, as GNU b2sum",
        drop_in: true,
        unwritten: 1,
        run: sums::b2sum,
    },
    Applet {
        name: "cksum",
        summary: "print or check sums of any of GNU cksum's kinds",
        drop_in: true,
        unwritten: 1,
        run: sums::cksum,
    },
    Applet {
        name: "b3sum",
        summary: "print or check BLAKE3 sums, on all processors",
        drop_in: true,
        unwritten: 1,
        run: sums::b3sum,
    },
    Applet {
        name: "xxhsum",
        summary: "print or check xxHash sums",
        drop_in: true,
        unwritten: 1,
        run: sums::xxhsum,
    },
    Applet {
        name: "sum",
        summary: "print or check sums of any kind, BLAKE3 unless told otherwise",
        drop_in: false,
        unwritten: 1,
        run: sums::sum,
    },
    Applet {
        name: "compare",
        summary: "compare two trees in everything, and say what differs",
        drop_in: false,
        unwritten: 2,
        run: compare::run,
    },
    Applet {
        name: "verify",
        summary: "say which files of a tree are not what checksums, or another tree, say",
        drop_in: false,
        unwritten: 2,
        run: verify::run,
    },
    Applet {
        name: "trace",
        summary: "show what a command asks of the kernel: counts, sizes, latencies",
        drop_in: false,
        unwritten: 125,
        run: trace::run,
    },
    Applet {
        name: "bench",
        summary: "find out which way of copying is fastest here, with evidence",
        drop_in: false,
        unwritten: 1,
        run: bench::run,
    },
    Applet {
        name: "tune",
        summary: "measure what is fastest here, so that haul cp does it from then on",
        drop_in: false,
        unwritten: 1,
        run: tune::run,
    },
    Applet {
        name: "clean",
        summary: "remove the hidden files that runs which were killed have left",
        drop_in: false,
        unwritten: 1,
        run: clean::run,
    },
    Applet {
        name: "install-links",
        summary: "make links of the names that haul stands in for",
        drop_in: false,
        unwritten: 1,
        run: install_links::run,
    },
];

impl Applet {
    /// Runs it, and closes standard output.
    fn run(&self, words: &[OsString]) -> ExitCode {
        let code = (self.run)(words);
        let program =
            if self.drop_in { self.name.to_owned() } else { format!("haul {}", self.name) };
        close_output(&program, code, ExitCode::from(self.unwritten))
    }
}

/// Runs the applet that the program's name or the first word asks for.
pub(crate) fn dispatch(arguments: &[OsString]) -> ExitCode {
    let own_name = arguments.first().map(|path| file_name(path)).unwrap_or_default();
    let behind = |count| arguments.get(count..).unwrap_or(&[]);
    if let Some(applet) = APPLETS.iter().find(|applet| applet.drop_in && *applet.name == *own_name)
    {
        return applet.run(behind(1));
    }
    if let Some(word) = arguments.get(1)
        && let Some(applet) = APPLETS.iter().find(|applet| word == applet.name)
    {
        return applet.run(behind(2));
    }
    close_output("haul", without_applet(arguments.get(1)), ExitCode::FAILURE)
}

fn without_applet(word: Option<&OsString>) -> ExitCode {
    let output = Output::new("haul");
    let Some(word) = word else {
        output.raw_error(&overview());
        return ExitCode::from(2);
    };
    match word.to_str() {
        Some("--help" | "-h" | "help") => common::print_and_end(&output, &overview()),
        Some("--version" | "-V") => {
            common::print_and_end(&output, &format!("haul {}\n", env!("CARGO_PKG_VERSION")))
        }
        Some("--list-applets") => {
            let names: String = APPLETS
                .iter()
                .filter(|applet| applet.drop_in)
                .map(|applet| format!("{}\n", applet.name))
                .collect();
            common::print_and_end(&output, &names)
        }
        _ => {
            output.error(&format!("there is no command {}", quote(word.as_encoded_bytes())));
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
        text.push_str(&format!("  {:10} {}\n", applet.name, applet.summary));
    }
    text.push_str(
        "\n'haul COMMAND --help' says more. A link to haul that has a command's name is that \
         command.\n",
    );
    text
}
