//! The runner's tables of results, and the comparison of haul's with GNU's.

use super::expected::Expected;
use crate::error::{Context, Error, Result};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

const HEADER: &str = "area\ttest\tuser\tstatus\tseconds\treason";

/// One test's result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// Comma-separated areas: a test may count for several.
    area: String,
    test: String,
    user: String,
    status: String,
    seconds: String,
    reason: String,
}

impl Row {
    fn is_in(&self, area: &str) -> bool {
        self.area.split(',').any(|one| one == area)
    }

    fn line(&self) -> String {
        [&self.area, &self.test, &self.user, &self.status, &self.seconds, &self.reason]
            .map(String::as_str)
            .join("\t")
    }
}

/// Reads a table; one that does not exist has no rows.
pub(super) fn read(path: &Path) -> Result<Vec<Row>> {
    match fs::read_to_string(path) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        text => parse(&text.context("read", path.display())?).ok_or_else(|| {
            Error::new(format!("{} is not a table of results", path.display()))
                .hint("remove it; it is made again")
        }),
    }
}

fn parse(text: &str) -> Option<Vec<Row>> {
    let mut lines = text.lines();
    if lines.next() != Some(HEADER) {
        return None;
    }
    lines
        .map(|line| {
            let mut fields = line.splitn(6, '\t').map(str::to_owned);
            let mut field = || fields.next();
            Some(Row {
                area: field()?,
                test: field()?,
                user: field()?,
                status: field()?,
                seconds: field()?,
                reason: field().unwrap_or_default(),
            })
        })
        .collect()
}

/// Writes a table that the runner can read.
pub(super) fn write(path: &Path, rows: &[Row]) -> Result<()> {
    let lines: Vec<_> = rows.iter().map(Row::line).collect();
    let text = format!("{HEADER}\n{}\n", lines.join("\n"));
    fs::write(path, text).context("write", path.display())
}

/// Returns the areas that have no rows yet.
pub(super) fn lacking<'a>(rows: &[Row], areas: &[&'a str]) -> Vec<&'a str> {
    areas.iter().filter(|area| !rows.iter().any(|row| row.is_in(area))).copied().collect()
}

/// Adds the rows of further areas; a test that is in both counts for the areas of both.
pub(super) fn merge(mut rows: Vec<Row>, more: Vec<Row>) -> Vec<Row> {
    for mut row in more {
        match rows.iter_mut().find(|old| old.test == row.test) {
            Some(old) => {
                let areas: BTreeSet<_> = old.area.split(',').chain(row.area.split(',')).collect();
                row.area = areas.into_iter().collect::<Vec<_>>().join(",");
                *old = row;
            }
            None => rows.push(row),
        }
    }
    rows
}

/// The comparison of haul's results with GNU's.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Comparison {
    pub(super) passed: u64,
    /// Tests that GNU passes and haul fails, without an entry in the list of expected differences.
    pub(super) failures: Vec<String>,
    /// Expected failures, with the reason.
    pub(super) differences: Vec<String>,
    /// Tests on the list of expected differences that pass.
    pub(super) stale: Vec<String>,
}

/// Compares haul's results with GNU's; in areas that were run completely, no test may be missing.
pub(super) fn compare(
    gnu: &[Row],
    ours: &[Row],
    whole_areas: &[&str],
    expected: &Expected,
) -> Comparison {
    let mut comparison = Comparison::default();
    for row in ours.iter().filter(|row| row.status == "PASS") {
        comparison.passed += 1;
        if expected.contains_key(&row.test) {
            comparison.stale.push(row.test.clone());
        }
    }
    for good in gnu.iter().filter(|row| row.status == "PASS") {
        let got = match ours.iter().find(|row| row.test == good.test) {
            Some(row) if row.status == "PASS" => continue,
            Some(row) => format!("{} ({})", row.status, row.reason),
            None if whole_areas.iter().any(|area| good.is_in(area)) => "not run".to_owned(),
            None => continue,
        };
        match expected.get(&good.test) {
            Some(reason) => comparison.differences.push(format!("{}: {reason}", good.test)),
            None => comparison.failures.push(format!("{}: {got}", good.test)),
        }
    }
    comparison
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(lines: &[&str]) -> Vec<Row> {
        let lines: Vec<_> = lines.iter().map(|line| line.replace(' ', "\t")).collect();
        parse(&format!("{HEADER}\n{}", lines.join("\n"))).unwrap()
    }

    #[test]
    fn only_what_gnu_passes_counts_against_us() {
        let gnu = rows(&[
            "cp cp/a.sh root PASS 0.1 ",
            "cp cp/b.sh root PASS 0.1 ",
            "cp cp/c.sh root SKIP 0.1 why",
            "cp,mv cp/d.sh root PASS 0.1 ",
            "mv mv/e.sh root PASS 0.1 ",
        ]);
        let ours = rows(&[
            "cp cp/a.sh root PASS 0.1 ",
            "cp cp/b.sh root SKIP 0.1 lacking",
            "cp cp/c.sh root FAIL 0.1 why",
        ]);
        let none = Expected::new();
        let comparison = compare(&gnu, &ours, &["cp"], &none);
        assert_eq!(comparison.passed, 1);
        assert_eq!(comparison.failures, ["cp/b.sh: SKIP (lacking)", "cp/d.sh: not run"]);
        assert_eq!(compare(&gnu, &ours, &[], &none).failures.len(), 1);
    }

    #[test]
    fn expected_differences_are_told_apart_and_may_become_stale() {
        let gnu = rows(&["cp cp/a.sh root PASS 0.1 ", "cp cp/b.sh root PASS 0.1 "]);
        let ours = rows(&["cp cp/a.sh root FAIL 0.1 x", "cp cp/b.sh root PASS 0.1 "]);
        let expected = ["cp/a.sh", "cp/b.sh"].map(|test| (test.to_owned(), "safer".to_owned()));
        let comparison = compare(&gnu, &ours, &["cp"], &expected.into());
        assert_eq!(comparison.failures, Vec::<String>::new());
        assert_eq!(comparison.differences, ["cp/a.sh: safer"]);
        assert_eq!(comparison.stale, ["cp/b.sh"]);
    }

    #[test]
    fn baselines_of_several_runs_add_up() {
        let one = rows(&["cp cp/a.sh root PASS 0.1 ", "cp misc/x.sh root PASS 0.1 "]);
        let two = rows(&["mv misc/x.sh root FAIL 0.1 x", "mv mv/b.sh root PASS 0.1 "]);
        assert_eq!(lacking(&one, &["cp", "mv"]), ["mv"]);
        let merged = merge(one, two);
        assert_eq!(merged.len(), 3);
        assert_eq!((merged[1].area.as_str(), merged[1].status.as_str()), ("cp,mv", "FAIL"));
        assert!(lacking(&merged, &["cp", "mv"]).is_empty());
    }

    #[test]
    fn what_is_no_table_is_refused_and_a_written_one_is_read_again() {
        assert_eq!(parse("something else\n"), None);
        assert_eq!(parse(&format!("{HEADER}\ntoo short\n")), None);
        let path = std::env::temp_dir().join(format!("xtask-rows-{}", std::process::id()));
        let table = rows(&["cp cp/a.sh root PASS 0.1 ", "cp cp/b.sh nobody SKIP 0.1 why"]);
        write(&path, &table).unwrap();
        assert_eq!(read(&path).unwrap(), table);
        fs::remove_file(&path).unwrap();
        assert_eq!(read(&path).unwrap(), []);
    }
}
