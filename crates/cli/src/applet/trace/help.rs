//! `haul trace --help`.

use super::options::OPTIONS;
use crate::getopt::Origin;
use crate::page::{Argument, Page};

/// Returns the page of `--help`.
pub(super) fn help(program: &str) -> Page {
    Page::new(format!(
        "Usage: {program} [OPTION]... [--] COMMAND [ARGUMENT]...\n  \
         or:  {program} [OPTION]... --vs 'COMMAND B' [--] COMMAND [ARGUMENT]...\n  \
         or:  {program} [OPTION]... -p PID [--for DURATION]\n\
         Run COMMAND, and show the system calls of it and of all processes that it starts: how\n\
         many, how large, how long.\n\n"
    ))
    .options(OPTIONS, Origin::Gnu)
    .text(NOTES)
    .examples([
        ("haul trace -- cp big /tmp", "show the calls of a command that took most time"),
        (
            "haul trace --list -o calls -- cp a b",
            "list every call in order, with the totals at the end",
        ),
        (
            "haul trace --stacks=where.svg -- cp -r tree copy",
            "show in which functions of the kernel the time goes",
        ),
        (
            "haul trace --svg=calls.svg --vs 'haul cp big /tmp' -- cp big /tmp",
            "compare two commands, with a picture",
        ),
    ])
    .exit(EXIT)
    .operand(Argument::Command)
}

const NOTES: &str = "
The report has the calls with the most time, those made most often, and the sizes of the
requests that move most bytes; --all has everything.

Options come before COMMAND; all words after it belong to it. It inherits standard input, output
and error. FILE may be -, standard output.

--list names the files of descriptors and shows paths as the kernel resolves them. Calls come in
the order in which they end, each with its thread and the second in which it began. A call whose
arguments haul does not know is shown with an ellipsis. What eBPF could not pass on is counted in
a note; the totals have every call.

--stacks samples each processor 2,000 times in a second and times each wait, so that a stack says
where threads run, and with [waits] at its end where they wait. With -p, a wait that began before
has no stack. Other programs draw folded
stacks, too (flamegraph.pl, inferno, speedscope).

No shell reads COMMAND. For a pipeline, an alias or a variable, run a shell:
  haul trace -- sh -c 'sort names | uniq -c'
'COMMAND B' is split at blanks as by a shell, with quotes and backslashes, but no shell runs it:
variables, patterns, pipes and redirections are refused. It reads the part of standard input that
COMMAND did not read. With --by or --files, the report of each command follows the comparison.

The report comes when COMMAND and all processes that it started have ended. Ctrl-C reaches COMMAND
as usual, haul still prints the report, and does not wait for processes that COMMAND left behind.
Without -p, haul passes SIGTERM and the like on to COMMAND.
";

const EXIT: &str = "\
The exit status is that of COMMAND (128+N where signal N killed it; of the first, with --vs);
  127  if the command cannot be found
  126  if it cannot be run
  125  if haul itself fails, or its command line is invalid.
With -p it is 0 or 125.";
