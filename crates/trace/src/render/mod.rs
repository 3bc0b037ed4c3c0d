//! Reports as text, JSON and SVG: pure functions from a [`crate::Report`] to a `String`.

mod bars;
mod compare;
mod escape;
mod json;
mod quantity;
mod svg;
mod table;
mod text;

pub use compare::{Labels, comparison};
pub use json::json;
pub use svg::svg;
pub use text::{TextOptions, text};
