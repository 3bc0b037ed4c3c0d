//! Comments and pages name the actor, and use the words of the field.
//!
//! A pronoun without a person makes the reader ask who is meant, and a retired name is in no
//! manual. Text in backticks is exempt: a user may be called `nobody`. Retired names may not live on as
//! identifiers either, or as words of them.

use super::code::{comments, tokens};
use super::{Check, Finding, Tree};

pub(super) const CHECK: Check = Check {
    name: "vocabulary",
    run,
    refused: &[("crates/sys/src/a.rs", "//! A.\n\n// Whoever\n// asks.\nfn f() {}\n")],
};

/// Files and folders that are clean and stay so. A folder is added when it has become clean.
const CLEAN: &[&str] =
    &["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "docs/", "xtask/", "crates/"];

/// Words and phrases in lower case, each with what to write instead.
const REFUSED: &[(&str, &str)] = &[
    ("somebody", ACTOR),
    ("nobody", ACTOR),
    ("anybody", ACTOR),
    ("whoever", ACTOR),
    ("whom", ACTOR),
    ("that is told", "\"haul reports that\", with the actor's name"),
    ("told size", "reported size"),
    ("told sizes", "reported sizes"),
    ("kinship", "nesting"),
    ("kin", "name the things that are alike"),
    ("heir", "inherited metadata"),
    ("leavings", "stale temporaries"),
    ("leftover", "stale temporary"),
    ("leftovers", "stale temporaries"),
    ("brakes", "guards"),
    ("pouring", "direct splice"),
    ("poured", "direct splice"),
    ("witness", "block digests"),
    ("witnesses", "block digests"),
    ("gone on with", "resumed"),
    ("go on from there", "resume"),
    ("goes on from there", "resumes"),
    ("to heart", "apply"),
    ("goes neither with", "cannot be combined with"),
];

/// Words of identifiers that were retired, in lower case, each with what to write instead.
const RETIRED: &[(&str, &str)] = &[
    ("kin", "nesting"),
    ("kinship", "nesting"),
    ("heir", "inherited"),
    ("leavings", "stale"),
    ("leftover", "stale, or unfinished copy"),
    ("leftovers", "stale"),
    ("brakes", "guards"),
    ("poured", "spliced"),
    ("pouring", "splicing"),
    ("prover", "digests"),
    ("witness", "digests"),
    ("voices", "operand states"),
    ("ears", "adapter"),
    ("hungriest", "the one with the most demand"),
    ("hunger", "demand"),
];

const ACTOR: &str = "name the actor: the user, the worker, another process";

fn run(tree: &Tree) -> Vec<Finding> {
    tree.texts()
        .filter(|(path, _)| CLEAN.iter().any(|clean| covers(clean, path)))
        .flat_map(|(path, text)| findings(path, text))
        .collect()
}

fn covers(clean: &str, path: &str) -> bool {
    if clean.ends_with('/') { path.starts_with(clean) } else { path == clean }
}

fn findings(path: &str, text: &str) -> Vec<Finding> {
    let words = if path.ends_with(".md") {
        words(1, text)
    } else if path.ends_with(".rs") {
        comments(text).iter().flat_map(|comment| words(comment.line, comment.text)).collect()
    } else {
        Vec::new()
    };
    let mut findings = if path.ends_with(".rs") { identifiers(path, text) } else { Vec::new() };
    for (index, (line, word)) in words.iter().enumerate() {
        for (phrase, instead) in
            REFUSED.iter().filter(|(phrase, _)| phrase.starts_with(word.as_str()))
        {
            if begins_with(&words[index..], phrase) {
                let message = format!("says {phrase:?}; write: {instead}");
                findings.push(Finding::line(path, *line, message));
            }
        }
    }
    findings
}

/// Reports identifiers of which a word is retired.
fn identifiers(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for token in tokens(text) {
        for word in words_of(token.text) {
            if let Some((_, instead)) = RETIRED.iter().find(|(retired, _)| *retired == word) {
                let message = format!("has the retired word {word:?} in a name; use: {instead}");
                findings.push(Finding::line(path, token.line, message));
            }
        }
    }
    findings
}

/// Splits an identifier into its words, in lower case: `UnfinishedCopy`, `unfinished_copy`.
fn words_of(identifier: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for letter in identifier.chars() {
        if letter == '_' || letter.is_uppercase() {
            words.push(String::new());
        }
        if letter != '_'
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
    }
    words
}

/// The words in lower case with their lines, without those in backticks.
fn words(first_line: usize, text: &str) -> Vec<(usize, String)> {
    let mut words = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for prose in line.split('`').step_by(2) {
            let found = prose.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
            words.extend(found.map(|word| (first_line + index, word.to_lowercase())));
        }
    }
    words
}

fn begins_with(words: &[(usize, String)], phrase: &str) -> bool {
    let mut rest = words.iter().map(|(_, word)| word.as_str());
    phrase.split(' ').all(|word| rest.next() == Some(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<String> {
        let found = run(&Tree::literal(&[(path, text)]));
        found
            .iter()
            .map(|finding| finding.to_string().split(" says").next().unwrap().into())
            .collect()
    }

    #[test]
    fn refused_words_are_found_in_comments_and_pages() {
        assert_eq!(lines("docs/a.md", "Fine.\nSomebody's file.\n"), ["docs/a.md:2:"]);
        assert_eq!(lines("xtask/src/a.rs", "fn f() {} // for whom\n"), ["xtask/src/a.rs:1:"]);
    }

    #[test]
    fn phrases_are_found_across_line_ends() {
        let text = "/// It fails, and that is\n/// told.\n";
        assert_eq!(lines("crates/io/tests/a.rs", text), ["crates/io/tests/a.rs:1:"]);
    }

    #[test]
    fn code_spans_strings_names_and_other_languages_are_exempt() {
        for (path, text) in [
            ("docs/a.md", "as the user `nobody`"),
            ("xtask/src/a.rs", "//! A.\nlet nobody = \"nobody\"; // skin and kind\n"),
            ("xtask/gnu/a.py", "# nobody"),
        ] {
            assert_eq!(lines(path, text), Vec::<String>::new(), "{path}");
        }
    }

    #[test]
    fn each_entry_is_in_lower_case_and_says_what_to_write() {
        for (phrase, instead) in REFUSED {
            assert_eq!(*phrase, phrase.to_lowercase());
            assert!(!instead.is_empty());
        }
    }

    #[test]
    fn retired_words_are_found_in_names() {
        let found = |text| identifiers("a.rs", text).len();
        assert_eq!(found("struct StaleLeftover { kin: u8 } // leftover"), 2);
        assert_eq!(found("fn ask(kind: Kind, skin: u8) {}"), 0);
    }
}
