//! Only `crates/sys` contains `unsafe`.
//!
//! A crate can switch the compiler's own lint off, but not this check. An exception is listed here with
//! its reason.

use super::code::tokens;
use super::{Check, Finding, Tree};

pub(super) const CHECK: Check = Check {
    name: "unsafe-code",
    run,
    refused: &[("crates/engine/src/a.rs", "//! A.\nfn f() { unsafe { g() } }\n")],
};

/// The folder that may contain `unsafe`.
const HOME: &str = "crates/sys/";

/// Other files that need it, each with the reason.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("crates/start/src/lib.rs", "the C library calls it, and nothing is prepared before"),
    ("crates/capi/src/boundary.rs", "the pointers that C passes; everything behind it is safe"),
];

fn run(tree: &Tree) -> Vec<Finding> {
    tree.rust()
        .filter(|(path, _)| !path.starts_with(HOME))
        .filter(|(path, _)| !EXCEPTIONS.iter().any(|(name, _)| name == path))
        .flat_map(|(path, text)| {
            tokens(text)
                .into_iter()
                .filter(|token| token.text == "unsafe")
                .map(move |token| Finding::line(path, token.line, "unsafe belongs into haul-sys"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_found_with_its_line() {
        let tree = Tree::literal(&[("crates/io/src/a.rs", "//! A.\n\n#[unsafe(no_mangle)]\n")]);
        assert_eq!(run(&tree)[0].to_string(), "crates/io/src/a.rs:3: unsafe belongs into haul-sys");
    }

    #[test]
    fn words_names_and_the_home_are_not() {
        let text = "//! unsafe\n/* unsafe */ const A: &str = \"unsafe\"; fn is_unsafe() {}";
        let home = "fn f() { unsafe { g() } }";
        let tree = Tree::literal(&[("crates/io/src/a.rs", text), ("crates/sys/src/a.rs", home)]);
        assert_eq!(run(&tree), []);
    }
}
