//! What stands in for profiles in a build without the feature `bench`.

use std::convert::Infallible;
use std::path::Path;

use haul_io::Preference;

use super::wanted::Wanted;
use crate::escape::quote;

/// A profile; this build never has one.
pub(crate) struct Profile(Infallible);

impl Profile {
    pub(crate) fn preferences(&self) -> &[Preference] {
        match self.0 {}
    }

    pub(crate) fn jobs(&self, _file_bytes: u64) -> Option<usize> {
        match self.0 {}
    }

    pub(crate) fn line(&self) -> String {
        match self.0 {}
    }
}

/// Finds no profile, and fails where a file was named.
pub(crate) fn find(
    wanted: &Wanted,
    _source: &Path,
    _target: &Path,
) -> Result<Option<Profile>, String> {
    match wanted {
        Wanted::Auto | Wanted::None => Ok(None),
        Wanted::File(path) => {
            let shown = quote(path.as_os_str().as_encoded_bytes());
            Err(format!("this build cannot use the profile {shown}: it has no feature 'bench'"))
        }
    }
}
