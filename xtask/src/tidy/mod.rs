//! House rules that the compiler does not check, each a file here and a line in `CHECKS`.
//!
//! A check is a pure function from the repository's text to findings, so that its tests are
//! literals. Each check also has the smallest tree that it must refuse: a check that
//! passes everything fails the tests.

mod budget;
mod check;
mod circles;
mod code;
mod direction;
mod file_length;
mod first_line;
mod front_pages;
mod glossary;
mod library_calls;
mod links;
mod named_documents;
mod named_paths;
mod rooms;
mod shortened_ranges;
mod silenced;
mod sleeps;
mod sources;
mod tree;
mod unsafe_code;
mod vocabulary;

pub(crate) use check::{Check, Finding};
pub(crate) use tree::Tree;

/// All checks, in the order in which their findings are shown: those that move code first.
pub(crate) const CHECKS: &[Check] = &[
    direction::CHECK,
    circles::CHECK,
    rooms::CHECK,
    budget::CHECK,
    sources::CHECK,
    unsafe_code::CHECK,
    library_calls::CHECK,
    silenced::CHECK,
    sleeps::CHECK,
    shortened_ranges::CHECK,
    file_length::CHECK,
    first_line::CHECK,
    named_paths::CHECK,
    named_documents::CHECK,
    links::CHECK,
    front_pages::CHECK,
    glossary::CHECK,
    vocabulary::CHECK,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_refuses_its_own_example() {
        for check in CHECKS {
            let findings = (check.run)(&Tree::literal(check.refused));
            assert!(!findings.is_empty(), "{} passes what it must refuse", check.name);
        }
    }

    #[test]
    fn names_are_unique_and_every_file_is_in_the_table() {
        let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tidy");
        let helpers = ["mod.rs", "check.rs", "code.rs", "tree.rs"];
        for entry in std::fs::read_dir(here).unwrap() {
            let file = entry.unwrap().file_name().into_string().unwrap();
            let name = file.trim_end_matches(".rs").replace('_', "-");
            let lines = CHECKS.iter().filter(|check| check.name == name).count();
            assert_eq!(lines, usize::from(!helpers.contains(&file.as_str())), "{file}");
        }
    }
}
