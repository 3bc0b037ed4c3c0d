//! `cargo xtask pictures`: the pictures of the README, from real runs.
//!
//! The bar of a copy is what a terminal got from it, in SVG that moves in a browser; the plot is one
//! that `haul bench` wrote. Nothing in them is drawn by hand.

use crate::command::{cargo, command, output, run};
use crate::error::{Context, Error, Result};
use crate::workspace::Workspace;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The copy whose bar is shown. The limit makes it last some seconds on any machine.
const COPY: &str = "haul cp -r --bandwidth=64M photos backup";

/// The tree that is copied.
const FILES: usize = 1024;
const FILE_BYTES: usize = 512 << 10;

/// What the plot shows: its file's name tells the plot.
const BENCH: &[&str] = &["bench", "nested-small", "--fs=ext4", "--series=none", "--rounds=9"];
const PLOT: &str = "every-run";

/// Columns of the terminal, and how many moments of the run are shown.
const COLUMNS: usize = 96;
const MOMENTS: usize = 12;

/// How long each is shown.
const SECONDS_EACH: f64 = 0.6;

/// Runs `cargo xtask pictures [--only-bar|--only-plot] [HAUL]`.
pub(crate) fn main(arguments: &[String]) -> Result<ExitCode> {
    let workspace = Workspace::find()?;
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (wanted, haul) = match words.as_slice() {
        [only @ ("--only-bar" | "--only-plot"), rest @ ..] => (Some(*only), rest),
        rest => (None, rest),
    };
    let haul = match haul {
        [] => None,
        [haul] if !haul.starts_with('-') => Some(*haul),
        _ => {
            return Err(Error::new("these arguments are not understood")
                .hint("cargo xtask pictures [--only-bar|--only-plot] [HAUL]"));
        }
    };
    let haul = match haul {
        Some(haul) => fs::canonicalize(haul).context("find", haul)?,
        None => {
            run(&mut cargo(&["build", "--release", "-p", "haul"]))?;
            workspace.target.join("release/haul")
        }
    };
    let folder = workspace.root.join("docs/pictures");
    fs::create_dir_all(&folder).context("create", folder.display())?;
    let scratch = workspace.target.join("pictures");
    if scratch.exists() {
        fs::remove_dir_all(&scratch).context("remove", scratch.display())?;
    }
    fs::create_dir_all(&scratch).context("create", scratch.display())?;
    if wanted != Some("--only-plot") {
        put(&folder.join("progress.svg"), &bar(&haul, &scratch)?)?;
    }
    if wanted != Some("--only-bar") {
        put(&folder.join("bench.svg"), &plot(&haul, &scratch)?)?;
    }
    fs::remove_dir_all(&scratch).context("remove", scratch.display())?;
    Ok(ExitCode::SUCCESS)
}

fn put(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).context("write", path.display())?;
    println!("{}", path.display());
    Ok(())
}

/// Runs the copy on a terminal, and returns its picture.
fn bar(haul: &Path, scratch: &Path) -> Result<String> {
    let photos = scratch.join("photos");
    fs::create_dir(&photos).context("create", photos.display())?;
    for number in 1..=FILES {
        let path = photos.join(format!("{number}.jpg"));
        fs::write(&path, vec![1; FILE_BYTES]).context("write", path.display())?;
    }
    let line = COPY.replacen("haul", &format!("'{}'", haul.display()), 1);
    let line = format!("stty cols {COLUMNS}; {line}");
    let told = output(
        command("script")
            .args(["-qec", &line, "/dev/null"])
            .current_dir(scratch)
            .env("TERM", "xterm")
            .env("SHELL", "/bin/sh"),
    )?;
    let drawn = drawn(&told);
    if drawn.len() < MOMENTS {
        return Err(Error::new(format!("the bar was drawn {} times only", drawn.len()))
            .hint("the copy has to take some seconds"));
    }
    let chosen: Vec<&str> = (0..MOMENTS)
        .filter_map(|number| drawn.get(number * (drawn.len() - 1) / (MOMENTS - 1)).copied())
        .collect();
    Ok(svg(COPY, &chosen))
}

/// Returns the lines that were drawn over one another.
fn drawn(told: &str) -> Vec<&str> {
    let lines = told.split("\x1b[K").filter_map(|part| part.rsplit('\r').next());
    lines.filter(|line| line.contains("B/s")).collect()
}

/// Draws a terminal with a command and the line below it, which changes. Programs that do not move
/// pictures show the moment in the middle.
fn svg(command: &str, moments: &[&str]) -> String {
    let share = 100.0 / moments.len() as f64;
    let total = SECONDS_EACH * moments.len() as f64;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" viewBox=\"0 0 780 84\">\n\
         <title>The progress of a copy on a terminal</title>\n\
         <style>text{{font:13px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;\
         fill:#e6edf3;white-space:pre}}.m{{animation:m {total:.1}s infinite}}\
         @keyframes m{{0%,{share:.2}%{{opacity:1}}{:.2}%,100%{{opacity:0}}}}</style>\n\
         <rect width=\"780\" height=\"84\" rx=\"8\" fill=\"#161b22\"/>\n\
         <text x=\"16\" y=\"34\">$ {}</text>\n",
        share + 0.01,
        escape(command),
    );
    for (number, moment) in moments.iter().enumerate() {
        let opacity = u8::from(number == moments.len() / 2);
        let delay = SECONDS_EACH * (number as f64) - total;
        text.push_str(&format!(
            "<text class=\"m\" x=\"16\" y=\"58\" textLength=\"{:.0}\" opacity=\"{opacity}\" \
             style=\"animation-delay:{delay:.1}s\">{}</text>\n",
            7.75 * moment.chars().count() as f64,
            escape(moment),
        ));
    }
    text + "</svg>\n"
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

/// Measures, and returns the plot.
fn plot(haul: &Path, scratch: &Path) -> Result<String> {
    let report = scratch.join("report");
    run(command(haul).args(BENCH).arg(format!("--out={}", report.display())))?;
    let entries = fs::read_dir(&report).context("read", report.display())?;
    let paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    let is_plot = |path: &&PathBuf| path.to_string_lossy().contains(PLOT);
    let path = paths.iter().find(is_plot).ok_or_else(|| Error::new("there is no such plot"))?;
    fs::read_to_string(path).context("read", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_drawn_is_found_between_other_words() {
        let told = "\r1 of 2 files, 3.0 MiB/s\x1b[K\r2 of 2 files, 4.0 MiB/s\x1b[K\r\x1b[K$ ";
        assert_eq!(drawn(told), ["1 of 2 files, 3.0 MiB/s", "2 of 2 files, 4.0 MiB/s"]);
    }

    #[test]
    fn one_moment_is_shown_where_nothing_moves() {
        let picture = svg("a < b", &["one", "two", "three"]);
        assert_eq!(picture.matches("opacity=\"1\"").count(), 1);
        assert!(picture.contains("$ a &lt; b<") && picture.contains(">three</text>"));
    }
}
