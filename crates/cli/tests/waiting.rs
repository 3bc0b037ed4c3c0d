//! Which side a run waited for, and what the devices did: `--stats`, `--json`, `--metrics`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use haul_faultfs::{Config, Mode, Mounted};
use serde_json::Value;

use super::support::run::{Call, haul};
use super::support::scratch::Scratch;
use super::support::volume::with_a_device;
use super::support::{Outcome, ignored, schema};

/// A delay of each request to one side: no test says how long a run waits, but only for which side it waits longer.
const TRIP: Duration = Duration::from_millis(20);

/// Bytes of a file that takes some dozens of requests.
const BYTES: usize = 24 << 20;

/// A directory beside one that faultfs shows with delays; `None`, and the test ignored, if that is not possible.
struct Sides {
    /// Dropped first, because the folder below it is removed with the scratch folder.
    mounted: Mounted,
    scratch: Scratch,
}

impl Sides {
    fn new(config: &Config) -> Outcome<Option<Sides>> {
        if !rustix::process::geteuid().is_root() || !PathBuf::from("/dev/fuse").exists() {
            ignored("root and /dev/fuse")?;
            return Ok(None);
        }
        if !Path::new("/proc/self/syscall").exists() {
            ignored("a kernel that tells in which call a thread sleeps")?;
            return Ok(None);
        }
        let scratch = Scratch::new()?;
        for name in ["near", "below", "far"] {
            fs::create_dir(scratch.at(name))?;
        }
        let mounted = Mounted::new(&scratch.at("below"), &scratch.at("far"), config)?;
        Ok(Some(Sides { mounted, scratch }))
    }

    /// Runs a command among the directories, and returns its summary and what it wrote on standard error.
    fn run(&self, words: &[&str]) -> Outcome<(Value, String)> {
        assert!(self.mounted.path().exists());
        let call = Call::of(haul()).words(words).words(["--json", "--stats", "--metrics=m"]);
        let begun = Instant::now();
        let done = call.in_dir(self.scratch.path()).run()?;
        let whole = begun.elapsed().as_secs_f64();
        assert_eq!(done.code(), Some(0), "{done:?}");
        let lines = schema::lines("run", &done.text())?;
        let summary = lines.into_iter().next_back().ok_or("no summary")?;
        assert_eq!(summary["event"], "summary");
        let waited = seconds(&summary, "source_seconds") + seconds(&summary, "target_seconds");
        assert!(waited <= whole, "the waits are parts of the run: {summary}");
        Ok((summary, done.errors()))
    }

    /// Returns the sample of a side in the metrics of the last run.
    fn metric(&self, side: &str) -> Outcome<f64> {
        let text = fs::read_to_string(self.scratch.at("m"))?;
        let label = format!("side=\"{side}\"}} ");
        let line = text
            .lines()
            .find(|line| line.starts_with("haul_run_wait_seconds{") && line.contains(&label));
        let (_, value) = line.and_then(|line| line.rsplit_once(' ')).ok_or(text.clone())?;
        Ok(value.parse()?)
    }
}

fn seconds(summary: &Value, side: &str) -> f64 {
    summary["waited"][side].as_f64().unwrap_or(-1.0)
}

fn slow_data() -> Config {
    Config { data_delay: TRIP, mode: Mode::Direct, ..Config::default() }
}

fn slow_names() -> Config {
    Config { metadata_delay: TRIP, ..Config::default() }
}

#[test]
fn a_copy_names_the_slow_side() -> Outcome {
    let Some(sides) = Sides::new(&slow_data())? else { return Ok(()) };
    for name in ["below/s", "near/s"] {
        fs::write(sides.scratch.at(name), vec![7; BYTES])?;
    }
    // A method that reads and writes by calls of their own.
    let cp = ["cp", "--method=read-write", "--jobs=1"];
    let (from, _) = sides.run(&[&cp[..], &["far/s", "near/t"]].concat())?;
    let (source, target) = (seconds(&from, "source_seconds"), seconds(&from, "target_seconds"));
    assert!(source > target && target >= 0.0, "{from}");
    assert!((sides.metric("source")? - source).abs() < 0.001, "{from}");
    let (to, told) = sides.run(&[&cp[..], &["near/s", "far/t"]].concat())?;
    let (source, target) = (seconds(&to, "source_seconds"), seconds(&to, "target_seconds"));
    assert!(target > source && source >= 0.0, "{to}");
    assert!(told.contains("\nwaited:  ") && told.contains(" s for the target"), "{told}");
    Ok(())
}

#[test]
fn a_move_waits_for_its_source_where_that_removes_slowly() -> Outcome {
    let Some(sides) = Sides::new(&slow_names())? else { return Ok(()) };
    fs::create_dir(sides.scratch.at("below/s"))?;
    for file in 0..20 {
        fs::write(sides.scratch.at("below/s").join(format!("f{file}")), "bytes")?;
    }
    let (moved, told) = sides.run(&["mv", "--jobs=1", "far/s", "near/t"])?;
    let (source, target) = (seconds(&moved, "source_seconds"), seconds(&moved, "target_seconds"));
    assert!(source > target && target >= 0.0, "{moved}");
    assert!(told.contains("\nwaited:  "), "{told}");
    assert!(!sides.scratch.at("below/s").exists() && sides.scratch.at("near/t/f7").exists());
    Ok(())
}

#[test]
fn a_removal_waits_for_storage() -> Outcome {
    let Some(sides) = Sides::new(&slow_names())? else { return Ok(()) };
    fs::create_dir(sides.scratch.at("below/s"))?;
    for file in 0..20 {
        fs::write(sides.scratch.at("below/s").join(format!("f{file}")), "bytes")?;
    }
    let (removed, told) = sides.run(&["rm", "-r", "--jobs=1", "far/s"])?;
    assert_eq!(seconds(&removed, "source_seconds"), 0.0);
    assert!(seconds(&removed, "target_seconds") > 0.0, "{removed}");
    assert!(told.contains("\nwaited:  ") && told.contains(" s for storage\n"), "{told}");
    assert!(sides.metric("target")? > 0.0);
    Ok(())
}

#[test]
fn the_device_below_is_named_with_what_it_did() -> Outcome {
    for volume in with_a_device()? {
        let scratch = Scratch::on(&volume)?;
        scratch.write("s", super::support::shell::noise(4 << 20))?;
        let call = Call::of(haul()).words([
            "cp",
            "--fsync",
            "--reflink=never",
            "--json",
            "--stats",
            "s",
            "t",
        ]);
        let done = call.in_dir(scratch.path()).run()?;
        let what = format!("{}: {done:?}", volume.name);
        assert_eq!(done.code(), Some(0), "{what}");
        let lines = schema::lines("run", &done.text())?;
        let devices = lines.last().and_then(|line| line["devices"].as_array()).cloned();
        let devices = devices.unwrap_or_default();
        let [device] = devices.as_slice() else { panic!("one device for both sides: {what}") };
        let name = device["name"].as_str().unwrap_or_default();
        assert!(Path::new("/sys/class/block").join(name).exists(), "{what}");
        assert!(device["written_bytes"].as_u64() >= Some(4 << 20), "{what}");
        assert!(done.errors().contains(&format!("devices: {name} ")), "{what}");
    }
    Ok(())
}
