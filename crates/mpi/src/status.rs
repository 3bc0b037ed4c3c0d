//! `haul-mpi status FILE`: shows what the ranks of a job are doing. Needs no MPI.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use haul::sizes::{bytes, duration, grouped};
use serde_json::Value;

use crate::job_status::{BEGINNING, SCHEMA};

/// What is behind the name of a journal, beside which the status of its job is.
pub(crate) const SUFFIX: &str = ".status";

/// Largest status that is read: that of 100,000 ranks.
const MOST_BYTES: u64 = 64 << 20;

/// Time without progress after which a rank that has units is named, in seconds. Writing a unit that is
/// slow takes a few.
const STUCK_S: u64 = 30;

/// Age from which on the job may have ended without a last status, in seconds: it writes one every two.
const OLD_S: u64 = 20;

/// Returns the status in a file, or of the job with the journal of this name, for people or as JSON.
///
/// Fails with a message for people.
pub fn status(arguments: &[OsString]) -> Result<String, String> {
    let (mut is_json, mut names) = (false, Vec::new());
    for argument in arguments {
        match argument.to_str() {
            Some("--json") => is_json = true,
            Some("--help" | "-h") => return Ok(HELP.to_owned()),
            Some(option) if option.starts_with('-') && option.len() > 1 => {
                return Err(format!("status: unrecognized option '{}'", option.escape_debug()));
            }
            _ => names.push(argument),
        }
    }
    let [name] = names[..] else {
        return Err("status needs one FILE, which '--status' or '--journal' named".to_owned());
    };
    let text = read(name)?;
    if is_json {
        return Ok(text);
    }
    let status: Value = serde_json::from_str(&text).map_err(|_| not_one(name))?;
    if status["schema"].as_u64() != Some(SCHEMA) {
        return Err(format!("{}: it is of another version of haul-mpi", shown(name)));
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    Ok(for_people(&status, now))
}

const HELP: &str = "\
Usage: haul-mpi status [--json] FILE

Show what the ranks of a job are doing: how much they have done, how fast, which units each has had
longest, and which rank makes no progress. FILE is the one that the job's '--status=FILE' names, or the
journal of 'cp --resume --journal=FILE'. The job writes it every 2 seconds.

      --json   print the status as it is in the file (docs/schema/status.json)
";

/// Reads a status, or the one beside a journal.
fn read(name: &OsStr) -> Result<String, String> {
    let mut beside = name.to_owned();
    beside.push(SUFFIX);
    let found = match begins(name) {
        Ok(true) => name,
        Ok(false) if begins(&beside).unwrap_or(false) => &beside,
        Ok(false) => return Err(not_one(name)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if !begins(&beside).unwrap_or(false) {
                return Err(failed(name, &error));
            }
            &beside
        }
        Err(error) => return Err(failed(name, &error)),
    };
    std::fs::read_to_string(found).map_err(|error| failed(found, &error))
}

/// Returns whether a file is a status. Opening a FIFO would wait for a writer.
fn begins(name: &OsStr) -> io::Result<bool> {
    let stat = std::fs::metadata(name)?;
    if !stat.is_file() || stat.len() > MOST_BYTES {
        return Ok(false);
    }
    let mut start = Vec::new();
    let file = std::fs::File::open(name)?;
    io::Read::read_to_end(&mut io::Read::take(file, BEGINNING.len() as u64), &mut start)?;
    Ok(start == BEGINNING.as_bytes())
}

fn shown(name: &OsStr) -> String {
    format!("'{}'", String::from_utf8_lossy(name.as_bytes()).escape_debug())
}

fn failed(name: &OsStr, error: &io::Error) -> String {
    format!("{}: {error}", shown(name))
}

fn not_one(name: &OsStr) -> String {
    let name = shown(name);
    format!(
        "{name}: it is no status file, and there is none beside it: start the job with --status=FILE"
    )
}

/// Returns the status as a person reads it.
fn for_people(status: &Value, now: u64) -> String {
    let of = |name: &str| status[name].as_u64().unwrap_or_default();
    let age = now.saturating_sub(of("updated_unix_s"));
    let state = status["state"].as_str().unwrap_or_default();
    let mut text = String::new();
    // Writing to a string does not fail.
    let mut line = |words: String| {
        let _written = writeln!(text, "{words}");
    };
    let command = status["command"].as_str().unwrap_or_default();
    let running = seconds(of("running_s"));
    match state {
        "running" => {
            line(format!("{command}: running for {running}, updated {} ago", seconds(age)));
        }
        _ => line(format!("{command}: {state} after {running}, {} ago", seconds(age))),
    }
    line(format!(
        "done: {} entries, {}, {} failures",
        grouped(of("entries")),
        bytes(of("bytes")),
        grouped(of("failures"))
    ));
    if state == "running" {
        let (entries, amount) = (rate(&status["entries_per_s"]), rate(&status["bytes_per_s"]));
        line(format!("rate: {} entries/s, {}/s", grouped(entries), bytes(amount)));
        line(format!("units on their way to a rank: {}", grouped(of("waiting_units"))));
    }
    let ranks = status["ranks"].as_array().map(Vec::as_slice).unwrap_or_default();
    line(String::new());
    table(ranks, state == "running").into_iter().for_each(&mut line);
    if state != "running" {
        return text;
    }
    for rank in ranks.iter().filter(|rank| is_stuck(rank)) {
        let quiet = seconds(rank["unchanged_s"].as_u64().unwrap_or_default());
        line(format!("rank {} ({}): no progress for {quiet}", rank["rank"], host(rank)));
    }
    if age >= OLD_S {
        line(format!(
            "no update for {}: the job was killed, or cannot write the file",
            seconds(age)
        ));
    }
    text
}

/// Returns whether a rank has units, and has finished nothing for long.
fn is_stuck(rank: &Value) -> bool {
    rank["units"].as_u64() > Some(0) && rank["unchanged_s"].as_u64() >= Some(STUCK_S)
}

/// Returns a line for each rank, with the unit that it has had longest.
fn table(ranks: &[Value], is_running: bool) -> Vec<String> {
    let rows = ranks.iter().map(|rank| {
        let number = |name: &str| rank[name].as_u64().unwrap_or_default();
        let unit = &rank["oldest_units"][0];
        let longest = match unit["unit"].as_str().filter(|_| is_running) {
            Some(name) => {
                format!(
                    "{}: {}",
                    seconds(unit["held_s"].as_u64().unwrap_or_default()),
                    name.escape_debug()
                )
            }
            None => String::new(),
        };
        [
            number("rank").to_string(),
            host(rank),
            grouped(number("entries")),
            bytes(number("bytes")),
            format!("{}/s", bytes(number("bytes_per_s"))),
            number("units").to_string(),
            number("idle_workers").to_string(),
            longest,
        ]
    });
    let head = ["rank", "host", "entries", "bytes", "rate", "units", "idle", "longest"];
    let rows: Vec<[String; 8]> = std::iter::once(head.map(str::to_owned)).chain(rows).collect();
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..head.len()).map(|column| width(column).unwrap_or(0)).collect();
    let row = |row: &[String; 8]| {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
            // Names stand on the left, numbers on the right.
            if matches!(column, 1 | 7) {
                format!("{cell:<width$}")
            } else {
                format!("{cell:>width$}")
            }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(row).collect()
}

fn host(rank: &Value) -> String {
    rank["host"].as_str().unwrap_or_default().escape_debug().to_string()
}

fn seconds(seconds: u64) -> String {
    if seconds < 60 { format!("{seconds} s") } else { duration(Duration::from_secs(seconds)) }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate of a sum; saturation is what is wanted at the end of the range"
)]
fn rate(value: &Value) -> u64 {
    value.as_f64().unwrap_or_default() as u64
}
