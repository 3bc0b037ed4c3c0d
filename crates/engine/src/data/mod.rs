//! Plain data that every room may use: the request, failures, reports, and encodings.

pub(crate) mod again;
pub(crate) mod aspect;
pub(crate) mod attributes;
pub(crate) mod budget;
pub mod cached;
pub mod error;
#[cfg(test)]
pub(crate) mod literals;
pub mod monitor;
pub mod request;
pub(crate) mod resources;
pub(crate) mod selected;
pub(crate) mod setters;
pub(crate) mod synchronize;
pub(crate) mod wire;
