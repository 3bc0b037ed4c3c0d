//! The status of a job: what rank 0 writes, and what `haul-mpi status` shows.

use std::ffi::{CString, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use haul_engine::request::{Appearance, Resume, TargetForm};
use haul_mpi::STATUS_BEGINNING;
use haul_mpi::status::status;
use serde_json::{Value, json};

use crate::copy::{archive, copy, request as plain};
use crate::ranks::{Reports, Scratch};

fn shown(words: &[&Path]) -> Result<String, String> {
    let words: Vec<OsString> = words.iter().map(|word| word.as_os_str().to_owned()).collect();
    status(&words)
}

fn checked(text: &str) -> Value {
    crate::schema::parsed("status", text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A status as rank 0 writes it, which was written at this time.
fn written(state: &str, updated: u64, ranks: &[Value]) -> String {
    let rest = json!({
        "schema": 1, "command": "cp", "state": state, "started_unix_s": 1000,
        "updated_unix_s": updated, "running_s": 3700, "entries": 1_204_332, "bytes": 5_u64 << 30,
        "failures": 2, "entries_per_s": 412, "bytes_per_s": 100_u64 << 20, "waiting_units": 1,
        "ranks": ranks,
    });
    format!("{STATUS_BEGINNING}{}\n", &rest.to_string()[1..])
}

fn rank(rank: u64, unchanged: u64, unit: &str) -> Value {
    let units: &[&str] = if unit.is_empty() { &[] } else { &[unit] };
    let oldest: Vec<Value> =
        units.iter().map(|unit| json!({ "unit": unit, "held_s": 95 })).collect();
    json!({
        "rank": rank, "host": format!("node{rank}"), "workers": 2, "idle_workers": 1,
        "idle_worker_s": 7, "entries": 1000,
        "bytes": 1 << 20, "failures": 0, "entries_per_s": 3, "bytes_per_s": 1024,
        "unchanged_s": unchanged, "units": oldest.len(), "oldest_units": oldest,
    })
}

#[test]
fn a_job_is_described_beside_the_journal_that_the_user_names() {
    let scratch = Scratch::with("nested:files=600,dirs=60,size=300,seed=31");
    let journal = scratch.0.path().join("journal");
    let name = CString::new(journal.as_os_str().as_bytes()).unwrap();
    let policy = archive().appearance(Appearance::Durable);
    let resume = Some(Resume { journal: Some(name), here: Vec::new() });
    let request = plain(&scratch, policy).form(TargetForm::Name).resume(resume);
    let reports = Reports { holds_back: true, ..Reports::default() };
    copy(&request, 3, &reports, &AtomicBool::new(false));
    assert_eq!(reports.errors(), []);
    let path = scratch.0.path().join("journal.status");
    let text = fs::read_to_string(&path).unwrap();
    let found = checked(&text);
    assert_eq!((&found["state"], &found["command"]), (&json!("complete"), &json!("cp")));
    assert_eq!(found["bytes"], json!(600 * 300));
    let ranks = found["ranks"].as_array().unwrap();
    let sum = |name: &str| ranks.iter().map(|rank| rank[name].as_u64().unwrap()).sum::<u64>();
    assert_eq!((ranks.len(), sum("bytes"), sum("units")), (3, 600 * 300, 0));
    assert!(ranks.iter().all(|rank| rank["host"].as_str() != Some("")), "{text}");
    // By its own name and by the journal's.
    for name in [&path, &journal] {
        assert_eq!(shown(&[Path::new("--json"), name]).as_ref(), Ok(&text));
        let people = shown(&[name]).unwrap();
        assert!(people.starts_with("cp: complete after 0 s"), "{people}");
    }
    // A file of the user is not replaced, and the job goes on.
    fs::write(&path, "mine").unwrap();
    let reports = Reports::default();
    copy(&request, 2, &reports, &AtomicBool::new(false));
    assert_eq!(reports.errors(), []);
    assert_eq!(fs::read(&path).unwrap(), b"mine");
    let printed = reports.printed.lock().unwrap();
    let warned = |text: &[u8]| text.starts_with(b"haul-mpi: warning: will not overwrite");
    assert!(printed.iter().any(|(_, text)| warned(text)), "{printed:?}");
}

#[test]
fn people_see_who_has_what_and_who_makes_no_progress() {
    let scratch = Scratch::new();
    let path = scratch.0.path().join("status");
    let ranks =
        [rank(0, 0, ""), rank(1, 95, "directory a/b\nc"), rank(2, 29, "16 to 32 MiB of a/d")];
    // So old that the job must have ended.
    let text = written("running", 4700, &ranks);
    checked(&text);
    fs::write(&path, &text).unwrap();
    let people = shown(&[&path]).unwrap();
    let lines: Vec<&str> = people.lines().collect();
    assert!(lines[0].starts_with("cp: running for 1 h 1 min, updated "), "{people}");
    assert_eq!(
        lines[1..lines.len() - 1],
        [
            "done: 1,204,332 entries, 5.0 GiB, 2 failures",
            "rate: 412 entries/s, 100.0 MiB/s",
            "units on their way to a rank: 1",
            "",
            "rank  host   entries    bytes       rate  units  idle  longest",
            "   0  node0    1,000  1.0 MiB  1.0 KiB/s      0     1",
            "   1  node1    1,000  1.0 MiB  1.0 KiB/s      1     1  1 min 35 s: directory a/b\\nc",
            "   2  node2    1,000  1.0 MiB  1.0 KiB/s      1     1  1 min 35 s: 16 to 32 MiB of a/d",
            "rank 1 (node1): no progress for 1 min 35 s",
        ]
    );
    assert!(lines.last().unwrap().starts_with("no update for "), "{people}");
    fs::write(&path, written("stopped", 4700, &ranks)).unwrap();
    let people = shown(&[&path]).unwrap();
    assert!(people.starts_with("cp: stopped after 1 h 1 min, "), "{people}");
    assert!(!people.contains("no progress") && !people.contains("a/d"), "{people}");
}

#[test]
fn what_is_no_status_is_refused_by_name() {
    let scratch = Scratch::new();
    let at = |name: &str| scratch.0.path().join(name);
    fs::write(at("other"), "{\"event\":\"other\"}").unwrap();
    fs::write(at("cut"), &written("running", 1, &[])[..200]).unwrap();
    let newer = written("running", 1, &[]).replace("\"schema\":1", "\"schema\":2");
    fs::write(at("newer"), newer).unwrap();
    for (name, why) in [
        ("other", "it is no status file"),
        ("cut", "it is no status file"),
        ("newer", "another version"),
        ("absent", "No such file"),
        (".", "it is no status file"),
    ] {
        let said = shown(&[&at(name)]).unwrap_err();
        assert!(said.contains(name) && said.contains(why), "{said}");
    }
    let option = Path::new("--jsn");
    assert!(shown(&[option]).unwrap_err().contains("'--jsn'"));
    assert!(shown(&[]).is_err() && shown(&[&at("a"), &at("b")]).is_err());
    assert!(shown(&[Path::new("--help")]).unwrap().starts_with("Usage: haul-mpi status"));
}
