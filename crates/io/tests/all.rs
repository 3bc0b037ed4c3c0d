//! The one integration binary of haul-io: every method on every file system at every size class.
//!
//! A method that the kernel refuses is no failure, because the ladder tries the next; wrong bytes are
//! one. The tests print which methods moved bytes on which file system, so that a method that is never
//! used is noticed.

mod attempts;
mod data;
mod direct_splice;
mod extents;
mod parts;
mod shared;
mod support;
mod verifying;
mod whole;
mod workers;
