//! The test file systems, from the environment that `cargo xtask test` sets.

use std::path::PathBuf;

use super::{Outcome, ignored};

/// A file system to test on.
#[derive(Clone, Debug)]
pub(crate) struct Volume {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
}

/// Every file system that `cargo xtask test` prepares.
const EXPECTED: [&str; 7] =
    ["ext4", "ext4-4k", "xfs", "xfs-noreflink", "btrfs", "tmpfs", "overlayfs"];

/// Returns the test file systems, or only the folder for temporary files if there are none.
///
/// If they are required, a missing one is a failure.
pub(crate) fn volumes() -> Outcome<Vec<Volume>> {
    let list = std::env::var("HAUL_TEST_FS").unwrap_or_default();
    let found: Vec<Volume> = list
        .split(':')
        .filter_map(|one| one.split_once('='))
        .map(|(name, path)| Volume { name: name.to_owned(), path: path.into() })
        .collect();
    let missing: Vec<&str> = EXPECTED
        .into_iter()
        .filter(|name| !found.iter().any(|volume| volume.name == *name))
        .collect();
    if !missing.is_empty() {
        let missing = missing.join(", ");
        if std::env::var_os("HAUL_TEST_FS_REQUIRED").is_some_and(|value| value == "1") {
            return Err(format!("HAUL_TEST_FS lacks {missing}").into());
        }
        ignored(&format!("{missing} in HAUL_TEST_FS"))?;
    }
    if found.is_empty() {
        return Ok(vec![Volume { name: "temporary".to_owned(), path: std::env::temp_dir() }]);
    }
    Ok(found)
}

/// Returns pairs of different file systems, each file system at least once on each side.
pub(crate) fn pairs() -> Outcome<Vec<(Volume, Volume)>> {
    let volumes = volumes()?;
    let next = volumes.iter().cycle().skip(1);
    Ok(volumes.iter().cloned().zip(next.cloned()).filter(|(a, b)| a.name != b.name).collect())
}

/// The file systems whose files have pages besides their storage, and own those pages.
pub(crate) fn with_a_device() -> Outcome<Vec<Volume>> {
    let mut volumes = volumes()?;
    volumes.retain(|volume| !matches!(volume.name.as_str(), "tmpfs" | "overlayfs" | "temporary"));
    if volumes.is_empty() {
        ignored("a file system on a device")?;
    }
    Ok(volumes)
}
