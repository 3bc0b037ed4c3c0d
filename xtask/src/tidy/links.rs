//! Every link between pages leads to a file of the repository, and to a heading that it has.
//!
//! Pages are cut and headings renamed more often than the links to them are followed.

use super::tree::resolve_beside;
use super::{Check, Finding, Tree};

pub(super) const CHECK: Check = Check {
    name: "links",
    run,
    refused: &[("README.md", "See [a](docs/a.md#no).\n"), ("docs/a.md", "# A\n\n## Yes\n")],
};

fn run(tree: &Tree) -> Vec<Finding> {
    let pages = tree.texts().filter(|(path, _)| path.ends_with(".md"));
    pages.flat_map(|(page, text)| dead(tree, page, text)).collect()
}

/// The findings about links of a page that lead nowhere. Addresses of the web are not followed.
fn dead(tree: &Tree, page: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (line, target) in targets(text) {
        let (path, heading) = target.split_once('#').unwrap_or((target, ""));
        let resolved =
            if path.is_empty() { Some(page.to_owned()) } else { resolve_beside(page, path) };
        let is_live = resolved.is_some_and(|path| {
            let page = tree.text(&path).unwrap_or_default();
            tree.has(&path) && (heading.is_empty() || anchors(page).any(|one| one == heading))
        });
        if !is_live {
            findings.push(Finding::line(page, line, format!("links to {target}: not there")));
        }
    }
    findings
}

/// The targets of links with their lines, outside of code.
fn targets(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_code = |line: &str| line.starts_with("    ") || line.starts_with("```");
    text.lines()
        .enumerate()
        .filter(move |(_, line)| !is_code(line))
        .flat_map(|(index, line)| line.split("](").skip(1).map(move |rest| (index + 1, rest)))
        .filter_map(|(line, rest)| Some((line, rest.split([')', ' ']).next()?)))
        .filter(|(_, target)| !target.contains("://") && !target.starts_with("mailto:"))
}

/// The names by which links refer to the headings of a page.
fn anchors(text: &str) -> impl Iterator<Item = String> {
    text.lines().filter(|line| line.starts_with('#')).map(|line| {
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        let kept = |c: &char| c.is_alphanumeric() || " -_".contains(*c);
        heading.chars().filter(kept).collect::<String>().replace(' ', "-")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(page: &str, text: &str) -> Vec<String> {
        let files = [
            (page, text),
            ("docs/design/a.md", "# A\n\n## `dd` in bulk\n"),
            ("crates/io/a.rs", ""),
        ];
        run(&Tree::literal(&files)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn links_that_lead_somewhere_pass() {
        for (page, text) in [
            (
                "README.md",
                "[a](docs/design/a.md#dd-in-bulk), [b](crates/io/), [c](#here)\n# Here\n",
            ),
            ("docs/b.md", "[a](design/a.md), [root](../crates/io/a.rs), <https://x.org/y>"),
            ("docs/b.md", "[a](https://x.org/y.md#z \"title\")\n\n    [a](code)\n"),
        ] {
            assert_eq!(found(page, text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn links_to_nowhere_are_found_with_their_line() {
        for (page, target) in [
            ("README.md", "docs/gone.md"),
            ("docs/b.md", "design/a.md#no"),
            ("docs/b.md", "../../outside.md"),
            ("docs/b.md", "#not-here"),
        ] {
            let text = format!("# B\n\n[a]({target})\n");
            assert_eq!(found(page, &text), [format!("{page}:3: links to {target}: not there")]);
        }
    }
}
