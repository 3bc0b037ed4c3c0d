//! The count of what passed, failed, and could not run.

/// The beginning of the line by which a test or a stage says why it, or a part of it, did not run.
pub(crate) const NOTE: &str = "ignored:";

/// The counts of the tests and of the other stages.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    skipped: u64,
    failures: Vec<String>,
    /// Why tests and stages, or parts of them, could not run.
    notes: Vec<String>,
}

impl Tally {
    /// Prints a failure of a stage, and counts it.
    pub(crate) fn fail(&mut self, what: &str) {
        let line = format!("failed: {what}");
        eprintln!("{line}");
        self.failures.push(line);
    }

    /// Returns what failed, a line each.
    pub(crate) fn failures(&self) -> &[String] {
        &self.failures
    }

    /// Prints what cannot run and why, and counts it.
    pub(crate) fn ignore(&mut self, what: &str) {
        let line = format!("{NOTE} {what}");
        println!("{line}");
        self.skip([line]);
    }

    /// Counts one test or stage that could not run, for these reasons.
    pub(crate) fn skip(&mut self, notes: impl IntoIterator<Item = String>) {
        self.skipped += 1;
        self.notes.extend(notes);
    }

    /// Adds a line to the notes that stands for no test or stage.
    pub(crate) fn note(&mut self, line: String) {
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
        format!("{} passed, {} failed, {} skipped", self.passed, self.failures.len(), self.skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_shown_once_and_a_test_is_counted_once() {
        let mut tally = Tally { passed: 3, ..Tally::default() };
        tally.skip(["ignored: no btrfs".into(), "ignored: no xfs".into()]);
        tally.skip(["ignored: no btrfs".into()]);
        tally.fail("a stage");
        assert_eq!(tally.notes(), ["ignored: no btrfs (2 times)", "ignored: no xfs"]);
        assert_eq!(tally.failures(), ["failed: a stage"]);
        assert_eq!(tally.closing(), "3 passed, 1 failed, 2 skipped");
    }
}
