//! The count of what passed, failed, and could not run.

/// The counts, read from the output of libtest line by line; the other stages add theirs.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    /// Tests that libtest was told to ignore.
    ignored: u64,
    /// Test binaries that failed: those that printed a count of failed tests, and those that cargo lists.
    binaries_counted: u64,
    binaries_failed: u64,
    /// The notes of tests and stages that could not run, with reasons.
    notes: Vec<String>,
}

/// The beginning of the line by which a test, or a stage of this program, says why it did not run.
const NOTE: &str = "ignored:";

impl Tally {
    /// Reads a line of a test's output.
    pub(crate) fn see(&mut self, line: &str) {
        if let Some(result) = line.strip_prefix("test result: ") {
            self.passed += count(result, "passed");
            self.failed += count(result, "failed");
            self.ignored += count(result, "ignored");
            self.binaries_counted += u64::from(result.starts_with("FAILED"));
        } else if let Some(rest) = line.strip_prefix("error: ")
            && line.ends_with(" failed:")
        {
            self.binaries_failed += count(rest, "target") + count(rest, "targets");
        } else if line.starts_with(NOTE) {
            self.notes.push(line.into());
        } else if line.starts_with("test ")
            // With one test at a time, libtest has already begun the line.
            && let Some((_, note)) = line.split_once(" ... ")
            && note.starts_with(NOTE)
        {
            self.notes.push(note.into());
        }
    }

    /// Counts the binaries that ended without a result, as after a crash: one failure each.
    pub(crate) fn count_crashes(&mut self) -> u64 {
        let crashes = self.binaries_failed.saturating_sub(self.binaries_counted);
        (self.binaries_failed, self.binaries_counted) = (0, 0);
        self.failed += crashes;
        crashes
    }

    /// Prints a failure outside of libtest, and counts it.
    pub(crate) fn fail(&mut self, what: &str) {
        eprintln!("failed: {what}");
        self.failed += 1;
    }

    /// Prints what cannot run and why, and counts it.
    pub(crate) fn ignore(&mut self, what: &str) {
        let line = format!("{NOTE} {what}");
        println!("{line}");
        self.notes.push(line);
    }

    /// Returns the notes, each line once, with the number of its repetitions.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut sorted: Vec<_> = self.notes.iter().map(|note| note.trim_end()).collect();
        sorted.sort_unstable();
        let same = sorted.chunk_by(|one, other| one == other);
        same.map(|group| match group {
            [note] => (*note).to_owned(),
            _ => format!("{} ({} times)", group[0], group.len()),
        })
        .collect()
    }

    /// Returns the last line, which CI reads: nothing may be printed after it.
    pub(crate) fn closing(&self) -> String {
        let skipped = self.ignored + self.notes.len() as u64;
        format!("{} passed, {} failed, {skipped} skipped", self.passed, self.failed)
    }
}

/// The number before a word in `ok. 3 passed; 0 failed; 1 ignored; …`.
fn count(result: &str, word: &str) -> u64 {
    let words: Vec<_> = result.split([' ', ';']).filter(|part| !part.is_empty()).collect();
    let number = words.windows(2).find(|pair| pair[1] == word).map(|pair| pair[0].parse());
    number.and_then(Result::ok).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(lines: &[&str]) -> Tally {
        let mut tally = Tally::default();
        lines.iter().for_each(|line| tally.see(line));
        tally
    }

    #[test]
    fn results_of_all_binaries_add_up() {
        let tally = tally(&[
            "running 4 tests",
            "test a ... ok",
            "test b ... ignored, needs a GPU",
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s",
            "test result: FAILED. 10 passed; 2 failed; 0 ignored; 0 measured; 7 filtered out; finished in 1.20s",
        ]);
        assert_eq!(tally.closing(), "13 passed, 2 failed, 1 skipped");
    }

    #[test]
    fn a_binary_that_ends_without_a_result_is_a_failure() {
        let mut tally = tally(&[
            "test result: FAILED. 10 passed; 2 failed; 0 ignored; 0 measured; 7 filtered out; finished in 1.20s",
            "error: test failed, to rerun pass `-p haul-io --lib`",
            "error: 3 targets failed:",
        ]);
        assert_eq!(tally.count_crashes(), 2);
        assert_eq!(tally.closing(), "10 passed, 4 failed, 0 skipped");
        tally.see("error: 1 target failed:");
        assert_eq!(tally.count_crashes(), 1);
    }

    #[test]
    fn notes_are_counted_and_shown_once() {
        let tally = tally(&[
            "ignored: no btrfs",
            "test apply::reflink ... ignored: no xfs",
            "ignored: no btrfs",
            "it was ignored: not a note",
        ]);
        assert_eq!(tally.notes(), ["ignored: no btrfs (2 times)", "ignored: no xfs"]);
        assert_eq!(tally.closing(), "0 passed, 0 failed, 3 skipped");
    }
}
