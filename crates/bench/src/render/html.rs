//! The report: one self-contained file, for screens of any size, light and dark.
//!
//! It is HTML that is also well-formed XML, so that a test can parse it.

use std::fmt::Write as _;

use super::plot::{
    Place, RULES, cost, distribution, escape, pair, palette, ratios, scaling, series_of, throughput,
};
use super::row::{Row, with_interval};
use super::summary::{CaseSummary, summarise};
use super::text::{all_pss, beside, left, memory, pss, slowest, span, time_of_each};
use crate::session::{Case, Ranking, Results};
use crate::units;

const STYLE: &str = "\
*{box-sizing:border-box}html{-webkit-text-size-adjust:100%}\
body{margin:0 auto;max-width:70rem;padding:1rem;background:var(--paper);color:var(--ink);\
font:16px/1.5 system-ui,sans-serif}\
h1{font-size:1.5rem;line-height:1.2;margin:.5rem 0}h2{font-size:1.2rem;line-height:1.3;margin:0}\
section{margin:1.5rem 0;padding:1rem;background:var(--panel);border-radius:.6rem}\
.verdict{font-size:1.1rem;font-weight:600;margin:.6rem 0}.soft{color:var(--muted)}\
.scroll{overflow-x:auto;-webkit-overflow-scrolling:touch}\
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.9rem}\
th,td{padding:.3rem .45rem;text-align:right;white-space:nowrap;border-bottom:1px solid var(--grid)}\
th:first-child,td:first-child{text-align:left;position:sticky;left:0;background:var(--panel)}\
th{color:var(--muted);font-weight:600}tr.base td{color:var(--muted)}tr.first td{font-weight:600}\
td.bad{color:var(--bad);text-align:left;white-space:normal}\
.warn{border-left:3px solid var(--bad);padding-left:.7rem;margin:.6rem 0}\
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),1fr));\
gap:1rem;margin-top:1rem}\
figure{margin:0;padding:.6rem;background:var(--paper);border-radius:.5rem}\
figcaption{font-size:.85rem;color:var(--muted);margin-bottom:.3rem}\
svg{display:block;width:100%;max-width:36rem;height:auto}\
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem;margin:.5rem 0}\
dt{color:var(--muted)}dd{margin:0;overflow-wrap:anywhere}code{font:.85em ui-monospace,monospace;\
overflow-wrap:anywhere}summary{cursor:pointer;color:var(--mark)}ul{padding-left:1.2rem}\
a{color:var(--mark)}@media(max-width:40rem){table{font-size:.8rem}body{padding:.6rem}\
section{padding:.6rem}td.bad{max-width:16rem}}@media print{section{break-inside:avoid}}";

/// Returns the page.
#[must_use]
pub fn html(results: &Results) -> String {
    let mut page = String::new();
    page += "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n";
    page += "<meta charset=\"utf-8\"/>\n<title>haul bench</title>\n";
    page += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n";
    page += &format!("<style>{}{RULES}{STYLE}</style>\n</head>\n<body>\n", palette());
    page += "<h1>What is fastest here</h1>\n";
    page += &environment(results);
    if results.interrupted {
        page +=
            "<p class=\"warn\">Interrupted: this shows the measurements up to that point.</p>\n";
    }
    if results.cases.len() > 1 {
        page += &contents(results);
    }
    for (index, case) in results.cases.iter().enumerate() {
        page += &section(results, case, index);
    }
    page += &method(results);
    page += "</body>\n</html>\n";
    page
}

fn definitions(pairs: &[(&str, String)]) -> String {
    let mut list = "<dl>\n".to_owned();
    for (term, text) in pairs.iter().filter(|(_, text)| !text.is_empty()) {
        // Writing to a string cannot fail.
        let _written = writeln!(list, "<dt>{}</dt><dd>{}</dd>", escape(term), escape(text));
    }
    list + "</dl>\n"
}

/// Returns what was done to memory before each run, and whether the machine made it necessary.
fn memory_before(page_reporting: bool) -> String {
    let done = "as much memory as the run takes (three times the data, at most half of what is \
                available) was used and freed, for every tool alike";
    match page_reporting {
        true => format!("{done}: this machine gives free memory back to its host"),
        false => done.to_owned(),
    }
}

