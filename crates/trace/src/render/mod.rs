//! Reports as text, JSON and SVG: pure functions from a [`crate::Report`] to a `String`.

mod bars;
mod brief;
mod canvas;
mod compare;
mod escape;
mod json;
mod listed;
mod named;
mod picture;
mod quantity;
mod stacks;
mod table;
mod text;

pub use compare::{Labels, comparison};
pub use json::json;
pub use listed::listed;
pub use picture::{PictureOptions, picture};
pub use stacks::{flames, folded};
pub use text::{Detail, TextOptions, text};
