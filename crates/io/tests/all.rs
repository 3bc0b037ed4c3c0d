//! The one integration binary of haul-io: every method on every file system at every size class.
//!
//! A method that the kernel refuses is no failure, for the ladder goes on; bytes that are not
//! the source's are. Which methods moved bytes where is printed, so that a method that never
//! serves does not go unseen.

mod attempts;
mod data;
mod direct_splice;
mod proving;
mod shared;
mod support;
mod whole;
