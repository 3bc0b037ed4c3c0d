//! Actions on each entry, in three steps that a batch goes through as a whole.
//!
//! *Find* opens and describes sources, with any number of workers in parallel. *Make* makes the
//! names in the target, with one worker at a time in each directory, because the kernel's lock on
//! the directory allows no more. *Fill* moves bytes and applies attributes, again with any number
//! of workers. A flat directory is therefore a pipeline of its workers, and a single worker does
//! the same three steps.
//!
//! A step returns what comes next for its entry ([`next::Next`]); only [`compose`] calls steps.

mod alone;
mod already_done;
mod among;
pub(crate) mod at;
pub(crate) mod backup;
mod changed;
pub(crate) mod commit_group;
mod complete;
mod compose;
mod created;
pub(crate) mod cut_short;
pub(crate) mod directory;
pub(crate) mod existing;
mod fill;
mod find;
mod finished;
pub(crate) mod flags;
pub(crate) mod group;
pub(crate) mod hardlink;
mod inherited;
pub(crate) mod item;
pub(crate) mod known;
mod layout;
pub(crate) mod links;
mod make;
mod next;
pub(crate) mod part;
pub(crate) mod pin_later;
mod published;
mod regular;
pub(crate) mod resumable;
mod sample;
mod shared;
pub(crate) mod shared_file;
mod sibling;
mod special;
pub(crate) mod spelling;
mod swap;
mod symlink;
pub(crate) mod temporary;
pub(crate) mod turn;
mod turns;
mod unfinished;
mod verified;

pub(crate) use self::compose::{commit_remaining, draw, run};
