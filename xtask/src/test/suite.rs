//! The test binaries of the workspace, and the tests in them.

use crate::command::{self, cargo};
use crate::error::{Context, Error, Result};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A program that libtest made, and the folder in which cargo would start it.
#[derive(Debug)]
pub(super) struct Binary {
    /// Package and target, as in `haul-io lib` or `haul all`.
    pub(super) label: String,
    pub(super) path: PathBuf,
    pub(super) dir: PathBuf,
}

/// One test.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) binary: Arc<Binary>,
    pub(super) name: String,
}

impl Case {
    /// The name under which a test is shown, selected, and remembered.
    pub(super) fn label(&self) -> String {
        format!("{} {}", self.binary.label, self.name)
    }
}

/// Which tests of a binary: libtest calls those that are left to `--rest` ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Share {
    First,
    Rest,
}

/// Builds the tests and the program that they start, with the options of cargo that select packages.
pub(super) fn build(selection: &[&str]) -> Result<Vec<Arc<Binary>>> {
    let mut command = cargo(&["test", "--no-run", "--message-format=json-render-diagnostics"]);
    command.args(selection);
    let mut binaries = Vec::new();
    let status = command::read(&mut command, |line| binaries.extend(binary_of(line)))?;
    if !status.success() {
        return Err(Error::new(format!("the tests cannot be built ({status})"))
            .hint("the messages of the compiler are above"));
    }
    Ok(binaries.into_iter().map(Arc::new).collect())
}

/// Reads one message of cargo; `None` if it is not about a test binary.
fn binary_of(line: &str) -> Option<Binary> {
    let message: Value = serde_json::from_str(line).ok()?;
    if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
        return None;
    }
    let path = PathBuf::from(message["executable"].as_str()?);
    let manifest = Path::new(message["manifest_path"].as_str()?);
    let dir = manifest.parent()?.to_path_buf();
    let package = dir.file_name()?.to_str()?.to_owned();
    let target = &message["target"];
    let target = match target["kind"][0].as_str()? {
        kind @ ("lib" | "bin") => kind,
        _ => target["name"].as_str()?,
    };
    Some(Binary { label: format!("{package} {target}"), path, dir })
}

/// Returns the tests of a binary in its order.
pub(super) fn list(binary: &Arc<Binary>, share: Share) -> Result<Vec<Case>> {
    let ignored = names(binary, &["--ignored"])?;
    let names = match share {
        Share::Rest => ignored,
        Share::First => {
            let all = names(binary, &[])?;
            all.into_iter().filter(|name| !ignored.contains(name)).collect()
        }
    };
    let case = |name| Case { binary: Arc::clone(binary), name };
    Ok(names.into_iter().map(case).collect())
}

fn names(binary: &Binary, more: &[&str]) -> Result<Vec<String>> {
    let mut command = command::command(&binary.path);
    command.args(["--list", "--format", "terse"]).args(more).current_dir(&binary.dir);
    let text = command::output(&mut command)?;
    Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
}

/// The durations of earlier runs, by which the longest tests start first.
pub(super) struct Times {
    file: PathBuf,
    seconds: std::collections::BTreeMap<String, f64>,
}

impl Times {
    /// Reads what an earlier run wrote; nothing if there was none.
    pub(super) fn read(file: PathBuf) -> Self {
        let text = fs::read_to_string(&file).unwrap_or_default();
        Self { file, seconds: serde_json::from_str(&text).unwrap_or_default() }
    }

    pub(super) fn of(&self, case: &Case) -> Option<f64> {
        self.seconds.get(&case.label()).copied()
    }

    pub(super) fn set(&mut self, case: &Case, seconds: f64) {
        self.seconds.insert(case.label(), seconds);
    }

    pub(super) fn write(&self) -> Result<()> {
        let text = serde_json::to_string_pretty(&self.seconds).context("write", "durations")?;
        fs::write(&self.file, text).context("write", self.file.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_cargo_names_a_test_binary() {
        let line = r#"{"reason":"compiler-artifact","manifest_path":"/w/crates/io/Cargo.toml",
            "target":{"kind":["lib"],"name":"haul_io"},"profile":{"test":true},
            "executable":"/w/target/debug/deps/haul_io-1"}"#;
        let binary = binary_of(line).unwrap();
        assert_eq!((binary.label.as_str(), binary.dir), ("io lib", "/w/crates/io".into()));
        let program = line.replace("\"test\":true", "\"test\":false");
        assert!(binary_of(&program).is_none());
        assert!(binary_of("   Compiling haul-io").is_none());
    }

    #[test]
    fn durations_survive_a_run() {
        let file = std::env::temp_dir().join(format!("xtask-times-{}", std::process::id()));
        let binary = Binary { label: "io lib".into(), path: "x".into(), dir: ".".into() };
        let case = Case { binary: Arc::new(binary), name: "a::b".into() };
        let mut times = Times::read(file.clone());
        assert_eq!(times.of(&case), None);
        times.set(&case, 1.5);
        times.write().unwrap();
        assert_eq!(Times::read(file.clone()).of(&case), Some(1.5));
        fs::remove_file(file).unwrap();
    }
}
