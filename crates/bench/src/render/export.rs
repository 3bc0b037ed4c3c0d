//! Results as tables for other programs: CSV for calculations, Markdown for documents.

use super::row::{Row, with_interval};
use super::summary::{CaseSummary, summarise};
use crate::session::Results;
use crate::units;

/// The head of the CSV; its figures have no units, for these are in the names.
const HEAD: &str = "case,tool,command,round,wall_s,sync_s,user_s,system_s,max_rss_bytes,fault";

/// Returns every run as a line of CSV (RFC 4180), and a line for each tool that failed.
#[must_use]
pub fn csv(results: &Results) -> String {
    let mut text = format!("{HEAD}\r\n");
    for case in &results.cases {
        let title = field(&case.title());
        for run in &case.runs {
            let tool = case.tools.iter().find(|tool| tool.name == run.tool);
            let command = tool.map(|tool| field(tool.template.text())).unwrap_or_default();
            let it = &run.measured;
            text += &format!(
                "{title},{},{command},{},{},{},{},{},{},\r\n",
                field(&run.tool),
                run.round,
                it.wall_s,
                it.sync_s,
                it.user_s,
                it.system_s,
                it.max_rss_bytes
            );
        }
        for fault in &case.faults {
            let (tool, why) = (field(&fault.tool), field(&fault.fault.to_string()));
            text += &format!("{title},{tool},,{},,,,,,{why}\r\n", fault.round);
        }
    }
    text
}

/// Quotes a field if it has to be.
fn field(text: &str) -> String {
    if text.contains(['"', ',', '\r', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// Returns the tables as Markdown, each with its verdict and notes.
#[must_use]
pub fn markdown(results: &Results) -> String {
    let mut text = String::new();
    for case in &results.cases {
        text += &case_table(&summarise(results, case));
    }
    text
}

fn case_table(summary: &CaseSummary) -> String {
    let mut text = format!("## {}\n\n{}\n\n", cell(&summary.title), cell(&summary.corpus));
    text += "| tool | time | ratio | CPU | sync | memory |\n| --- | ---: | ---: | ---: | ---: | ---: |\n";
    for row in &summary.rows {
        text += &line(row);
    }
    text += &format!("\n{}\n", cell(&summary.verdict));
    for note in &summary.notes {
        text += &format!("- {}\n", cell(note));
    }
    text + "\n"
}

fn line(row: &Row) -> String {
    let tool = cell(&row.tool);
    if !row.is_ranked() {
        return format!("| {tool} | {} | | | | |\n", cell(&row.why_unranked()));
    }
    format!(
        "| {tool} | {} | {} | {} | {} | {} |\n",
        units::seconds(row.time_s),
        row.ratio.as_ref().map(with_interval).unwrap_or_default(),
        units::seconds(row.user_s + row.system_s),
        units::seconds(row.sync_s),
        super::text::memory(row),
    )
}

/// Escapes what would end a cell or begin markup.
fn cell(text: &str) -> String {
    let mut shown = String::new();
    for letter in text.chars() {
        match letter {
            '\n' | '\r' => shown.push(' '),
            '|' | '<' | '`' | '*' | '_' | '\\' => {
                shown.push('\\');
                shown.push(letter);
            }
            _ => shown.push(letter),
        }
    }
    shown
}
