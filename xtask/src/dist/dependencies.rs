//! The crates that are in the binary.

use crate::command::{cargo, output};
use crate::error::{Context, Error, Result};
use crate::licence::of_package;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A crate of a registry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Dependency {
    pub(super) name: String,
    pub(super) version: String,
    /// SPDX expression of its licence.
    pub(super) licence: String,
    /// Checksum that Cargo.lock holds for it.
    pub(super) sha256: Option<String>,
    /// Folder of its sources.
    pub(super) folder: PathBuf,
}

/// Lists the crates that the binary of a target contains, sorted; build scripts and tests do not
/// count.
pub(super) fn find(root: &Path, triple: &str) -> Result<Vec<Dependency>> {
    let (json, sums) = metadata(root, triple)?;
    of(&json, &sums, Wanted::Contained)
}

/// Lists the crates that a build of the binary and of this program compiles, sorted; tests do not count.
pub(super) fn built(root: &Path, triple: &str) -> Result<Vec<Dependency>> {
    let (json, sums) = metadata(root, triple)?;
    of(&json, &sums, Wanted::Compiled)
}

/// Which crates are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    /// Those that the binary contains.
    Contained,
    /// Those that are compiled for it, and for this program.
    Compiled,
}

impl Wanted {
    fn roots(self) -> &'static [&'static str] {
        match self {
            Wanted::Contained => &["haul"],
            Wanted::Compiled => &["haul", "xtask"],
        }
    }

    /// Returns whether a dependency of this kind counts.
    fn counts(self, kind: Option<&Value>) -> bool {
        let kind = kind.and_then(Value::as_str);
        kind.is_none() || (self == Wanted::Compiled && kind == Some("build"))
    }
}

/// Checksums of packages by name and version.
type Sums = BTreeMap<(String, String), String>;

/// Returns the answer of `cargo metadata` for a target, and the checksums of Cargo.lock.
fn metadata(root: &Path, triple: &str) -> Result<(Value, Sums)> {
    let text = output(
        cargo(&["metadata", "--format-version=1", "--locked", "--filter-platform", triple])
            .current_dir(root),
    )?;
    let json = serde_json::from_str(&text).context("read", "the output of `cargo metadata`")?;
    let lock = root.join("Cargo.lock");
    let lock = std::fs::read_to_string(&lock).context("read", lock.display())?;
    Ok((json, checksums(&lock)))
}

/// Lists the crates that are reached in the answer of `cargo metadata`.
fn of(json: &Value, sums: &Sums, wanted: Wanted) -> Result<Vec<Dependency>> {
    let packages: BTreeMap<&str, &Value> =
        items(json, "packages").map(|package| (text(package, "id"), package)).collect();
    let nodes: BTreeMap<&str, &Value> = json
        .get("resolve")
        .into_iter()
        .flat_map(|resolve| items(resolve, "nodes"))
        .map(|node| (text(node, "id"), node))
        .collect();
    let mut waiting = Vec::new();
    for root in wanted.roots() {
        let found = packages.iter().find(|(_, package)| text(package, "name") == *root);
        let (id, _) =
            found.ok_or_else(|| Error::new(format!("`cargo metadata` knows no crate {root}")))?;
        waiting.push(*id);
    }
    let mut seen = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        if seen.insert(id) {
            waiting.extend(nodes.get(id).into_iter().flat_map(|node| used(node, wanted)));
        }
    }
    let foreign = seen
        .iter()
        .filter_map(|id| packages.get(id))
        .filter(|package| package.get("source").is_some_and(Value::is_string));
    let mut found: Vec<_> = foreign.map(|package| dependency(package, sums)).collect();
    found.sort();
    Ok(found)
}

/// Returns the crates that a crate uses.
fn used(node: &Value, wanted: Wanted) -> impl Iterator<Item = &str> {
    items(node, "deps")
        .filter(move |dep| items(dep, "dep_kinds").any(|kind| wanted.counts(kind.get("kind"))))
        .map(|dep| text(dep, "pkg"))
}

fn dependency(package: &Value, sums: &Sums) -> Dependency {
    let (name, version) = (text(package, "name").to_owned(), text(package, "version").to_owned());
    let manifest = PathBuf::from(text(package, "manifest_path"));
    Dependency {
        sha256: sums.get(&(name.clone(), version.clone())).cloned(),
        licence: of_package(package),
        folder: manifest.parent().map(PathBuf::from).unwrap_or_default(),
        name,
        version,
    }
}

/// Reads the checksums of a Cargo.lock by name and version.
fn checksums(lock: &str) -> Sums {
    let value = |block: &str, key: &str| {
        block.lines().find_map(|line| {
            Some(line.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"')?.to_owned())
        })
    };
    lock.split("[[package]]")
        .filter_map(|block| {
            Some(((value(block, "name")?, value(block, "version")?), value(block, "checksum")?))
        })
        .collect()
}

fn items<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_only_builds_or_tests_is_not_in_the_binary() {
        let package = |name: &str, source: Option<&str>| {
            json!({"id": name, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0",
                   "source": source, "manifest_path": format!("/r/{name}/Cargo.toml")})
        };
        let dep =
            |name: &str, kind: Option<&str>| json!({"pkg": name, "dep_kinds": [{"kind": kind}]});
        let json = json!({
            "packages": [package("haul", None), package("inner", None), package("linked", Some("registry")),
                         package("builds", Some("registry")), package("tests", Some("registry"))],
            "resolve": {"nodes": [
                {"id": "haul", "deps": [dep("inner", None), dep("tests", Some("dev"))]},
                {"id": "inner", "deps": [dep("linked", None), dep("builds", Some("build"))]},
                {"id": "linked", "deps": []}]}});
        let lock = "[[package]]\nname = \"linked\"\nversion = \"1.0.0\"\nchecksum = \"ab\"\n";
        let found = of(&json, &checksums(lock), Wanted::Contained).unwrap();
        assert_eq!(
            found,
            [Dependency {
                name: "linked".into(),
                version: "1.0.0".into(),
                licence: "MIT OR Apache-2.0".into(),
                sha256: Some("ab".into()),
                folder: "/r/linked".into(),
            }]
        );
    }
}
