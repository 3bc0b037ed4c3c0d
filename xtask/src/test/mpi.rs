//! The tests of `haul-mpi` with the real transport, where an MPI library is installed.

use super::tally::Tally;
use super::tools;
use crate::command::{cargo, stream, which};
use crate::error::{Error, Result};
use rustix::process::geteuid;

/// Runs the tests that start jobs by `mpirun`.
pub(super) fn stage(tally: &mut Tally) -> Result<()> {
    if which("mpirun").is_none() || which("mpicc").is_none() {
        tally.ignore("jobs of haul-mpi: MPI is missing");
        return Ok(());
    }
    if geteuid().is_root() && which("apt-get").is_some() {
        // The bindings of MPI are made of its C headers by libclang, which is no program.
        tools::install(&["libclang-dev"])?;
    }
    // The modules `job`, `job_end` and so on: what needs no MPI runs with the other tests.
    let words = ["-p", "haul-mpi", "--features", "mpi", "--test", "all", "job"];
    let mut command = cargo(&["test"]);
    command.args(words).args(["--", "--show-output"]);
    let failed_before = tally.failed;
    let status = stream(&mut command, |line| tally.see(line))?;
    if !status.success() && tally.failed == failed_before {
        return Err(Error::new(format!("the tests of haul-mpi failed ({status})"))
            .hint("it could not start the tests; its own messages are above"));
    }
    Ok(())
}
