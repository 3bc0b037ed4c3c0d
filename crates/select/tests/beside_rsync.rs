//! Random trees and random rules, judged by the installed rsync.

use std::fs;
use std::path::Path;
use std::process::Command;

use haul_select::{Builder, Purpose};

use crate::support::{builder, ignored, selected, write};

/// Number of random trees.
const TREES: u64 = 12;

/// Number of random sets of rules for each tree.
const RULES: u64 = 12;

/// A generator of numbers (xorshift64*), so that a failure names a seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % end
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    fn may(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }
}

const NAMES: &[&str] =
    &["a", "b", "ab", "a.o", "b.c", "x[1]", "-x", "a*b", "d", "e", "long-name", "[", "a?"];

const PIECES: &[&str] = &[
    "a",
    "b",
    "ab",
    "*",
    "*.o",
    "?",
    "**",
    "***",
    "d",
    "e",
    "[ab]",
    "[!a]*",
    "[a-d]",
    "a*",
    "*b",
    "x\\[1]",
    "x[1]",
    "[[:alpha:]]",
    "[]",
    "a\\*b",
    "long-name",
    "*-*",
    "**b",
    "a**",
    "[",
    "[[:x]*",
];

fn tree(numbers: &mut Numbers, root: &Path, depth: usize) {
    fs::create_dir_all(root).unwrap();
    for _ in 0..2 + numbers.below(5) {
        let path = root.join(numbers.one(NAMES));
        if depth < 4 && numbers.may(2) {
            if !path.exists() || path.is_dir() {
                tree(numbers, &path, depth + 1);
            }
        } else if !path.exists() {
            fs::write(&path, "").unwrap();
        }
    }
    // rsync takes the characters of a directory's own name for wildcards in the rules of its merge file.
    let is_plain = !root.as_os_str().as_encoded_bytes().iter().any(|byte| b"*?[".contains(byte));
    if is_plain && numbers.may(2) {
        let name = numbers.one(&[".rules", ".more"]);
        let rules: Vec<String> = (0..1 + numbers.below(3)).map(|_| rule(numbers, true)).collect();
        fs::write(root.join(name), rules.join("\n")).unwrap();
    }
}

fn pattern(numbers: &mut Numbers) -> String {
    let mut text = String::new();
    if numbers.may(3) {
        text.push('/');
    }
    for number in 0..1 + numbers.below(3) {
        if number > 0 && !numbers.may(6) {
            text.push('/');
        }
        text.push_str(numbers.one(PIECES));
    }
    if numbers.may(4) {
        text.push('/');
    }
    text
}

/// Makes a rule of `--filter` or of a merge file.
fn rule(numbers: &mut Numbers, is_inside: bool) -> String {
    if numbers.may(12) {
        return "!".to_owned();
    }
    if numbers.may(if is_inside { 10 } else { 3 }) {
        return format!(
            "{}{} {}",
            numbers.one(&[":", "dir-merge,"]),
            numbers.one(&["", "n", "e", "-"]),
            numbers.one(&[".rules", ".more"])
        )
        .replace(", ", " ");
    }
    let sign =
        numbers.one(&["- ", "+ ", "-! ", "+s ", "exclude ", "include ", "H ", "S ", "-,! ", "-_"]);
    format!("{sign}{}", pattern(numbers))
}

/// Adds a random option to a builder and to the arguments of rsync.
fn option(numbers: &mut Numbers, folder: &Path, builder: &mut Builder, words: &mut Vec<String>) {
    match numbers.below(5) {
        0 | 1 => {
            let text = pattern(numbers);
            let sign = numbers.one(&["", "", "", "- ", "+ "]);
            let (option, includes) =
                *[("exclude", false), ("include", true)].get(numbers.below(2)).unwrap();
            let text = format!("{sign}{text}");
            builder.pattern(option, includes, text.as_bytes()).unwrap();
            words.push(format!("--{option}={text}"));
        }
        2 | 3 => {
            let text = rule(numbers, false);
            builder.rule(text.as_bytes()).unwrap();
            words.push(format!("--filter={text}"));
        }
        _ => {
            let file = folder.join(format!("patterns{}", words.len()));
            let lines: Vec<String> = (0..3).map(|_| pattern(numbers)).collect();
            write(&file, &format!("# a comment\n\n;another\n{}\n", lines.join("\n")));
            let includes = numbers.may(2);
            let path = file.to_str().unwrap();
            builder.patterns_of(includes, path.as_bytes()).unwrap();
            words.push(format!("--{}-from={path}", if includes { "include" } else { "exclude" }));
        }
    }
}

/// Returns what rsync would transfer.
fn by_rsync(folder: &Path, words: &[String], operand: &str) -> Vec<String> {
    let run = Command::new("rsync")
        .args(["-rn", "--out-format=%n"])
        .args(words)
        .args([operand, "none/"])
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(run.status.success(), "{words:?}: {}", String::from_utf8_lossy(&run.stderr));
    let text = String::from_utf8(run.stdout).unwrap();
    let mut names: Vec<String> =
        text.lines().filter(|line| *line != "./").map(str::to_owned).collect();
    names.sort_unstable();
    names
}

#[test]
fn random_rules_select_what_rsync_transfers() {
    if Command::new("rsync").arg("--version").output().is_err() {
        return ignored("rsync");
    }
    for seed in 1..=TREES {
        let mut numbers = Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        tree(&mut numbers, &folder.join("src"), 0);
        for round in 0..RULES {
            let mut builder = builder(folder, Purpose::Read);
            let mut words = Vec::new();
            for _ in 0..1 + numbers.below(5) {
                option(&mut numbers, folder, &mut builder, &mut words);
            }
            let operand = numbers.one(&["src", "src/"]);
            let ours = selected(builder.finish(), folder, operand);
            let theirs = by_rsync(folder, &words, operand);
            let only = |one: &[String], two: &[String]| -> Vec<String> {
                one.iter().filter(|name| !two.contains(name)).cloned().collect()
            };
            let differences = (only(&ours, &theirs), only(&theirs, &ours));
            let rules = format!("tree {seed}, rules {round}: {words:?} {operand}");
            assert_eq!(differences, (Vec::new(), Vec::new()), "{rules}");
        }
    }
}
