//! `cargo xtask soak`: random commands on random trees, by haul and by GNU's tools, on copies of one state.
//!
//! The sweep makes calls fail and the races change names at chosen moments; both only try what was thought
//! of. A soak finds the combinations that nothing was written for: an option with an earlier state of the
//! target, a kind of entry with a format. A round is determined by its seed, so that every finding
//! can be repeated.
//!
//! `case` draws a script from the seed, `stage` makes its state three times, `play` runs the steps, and
//! `judge` compares the results: with those of GNU's tools, and with what the step promises. `beside`
//! plays the rounds in which a thread changes the source.

mod accepted;
mod beside;
mod case;
mod cli;
mod earlier;
mod judge;
mod options;
mod play;
mod promise;
mod stage;
mod step;
mod tree;

pub(crate) use cli::{haul_binary, main, seed_of_now};
pub(crate) use options::Options;
