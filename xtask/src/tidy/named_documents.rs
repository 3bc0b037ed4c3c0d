//! Every document that a comment or a page names is part of the repository.
//!
//! A reader has only the repository. A comment that refers to a page on an author's machine explains
//! nothing.

use super::{Check, Finding, Tree};

pub(super) const CHECK: Check = Check {
    name: "named-documents",
    run,
    refused: &[("crates/io/src/a.rs", "//! A.\n//!\n//! See notes/FACTS.md.\n"), ("README.md", "")],
};

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts() {
        let is_page = path.ends_with(".md");
        if !is_page && !path.ends_with(".rs") {
            continue;
        }
        let lines = text.lines().enumerate();
        for (index, line) in lines.filter(|(_, line)| is_page || is_comment(line)) {
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

/// The words of a line that are names of Markdown files, without those of web addresses.
fn documents(line: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_alphanumeric() || "_-./:~".contains(c);
    line.split(move |c: char| !is_part(c))
        .map(|word| word.trim_end_matches(['.', ':']))
        .filter(|word| word.len() > ".md".len() && word.ends_with(".md") && !word.contains("://"))
}

/// Whether the repository has the document: below its root, or seen from the file that names it.
fn is_present(tree: &Tree, from: &str, document: &str) -> bool {
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    tree.has(document)
        || resolve(&format!("{folder}/{document}")).is_some_and(|path| tree.has(&path))
}

/// The path without its components `..`; none if it leads out of the repository.
fn resolve(path: &str) -> Option<String> {
    let mut components = Vec::new();
    for component in path.split('/').filter(|component| !["", "."].contains(component)) {
        if component == ".." {
            components.pop()?;
        } else {
            components.push(component);
        }
    }
    Some(components.join("/"))
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
        ] {
            assert_eq!(count(path, text), 1, "{text}");
        }
    }
}
