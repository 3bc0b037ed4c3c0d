//! The tests of `haul-mpi` with the real transport, where an MPI library is installed.

use super::suite::{self, Case, Share};
use crate::command::which;
use crate::error::Result;
use crate::tally::Tally;
use crate::tools;
use rustix::process::geteuid;

/// Builds and lists the tests that start jobs by `mpirun`.
pub(super) fn cases(tally: &mut Tally) -> Result<Vec<Case>> {
    if which("mpirun").is_none() || which("mpicc").is_none() {
        tally.ignore("jobs of haul-mpi: MPI is missing");
        return Ok(Vec::new());
    }
    if geteuid().is_root() && which("apt-get").is_some() {
        // The bindings of MPI are made of its C headers by libclang, which is no program.
        tools::install(&["libclang-dev"])?;
    }
    let mut cases = Vec::new();
    for binary in suite::build(&["-p", "haul-mpi", "--features", "mpi", "--test", "all"])? {
        cases.extend(suite::list(&binary, Share::First)?);
    }
    // The modules `job`, `job_end` and so on: what needs no MPI runs with the other tests.
    cases.retain(|case| case.name.starts_with("job"));
    Ok(cases)
}
