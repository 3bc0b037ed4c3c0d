//! The report is well-formed, self-contained and complete.

use haul_bench::render::{html, plot, prepare_report, summarise, write_report};
use haul_bench::{CacheUse, Fault, Ranking, Results, Scale, ToolFault, parse_scenario, units};

use crate::samples::results;
use crate::support::names;

fn parse(text: &str) -> roxmltree::Document<'_> {
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    roxmltree::Document::parse_with_options(text, options).unwrap()
}

#[test]
fn a_link_that_has_a_reports_name_is_replaced_and_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let (out, precious) = (folder.path().join("out"), folder.path().join("precious"));
    std::fs::create_dir(&out).unwrap();
    std::fs::write(&precious, "data").unwrap();
    let reports = ["report.html", "report.md", "results.csv", "results.json"];
    for name in reports {
        std::os::unix::fs::symlink(&precious, out.join(name)).unwrap();
    }
    // A file of a guessable name may exist.
    let guessed = format!(".haul-bench-{}", std::process::id());
    std::os::unix::fs::symlink(&precious, out.join(&guessed)).unwrap();
    prepare_report(&out).unwrap();
    assert_eq!(
        names(&out),
        [guessed.as_str(), "report.html", "report.md", "results.csv", "results.json"]
    );
    write_report(&out, &results()).unwrap();
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "data");
    for name in reports {
        assert!(out.join(name).symlink_metadata().unwrap().is_file(), "{name}");
    }
    let hidden = names(&out).into_iter().filter(|name| name.starts_with('.')).count();
    assert_eq!(hidden, 1, "no temporary file is left");
}

#[test]
fn a_report_replaces_an_earlier_report_and_no_other_file() {
    for name in ["report.html", "report.md", "results.csv", "results.json"] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(name);
        std::fs::write(&file, "{\"mine\": 1}").unwrap();
        let refused = prepare_report(folder.path()).unwrap_err().to_string();
        assert!(refused.contains(name) && refused.contains("another directory"), "{refused}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "{\"mine\": 1}");
        std::fs::remove_file(&file).unwrap();
        write_report(folder.path(), &results()).unwrap();
        prepare_report(folder.path()).unwrap();
    }
}

#[test]
fn a_report_that_cannot_be_written_leaves_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("results.json")).unwrap();
    let trouble = write_report(folder.path(), &results()).unwrap_err();
    assert!(trouble.to_string().contains("cannot replace"), "{trouble}");
    assert_eq!(names(folder.path()), ["results.json"]);
}

#[test]
fn the_page_is_well_formed_and_brings_everything_along() {
    let page = html(&results());
    assert!(page.starts_with("<!DOCTYPE html>\n<html lang=\"en\""));
    let document = parse(&page);
    let named =
        |name: &str| document.descendants().filter(|node| node.tag_name().name() == name).count();
    assert_eq!(named("script"), 0);
    assert_eq!(named("link") + named("img") + named("iframe"), 0);
    assert_eq!(named("svg"), 5, "distribution, ratios, throughput, scaling, cost");
    assert_eq!(named("title"), 6 + named("circle"), "page and plots have titles, dots have hints");
    assert!(!page.contains("url(") && !page.contains("@import"));
    for attribute in ["src", "href"] {
        for node in document.descendants() {
            let value = node.attribute(attribute).unwrap_or("#");
            assert!(value.starts_with('#'), "{value} is elsewhere");
        }
    }
    assert!(page.contains("prefers-color-scheme:dark") && page.contains("width=device-width"));
    let text: String = document.descendants().filter_map(|node| node.text()).collect();
    for part in [
        "<evil> \"&\" tool",
        "a <warning> & more",
        "FAILED: wrong result",
        "Some Processor",
        "back to its host",
    ] {
        assert!(text.contains(part), "{part}");
    }
}

#[test]
fn ids_are_unique_and_links_lead_somewhere() {
    let mut results = results();
    results.cases.push(results.cases[0].clone());
    let page = html(&results);
    let document = parse(&page);
    let mut ids: Vec<&str> =
        document.descendants().filter_map(|node| node.attribute("id")).collect();
    let links: Vec<&str> =
        document.descendants().filter_map(|node| node.attribute("href")).collect();
    assert_eq!(links.len(), 2);
    assert!(links.iter().all(|link| ids.contains(&link.trim_start_matches('#'))));
    ids.sort_unstable();
    let count = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), count);
}

#[test]
fn plots_stand_on_their_own() {
    let results = results();
    let case = &results.cases[0];
    let summary = summarise(&results, case);
    let svg = plot::distribution(&summary, plot::Place::File).unwrap();
    let document = parse(&svg);
    assert!(svg.contains("<style>") && svg.contains("prefers-color-scheme:dark"));
    assert!(!svg.contains("var("), "programs that convert plots know no custom properties");
    let view: Vec<f64> = document
        .root_element()
        .attribute("viewBox")
        .unwrap()
        .split(' ')
        .map(|number| number.parse().unwrap())
        .collect();
    for node in document.descendants() {
        for (name, limit) in [("cx", view[2]), ("cy", view[3]), ("x", view[2]), ("y", view[3])] {
            if let Some(value) = node.attribute(name) {
                let value: f64 = value.parse().unwrap();
                assert!((0.0..=limit).contains(&value), "{name} {value} is off the sheet");
            }
        }
    }
    let dots = document.descendants().filter(|node| node.tag_name().name() == "circle").count();
    assert_eq!(dots, 20, "every single run is shown");
    assert_eq!(plot::pair(&summary), Some(("haul", "cp")));
    let series = plot::series_of(case, &summary);
    assert_eq!(series.len(), 1);
    assert_eq!(series[0].points.len(), 2);
}

