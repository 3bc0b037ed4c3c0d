//! A Rust file stays short enough to hold one noun or verb.
//!
//! Real tables are exempt, by name and with a reason; an exception that is no longer needed is a
//! finding too, so that the list stays correct.

use super::{Check, Finding, Tree};

pub(super) const CHECK: Check =
    Check { name: "file-length", run, refused: &[("crates/io/src/long.rs", LONG)] };

/// More is a smell: the file holds two things.
const LINES_MAX: usize = 600;

/// Files that may be longer, each with the reason.
const EXCEPTIONS: &[(&str, &str)] = &[];

const LONG: &str = match str::from_utf8(&[b'\n'; LINES_MAX + 1]) {
    Ok(text) => text,
    Err(_) => "",
};

fn run(tree: &Tree) -> Vec<Finding> {
    findings(tree, EXCEPTIONS)
}

fn findings(tree: &Tree, exceptions: &[(&str, &str)]) -> Vec<Finding> {
    let excepted = |path: &str| exceptions.iter().any(|(name, _)| *name == path);
    let too_long = tree.rust().map(|(path, text)| (path, text.lines().count()));
    let too_long: Vec<_> = too_long.filter(|(_, lines)| *lines > LINES_MAX).collect();
    let mut findings: Vec<_> = too_long
        .iter()
        .filter(|(path, _)| !excepted(path))
        .map(|(path, lines)| {
            let rule = format!("{lines} lines, more than {LINES_MAX}: split it by noun or verb");
            Finding::file(path, rule)
        })
        .collect();
    for (name, _) in exceptions {
        if !too_long.iter().any(|(path, _)| path == name) {
            findings.push(Finding::file(name, "is excepted but not long: remove the exception"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_files_are_found_and_short_ones_are_not() {
        let tree = Tree::literal(&[("a.rs", LONG), ("b.rs", &LONG[1..]), ("c.md", LONG)]);
        assert_eq!(findings(&tree, &[]).len(), 1);
        assert!(findings(&tree, &[])[0].to_string().starts_with("a.rs: 601 lines"));
    }

    #[test]
    fn an_exception_holds_for_its_file_and_must_be_needed() {
        let tree = Tree::literal(&[("a.rs", LONG), ("b.rs", "")]);
        assert_eq!(findings(&tree, &[("a.rs", "a table")]), []);
        assert_eq!(findings(&tree, &[("a.rs", "a table"), ("b.rs", "")]).len(), 1);
    }
}
