//! What the target's file system lacks for a copy.

use haul_engine::preflight::Shortage;
use haul_engine::request::Request;

use crate::escape::quote;
use crate::sizes::{bytes, plural};

/// Returns the message for a shortage.
pub(in crate::report) fn of_shortage(shortage: &Shortage, request: &Request) -> String {
    let target = quote(request.target.to_bytes());
    match *shortage {
        Shortage::Space(needed, free) => format!(
            "not enough space on the file system of {target}: {} needed, {} free",
            bytes(needed),
            bytes(free)
        ),
        Shortage::Inodes(needed, free) => format!(
            "not enough inodes on the file system of {target}: {needed} needed, {free} free"
        ),
        Shortage::FileSize(size, limit) => format!(
            "a file of {} is too large for the file system of {target}, whose limit is {}",
            bytes(size),
            bytes(limit)
        ),
        Shortage::NameLength(length, limit) => format!(
            "a name of {length} bytes is too long for the file system of {target}, whose limit is \
             {limit}"
        ),
        Shortage::Xattrs => {
            format!("the file system of {target} cannot hold extended attributes")
        }
        Shortage::Owners => {
            format!("the file system of {target} cannot hold owners and permissions")
        }
        Shortage::Specials(count) => format!(
            "the file system of {target} cannot hold {}",
            plural(count, "link or special file", "links and special files")
        ),
    }
}
