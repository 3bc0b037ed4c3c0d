//! The changelog has its unreleased section, and the README its two commands.
//!
//! A newcomer needs these first, exactly as they are.

use super::{Check, Finding, Tree};

pub(super) const CHECK: Check =
    Check { name: "front-pages", run, refused: &[("README.md", "haul\n"), ("CHANGELOG.md", "")] };

/// A file, and a text that it has to contain.
const DEMANDS: &[(&str, &str)] = &[
    ("CHANGELOG.md", "\n## [Unreleased]"),
    ("README.md", "cargo run --release -- cp -r docs target/docs-copy"),
    ("README.md", "cargo xtask test"),
];

fn run(tree: &Tree) -> Vec<Finding> {
    DEMANDS
        .iter()
        .filter_map(|(path, demand)| match tree.text(path) {
            Some(text) if format!("\n{text}").contains(demand) => None,
            Some(_) => Some(Finding::file(path, format!("must contain {:?}", demand.trim()))),
            None => Some(Finding::file(path, "is missing")),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const README: &str =
        "    cargo run --release -- cp -r docs target/docs-copy\n    cargo xtask test\n";

    #[test]
    fn good_pages_pass() {
        let log = "# Changelog\n\n## [Unreleased]\n";
        assert_eq!(run(&Tree::literal(&[("README.md", README), ("CHANGELOG.md", log)])), []);
    }

    #[test]
    fn each_missing_part_is_found() {
        assert_eq!(run(&Tree::literal(&[])).len(), 3);
        let pages = [("README.md", "cargo xtask test"), ("CHANGELOG.md", "See [Unreleased]")];
        assert_eq!(run(&Tree::literal(&pages)).len(), 2);
    }
}
