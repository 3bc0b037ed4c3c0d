//! Every path of the repository that ARCHITECTURE.md and the pages of docs/design name exists.
//!
//! A wrong map is worse than none, and files move more often than pages are edited.

use super::{Check, Finding, Tree};

pub(super) const CHECK: Check = Check {
    name: "named-paths",
    run,
    refused: &[(MAP, "See `crates/sys` and `crates/nowhere/src/lib.rs`.\n"), ("crates/sys/a", "")],
};

const MAP: &str = "ARCHITECTURE.md";

/// The folder of the pages that the map links to.
const PAGES: &str = "docs/design/";

/// The most lines that the map may have: a reader takes it in at one sitting.
const LINES_MAX: usize = 300;

/// Beginnings of the repository's paths.
const TOPS: [&str; 4] = ["crates/", "xtask/", "docs/", ".ci/"];

fn run(tree: &Tree) -> Vec<Finding> {
    let Some(text) = tree.text(MAP) else {
        return vec![Finding::file(MAP, "is missing")];
    };
    let mut findings: Vec<_> = tree
        .texts()
        .filter(|(path, _)| *path == MAP || path.starts_with(PAGES))
        .flat_map(|(page, text)| missing(tree, page, text))
        .collect();
    if named(text).is_empty() {
        findings.push(Finding::file(MAP, "names no path of the repository in backticks"));
    }
    let lines = text.lines().count();
    if lines > LINES_MAX {
        let message = format!("{lines} lines, more than {LINES_MAX}: reasons belong to {PAGES}");
        findings.push(Finding::file(MAP, message));
    }
    findings
}

/// The findings about paths in backticks that a page names and the repository does not have.
fn missing(tree: &Tree, page: &str, text: &str) -> Vec<Finding> {
    let named = named(text).into_iter();
    named
        .filter(|(_, path)| !path.is_empty() && !tree.has(path))
        .map(|(line, path)| {
            Finding::line(page, line, format!("names {path}, which does not exist"))
        })
        .collect()
}

/// The paths in backticks with their lines, outside of fenced blocks.
fn named(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut is_fenced = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
        } else if !is_fenced {
            for span in line.split('`').skip(1).step_by(2) {
                found.extend(alternatives(span).into_iter().map(|path| (index + 1, path)));
            }
        }
    }
    found
}

/// The paths that a span names: `a/{b,c}` are two; a span that is no path is none.
fn alternatives(span: &str) -> Vec<String> {
    if !TOPS.iter().any(|top| span.starts_with(top)) || span.contains(char::is_whitespace) {
        return Vec::new();
    }
    // An item of a file, as in `method/mod.rs::LADDER`, or a line of it.
    let path = span.split(':').next().unwrap_or(span);
    match (path.find('{'), path.rfind('}')) {
        (Some(open), Some(close)) if open < close => path[open + 1..close]
            .split(',')
            .map(|one| known_part(&format!("{}{one}{}", &path[..open], &path[close + 1..])))
            .collect(),
        _ => vec![known_part(path)],
    }
}

/// The path up to its first placeholder: `NAME.rs`, `*`, `…`.
fn known_part(path: &str) -> String {
    let is_any = |component: &str| {
        let stem = component.strip_suffix(".rs").unwrap_or(component);
        component.contains(['*', '…', '<'])
            || (stem.len() > 1 && stem.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
    };
    let known: Vec<_> = path.split('/').take_while(|component| !is_any(component)).collect();
    known.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found_in(text: &str) -> Vec<String> {
        let files = ["crates/io/src/method/mod.rs", "crates/io/src/a.rs", "docs/b.md"];
        let mut tree = vec![(MAP, text)];
        tree.extend(files.map(|file| (file, "")));
        run(&Tree::literal(&tree)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn existing_paths_in_all_spellings_pass() {
        let text = "`crates/io/`, `crates/io/src/{a,method/mod}.rs`, `docs/b.md:12`,\n\
            `crates/io/src/method/mod.rs::LADDER`, `crates/io/src/method/NAME.rs`, `crates/*`,\n\
            `cp -r crates/x y`, `crates/x y`, `crate::x`\n```\n`crates/fenced`\n```\n";
        assert_eq!(found_in(text), Vec::<String>::new());
    }

    #[test]
    fn missing_paths_are_found_with_their_line() {
        let text = "\n`crates/io/src/{a,z}.rs`, `docs/gone.md`, `crates/z/NAME.rs`\n";
        let found = found_in(text).join("\n");
        for path in ["crates/io/src/z.rs", "docs/gone.md", "crates/z"] {
            assert!(found.contains(&format!("ARCHITECTURE.md:2: names {path},")), "{found}");
        }
        assert_eq!(found.lines().count(), 3);
    }

    #[test]
    fn pages_of_decisions_are_read() {
        let files = [
            (MAP, "`crates/io/`\n"),
            ("docs/design/a.md", "\n`crates/gone`\n"),
            ("crates/io/a.rs", ""),
        ];
        let found: Vec<_> = run(&Tree::literal(&files)).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["docs/design/a.md:2: names crates/gone, which does not exist"]);
    }

    #[test]
    fn a_map_that_is_too_long_is_found() {
        let text = "`crates/io/src/a.rs`\n".repeat(LINES_MAX);
        assert_eq!(found_in(&text), Vec::<String>::new());
        assert_eq!(found_in(&format!("{text}\n")).len(), 1);
    }

    #[test]
    fn a_map_without_paths_or_no_map_is_found() {
        assert_eq!(found_in("nothing").len(), 1);
        assert_eq!(run(&Tree::literal(&[])).len(), 1);
    }
}
