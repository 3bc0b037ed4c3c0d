//! No range of bytes is shortened in silence: `get(RANGE).unwrap_or(…)` turns a wrong bound into fewer bytes,
//! which are data that no error reports.
//!
//! An index ends the process instead, which is safe at any call. A parser of foreign input may meet any
//! length, and what is missing is decided there.

use super::code::{Token, tokens};
use super::{Check, Finding, Tree};

pub(super) const CHECK: Check = Check {
    name: "shortened-ranges",
    run,
    refused: &[(
        "crates/io/src/a.rs",
        "//! A.\nfn f(b: &[u8], n: usize) -> &[u8] { b.get(..n).unwrap_or(&[]) }\n",
    )],
};

/// Files that may do it, and why.
const TABLE: &[(&str, &str)] = &[
    ("crates/archive/src/extract/place.rs", "names of members, which may be empty"),
    ("crates/archive/src/format/header.rs", "fields of foreign headers"),
    ("crates/archive/src/format/number.rs", "fields of foreign headers"),
    ("crates/archive/src/format/reader.rs", "numbers in foreign extended headers"),
    ("crates/archive/src/format/sparse.rs", "maps in foreign headers"),
    ("crates/archive/src/pattern.rs", "patterns and names of any length"),
    ("crates/archive/src/safe_name.rs", "names of members"),
    ("crates/archive/src/transform.rs", "expressions of sed"),
    ("crates/bench/src/tool/template.rs", "words of a command line"),
    ("crates/bench/src/workspace/mounts.rs", "lines of the kernel"),
    ("crates/cli/src/applet/dd/operands.rs", "words of a command line"),
    ("crates/cli/src/applet/dispatch.rs", "words of a command line"),
    ("crates/cli/src/applet/fuzz.rs", "input of a fuzzer"),
    ("crates/cli/src/applet/tar/checkpoint.rs", "words of a command line"),
    ("crates/cli/src/applet/tar/list_file.rs", "lines of a list"),
    ("crates/cli/src/applet/tar/owner_map.rs", "lines of a list"),
    ("crates/cli/src/defaults/source.rs", "lines of a configuration file"),
    ("crates/cli/src/getopt.rs", "words of a command line"),
    ("crates/codec/src/gzip/final_block.rs", "bits behind the end of a stream"),
    ("crates/codec/src/gzip/header.rs", "fields of foreign headers"),
    ("crates/engine/src/journal/header.rs", "a journal that may be torn"),
    ("crates/mpi/src/job_options.rs", "words of a command line"),
    ("crates/trace/src/ebpf/btf.rs", "tables of the kernel"),
    ("crates/trace/src/ebpf/decode.rs", "records of the kernel"),
    ("crates/trace/src/render/compare.rs", "rows of a report beyond those that are shown"),
    ("crates/trace/src/render/picture.rs", "rows of a report beyond those that are shown"),
];

fn run(tree: &Tree) -> Vec<Finding> {
    let is_judged = |path: &str| {
        let is_test = ["tests.rs", "golden.rs"].iter().any(|end| path.ends_with(end));
        path.starts_with("crates/")
            && path.contains("/src/")
            && !path.contains("/tests/")
            && !is_test
            && !TABLE.iter().any(|(listed, _)| *listed == path)
    };
    tree.rust()
        .filter(|(path, _)| is_judged(path))
        .flat_map(|(path, text)| file(path, text))
        .collect()
}

fn file(path: &str, text: &str) -> Vec<Finding> {
    let tokens = tokens(text);
    let findings = (0..tokens.len()).filter(|at| is_shortened(&tokens[*at..]));
    findings
        .map(|at| {
            let message = "index the range: a bound that is wrong must end the process";
            Finding::line(path, tokens[at].line, message)
        })
        .collect()
}

/// Returns whether the tokens begin with `.get(RANGE)` or `.get_mut(RANGE)` and a default.
fn is_shortened(tokens: &[Token<'_>]) -> bool {
    let [dot, get, open, inner @ ..] = tokens else { return false };
    if dot.text != "." || !matches!(get.text, "get" | "get_mut") || open.text != "(" {
        return false;
    }
    let Some(close) = closing(inner) else { return false };
    let has_range =
        inner[..close].windows(2).any(|pair| pair[0].text == "." && pair[1].text == ".");
    // `and_then(|bytes| bytes.get(range))` has one parenthesis more.
    let mut behind = inner[close..].iter().skip_while(|token| token.text == ")");
    let is_called = behind.next().is_some_and(|token| token.text == ".");
    has_range && is_called && behind.next().is_some_and(|name| name.text.starts_with("unwrap_or"))
}

/// Returns the position of the parenthesis that closes the one before the tokens.
fn closing(tokens: &[Token<'_>]) -> Option<usize> {
    let mut depth = 1;
    tokens.iter().position(|token| {
        match token.text {
            "(" => depth += 1,
            ")" => depth -= 1,
            _ => {}
        }
        depth == 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        run(&Tree::literal(&[(path, text)])).len()
    }

    #[test]
    fn ranges_with_a_default_are_found() {
        for text in [
            "fn f() { a.get(..n).unwrap_or(&[]) }",
            "fn f() { a.get_mut(n..m).unwrap_or(&mut []) }",
            "fn f() { a.get(n..)\n.unwrap_or_default() }",
            "fn f() { a.b().and_then(|r| r.get_mut(n(1)..)).unwrap_or_else(x) }",
        ] {
            assert_eq!(count("crates/io/src/a.rs", text), 1, "{text}");
        }
    }

    #[test]
    fn indexes_single_values_and_listed_files_are_not() {
        for text in [
            "fn f() { &a[..n] }",
            "fn f() { a.get(n).unwrap_or(&0) }",
            "fn f() { a.get(..n).ok_or(3)? }",
            "// a.get(..n).unwrap_or(&[])",
        ] {
            assert_eq!(count("crates/io/src/a.rs", text), 0, "{text}");
        }
        let text = "fn f() { a.get(..n).unwrap_or(&[]) }";
        assert_eq!(count(TABLE[0].0, text), 0);
        assert_eq!(count("crates/io/tests/a.rs", text), 0);
    }
}
