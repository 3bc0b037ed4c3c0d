//! Every document, and every path upwards, that a comment, page or script names is in the repository.
//!
//! A reader has only the repository. A comment that refers to a page on an author's machine explains
//! nothing, and a script that needs a file there does not run.

use super::tree::resolve_beside;
use super::{Check, Finding, Tree};

pub(super) const CHECK: Check = Check {
    name: "named-documents",
    run,
    refused: &[("crates/io/src/a.rs", "//! A.\n//!\n//! See notes/FACTS.md.\n"), ("README.md", "")],
};

/// Endings of pages and scripts, of which every line is checked; of Rust files only comments are.
const CHECKED: [&str; 4] = [".md", ".py", "xtask/gnu/gnu-tests", ".ci/run"];

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts() {
        let only_comments = path.ends_with(".rs");
        if !only_comments && !CHECKED.iter().any(|ending| path.ends_with(ending)) {
            continue;
        }
        let lines = text.lines().enumerate();
        for (index, line) in lines.filter(|(_, line)| !only_comments || is_comment(line)) {
            for document in documents(line).filter(|document| !is_present(tree, path, document)) {
                let message = format!("names {document}, which is not part of the repository");
                findings.push(Finding::line(path, index + 1, message));
            }
        }
    }
    findings
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

/// The words of a line that are names of Markdown files, or paths that begin with `../`, without web
/// addresses.
fn documents(line: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_alphanumeric() || "_-./:~".contains(c);
    line.split(move |c: char| !is_part(c))
        .map(|word| word.trim_end_matches(['.', ':']))
        .filter(|word| !word.contains("://"))
        .filter(|word| is_page_name(word) || word.starts_with("../"))
}

fn is_page_name(word: &str) -> bool {
    word.len() > ".md".len() && word.ends_with(".md")
}

/// Whether the repository has the document: below its root, or seen from the file that names it.
fn is_present(tree: &Tree, from: &str, document: &str) -> bool {
    tree.has(document) || resolve_beside(from, document).is_some_and(|path| tree.has(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        let files = [(path, text), ("docs/a.md", ""), ("crates/io/README.md", "")];
        run(&Tree::literal(&files)).len()
    }

    #[test]
    fn documents_of_the_repository_are_found_from_the_root_and_from_beside() {
        for (path, text) in [
            ("crates/io/src/a.rs", "//! See `docs/a.md`, ../README.md and (../../../docs/a.md)."),
            ("docs/b.md", "[a](a.md#part), [b](../crates/io/README.md): <https://x.org/y/z.md>"),
            ("crates/io/src/a.rs", "let name = \"nowhere/b.md\";"),
        ] {
            assert_eq!(count(path, text), 0, "{text}");
        }
    }

    #[test]
    fn documents_elsewhere_are_found() {
        for (path, text) in [
            ("crates/io/src/a.rs", "    // notes/a.md says why."),
            ("docs/b.md", "See [a](../../docs/a.md)."),
            ("docs/b.md", "See NOTES.md:"),
            ("docs/b.md", "Run ../tools/run."),
            ("crates/io/src/a.rs", "//! As `../../../../elsewhere/x.txt` says."),
            (".ci/run", "exec ../elsewhere/tools/run"),
            ("xtask/gnu/runner/a.py", "open('../../../../elsewhere/x')"),
        ] {
            assert_eq!(count(path, text), 1, "{text}");
        }
    }
}
