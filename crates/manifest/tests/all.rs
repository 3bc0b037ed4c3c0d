//! The one integration binary of haul-manifest.
//!
//! An oracle that says "equal" too often is worse than none, so most of these tests introduce
//! exactly one difference and ask for exactly that one; the rest generate trees that must be
//! equal and ask for none.

mod content;
mod deep;
mod differences;
mod errors;
mod generate;
mod links;
mod names;
mod properties;
mod recipes;
mod removal;
mod scan;
mod support;
