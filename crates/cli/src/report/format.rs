//! The table of output formats: a new one is a file and a line here.

use super::how::Format;
use super::json::Json;
use super::reporter::Reporter;
use super::text::Text;

/// Returns the reporter of a format.
pub(super) const fn reporter(format: Format) -> &'static dyn Reporter {
    match format {
        Format::Text => &Text,
        Format::Json => &Json,
    }
}
