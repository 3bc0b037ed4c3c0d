//! The line that `--debug` prints for a file: GNU cp's, and haul's method.

use haul_engine::monitor::MovedFile;
use haul_io::Detection;

use super::super::how::How;

/// Returns the line for a file whose bytes have been moved.
pub(super) fn line(file: &MovedFile, how: &How) -> String {
    let method = file.moved.method_name();
    let never = how.never_shares;
    let has_no_data = file.moved.bytes == 0
        && match file.moved.detection {
            Detection::Holes | Detection::HolesAndZeros => true,
            Detection::Unknown | Detection::No => !never,
            Detection::Zeros => false,
        };
    let (offload, reflink) = match method {
        "reflink" => ("unknown", "yes"),
        "copy-range" => ("yes", "unsupported"),
        // GNU cp says no more of what has no data; where it looks for zeros, or may not share
        // blocks, it avoids the call beforehand.
        _ if has_no_data && never => ("unknown", "no"),
        _ if has_no_data => ("unknown", "unsupported"),
        _ if never => ("avoided", "no"),
        _ => ("avoided", "unsupported"),
    };
    let detection = match file.moved.detection {
        Detection::Unknown => "unknown",
        Detection::No => "no",
        Detection::Zeros => "zeros",
        Detection::Holes => "SEEK_HOLE",
        Detection::HolesAndZeros => "SEEK_HOLE + zeros",
    };
    format!(
        "copy offload: {offload}, reflink: {reflink}, sparse detection: {detection}, method: {method}"
    )
}
