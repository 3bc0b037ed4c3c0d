//! The first line of every file below a `src` folder says what the file is.

use super::{Check, Finding, Tree};

pub(super) const CHECK: Check =
    Check { name: "first-line", run, refused: &[("crates/io/src/a.rs", "fn f() {}\n")] };

fn run(tree: &Tree) -> Vec<Finding> {
    tree.rust()
        .filter(|(path, _)| path.split('/').any(|component| component == "src"))
        .filter(|(_, text)| {
            let says = text.strip_prefix("//!").and_then(|rest| rest.lines().next());
            says.is_none_or(|says| says.trim().is_empty())
        })
        .map(|(path, _)| {
            Finding::line(path, 1, "begin with `//! ` and the one noun or verb that this file is")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_or_empty_first_line_is_found() {
        for text in ["", "\n//! Late.\n", "// Not a module comment.\n", "//!\n//! Late.\n"] {
            assert_eq!(run(&Tree::literal(&[("xtask/src/a.rs", text)])).len(), 1, "{text:?}");
        }
    }

    #[test]
    fn a_first_line_and_files_elsewhere_are_not() {
        let tree = Tree::literal(&[("xtask/src/a/b.rs", "//! B."), ("crates/io/tests/c.rs", "")]);
        assert_eq!(run(&tree), []);
    }
}
