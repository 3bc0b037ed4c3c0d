//! libhaul: copies, synchronises, moves, removes, compares and archives files and trees, for programs in C and other
//! languages.
//!
//! `include/haul.h` is the interface and `man/libhaul.3` its manual; Rust programs use `haul-engine`. The
//! operations have one set of options, and a report that holds what failed as values.
//!
//! The caller's functions run in the caller's thread alone, one at a time: the threads of a run put what they
//! have to say into a queue, which that thread empties. So a caller needs no lock, an interpreter needs no
//! thread state, and no thread of the library ever runs foreign code. These threads block all signals, so that
//! a handler of the program never runs in one of them.
//!
//! | file | what |
//! | --- | --- |
//! | `boundary.rs` | the functions that C calls: the only `unsafe` |
//! | `options.rs` | the options, checked |
//! | `flag.rs` | the flags that end calls |
//! | `descriptors.rs` | how calls at the same time share the descriptors of the process |
//! | `carry.rs` | what an operation offers to the thread of the caller |
//! | `operations.rs` | the operations, as requests to the engine |
//! | `pack.rs`, `unpack.rs` | archives, by what `haul tar` uses |
//! | `tally.rs`, `trouble.rs` | what is counted and what goes wrong there |
//! | `run.rs` | one call: its thread, the queue, the progress |
//! | `report.rs` | items and totals, as C reads them |

mod boundary;
mod carry;
mod descriptors;
mod flag;
mod operations;
mod options;
mod pack;
mod report;
mod run;
mod tally;
mod trouble;
mod unpack;

pub use boundary::{
    CallerOptions, CancelFlag, haul_cancel_free, haul_cancel_new, haul_cancel_request,
    haul_compare, haul_copy_file, haul_copy_tree, haul_move, haul_pack, haul_remove,
    haul_report_free, haul_report_item, haul_report_items, haul_report_omitted, haul_report_totals,
    haul_sync, haul_unpack, haul_version,
};
pub use report::{ItemView, Report, Totals};