fn environment(results: &Results) -> String {
    let here = &results.environment;
    let who = if here.root { "root" } else { "an ordinary user" };
    definitions(&[
        ("measured", format!("{} by haul {} as {who}", here.time_text(), results.haul_version)),
        ("kernel", here.kernel.clone()),
        ("processor", format!("{} × {}", here.cores, here.processor)),
        ("memory", units::bytes(here.memory_bytes)),
        ("before each run", memory_before(here.page_reporting)),
        (
            "rounds",
            format!(
                "{} after {} to warm up, in random order (seed {}); ranked by {}",
                results.rounds.counted,
                results.rounds.warm_up,
                results.seed,
                results.ranking.name()
            ),
        ),
    ])
}

fn contents(results: &Results) -> String {
    let mut list = "<ul>\n".to_owned();
    for (index, case) in results.cases.iter().enumerate() {
        let summary = summarise(results, case);
        list += &format!(
            "<li><a href=\"#case-{index}\">{}</a>: {}</li>\n",
            escape(&summary.title),
            escape(&summary.verdict)
        );
    }
    list + "</ul>\n"
}

fn section(results: &Results, case: &Case, index: usize) -> String {
    let summary = summarise(results, case);
    let mut text = format!("<section id=\"case-{index}\">\n<h2>{}</h2>\n", escape(&summary.title));
    text += &format!("<p class=\"verdict\">{}</p>\n", escape(&summary.verdict));
    for warning in case.ground.warnings.iter().chain(&case.trouble) {
        text += &format!("<p class=\"warn\">{}</p>\n", escape(warning));
    }
    text += &table(&summary, results.ranking);
    text += &plots(results, case, &summary);
    text += "<details>\n<summary>Conditions, commands and notes</summary>\n";
    let pair = case.ground.source_file_system.as_ref().map(|source| format!("{source} to "));
    text += &definitions(&[
        ("corpus", summary.corpus.clone()),
        ("file system", pair.unwrap_or_default() + &case.ground.file_system),
        ("mount options", case.ground.mount_options.clone()),
        ("device", case.ground.device.clone()),
        ("source", format!("{} in the page cache", cache_text(case))),
        ("starts", starts(case)),
    ]);
    text += "<ul>\n";
    for tool in &case.tools {
        let version = tool.version.as_ref().map(|version| format!(" ({version})"));
        text += &format!(
            "<li>{}: <code>{}</code>{}</li>\n",
            escape(&tool.name),
            escape(tool.template.text()),
            escape(&version.unwrap_or_default())
        );
    }
    text += "</ul>\n<ul>\n";
    for note in &summary.notes {
        text += &format!("<li>{}</li>\n", escape(note));
    }
    // A list may not be empty.
    text += "<li>Bytes of targets were compared with the source after the first run of each tool.</li>\n";
    text + "</ul>\n</details>\n</section>\n"
}

fn cache_text(case: &Case) -> &'static str {
    match case.cache {
        crate::session::CacheState::Warm => "just read, all of it",
        crate::session::CacheState::Cold => "nothing of it",
    }
}

fn starts(case: &Case) -> String {
    match (case.scenario.repeats, case.scenario.together) {
        (0 | 1, None) => String::new(),
        (0 | 1, Some(count)) => {
            format!("{count} at once; the time is that until the last one has ended")
        }
        (repeats, None) => format!("{repeats} within each run; times are means over them"),
        (repeats, Some(count)) => {
            format!("{repeats} times {count} at once within each run; times are means over them")
        }
    }
}

