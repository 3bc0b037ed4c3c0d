//! The text of `--help` is our own: no sequence of its words is in the help, or the manual page, of the
//! programs that haul replaces.
//!
//! Names of options, operands and values are the interface that haul shares with those programs, so
//! they do not count as words; neither do the usage lines.

use std::collections::HashMap;
use std::path::Path;

use super::support::run::{Call, haul};
use super::support::{Outcome, gnu, has, ignored, which};

/// Number of words in a row that may be equal: "with", "the" and "file" are so by chance.
const SHARED_MAX: usize = 5;

/// GNU's programs that haul replaces.
const GNU: &[&str] = &[
    "cp",
    "mv",
    "rm",
    "cat",
    "dd",
    "tee",
    "split",
    "gzip",
    "gunzip",
    "zcat",
    "tar",
    "md5sum",
    "sha1sum",
    "sha224sum",
    "sha256sum",
    "sha384sum",
    "sha512sum",
    "b2sum",
    "cksum",
    "sum",
];

/// The other programs.
const OTHERS: &[&str] = &["b3sum", "xxhsum"];

/// haul's own commands.
const OWN: &[&str] = &[
    "read",
    "write",
    "hash",
    "compare",
    "verify",
    "spare",
    "sync",
    "cache",
    "trace",
    "bench",
    "tune",
    "clean",
    "install-links",
    "completions",
    "manual",
];

/// Returns a text's words in lower case, without options, operands and values.
fn words(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| {
        let line = line.trim_start();
        !line.starts_with("Usage:") && !line.starts_with("or:")
    });
    let is_word = |token: &&str| {
        let is_operand = token.chars().any(char::is_uppercase)
            && !token.chars().any(char::is_lowercase)
            && *token != "A"
            && *token != "I";
        !token.is_empty() && token.chars().all(char::is_alphabetic) && !is_operand
    };
    lines
        .flat_map(str::split_whitespace)
        .filter(|token| !token.trim_start_matches(['\'', '"', '(', '[', '`', '‘']).starts_with('-'))
        .map(|token| token.trim_matches(|letter: char| !letter.is_alphanumeric()))
        .filter(is_word)
        .map(str::to_lowercase)
        .collect()
}

/// The source of each sequence of words that is one longer than the limit.
#[derive(Default)]
struct Runs(HashMap<Vec<String>, String>);

impl Runs {
    fn add(&mut self, origin: &str, text: &str) {
        for run in words(text).windows(SHARED_MAX + 1) {
            self.0.entry(run.to_vec()).or_insert_with(|| origin.to_owned());
        }
    }

    /// Returns the sequences that a text shares with other programs, and their sources.
    fn shared(&self, text: &str) -> Vec<String> {
        let words = words(text);
        let found = words
            .windows(SHARED_MAX + 1)
            .filter_map(|run| self.0.get(run).map(|origin| format!("{origin}: {}", run.join(" "))));
        found.collect()
    }
}

/// Returns the help text of a program and its manual page.
fn texts(name: &str, path: &Path) -> Outcome<String> {
    let mut text = Call::of(path).word("--help").run()?.text();
    if has("man")? {
        let page =
            Call::of("man").word(name).env("MANWIDTH", "1000").env("MANPAGER", "cat").run()?;
        if page.code() == Some(0) {
            text.push_str(&page.text());
        } else {
            ignored(&format!("the manual page of {name}"))?;
        }
    }
    Ok(text)
}

/// Collects the texts of the installed programs; `None`, and the test ignored, if they are missing.
fn of_others() -> Outcome<Option<(Runs, String)>> {
    let Some(gnu) = gnu::find()? else { return Ok(None) };
    let (mut runs, mut sample) = (Runs::default(), String::new());
    for name in GNU {
        let Some(path) = gnu.sibling(name)? else { continue };
        let text = texts(name, &path)?;
        runs.add(name, &text);
        sample = text;
    }
    for name in OTHERS {
        match which(name) {
            Some(path) => runs.add(name, &texts(name, &path)?),
            None => ignored(name)?,
        }
    }
    Ok(Some((runs, sample)))
}

/// Returns haul's help, of each command.
fn of_haul() -> Outcome<Vec<(String, String)>> {
    let listed = Call::of(haul()).word("--list-applets").succeed()?.text();
    let names = listed.lines().chain(OWN.iter().copied());
    let mut all = vec![("haul".to_owned(), Call::of(haul()).word("--help").succeed()?.text())];
    for name in names {
        let text = Call::of(haul()).words([name, "--help"]).succeed()?.text();
        assert!(text.starts_with("Usage: "), "{name}: {text}");
        all.push((name.to_owned(), text));
    }
    for action in ["run", "compare", "plot"] {
        let text = Call::of(haul()).words(["bench", action, "--help"]).run()?.text();
        all.push((format!("bench {action}"), text));
    }
    Ok(all)
}

#[test]
fn no_sentence_of_help_is_another_programs() -> Outcome {
    let Some((runs, _)) = of_others()? else { return Ok(()) };
    let mut found = String::new();
    for (name, text) in of_haul()? {
        for shared in runs.shared(&text) {
            found.push_str(&format!("haul {name} says as {shared}\n"));
        }
    }
    assert!(found.is_empty(), "{found}");
    Ok(())
}

#[test]
fn what_is_copied_from_another_program_is_found() -> Outcome {
    let Some((runs, sample)) = of_others()? else { return Ok(()) };
    let sample = words(&sample);
    assert!(sample.len() > 100, "{sample:?}");
    // In the middle of our own text, with other case, line ends and punctuation.
    let copied: Vec<String> = sample.iter().skip(40).take(SHARED_MAX + 1).cloned().collect();
    let shown = copied.join("\n  ").replace('e', "E") + ".";
    assert_eq!(runs.shared(&format!("Our own words; --option {shown} Our own words.")).len(), 1);
    let shorter = copied.get(1..).unwrap_or_default().join(" ");
    assert_eq!(runs.shared(&format!("otherwise {shorter} otherwise")).len(), 0);
    assert!(runs.shared(&sample.join(" ")).len() > 50);
    Ok(())
}

#[test]
fn options_and_operands_are_no_words() {
    assert_eq!(
        words("Usage: cp SOURCE\n  or: cp -t X\n -a, --all=X  Copy 'it' to FILE, A=1."),
        ["copy", "it", "to"]
    );
}