/// Returns the texts that a plot shows.
fn texts<'a>(document: &'a roxmltree::Document<'_>) -> Vec<&'a str> {
    let shown = document.descendants().filter(|node| node.tag_name().name() == "text");
    shown.filter_map(|node| node.text()).collect()
}

#[test]
fn every_plot_in_a_file_has_a_title_and_names_its_axes() {
    let results = results();
    let case = &results.cases[0];
    let summary = summarise(&results, case);
    let draw = |place| {
        let series = plot::series_of(case, &summary);
        [
            ("Times of", ["tool", "less is better"], plot::distribution(&summary, place)),
            ("Ratios of", ["tool", "in relation to cp"], plot::ratios(&summary, place)),
            ("What the tools take", ["tool", "evicted"], plot::cost(&summary, 4096, place)),
            (
                "Activity of the device",
                ["rate", "time"],
                plot::throughput(case, ("haul", "cp"), place),
            ),
            (
                "dd: time over I/O bytes",
                ["time", "I/O bytes"],
                Some(plot::scaling(&series[0], &summary.title, place)),
            ),
        ]
    };
    for (title, names, svg) in draw(plot::Place::File) {
        let svg = svg.unwrap();
        let document = parse(&svg);
        let texts = texts(&document);
        // The title may take two lines; it names the case.
        let head = texts[..2].join(" ");
        assert!(head.starts_with(title) && svg.contains(&summary.title), "{title}: {texts:?}");
        for name in names {
            assert!(texts.iter().any(|text| text.contains(name)), "{name}: {texts:?}");
        }
        assert!(!svg.contains("var("), "{title}");
    }
    // In the page the headings are above the plots.
    for (title, _, svg) in draw(plot::Place::Page).into_iter().take(4) {
        let svg = svg.unwrap();
        assert!(!texts(&parse(&svg)).iter().any(|text| text.starts_with(title)), "{title}");
    }
}

#[test]
fn results_are_as_their_schema_says() {
    let check = |results: &Results| {
        crate::schema::parsed("bench", &results.to_json().unwrap()).unwrap_or_else(|error| {
            panic!("{error}");
        });
    };
    let mut results = results();
    check(&results);
    // Everything that may be absent, and every way to fail.
    let case = &mut results.cases[0];
    let stderr = "no".to_owned();
    case.faults = [
        Fault::NotStarted(stderr.clone()),
        Fault::Exit { status: 1, stderr: stderr.clone() },
        Fault::Signal { signal: 9, stderr },
        Fault::TimedOut,
        Fault::Wrong("other".to_owned()),
    ]
    .map(|fault| ToolFault { tool: "bad".to_owned(), round: 1, fault })
    .into();
    case.calls[0].1.frequent.push(("read".to_owned(), 7));
    case.trouble = Some("a disk was full".to_owned());
    let run = &mut case.runs[0].measured;
    (run.device, run.dirty_bytes, run.pressure) = (None, None, None);
    run.cache = CacheUse::default();
    results.overhead = None;
    results.ranking = Ranking::WithSync;
    for scenario in ["huge", "nested-small", "delete-flat", "mixed", "delete-scattered", "startup"]
    {
        results.cases[0].scenario = parse_scenario(scenario, Scale::Quick, 1).unwrap();
        check(&results);
    }
    // The schema refuses another version and what it does not describe.
    for (old, new) in [("\"format\": 1", "\"format\": 2"), ("\"seed\"", "\"sead\"")] {
        let text = results.to_json().unwrap().replacen(old, new, 1);
        assert!(crate::schema::parsed("bench", &text).is_err(), "{new}");
    }
}

#[test]
fn a_report_with_nothing_in_it_is_still_a_page() {
    let mut results = results();
    results.cases[0].runs.clear();
    parse(&html(&results));
    results.cases.clear();
    results.interrupted = true;
    assert!(
        parse(&html(&results)).descendants().any(|node| node.attribute("class") == Some("warn"))
    );
}

#[test]
fn a_folder_holds_page_figures_and_plots() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("deep/out");
    write_report(&out, &results()).unwrap();
    let found = names(&out);
    assert_eq!(found.iter().filter(|name| name.ends_with(".svg")).count(), 5, "{found:?}");
    let text = std::fs::read_to_string(out.join("results.json")).unwrap();
    assert_eq!(Results::from_json(&text).unwrap(), results());
    let other = text.replacen("\"format\": 1", "\"format\": 999", 1);
    assert!(Results::from_json(&other).unwrap_err().to_string().contains("format 999"));
}

#[test]
fn figures_have_three_digits_and_a_unit() {
    let seconds = [0.0, 1.234, 99.96, 0.012_34, 0.000_001_5].map(units::seconds);
    assert_eq!(seconds, ["0.00 s", "1.23 s", "100 s", "12.3 ms", "1.50 µs"]);
    let bytes = [0, 1024, 1536, 5 << 30].map(units::bytes);
    assert_eq!(bytes, ["0 B", "1 KiB", "1.50 KiB", "5 GiB"]);
    assert_eq!([1, 1000, 1_234_567].map(units::count), ["1", "1,000", "1,234,567"]);
    assert_eq!([0.0512, 0.567, 12.34, 123.4].map(units::ratio), ["0.051", "0.57", "12.3", "123"]);
}
