//! `haul`: copies, moves, deletes and streams file data as fast as the storage allows.

use std::process::ExitCode;

fn main() -> ExitCode {
    haul::main()
}
