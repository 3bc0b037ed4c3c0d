//! Messages for failures of a removal, for programs that use this crate.

use std::error::Error;
use std::fmt;

use super::monitor::{Failure, What};

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            What::Remove => "cannot remove it",
            What::ReadDirectory => "cannot read the directory",
            What::Dots => "an operand that ends in '.' or '..' is not removed",
            What::Root => "the root directory is not removed",
            What::OtherDevice => "it is on another file system",
            What::MountPoint => "it is a mount point",
            What::StatParent => "cannot look at its parent directory",
            What::Changed => "it changed, and is kept",
        })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", String::from_utf8_lossy(&self.path), self.what)
    }
}

/// The source of the error is the errno, if a call failed.
impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.errno.as_ref().map(|errno| errno as &(dyn Error + 'static))
    }
}