/// The columns: heading, and the cell of a row.
type Column = (&'static str, fn(&Row) -> String);

const COLUMNS: &[Column] = &[
    ("time", |row| units::seconds(row.time_s)),
    ("95 % interval", |row| row.time_interval.as_ref().map(span).unwrap_or_default()),
    ("ratio", |row| row.ratio.as_ref().map(with_interval).unwrap_or_default()),
    ("CPU ratio", |row| row.cpu_ratio.map(|ratio| units::ratio(ratio.median)).unwrap_or_default()),
    ("user", |row| units::seconds(row.user_s)),
    ("system", |row| units::seconds(row.system_s)),
    ("command", |row| units::seconds(row.wall_s)),
    ("sync", |row| units::seconds(row.sync_s)),
    ("memory", memory),
    ("written", |row| row.written_bytes.map(units::bytes).unwrap_or_default()),
    ("calls", |row| row.calls.map(units::count).unwrap_or_default()),
    ("reader's pages left", left),
    ("its p50 (alone)", |row| beside(row, |times| times.p50_s)),
    ("its p99 (alone)", |row| beside(row, |times| times.p99_s)),
    ("its p99.9 (alone)", |row| beside(row, |times| times.p999_s)),
    ("each of them", time_of_each),
    ("slowest of them", slowest),
    ("memory of each (Pss)", pss),
    ("memory of all (Pss)", all_pss),
];

fn table(summary: &CaseSummary, ranking: Ranking) -> String {
    let shown: Vec<&Column> = COLUMNS
        .iter()
        // The first column already shows the command's own time if tools are ranked by it.
        .filter(|(head, _)| *head != "command" || ranking != Ranking::Command)
        .filter(|(_, show)| summary.rows.iter().any(|row| row.is_ranked() && !show(row).is_empty()))
        .collect();
    let mut text = "<div class=\"scroll\"><table>\n<tr><th>tool</th>".to_owned();
    for (head, _) in &shown {
        text += &format!("<th>{}</th>", escape(head));
    }
    text += "</tr>\n";
    for (index, row) in summary.rows.iter().enumerate() {
        let class = match index {
            _ if row.tool == summary.baseline => "base",
            0 => "first",
            _ => "",
        };
        text += &format!("<tr class=\"{class}\"><td>{}</td>", escape(&row.tool));
        if row.is_ranked() {
            for (_, show) in &shown {
                text += &format!("<td>{}</td>", escape(&show(row)));
            }
        } else {
            let span = shown.len().max(1);
            let why = escape(&row.why_unranked());
            text += &format!("<td class=\"bad\" colspan=\"{span}\">{why}</td>");
        }
        text += "</tr>\n";
    }
    text + "</table></div>\n"
}

fn plots(results: &Results, case: &Case, summary: &CaseSummary) -> String {
    let mut text = String::new();
    for (caption, plot) in all_plots(results, case, summary, Place::Page) {
        text +=
            &format!("<figure><figcaption>{}</figcaption>\n{plot}</figure>\n", escape(&caption));
    }
    if text.is_empty() { text } else { format!("<div class=\"plots\">\n{text}</div>\n") }
}

/// Draws all plots of a case that have data, each with its caption.
pub(super) fn all_plots(
    results: &Results,
    case: &Case,
    summary: &CaseSummary,
    place: Place,
) -> Vec<(String, String)> {
    let mut plots = Vec::new();
    let mut add = |caption: &str, plot: Option<String>| {
        plots.extend(plot.map(|plot| (caption.to_owned(), plot)));
    };
    add("Every run, and the box around the middle half", distribution(summary, place));
    add("Ratio to the baseline within each round", ratios(summary, place));
    if let Some(tools) = pair(summary) {
        add("Device over time, typical runs", throughput(case, tools, place));
    }
    for series in series_of(case, summary) {
        add("Scaling", Some(scaling(&series, &summary.title, place)));
    }
    add("Cost to others", cost(summary, results.environment.page_bytes, place));
    plots
}

fn method(results: &Results) -> String {
    let overhead = results.overhead.map(|overhead| {
        format!(" Starting and ending a process takes {}, which every figure includes (measured with <code>true</code>).", units::seconds(overhead.wall_s))
    });
    format!(
        "<section>\n<h2>How this was measured</h2>\n<p>Commands are black boxes: each was started on a \
         fresh copy of the same ground, once a round, in random order. Times are medians; intervals \
         are 95 % bootstrap intervals; ratios are made within a round, so that what drifts between \
         rounds stays out of them. If an interval contains 1, the difference is not significant. The first \
         result of each tool was compared with its source byte by byte; a tool that failed is never \
         ranked.{}</p>\n</section>\n",
        overhead.unwrap_or_default()
    )
}
