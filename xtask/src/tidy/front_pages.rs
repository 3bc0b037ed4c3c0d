//! The changelog has its unreleased section and short entries, and the README its two commands.
//!
//! A newcomer needs these first, exactly as they are.

use super::{Check, Finding, Tree};

pub(super) const CHECK: Check = Check {
    name: "front-pages",
    run,
    refused: &[("README.md", "haul\n"), ("CHANGELOG.md", "- 1\n  2\n  3\n  4\n")],
};

/// A file, and a text that it has to contain.
const DEMANDS: &[(&str, &str)] = &[
    ("CHANGELOG.md", "\n## [Unreleased]"),
    ("README.md", "cargo run --release -- cp -r docs target/docs-copy"),
    ("README.md", "cargo xtask test"),
];

/// Lines that an entry of the changelog may have: what changed for users, and how to go on.
const ENTRY_LINES: usize = 3;

fn run(tree: &Tree) -> Vec<Finding> {
    let missing = DEMANDS.iter().filter_map(|(path, demand)| match tree.text(path) {
        Some(text) if format!("\n{text}").contains(demand) => None,
        Some(_) => Some(Finding::file(path, format!("must contain {:?}", demand.trim()))),
        None => Some(Finding::file(path, "is missing")),
    });
    let changes = tree.text("CHANGELOG.md").unwrap_or_default();
    missing.chain(long_entries(changes)).collect()
}

fn long_entries(changes: &str) -> Vec<Finding> {
    let lines: Vec<&str> = changes.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| line.starts_with("- ")) {
        let further = lines[at + 1..].iter().take_while(|line| line.starts_with("  ")).count();
        if further >= ENTRY_LINES {
            let entry = format!("has an entry of {} lines: {line}", further + 1);
            found.push(Finding::file("CHANGELOG.md", entry));
        }
    }
    found
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
        let log = "\n## [Unreleased]\n\n- 1\n  2\n  3\n\n- 1\n  2\n  3\n  4\n";
        assert_eq!(run(&Tree::literal(&[("README.md", README), ("CHANGELOG.md", log)])).len(), 1);
        let pages = [("README.md", "cargo xtask test"), ("CHANGELOG.md", "See [Unreleased]")];
        assert_eq!(run(&Tree::literal(&pages)).len(), 2);
    }
}
