//! Selects entries of a tree: by rsync's filter rules, by a list of names, by size and by time.
//!
//! People who copy trees know the rules of rsync(1), FILTER RULES, so these are the rules: the first one
//! that matches decides, and an entry that no rule matches is selected. A [`Selection`] is made once,
//! before anything else is done, so that a rule or a file that cannot be read stops a command that has not
//! begun. A walk keeps a [`Within`] for each directory, and asks it about each name there.
//!
//! Names are bytes. A name is matched in a time that is linear in its length for a given pattern, and
//! patterns without wildcards are found by a hash, however many there are. The only file that is opened
//! during a walk is a per-directory merge file, relative to its directory and never through a link.

mod builder;
mod files;
mod limits;
mod list;
mod listed;
mod merge;
mod parse;
mod pattern;
mod query;
mod rule;
mod size;
mod within;

pub use builder::{BuildError, Builder, Purpose, Selection};
pub use files::Files;
pub use limits::Limits;
pub use merge::MergeFlaw;
pub use parse::{Flaw, Refusal};
pub use rule::Rule;
pub use size::parse_size;
pub use within::{Cause, Choice, Within};
