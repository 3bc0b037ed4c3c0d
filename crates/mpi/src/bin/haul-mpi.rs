//! `haul-mpi`: one copy, removal or comparison by many processes that MPI starts.

#![no_main]

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use haul::{Among, Stream, WholeFile};
use haul_mpi::{Link, Relay, STATUS_BEGINNING, job_options};

const HELP: &str = "\
Usage: mpirun -n RANKS haul-mpi [JOB OPTION]... COMMAND [OPTION]... FILE...
  or:  srun haul-mpi [JOB OPTION]... COMMAND [OPTION]... FILE...
  or:  haul-mpi status [--json] FILE

  cp [OPTION]... SOURCE... TARGET   copy files and trees as 'haul cp' does
  rm [OPTION]... FILE...            remove files and trees as 'haul rm' does
  compare [OPTION]... A B           say what differs, as 'haul compare' does
  status FILE                       show what the ranks of a job are doing

All ranks work together on one command. Start one rank on each machine; all need the same current
directory, and see all files under the same names.

      --stop-after=TIME   end the job after TIME
      --status=FILE       describe the job in FILE every 2 seconds, for 'haul-mpi status FILE'

With --stop-after, the job ends after TIME (such as 3h50m, 90s) with exit status 1, or 2 for compare,
unless it is complete. SIGTERM, SIGINT and SIGUSR1 to any rank of 'cp' and 'rm' end the job as well:
workers complete what they have begun, and the same command continues; 'cp --resume' does not copy
complete files again.

'haul-mpi COMMAND --help' lists the options. The exit status of rank 0 is that of the whole command.
";

/// What a message about a command says at its end.
const COMMANDS: &str = "\
the commands of haul-mpi are 'cp', 'rm', 'compare' and 'status'
Try 'haul-mpi --help' for more information.
";

haul::program!(run);

fn run(words: &[OsString]) -> ExitCode {
    haul::prepare();
    let arguments = words.split_first().map_or(words, |(_, rest)| rest);
    // It shows a job, and is none.
    if let Some((command, words)) = arguments.split_first()
        && command == "status"
    {
        return match haul_mpi::status::status(words) {
            Ok(text) => print_text(&text),
            Err(text) => fail(&format!("{text}\n")),
        };
    }
    let code = haul_mpi::transport::start(|link| rank(link, arguments));
    code.unwrap_or_else(|| fail("MPI cannot be started in a process with threads\n"))
}

/// Runs this rank.
fn rank(mut link: Link, arguments: &[OsString]) -> ExitCode {
    let relay = Arc::new(Relay::default());
    let print = Arc::clone(&relay);
    let among = Among {
        own: link.own(),
        count: link.count(),
        relay: Arc::new(move |stream, text| print.print(stream, text)),
    };
    let arguments = match job_options::take(arguments) {
        Ok((options, rest)) => {
            options.stop_after.into_iter().for_each(|time| link.stop_after(time));
            if let Some(name) = options.status.filter(|_| among.own == 0) {
                match WholeFile::begin(&name, "status", STATUS_BEGINNING) {
                    Ok(file) => link.describe_in(file),
                    Err(text) => return refuse(&link, &relay, &text),
                }
            }
            rest
        }
        Err(text) => return refuse(&link, &relay, &text),
    };
    let (command, words) = match arguments.split_first() {
        Some((command, words)) => (command.to_str().unwrap_or_default(), words),
        None => ("", arguments),
    };
    let code = match command {
        "cp" => haul::copy_among(words, &among, |part| haul_mpi::copy(&mut link, &relay, &part)),
        "rm" => {
            haul::remove_among(words, &among, |part| haul_mpi::remove(&mut link, &relay, &part))
        }
        "compare" => {
            haul::compare_among(words, &among, |part| haul_mpi::compare(&mut link, &relay, &part))
        }
        "--help" | "-h" | "--version" => {
            haul_mpi::call_off(&link, &relay);
            return match command {
                _ if among.own > 0 => ExitCode::SUCCESS,
                "--version" => print_text(concat!("haul-mpi ", env!("CARGO_PKG_VERSION"), "\n")),
                _ => print_text(HELP),
            };
        }
        "" => return refuse(&link, &relay, &format!("a command is missing\n{COMMANDS}")),
        unknown => {
            return refuse(&link, &relay, &format!("there is no command '{unknown}'\n{COMMANDS}"));
        }
    };
    // A command that was refused here.
    haul_mpi::call_off(&link, &relay);
    code
}

/// Ends the job because this rank's command line or environment does not allow it. Rank 0 prints why, also
/// what another rank alone found.
fn refuse(link: &Link, relay: &Relay, text: &str) -> ExitCode {
    let text = format!("{}\n", text.trim_end());
    let code = if link.own() == 0 {
        fail(&text)
    } else {
        relay.print(Stream::Error, format!("haul-mpi: {text}").as_bytes());
        ExitCode::SUCCESS
    };
    haul_mpi::call_off(link, relay);
    code
}

fn print_text(text: &str) -> ExitCode {
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
