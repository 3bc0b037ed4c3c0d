//! Output formats of results: pure functions, which print nothing.

mod comparison;
mod export;
mod html;
pub mod plot;
mod row;
mod summary;
mod text;
mod verdict;
mod write;

pub use comparison::{Change, Comparison, Unrelated, compare, comparison_text};
pub use export::{csv, markdown};
pub use html::html;
pub use row::Row;
pub use summary::{CaseSummary, summarise};
pub use text::{marked_text, text};
pub use write::{prepare_report, write_report};
