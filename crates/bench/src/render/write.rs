//! The directory of a report: page, results, plots.

use std::io;
use std::path::Path;

use super::export::{csv, markdown};
use super::html::{all_plots, html};
use super::plot::Place;
use super::summary::summarise;
use crate::error::{Error, Result};
use crate::publish::Publisher;
use crate::session::Results;

/// The files of a report that any program or person may have given these names, too.
const COMMON_NAMES: [&str; 4] = ["results.json", "results.csv", "report.md", "report.html"];

/// Checks that a report can be written into a directory, which is created if it does not exist, and that the
/// directory has no file of a common name, such as `results.csv`, unless it has the results of an earlier report.
///
/// # Errors
///
/// The directory or a file in it cannot be created, or has a file that is not of a report.
pub fn prepare_report(folder: &Path) -> Result<()> {
    let report = Publisher::new(folder)?;
    let is_file =
        |name: &str| folder.join(name).symlink_metadata().is_ok_and(|found| found.is_file());
    if let Some(name) = COMMON_NAMES.into_iter().find(|name| is_file(name))
        && !has_report(&report)
    {
        let why = "it is not of a report of haul bench; name another directory";
        let error = io::Error::new(io::ErrorKind::AlreadyExists, why);
        return Err(Error::file("replace", &folder.join(name))(error));
    }
    report.probe()
}

/// Returns whether a directory has the results of some version of haul, which are written first.
fn has_report(report: &Publisher) -> bool {
    let text = report.read("results.json").unwrap_or_default();
    let results: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
    results["format"].is_u64() && results["haul_version"].is_string()
}

/// Writes the page, the tables as Markdown, the results as JSON and CSV, and the plots as SVG into a
/// directory, which is created if it does not exist. Files and symbolic links of the same names are
/// replaced; links are not followed.
///
/// # Errors
///
/// A file cannot be written.
pub fn write_report(folder: &Path, results: &Results) -> Result<()> {
    let report = Publisher::new(folder)?;
    let json = results
        .to_json()
        .map_err(|error| Error::file("write", &folder.join("results.json"))(error.into()))?;
    report.write("results.json", &json)?;
    for (index, case) in results.cases.iter().enumerate() {
        let summary = summarise(results, case);
        for (caption, plot) in all_plots(results, case, &summary, Place::File) {
            let name =
                format!("{}-{}-{}", index + 1, file_name(&summary.title), file_name(&caption));
            report.write(&format!("{name}.svg"), &plot)?;
        }
    }
    report.write("results.csv", &csv(results))?;
    report.write("report.md", &markdown(results))?;
    report.write("report.html", &html(results))
}

/// Returns a file name from a title: letters and digits of the first words, joined by dashes.
fn file_name(text: &str) -> String {
    let letters: String = text
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { ' ' })
        .collect();
    let words: Vec<&str> = letters.split_whitespace().take(5).collect();
    words.join("-").to_lowercase()
}
