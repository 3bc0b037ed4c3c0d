//! The repository's development commands: `cargo xtask COMMAND`.
//!
//! Every task of a developer or a CI job in this repository, other than building it, is a command here,
//! so that it needs no shell and can be tested like other code. Only the runner of GNU's suite,
//! `xtask/gnu`, is in another language: Python.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "printing is what a command for developers does"
)]

mod apt;
mod command;
mod corpora;
mod cost;
mod dist;
mod error;
mod flaw;
mod fs;
mod fuzz;
mod gnu;
mod interrupt;
mod licence;
mod lint;
mod pictures;
mod release;
mod report;
mod requests;
mod soak;
mod sweep;
mod tally;
mod test;
mod tidy;
mod tools;
mod trial;
mod vm;
mod workspace;

use crate::error::{Error, Result};
use std::process::ExitCode;

const HELP: &str = "\
cargo xtask COMMAND

  lint [--tidy]             rustfmt, clippy, licences, advisories and the tidy checks;
                            --tidy: these alone, in seconds
  test [OPTIONS] [FILTER…]  build, mount the test file systems, and run the tests whose names have
                            one of FILTER: all of them if there is none
    --rest                  what takes longer: clippy, the long tests, MPI, GNU's suites
    --repeat N              N rounds; a test that does not always end alike has failed
    --beside LOAD           beside load: cpu, cpu=N, memory, disk, or several, with commas
    --slowest N             list the N slowest tests
    --jobs N                N tests at a time
  fs up|down [--dir DIR]    mount (as root) or unmount the test file systems
  fs env [--dir DIR]        print the shell line that tells tests where they are
  gnu [--baseline] [--as user] [AREA…]
                            run GNU coreutils' own tests against the release binary, and
                            gzip's and tar's (areas gzip and tar);
                            --baseline runs them against GNU's own tools once more
  sweep [--full] [COMMAND…] make every call of every command fail, or be the last, and check that
                            nothing is lost; --full tries every errno at every call
  soak MINUTES [--seed N] [--binary HAUL] [--only CASE]
                            random commands on random trees, by haul and by GNU's tools (as
                            root); MINUTES 0 plays one round, so with --seed it repeats a finding
  fuzz MINUTES [--seed N] [--binary HAUL] [--only TARGET]
                            damaged archives, streams, journals and indexes, read by haul and by
                            other programs (as root); MINUTES 0 makes one attempt
  vm [--kernel K,…] [--on FS,…] [--smoke | --disks] [--binary HAUL] [--record] [CHECK…]
                            haul beside GNU's tools on stock kernels and their file systems and
                            servers, in QEMU (as root); --smoke: fewer checks; --disks: power cuts
                            and failing disks; --record writes docs/compatibility.md
  tar-corpora               list and extract the archives of other programs' tests with GNU tar
                            and with haul, and compare
  cost [--binary HAUL] [WORD…]
                            processor time and system calls of haul and of the originals, for many
                            shapes of trees, streams and archives; only rows with each WORD
  requests [--binary HAUL] [--record]
                            the sizes of the requests of today's tools on one file, by `haul trace`;
                            --record writes docs/request-sizes.md
  dist [--install] [--reproduce] [TARGET…] | library | wheel | source [--build]
                            build a static binary and pack it: tarball, .deb, .rpm, sums;
                            --install tries each package in a fresh root (as root),
                            --reproduce builds them a second time and compares;
                            library: libhaul for C; wheel: the module and the program for Python;
                            source: a Debian source package, --build builds it in a fresh folder
  pictures [--only-bar|--only-plot] [HAUL]
                            make the pictures of the README from runs of haul (as root)
  release --dry-run         list what is left to do before a release
  help                      print this";

fn main() -> ExitCode {
    match dispatch(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::from(interrupt::exit_code().unwrap_or(1))
        }
    }
}

fn dispatch(arguments: &[String]) -> Result<ExitCode> {
    let (command, rest) = match arguments.split_first() {
        Some((command, rest)) => (command.as_str(), rest),
        None => ("help", arguments),
    };
    match command {
        "lint" => lint::main(rest),
        "test" => test::main(rest),
        "fs" => fs::main(rest),
        "gnu" => gnu::main(rest),
        "tar-corpora" => corpora::main(rest),
        "sweep" => sweep::main(rest),
        "vm" => vm::main(rest),
        // For the machines of `vm`, which run this program again.
        "vm-guest" => vm::guest(rest),
        "fuzz" => fuzz::main(rest),
        "soak" => soak::main(rest),
        "cost" => cost::main(rest),
        "requests" => requests::main(rest),
        "dist" => dist::main(rest),
        "pictures" => pictures::main(rest),
        "release" => release::main(rest),
        "help" | "--help" | "-h" => {
            println!("{HELP}");
            Ok(ExitCode::SUCCESS)
        }
        other => Err(Error::new(format!("there is no command {other:?}"))
            .hint("`cargo xtask help` lists the commands")),
    }
}
