//! `haul`: copies, moves, deletes and streams file data as fast as the storage allows.
//!
//! The only crate that talks to a person: arguments, messages, signals, exit codes. What ends up on
//! disk is decided elsewhere.

mod answer;
mod applet;
mod defaults;
mod ending;
mod error_list;
mod escape;
mod file_error;
mod getopt;
mod json_line;
mod lossless;
mod metrics;
mod option;
mod output;
mod page;
mod profile;
mod progress;
mod report;
mod sizes;
mod standard;
mod suggest;
mod sum_file;
mod target_file;

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    haul_sys::process::inherit_broken_pipe();
    haul_sys::process::share_one_heap();
    let arguments: Vec<OsString> = std::env::args_os().collect();
    applet::dispatch(&arguments)
}
