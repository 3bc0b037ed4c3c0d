//! Every package of Cargo.lock is from crates.io, with a checksum, or from this repository.
//!
//! A git repository or another registry can give other code under the same version later.

use super::{Check, Finding, Tree};

pub(super) const CHECK: Check = Check {
    name: "sources",
    run,
    refused: &[(
        "Cargo.lock",
        "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nsource = \"git+https://example.com/a\"\n",
    )],
};

/// The one registry that packages may be from.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

fn run(tree: &Tree) -> Vec<Finding> {
    // A missing file is found by the check of the budget.
    let lock = tree.text("Cargo.lock").unwrap_or_default();
    lock.split("[[package]]").skip(1).filter_map(of_package).collect()
}

fn of_package(block: &str) -> Option<Finding> {
    let value = |key: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""))?;
        line.strip_suffix('"')
    };
    let name = value("name").unwrap_or_default();
    // A package of the repository has no source.
    let source = value("source")?;
    let what = if source != REGISTRY {
        format!("{name} is from {source}: take it from crates.io")
    } else if value("checksum").is_none() {
        format!("{name} has no checksum: run `cargo generate-lockfile`")
    } else {
        return None;
    };
    Some(Finding::file("Cargo.lock", what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_registry_with_a_checksum_and_the_repository_are_accepted() {
        let own = "[[package]]\nname = \"haul\"\nversion = \"1.0.0\"\n";
        let of_registry = format!("{own}source = \"{REGISTRY}\"\n");
        let whole = format!("{of_registry}checksum = \"12\"\n");
        for (lock, findings) in [(own, 0), (of_registry.as_str(), 1), (whole.as_str(), 0)] {
            assert_eq!(run(&Tree::literal(&[("Cargo.lock", lock)])).len(), findings, "{lock}");
        }
    }
}
