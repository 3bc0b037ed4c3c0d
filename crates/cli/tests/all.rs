//! The one integration binary of haul: the program as its users see it.
//!
//! Every test starts the built program. `haul-manifest`, which shares no code with it, GNU cp or strace
//! check the result. Tests that need something this machine does not have print `ignored:`; see `support`.

#![expect(clippy::panic, reason = "a test fails by panicking")]

mod again;
mod atomic;
#[cfg(feature = "bench")]
mod bench;
mod boundaries;
mod cache;
mod changing;
mod clean;
mod close_output;
mod closed_input;
mod compare;
mod completions;
mod containers;
mod data;
mod data_options;
mod dd;
mod dd_blocks;
mod defaults;
mod devices;
mod doctor;
mod ends;
mod errors;
mod fidelity;
mod file_values;
mod gzip;
mod gzip_corners;
mod gzip_index;
mod help_words;
mod hole_map;
mod identity;
mod landlock;
mod leases;
mod limits;
mod links;
mod lint;
mod list_places;
mod messages;
mod metrics;
mod mv;
mod mv_crash;
mod mv_races;
mod operands;
mod output;
mod pipe_pages;
mod preserve;
#[cfg(feature = "bench")]
mod profile;
mod progress_line;
mod races;
mod rehearse;
mod remote;
mod resume;
mod resume_complete;
mod rm;
mod rm_races;
mod rm_root;
mod schemas;
mod shrinking;
mod signals;
mod slow;
mod space;
mod specials;
mod split;
mod stream;
mod sums;
mod support;
mod sweep;
mod syscalls;
mod tar_append;
mod tar_attributes;
mod tar_compare;
mod tar_corners;
mod tar_corpora;
mod tar_create;
mod tar_extract;
mod tar_fence;
mod tar_gnu_options;
mod tar_judge;
mod tar_limits;
mod tar_list;
mod tar_own;
mod tar_packed;
mod tar_races;
mod tar_random;
mod tar_refusals;
mod tar_run;
mod tar_selection;
mod tar_sparse;
mod tar_sums;
mod tar_transform;
mod tee;
#[cfg(feature = "trace")]
mod trace;
mod typed;
mod verify;
mod verify_tree;
mod window;
mod write_atomic;
