//! The findings of a soak or of a fuzzing run: printed at once, kept in folders, and summed up.

use crate::command::{command, output};
use crate::error::{Context, Result};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The most that is kept of the states of failed rounds.
const KEPT_BYTES_MAX: u64 = 256 << 20;

/// Findings of one class that are printed and kept; the others are counted.
const SHOWN_OF_A_CLASS: u64 = 3;

/// Lines of a finding that are printed; all are in the kept report.
const LINES_SHOWN: usize = 12;

/// Characters of a line that are printed, and of a run of the same character.
const LINE_SHOWN: usize = 400;
const RUN_SHOWN: usize = 20;

/// Counts findings by case and class, and keeps the first ones of each.
pub(crate) struct Report {
    dir: PathBuf,
    kept_bytes: u64,
    counts: BTreeMap<(String, String), u64>,
    /// The first seed of each class.
    seeds: BTreeMap<(String, String), u64>,
}

/// One finding, as the report needs it.
pub(crate) struct Entry<'a> {
    pub(crate) case: &'a str,
    pub(crate) seed: u64,
    pub(crate) class: &'a str,
    /// The line that repeats it, the commands, the differences.
    pub(crate) lines: Vec<String>,
}

impl Report {
    pub(crate) fn new(dir: PathBuf) -> Self {
        Self { dir, kept_bytes: 0, counts: BTreeMap::new(), seeds: BTreeMap::new() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Adds a finding. Returns a new folder for what is kept of it, if that is wanted.
    pub(crate) fn add(&mut self, entry: &Entry<'_>) -> Result<Option<PathBuf>> {
        let key = (entry.case.to_owned(), entry.class.to_owned());
        let count = self.counts.entry(key.clone()).or_default();
        *count += 1;
        let is_shown = *count <= SHOWN_OF_A_CLASS;
        self.seeds.entry(key).or_insert(entry.seed);
        if !is_shown {
            return Ok(None);
        }
        println!("FOUND {} (seed {}): {}", entry.case, entry.seed, entry.class);
        for line in entry.lines.iter().take(LINES_SHOWN) {
            println!("  {}", beginning(line));
        }
        if entry.lines.len() > LINES_SHOWN {
            println!("  and {} lines more", entry.lines.len() - LINES_SHOWN);
        }
        let folder = self.dir.join(format!("{}-{}", entry.case, entry.seed));
        fs::create_dir_all(&folder).context("create", folder.display())?;
        let text = format!("{}\n{}\n", entry.class, entry.lines.join("\n"));
        let name = folder.join("report.txt");
        fs::write(&name, text).context("write", name.display())?;
        println!("  kept in {}", folder.display());
        Ok((self.kept_bytes < KEPT_BYTES_MAX).then_some(folder))
    }

    /// Keeps a folder as an archive, because the file systems of a soak end with it.
    pub(crate) fn keep(&mut self, dir: &Path, archive: &Path) -> Result<()> {
        let mut tar = command("tar");
        tar.args(["--format=posix", "-S", "--xattrs", "--xattrs-include=*", "--acls", "-czf"]);
        // Sockets are left out, with a warning and exit status 0.
        output(tar.arg(archive).arg("-C").arg(dir).arg("."))?;
        self.kept_bytes += fs::metadata(archive).map_or(0, |metadata| metadata.len());
        Ok(())
    }

    /// Returns the closing lines: a line for each class, with the seed that shows it.
    pub(crate) fn summary(&self) -> Vec<String> {
        let line = |((case, class), count): (&(String, String), &u64)| {
            let seed = self.seeds.get(&(case.clone(), class.clone())).copied().unwrap_or(0);
            format!("{count:6} {case}: {class} (first: --seed {seed})")
        };
        self.counts.iter().map(line).collect()
    }
}

/// Returns a line as it is printed: a name of 255 equal letters is not worth three rows of a screen.
fn beginning(line: &str) -> String {
    let mut shown = String::new();
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        let mut more = 0;
        while letters.next_if_eq(&letter).is_some() {
            more += 1;
        }
        if more < RUN_SHOWN {
            (0..=more).for_each(|_| shown.push(letter));
        } else {
            shown.push_str(&format!("{letter}…{letter}"));
        }
    }
    if shown.chars().count() > LINE_SHOWN {
        shown = shown.chars().take(LINE_SHOWN).chain(['…']).collect();
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_and_runs_are_cut() {
        assert_eq!(beginning(&format!("a {} b", "n".repeat(255))), "a n…n b");
        assert_eq!(beginning("cp ---- x"), "cp ---- x");
        assert_eq!(beginning(&"ab".repeat(LINE_SHOWN)).chars().count(), LINE_SHOWN + 1);
    }

    #[test]
    fn findings_are_counted_by_class_and_the_first_are_kept() {
        let dir = std::env::temp_dir().join(format!("xtask-report-{}", std::process::id()));
        let mut report = Report::new(dir.clone());
        assert!(report.is_empty());
        for seed in 10..20 {
            let entry = Entry { case: "cp", seed, class: "wrong bytes", lines: vec!["x".into()] };
            let kept = report.add(&entry).unwrap();
            assert_eq!(kept.is_some(), seed < 10 + SHOWN_OF_A_CLASS);
        }
        assert!(!report.is_empty());
        assert_eq!(report.summary(), ["    10 cp: wrong bytes (first: --seed 10)"]);
        let archive = dir.join("state.tar.gz");
        report.keep(&dir.join("cp-10"), &archive).unwrap();
        assert!(archive.exists() && dir.join("cp-10/report.txt").exists());
        assert!(!dir.join("cp-15").exists());
        fs::remove_dir_all(&dir).unwrap();
    }
}
