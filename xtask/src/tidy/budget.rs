//! The number of packages in Cargo.lock stays within a budget.
//!
//! Each dependency is code that users have to trust with their data; a commit that raises the number
//! says why.

use super::{Check, Finding, Tree};

pub(super) const CHECK: Check =
    Check { name: "budget", run, refused: &[("Cargo.lock", "version = 4\n")] };

/// How many packages Cargo.lock may list, the workspace's own included. The two of mimalloc are for static programs, whose
/// threads would wait for the lock of musl's allocator.
const PACKAGES_MAX: usize = 176;

fn run(tree: &Tree) -> Vec<Finding> {
    findings(tree, PACKAGES_MAX)
}

fn findings(tree: &Tree, packages_max: usize) -> Vec<Finding> {
    let Some(text) = tree.text("Cargo.lock") else {
        return vec![Finding::file("Cargo.lock", "is missing: commit it")];
    };
    match text.lines().filter(|line| line.trim() == "[[package]]").count() {
        0 => vec![Finding::file("Cargo.lock", "lists no packages: has its format changed?")],
        count if count > packages_max => {
            let message = format!(
                "{count} packages, more than {packages_max}: drop a dependency, or raise \
                 PACKAGES_MAX in xtask/src/tidy/budget.rs and say why"
            );
            vec![Finding::file("Cargo.lock", message)]
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_counted() {
        let lock = "[[package]]\nname = \"a\"\n\n[[package]]\nname = \"b\"\n";
        let tree = Tree::literal(&[("Cargo.lock", lock)]);
        assert_eq!(findings(&tree, 2), []);
        assert_eq!(findings(&tree, 1).len(), 1);
    }

    #[test]
    fn a_missing_or_unreadable_lock_is_found() {
        assert_eq!(run(&Tree::literal(&[])).len(), 1);
        assert_eq!(run(&Tree::literal(&[("Cargo.lock", "packages = []")])).len(), 1);
    }
}
