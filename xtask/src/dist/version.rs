//! Version and time of the packages.

use crate::command::{command, output};
use crate::error::{Context, Error, Result};
use crate::workspace::Workspace;

/// What the packages call this state of the repository.
#[derive(Debug, Clone)]
pub(super) struct Version {
    /// Version of the crate `haul`.
    pub(super) number: String,
    /// Time of the last commit in seconds since 1970, which all files in packages get.
    pub(super) time: u64,
}

impl Version {
    /// Reads the version from the manifests and the time from git, or from `SOURCE_DATE_EPOCH`.
    pub(super) fn find(workspace: &Workspace) -> Result<Version> {
        let json: serde_json::Value = serde_json::from_str(&workspace.metadata)
            .context("read", "the output of `cargo metadata`")?;
        let packages = json.get("packages").and_then(|packages| packages.as_array());
        let number = packages
            .and_then(|packages| packages.iter().find(|package| name(package) == Some("haul")))
            .and_then(|package| package.get("version")?.as_str())
            .ok_or_else(|| Error::new("`cargo metadata` names no version of haul"))?
            .to_owned();
        let time = match std::env::var("SOURCE_DATE_EPOCH") {
            Ok(time) => time,
            Err(_) => output(
                command("git").args(["log", "-1", "--format=%ct"]).current_dir(&workspace.root),
            )
            .map_err(|error| error.hint("outside of a git repository, set SOURCE_DATE_EPOCH"))?,
        };
        let time = time.trim().parse().context("read the time", time.trim())?;
        Ok(Version { number, time })
    }
}

fn name(package: &serde_json::Value) -> Option<&str> {
    package.get("name")?.as_str()
}
