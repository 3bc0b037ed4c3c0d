//! The command line of `haul`: arguments, messages, signals, exit codes.
//!
//! The only crate that talks to a person. What ends up on disk is decided elsewhere. It is a library
//! for the sake of its two programs, `haul` and `haul-mpi`, which have the same options and
//! messages.

mod among;
mod answer;
mod applet;
mod child;
mod date;
mod defaults;
mod ending;
mod error_list;
mod escape;
mod file_error;
mod getopt;
mod held_back;
mod json_line;
mod known_name;
mod lossless;
mod metrics;
mod option;
mod output;
mod own_lock;
mod page;
mod profile;
mod progress;
mod relayed;
mod report;
mod set_aside;
mod signal_name;
pub mod sizes;
mod standard;
mod suggest;
mod sum_file;
mod target_file;
mod trusted_file;
mod value;
mod waiting;
mod whole_file;

use std::ffi::OsString;
use std::process::ExitCode;

pub use among::{Among, Carry, Part};
pub use applet::{Comparison, compare_among, copy_among, remove_among, unit_of_comparison};
pub use relayed::{Print, Stream};
pub use whole_file::WholeFile;

pub use haul_manifest::safe_json;
pub use haul_start::program;
pub use haul_sys::process::{host_name, set_umask, umask};

/// Ends the process with a message and a status where memory cannot be allocated.
#[global_allocator]
static HEAP: haul_sys::memory::Heap = haul_sys::memory::Heap;

/// Runs the command that the program's name or its first argument asks for. Blocks until it is done.
#[must_use]
pub fn main(words: &[OsString]) -> ExitCode {
    prepare();
    applet::dispatch(words)
}

/// Prepares the process as a whole, before it starts any thread.
pub fn prepare() {
    haul_sys::memory::allow_looking();
    haul_sys::process::share_one_heap();
}
