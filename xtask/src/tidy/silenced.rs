//! No lint is silenced without a reason that the compiler checks, and no `todo!` or similar is left.
//!
//! The compiler reports an `#[expect]` that is no longer needed; an `#[allow]` stays for ever.

use super::code::{Token, attribute, tokens};
use super::{Check, Finding, Tree};

pub(super) const CHECK: Check = Check {
    name: "silenced",
    run,
    refused: &[("crates/sys/src/a.rs", "//! A.\n#[allow(dead_code)]\nfn f() {}\n")],
};

const UNFINISHED: [&str; 3] = ["todo", "unimplemented", "dbg"];

fn run(tree: &Tree) -> Vec<Finding> {
    tree.rust().flat_map(|(path, text)| file(path, text)).collect()
}

fn file(path: &str, text: &str) -> Vec<Finding> {
    let tokens = tokens(text);
    let mut findings = Vec::new();
    for at in 0..tokens.len() {
        let line = tokens[at].line;
        if let Some(message) = attribute(&tokens, at).and_then(|found| objection(found.inner)) {
            findings.push(Finding::line(path, line, message));
        }
        if let [name, bang, open, ..] = &tokens[at..]
            && UNFINISHED.contains(&name.text)
            && bang.text == "!"
            && matches!(open.text, "(" | "[" | "{")
        {
            findings.push(Finding::line(path, line, format!("{}! is unfinished work", name.text)));
        }
    }
    findings
}

/// What is wrong with an attribute, given what is between its brackets.
fn objection(inner: &[Token<'_>]) -> Option<&'static str> {
    let called = |name| inner.windows(2).any(|pair| pair[0].text == name && pair[1].text == "(");
    if called("allow") {
        Some("say #[expect(…, reason = \"…\")] instead of #[allow(…)]")
    } else if called("expect") && !inner.iter().any(|token| token.text == "reason") {
        Some("#[expect(…)] needs reason = \"…\"")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(text: &str) -> usize {
        run(&Tree::literal(&[("a.rs", text)])).len()
    }

    #[test]
    fn silenced_lints_and_unfinished_work_are_found() {
        for text in [
            "#[allow(dead_code)] fn f() {}",
            "#![allow(\n    dead_code, reason = \"x\")]",
            "#[cfg_attr(test, allow(dead_code))] fn f() {}",
            "#[expect(dead_code)] fn f() {}",
            "fn f() { todo!() }",
            "fn f() { unimplemented![] }",
            "fn f() { dbg!(1); }",
        ] {
            assert_eq!(count(text), 1, "{text}");
        }
    }

    #[test]
    fn reasons_and_other_uses_of_the_words_are_not() {
        for text in [
            "#[expect(dead_code, reason = \"why\")] fn f() {}",
            "#[should_panic(expected = \"x\")] fn f() { x.expect(\"y\"); }",
            "// #[allow(dead_code)] todo!()\nconst A: &str = \"dbg!(\";",
            "fn f() { if todo != 3 { allow(x) } }",
        ] {
            assert_eq!(count(text), 0, "{text}");
        }
    }
}
