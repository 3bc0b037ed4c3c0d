//! What a run prints: one reporter for each output format (text for people, JSON lines for
//! programs), which serves copying, moving, removing and rehearsing alike.
//!
//! `fact.rs` turns the engine's types into facts, a reporter turns a fact into a line, and
//! `console.rs` prints the lines. A word that both formats print is in `words.rs`, the text of a
//! failure in `message/`.

mod console;
mod fact;
mod format;
mod how;
pub(crate) mod item_format;
pub(crate) mod item_log;
mod itemize;
mod json;
mod message;
mod question;
mod rehearse;
mod reporter;
mod run;
mod text;
mod words;

pub(crate) use how::{EntryLines, Format, How, Lists};
pub(crate) use question::ask;
pub(crate) use rehearse::{dry_run, preflight, rehearse_sync};
pub(crate) use run::{
    Ended, lead_copy, lead_removal, run_move, run_removal, run_to_end, take_part,
};
pub(crate) use words::why_not;
