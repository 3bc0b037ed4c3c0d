//! `cargo xtask release --dry-run`: what is left to do before a release, as a list.
//!
//! A release is made by people: nothing here pushes, tags or publishes. Each line of the list is
//! checked and says why it does not hold; the last lines are what only people can do.

use crate::command::{cargo, command, output};
use crate::error::{Context, Error, Result};
use crate::workspace::Workspace;
use serde_json::Value;
use std::fs;
use std::process::ExitCode;

/// A line of the list, and what checks it: `Err` says what is left to do.
type Item = (&'static str, fn(&State) -> std::result::Result<(), String>);

const ITEMS: &[Item] = &[
    ("all changes are committed", committed),
    ("the version has no tag", untagged),
    ("CHANGELOG.md says what is new", changes),
    ("Cargo.lock is what the manifests ask for", locked),
    ("each published crate is described", described),
    ("each published crate can be packed", packed),
    ("each crate's dependencies have the version of the release", versions),
    ("the manifests name the repository, which `cargo binstall` downloads from", repository),
    ("the packages are of this commit, and their sums are right", packages),
];

/// What remains for people.
const BY_HAND: &[&str] = &[
    "cargo xtask test, on a machine with all test file systems",
    "cargo xtask dist --install --reproduce",
    "rename [Unreleased] in CHANGELOG.md to the version and the date, and commit",
    "git tag the commit, push the tag, and upload target/dist/packages with SHA256SUMS",
    "see that the crates' names in the registry are free or ours",
    "cargo publish --dry-run --workspace, then without --dry-run: cargo finds the order",
];

/// What the items look at.
struct State {
    workspace: Workspace,
    metadata: Value,
    version: String,
}

impl State {
    fn find() -> Result<State> {
        let workspace = Workspace::find()?;
        let metadata: Value = serde_json::from_str(&workspace.metadata)
            .context("read", "the output of `cargo metadata`")?;
        let mut state = State { workspace, metadata, version: String::new() };
        let haul = state.published().find(|package| package["name"] == "haul");
        let version = haul.and_then(|package| package["version"].as_str()).map(str::to_owned);
        state.version = version.ok_or_else(|| Error::new("`cargo metadata` has no crate haul"))?;
        Ok(state)
    }

    /// Returns the crates that are published.
    fn published(&self) -> impl Iterator<Item = &Value> {
        let all = self.metadata["packages"].as_array().into_iter().flatten();
        // An empty list of registries is `publish = false`.
        all.filter(|package| !package["publish"].as_array().is_some_and(Vec::is_empty))
    }

    fn git(&self, words: &[&str]) -> std::result::Result<String, String> {
        output(command("git").args(words).current_dir(&self.workspace.root))
            .map_err(|error| error.to_string())
    }
}

/// Prints the list. The exit status is 0 if every item that can be checked holds.
pub(crate) fn main(arguments: &[String]) -> Result<ExitCode> {
    if arguments.iter().map(String::as_str).ne(["--dry-run"]) {
        return Err(Error::new("a release is made by people")
            .hint("cargo xtask release --dry-run lists what is left to do"));
    }
    let state = State::find()?;
    println!("release {}", state.version);
    let mut is_ready = true;
    for (title, check) in ITEMS {
        match check(&state) {
            Ok(()) => println!("  done  {title}"),
            Err(why) => {
                is_ready = false;
                println!("  TO DO {title}: {}", why.trim_end().replace('\n', "\n          "));
            }
        }
    }
    for item in BY_HAND {
        println!("  then  {item}");
    }
    Ok(if is_ready { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn committed(state: &State) -> std::result::Result<(), String> {
    let changed = state.git(&["status", "--porcelain"])?;
    if changed.is_empty() { Ok(()) } else { Err(format!("git status shows\n{changed}")) }
}

fn untagged(state: &State) -> std::result::Result<(), String> {
    let tag = format!("v{}", state.version);
    let tags = state.git(&["tag", "--list", &tag])?;
    if tags.is_empty() { Ok(()) } else { Err(format!("there is a tag {tag}: raise the version")) }
}

fn changes(state: &State) -> std::result::Result<(), String> {
    let path = state.workspace.root.join("CHANGELOG.md");
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    has_changes(&text)
}

/// Returns whether the section of what is not released has an entry.
fn has_changes(text: &str) -> std::result::Result<(), String> {
    let (_, section) = text.split_once("## [Unreleased]").ok_or("it has no [Unreleased]")?;
    let section = section.split("\n## ").next().unwrap_or_default();
    if section.lines().any(|line| line.starts_with("- ")) {
        Ok(())
    } else {
        Err("[Unreleased] is empty".to_owned())
    }
}

fn locked(state: &State) -> std::result::Result<(), String> {
    let words = ["metadata", "--locked", "--offline", "--format-version=1"];
    let answer = output(cargo(&words).current_dir(&state.workspace.root));
    answer.map(|_| ()).map_err(|error| error.to_string())
}

fn described(state: &State) -> std::result::Result<(), String> {
    let lacks = |package: &Value, field: &str| match &package[field] {
        Value::String(text) => text.is_empty(),
        Value::Array(words) => words.is_empty(),
        _ => true,
    };
    let mut missing = Vec::new();
    for package in state.published() {
        for field in ["description", "license", "keywords", "categories", "rust_version"] {
            if lacks(package, field) {
                missing.push(format!("{} has no {field}", package["name"]));
            }
        }
    }
    if missing.is_empty() { Ok(()) } else { Err(missing.join("\n")) }
}

/// Packs each crate as `cargo publish` does, without building it again: that needs the crates that it depends on in
/// the registry.
fn packed(state: &State) -> std::result::Result<(), String> {
    let words = ["package", "--no-verify", "--offline", "--locked", "--allow-dirty", "--quiet"];
    let names = state.published().filter_map(|package| package["name"].as_str());
    let crates = names.map(|name| format!("--package={name}"));
    let folder = state.workspace.target.join("release");
    let mut cargo = cargo(&words);
    cargo.args(crates).arg("--target-dir").arg(&folder).current_dir(&state.workspace.root);
    output(&mut cargo).map(|_| ()).map_err(|error| error.to_string())
}

fn repository(state: &State) -> std::result::Result<(), String> {
    let mut names = state.published().filter(|package| !package["repository"].is_string());
    match names.next() {
        Some(package) => Err(format!("{} has no repository", package["name"])),
        None => Ok(()),
    }
}

fn versions(state: &State) -> std::result::Result<(), String> {
    let mut wrong = Vec::new();
    let wanted = format!("^{}", state.version);
    for package in state.published() {
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let name = dependency["name"].as_str().unwrap_or_default();
            // A dependency of tests needs no version: it is left out when the crate is published.
            let is_ours = name.starts_with("haul-") && dependency["kind"] != "dev";
            if is_ours && dependency["req"] != wanted.as_str() {
                wrong.push(format!("{} wants {name} {}", package["name"], dependency["req"]));
            }
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

fn packages(state: &State) -> std::result::Result<(), String> {
    let folder = state.workspace.target.join("dist/packages");
    let sums = folder.join("SHA256SUMS");
    let made = fs::metadata(&sums).and_then(|found| found.modified());
    let made = made.map_err(|_| "there are none: cargo xtask dist".to_owned())?;
    let since = made.duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_secs();
    let commit = state.git(&["log", "-1", "--format=%ct"])?;
    if commit.trim().parse::<u64>().is_ok_and(|commit| commit > since) {
        return Err("they are older than the last commit: cargo xtask dist".to_owned());
    }
    output(command("sha256sum").args(["--check", "--quiet", "SHA256SUMS"]).current_dir(&folder))
        .map(|_| ())
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changelog_without_an_entry_is_noticed() {
        assert!(has_changes("# C\n\n## [Unreleased]\n\n- one\n\n## [1]\n").is_ok());
        assert!(has_changes("# C\n\n## [Unreleased]\n\nAdded:\n\n## [1]\n\n- old\n").is_err());
        assert!(has_changes("# C\n").is_err());
    }

    #[test]
    fn this_workspace_has_crates_to_publish_and_describes_them() {
        let state = State::find().unwrap();
        assert!(state.published().count() > 5);
        assert_eq!(described(&state), Ok(()));
        assert_eq!(versions(&state), Ok(()));
        assert_eq!(packed(&state), Ok(()));
    }
}
