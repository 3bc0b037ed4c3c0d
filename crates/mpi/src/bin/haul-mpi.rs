//! `haul-mpi`: one copy by many processes that MPI starts.

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use haul::Among;
use haul_mpi::Link;

const HELP: &str = "\
Usage: mpirun -n RANKS haul-mpi cp [OPTION]... SOURCE... TARGET
  or:  srun haul-mpi cp [OPTION]... SOURCE... TARGET

Copies files and trees as 'haul cp' does, with all ranks together. Start one rank on each machine;
all need the same current directory, and see source and target under the same names.

'haul-mpi cp --help' lists the options. The exit status of rank 0 is that of the whole copy.
";

fn main() -> ExitCode {
    haul::prepare();
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let code = haul_mpi::transport::start(|link| rank(link, &arguments));
    code.unwrap_or_else(|| fail("MPI cannot be started in a process with threads\n"))
}

/// Runs this rank.
fn rank(link: Link, arguments: &[OsString]) -> ExitCode {
    let among = Among { own: link.own(), count: link.count() };
    let leads = among.own == 0;
    let (command, words) = match arguments.split_first() {
        Some((command, words)) => (command.to_str().unwrap_or_default(), words),
        None => ("", arguments),
    };
    match command {
        "cp" => haul::copy_among(words, among, |request, monitor, control| {
            haul_mpi::run(link, request, monitor, control)
        }),
        _ if !leads => ExitCode::SUCCESS,
        "--help" | "-h" => print(HELP),
        "--version" => print(concat!("haul-mpi ", env!("CARGO_PKG_VERSION"), "\n")),
        "" => fail(HELP),
        _ => fail(
            "the only command of haul-mpi is 'cp'\nTry 'haul-mpi --help' for more information.\n",
        ),
    }
}

fn print(text: &str) -> ExitCode {
    match std::io::stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn fail(text: &str) -> ExitCode {
    // A message that cannot be written has no other place.
    let _written = write!(std::io::stderr(), "haul-mpi: {text}");
    ExitCode::FAILURE
}
