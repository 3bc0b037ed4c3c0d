//! `haul trace --help`.

use super::options::OPTIONS;
use crate::getopt::Origin;
use crate::option::help::options;

/// Returns the text of `--help`.
pub(super) fn help(program: &str) -> String {
    format!(
        "Usage: {program} [OPTION]... [--] COMMAND [ARGUMENT]...\n  \
         or:  {program} [OPTION]... --vs 'COMMAND B' [--] COMMAND [ARGUMENT]...\n  \
         or:  {program} [OPTION]... -p PID [--for DURATION]\n\
         Run COMMAND, and show what it and all that it starts ask of the kernel: how often, how\n\
         much at a time, how long it took.\n\n{}{NOTES}",
        options(OPTIONS, Origin::Gnu),
    )
}

const NOTES: &str = "
Options stand before COMMAND; what follows it is its own. Its standard input, output and error
are ours. FILE may be -, standard output.

COMMAND is no shell's line. For a pipeline, an alias or a variable, run a shell:
  haul trace -- sh -c 'sort names | uniq -c'
'COMMAND B' is taken apart at blanks as a shell does it, with quotes and backslashes, but no
shell runs it either: variables, patterns, pipes and redirections are refused. Standard input is
what COMMAND left of it. With --by or --files, each command's own report follows the comparison.

The report comes when COMMAND and all that it started have ended. Ctrl-C reaches COMMAND as
always, the report is still made, and what COMMAND left behind is not waited for. Without -p,
SIGTERM and the like are passed on to COMMAND.

The exit status is that of COMMAND (128+N where signal N killed it; of the first, with --vs);
  127  if the command cannot be found
  126  if it cannot be run
  125  if haul itself fails, or was called wrongly.
With -p it is 0 or 125.
";
