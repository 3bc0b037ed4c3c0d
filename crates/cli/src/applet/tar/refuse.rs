//! Refuses a command line.

use crate::ending::CommandError;
use crate::getopt::Usage;

/// Refuses a command line whose words contradict each other or the applet's abilities.
pub(super) fn bad<T>(text: &str) -> Result<T, CommandError> {
    Err(CommandError::Usage(Usage(text.to_owned())))
}
