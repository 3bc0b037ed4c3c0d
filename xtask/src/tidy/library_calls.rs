//! The library crates never print, read the environment, end the process, or bypass haul-sys.
//!
//! `std::fs` works by path and follows links, which the engine must never do with a name found in a
//! tree. Code that is compiled for tests only may use it.

use super::code::{paths, tokens, without_tests};
use super::{Check, Finding, Tree};

pub(super) const CHECK: Check = Check {
    name: "library-calls",
    run,
    refused: &[("crates/engine/src/a.rs", "//! A.\nuse std::{fs, io};\n")],
};

/// The crates that are checked.
const BOUND: [&str; 6] = [
    "crates/capi/src/",
    "crates/sys/src/",
    "crates/io/src/",
    "crates/tree/src/",
    "crates/engine/src/",
    "crates/archive/src/",
];

/// Path segments that follow one another, and what to do instead.
const CALLS: &[(&[&str], &str)] = &[
    (&["std", "fs"], "use haul-sys, relative to a directory fd"),
    (&["std", "env"], "take it as part of the request or policy"),
    (&["process", "exit"], "return an error"),
];

const MACROS: [&str; 4] = ["print", "println", "eprint", "eprintln"];

fn run(tree: &Tree) -> Vec<Finding> {
    tree.rust()
        .filter(|(path, _)| BOUND.iter().any(|dir| path.starts_with(dir)))
        .filter(|(path, _)| !path.ends_with("/tests.rs") && !path.contains("/tests/"))
        .flat_map(|(path, text)| file(path, text))
        .collect()
}

fn file(path: &str, text: &str) -> Vec<Finding> {
    let tokens = without_tests(&tokens(text));
    let mut findings = Vec::new();
    for (line, segments) in paths(&tokens) {
        for (call, instead) in CALLS {
            if segments.windows(call.len()).any(|window| window == *call) {
                let message = format!("{} in a library: {instead}", call.join("::"));
                findings.push(Finding::line(path, line, message));
            }
        }
    }
    for pair in tokens.windows(2) {
        if MACROS.contains(&pair[0].text) && pair[1].text == "!" {
            let message = format!("{}! in a library: tell the monitor", pair[0].text);
            findings.push(Finding::line(path, pair[0].line, message));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        run(&Tree::literal(&[(path, text)])).len()
    }

    #[test]
    fn every_spelling_is_found() {
        for text in [
            "use std::fs;",
            "use std::fs::File;",
            "use std::{io, fs::{self, File}};",
            "fn f() { std::env::var(\"X\"); }",
            "fn f() { ::std::process::exit(1) }",
            "use std::process; fn f() { process::exit(1) }",
            "fn f() { println!(\"x\") }",
            "fn f() { eprint! [\"x\"] }",
        ] {
            assert!(count("crates/engine/src/a.rs", text) > 0, "{text}");
        }
        assert_eq!(count("crates/io/src/a.rs", "use std::{fs, env};"), 2);
        assert_eq!(count("crates/sys/src/a/b.rs", "use std::fs;"), 1);
    }

    #[test]
    fn what_only_looks_like_it_is_not() {
        for text in [
            "//! std::fs\nuse std::io;",
            "const A: &str = \"println!\"; // std::env",
            "use rustix::fs::openat; use std::os::unix::fs::MetadataExt;",
            "#[cfg(test)] mod tests { use std::fs; fn f() { println!() } }",
        ] {
            assert_eq!(count("crates/engine/src/a.rs", text), 0, "{text}");
        }
        assert_eq!(count("crates/cli/src/a.rs", "use std::fs;"), 0);
        assert_eq!(count("crates/engine/tests/a.rs", "use std::fs;"), 0);
        assert_eq!(count("crates/engine/src/decide/tests.rs", "use std::fs;"), 0);
    }
}
