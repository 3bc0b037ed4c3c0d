//! The directory of a report: page, results, plots.

use std::path::Path;

use super::export::{csv, markdown};
use super::html::{all_plots, html};
use super::plot::Place;
use super::summary::summarise;
use crate::error::{Error, Result};
use crate::publish::Publisher;
use crate::session::Results;

/// Checks that a report can be written into a directory, which is created if it does not exist.
///
/// # Errors
///
/// The directory or a file in it cannot be created.
pub fn prepare_report(folder: &Path) -> Result<()> {
    Publisher::new(folder)?.probe()
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
