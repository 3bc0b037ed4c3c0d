//! `cargo xtask fuzz`: damaged archives, streams, journals and indexes, read by haul and by other programs.
//!
//! The parsers have tests of their own; this is about the commands. A seed draws an input of the corpus and
//! changes it: bytes, fields of a header with the checksum made right again, blocks left out. haul
//! may refuse it, but must not panic, hang, take much memory, or give other bytes than the reference
//! with exit status 0. No coverage is measured, so the stable compiler suffices.

mod accepted;
mod archive;
mod cli;
mod corpus;
mod lab;
mod mutate;
mod odd;
mod state;
mod stream;

pub(crate) use cli::main;
