//! ARCHITECTURE.md's glossary is short, and the code uses each of its terms.
//!
//! A word of our own costs every new reader time, so there are at most `TERMS_MAX`; a term that the
//! code no longer uses gives its place to another.

use super::{Check, Finding, Tree};

pub(super) const CHECK: Check = Check {
    name: "glossary",
    run,
    refused: &[(PAGE, "## Glossary\n\n| term | meaning |\n| --- | --- |\n| ghost | unused |\n")],
};

const PAGE: &str = "ARCHITECTURE.md";
const HEADING: &str = "## Glossary";

/// The most terms that the glossary may have.
const TERMS_MAX: usize = 25;

/// Rows above the first term: the names of the columns, and the line below them.
const HEADER_ROWS: usize = 2;

fn run(tree: &Tree) -> Vec<Finding> {
    let Some(text) = tree.text(PAGE) else {
        return vec![Finding::file(PAGE, "is missing")];
    };
    let terms = terms(text);
    if terms.is_empty() {
        return vec![Finding::file(PAGE, format!("has no terms in a table below {HEADING:?}"))];
    }
    let code: Vec<_> = tree
        .rust()
        .filter(|(path, _)| path.starts_with("crates/"))
        .map(|(_, text)| letters(text))
        .collect();
    let mut findings: Vec<_> = terms
        .iter()
        .filter(|(_, term)| !code.iter().any(|text| text.contains(&letters(term))))
        .map(|(line, term)| Finding::line(PAGE, *line, format!("no file uses the term {term:?}")))
        .collect();
    if terms.len() > TERMS_MAX {
        let message =
            format!("{} terms, more than {TERMS_MAX}: use words of the field", terms.len());
        findings.push(Finding::file(PAGE, message));
    }
    findings
}

/// The terms with their lines: the first column of the table below the heading.
fn terms(text: &str) -> Vec<(usize, &str)> {
    text.lines()
        .enumerate()
        .skip_while(|(_, line)| line.trim_end() != HEADING)
        .skip(1)
        .take_while(|(_, line)| !line.starts_with("## "))
        .filter_map(|(index, line)| {
            Some((index + 1, line.strip_prefix('|')?.split('|').next()?.trim()))
        })
        .skip(HEADER_ROWS)
        .collect()
}

/// The letters of a text in lower case, so that `CommitGroup` and `commit_group` are "commit group".
fn letters(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphabetic).map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str =
        "# A\n\n| not | this |\n\n## Glossary\n\n| term | meaning |\n| --- | --- |\n";

    fn found(rows: &str, code: &str) -> Vec<String> {
        let page = format!("{HEADER}{rows}\n## Next\n\n| nor | this |\n");
        let tree = Tree::literal(&[(PAGE, &page), ("crates/io/src/a.rs", code)]);
        run(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn terms_in_use_pass() {
        let rows = "| commit group | a |\n| ladder | b |\n";
        assert_eq!(found(rows, "struct CommitGroup; mod ladder;"), Vec::<String>::new());
    }

    #[test]
    fn an_unused_term_is_found_with_its_line() {
        let found = found("| ladder | b |\n| ghost | a |\n", "mod ladder;");
        assert_eq!(found, ["ARCHITECTURE.md:10: no file uses the term \"ghost\""]);
    }

    #[test]
    fn too_many_terms_are_found() {
        let rows = |count| "| ladder | a |\n".repeat(count);
        assert_eq!(found(&rows(TERMS_MAX), "ladder").len(), 0);
        assert_eq!(found(&rows(TERMS_MAX + 1), "ladder").len(), 1);
    }

    #[test]
    fn a_missing_page_and_a_missing_glossary_are_found() {
        assert_eq!(run(&Tree::literal(&[])).len(), 1);
        assert_eq!(run(&Tree::literal(&[(PAGE, "# A\n\n| a | b |\n")])).len(), 1);
    }
}
