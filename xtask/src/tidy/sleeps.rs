//! No test sleeps: how long a machine takes for something is no event, and a busy one takes longer.
//!
//! A test waits for a descriptor (a pipe, a pidfd, inotify), joins a thread, or asks `haul_manifest::wait_until` for
//! a condition. A program that a test starts may sleep as far as it only has to live meanwhile, such as
//! `sleep 1000`, which the test kills: it is text to this check.

use super::code::{Token, tokens, without_tests};
use super::{Check, Finding, Tree};

pub(super) const CHECK: Check = Check {
    name: "sleeps",
    run,
    refused: &[("crates/io/tests/a.rs", "//! A.\nfn f() { std::thread::sleep(PAUSE); }\n")],
};

/// Functions that only let time pass.
const SLEEPS: &[&str] = &["sleep", "sleep_ms", "nanosleep", "park_timeout"];

/// Files that may let time pass in tests, and why.
const TABLE: &[(&str, &str)] = &[
    ("crates/cli/src/applet/read/direct_splice.rs", "the times of the two sides are its subject"),
    ("crates/cli/src/progress/tally.rs", "the time of a wait is its subject"),
    ("crates/engine/src/remove/approved.rs", "a monitor that takes its time is its subject"),
    ("crates/sys/src/process/thread_usage.rs", "a sleep is its subject"),
];

fn run(tree: &Tree) -> Vec<Finding> {
    tree.rust()
        .filter(|(path, _)| !TABLE.iter().any(|(listed, _)| listed == path))
        .flat_map(|(path, text)| file(path, text))
        .collect()
}

fn file(path: &str, text: &str) -> Vec<Finding> {
    let all = tokens(text);
    let is_test = path.contains("/tests/") || path.ends_with("/tests.rs");
    let kept = if is_test { Vec::new() } else { without_tests(&all) };
    let mut kept = kept.iter().peekable();
    let mut findings = Vec::new();
    for (at, token) in all.iter().enumerate() {
        // What the build for users has as well is not a test's.
        if kept.next_if(|next| *next == token).is_some() {
            continue;
        }
        if sleeps(&all[at..]) {
            let message = "wait for an event, or for a condition by haul_manifest::wait_until";
            findings.push(Finding::line(path, token.line, message));
        }
    }
    findings
}

/// Returns whether the tokens begin with a call of a function that sleeps.
fn sleeps(tokens: &[Token<'_>]) -> bool {
    let [name, open, ..] = tokens else { return false };
    SLEEPS.contains(&name.text) && open.text == "("
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        run(&Tree::literal(&[(path, text)])).len()
    }

    #[test]
    fn sleeps_of_tests_are_found() {
        for text in [
            "fn f() { std::thread::sleep(PAUSE); }",
            "use std::thread::sleep; fn f() { while g() { sleep(PAUSE); } }",
            "fn f() { thread::park_timeout(PAUSE) }",
        ] {
            assert_eq!(count("crates/io/tests/a.rs", text), 1, "{text}");
            assert_eq!(count("crates/io/src/a/tests.rs", text), 1, "{text}");
            assert_eq!(count("crates/io/src/a.rs", text), 0, "{text}");
            let inside = format!("fn a() {{ sleep(A) }} #[cfg(test)] mod tests {{ {text} }}");
            assert_eq!(count("crates/io/src/a.rs", &inside), 1, "{text}");
        }
    }

    #[test]
    fn programs_that_sleep_and_waits_are_not() {
        for text in [
            "fn f() { Command::new(\"sleep\").arg(\"1000\").spawn() }",
            "// sleep(1)\nfn f() { wait_until(\"sleep(1)\", || true) }",
            "fn sleeper() { a.sleepers(1) }",
        ] {
            assert_eq!(count("crates/io/tests/a.rs", text), 0, "{text}");
        }
        assert_eq!(count(TABLE[0].0, "#[cfg(test)] mod t { fn f() { sleep(A) } }"), 0);
    }
}
