//! The workspace: where it is, where its build goes, and what its manifests say.
//!
//! All of this comes from `cargo metadata`, so that CARGO_TARGET_DIR, renamed dependencies and
//! the like mean here what they mean to cargo.

use crate::command;
use crate::error::{Context, Error, Result};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Paths of the workspace that this program was started in.
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    pub(crate) target: PathBuf,
    /// What `cargo metadata --no-deps` printed.
    pub(crate) metadata: String,
}

impl Workspace {
    /// Finds the workspace with cargo; fails outside of one.
    pub(crate) fn find() -> Result<Self> {
        let metadata = command::output(&mut command::cargo(&[
            "metadata",
            "--no-deps",
            "--format-version",
            "1",
        ]))?;
        let json: serde_json::Value =
            serde_json::from_str(&metadata).context("read", "the output of `cargo metadata`")?;
        let place = |key: &str| {
            json.get(key)
                .and_then(|value| value.as_str())
                .map(PathBuf::from)
                .ok_or_else(|| Error::new(format!("`cargo metadata` names no {key}")))
        };
        Ok(Self { root: place("workspace_root")?, target: place("target_directory")?, metadata })
    }

    /// The binary that is built with the tests.
    pub(crate) fn debug_binary(&self) -> PathBuf {
        self.target.join("debug/haul")
    }

    /// The binary that `cargo build --release -p haul` makes.
    pub(crate) fn release_binary(&self) -> PathBuf {
        self.target.join("release/haul")
    }
}

/// Returns the nearest ancestor of `path`, or itself, that other users may not search, if there is one.
pub(crate) fn closed_to_others(path: &Path) -> Option<PathBuf> {
    path.ancestors()
        .find(|dir| {
            dir.metadata().is_ok_and(|meta| meta.is_dir() && meta.permissions().mode() & 1 == 0)
        })
        .map(Path::to_path_buf)
}

/// Whether an environment variable is set to `true`, `1` or `yes`.
pub(crate) fn env_is_on(name: &str) -> bool {
    std::env::var(name).is_ok_and(|value| matches!(value.as_str(), "true" | "1" | "yes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_folder_is_found_above_a_path() {
        let top = std::env::temp_dir().join(format!("xtask-closed-{}", std::process::id()));
        let inner = top.join("inner");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::set_permissions(&top, std::fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(closed_to_others(&inner), Some(top.clone()));
        std::fs::remove_dir_all(&top).unwrap();
        assert_eq!(closed_to_others(Path::new("/usr")), None);
    }
}
