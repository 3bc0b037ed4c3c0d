//! Tests of the codec: round trips, other writers' files, and files that are damaged.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bzip2_blocks;
mod corners;
mod damage;
mod gzip;
mod index;
mod old_formats;
mod packings;
mod support;
