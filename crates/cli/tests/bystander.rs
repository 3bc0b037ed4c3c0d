//! What a run leaves of the page cache of another process, counted in a memory cgroup.
//!
//! A bystander has read a file several times, so that the kernel takes its pages for used. Then haul
//! moves more than fits beside them. Pages are counted, not seconds.

use std::fs::File;
use std::path::{Path, PathBuf};

use haul_sys::data::{Advice, fadvise};
use haul_sys::memory::cachestat;

use super::support::run::{Call, haul};
use super::support::scratch::Scratch;
use super::support::{Outcome, ignored, is_root};

const MIB: usize = 1 << 20;

/// The memory of the cgroup. The bystander has three eighths of it.
const LIMIT_BYTES: usize = 128 * MIB;

/// A memory cgroup that is removed when it goes out of scope.
struct Cgroup(PathBuf);

impl Cgroup {
    /// Makes a cgroup with a limit, below that of this process, or says why not.
    fn make(name: &str) -> Outcome<Option<Cgroup>> {
        let groups = std::fs::read_to_string("/proc/self/cgroup")?;
        let own = groups.lines().find_map(|line| line.split_once(":memory:"));
        let Some((_, own)) = own.filter(|_| is_root().unwrap_or(false)) else {
            ignored("a memory cgroup of version 1 that root can divide")?;
            return Ok(None);
        };
        let root = Path::new("/sys/fs/cgroup/memory").join(own.trim_start_matches('/'));
        let path = root.join(format!("haul-test-{name}-{}", std::process::id()));
        if std::fs::create_dir(&path).is_err() {
            ignored("a memory cgroup of version 1 that root can divide")?;
            return Ok(None);
        }
        let group = Cgroup(path);
        std::fs::write(group.0.join("memory.limit_in_bytes"), LIMIT_BYTES.to_string())?;
        Ok(Some(group))
    }

    /// Runs a command in the group.
    fn run(&self, call: Call) -> Outcome {
        let script =
            format!("echo $$ > '{}' && exec \"$@\"", self.0.join("cgroup.procs").display());
        call.under(["sh", "-c", &script, "sh"]).succeed()?;
        Ok(())
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // The pages of the files would keep the group alive; both are tidying up after a test.
        let _emptied = std::fs::write(self.0.join("memory.force_empty"), "0");
        let _removed = std::fs::remove_dir(&self.0);
    }
}

/// Returns how many bytes of a file are cached.
fn cached_bytes(path: &Path) -> Outcome<usize> {
    Ok(usize::try_from(cachestat(File::open(path)?, 0, 0)?.cached)? * 4096)
}

/// Makes a file whose bytes are on storage and not cached.
fn plant(path: &Path, bytes: usize) -> Outcome {
    std::fs::write(path, vec![7; bytes])?;
    let file = File::open(path)?;
    file.sync_all()?;
    Ok(fadvise(&file, 0, 0, Advice::DontNeed)?)
}

/// Runs a command beside a bystander, and returns the share of its pages that are left.
fn left_beside(scratch: &Scratch, words: &[&str]) -> Outcome<Option<f64>> {
    let Some(group) = Cgroup::make(words.first().unwrap_or(&""))? else { return Ok(None) };
    let hot = scratch.at("hot");
    plant(&hot, LIMIT_BYTES / 8 * 3)?;
    for _ in 0..3 {
        group.run(Call::of("cat").word(&hot).output_to("/dev/null"))?;
    }
    let before = cached_bytes(&hot)?;
    group.run(Call::of(haul()).words(words).in_dir(scratch.path()).output_to("/dev/null"))?;
    let after = cached_bytes(&hot)?;
    scratch.clear("out")?;
    Ok(Some(after as f64 / before as f64))
}

/// A tree of four times the cgroup's memory, in a folder on a device.
fn scene() -> Outcome<Option<Scratch>> {
    let scratch = Scratch::new()?;
    let probe = scratch.at("probe");
    plant(&probe, 4096)?;
    // On tmpfs the pages of a file are its storage.
    if cachestat(File::open(&probe)?, 0, 0).is_err() || cached_bytes(&probe)? > 0 {
        ignored("cachestat, and a folder for temporary files on a device")?;
        return Ok(None);
    }
    std::fs::create_dir(scratch.at("s"))?;
    for number in 0..16 {
        plant(&scratch.at(format!("s/f{number}")), LIMIT_BYTES / 4)?;
    }
    Ok(Some(scratch))
}

#[test]
fn a_run_leaves_the_pages_of_others_alone_by_default() -> Outcome {
    let Some(scratch) = scene()? else { return Ok(()) };
    let all: Vec<String> = (0..16).map(|number| format!("s/f{number}")).collect();
    let sums: Vec<&str> = std::iter::once("md5sum").chain(all.iter().map(String::as_str)).collect();
    let commands: [&[&str]; 3] = [
        &["cp", "-r", "--reflink=never", "s", "out"],
        &["cp", "-a", "--reflink=never", "s", "out"],
        &sums,
    ];
    for words in commands {
        let Some(left) = left_beside(&scratch, words)? else { return Ok(()) };
        assert!(left >= 0.95, "{words:?} leaves {left:.2} of the bystander's pages");
    }
    Ok(())
}

#[test]
fn what_goes_past_the_page_cache_is_reported() -> Outcome {
    let Some(scratch) = scene()? else { return Ok(()) };
    let Some(group) = Cgroup::make("reported")? else { return Ok(()) };
    // What is beside two copies of it in memory has no room: at least three quarters go past it.
    for (cache, least) in [("auto", 3 * LIMIT_BYTES), ("keep", 0)] {
        let option = format!("--cache={cache}");
        let words = ["cp", "-r", "--json", &option, "--reflink=never", "s", "out"];
        let report = scratch.write("report", "")?;
        let call = Call::of(haul()).words(words).in_dir(scratch.path()).output_to(&report);
        group.run(call)?;
        let text = std::fs::read_to_string(&report)?;
        let summary = text.lines().last().and_then(|line| line.split("\"past_cache\":").nth(1));
        let digits = summary.and_then(|rest| rest.split([',', '}']).next()).unwrap_or("none");
        let past: usize = digits.parse().map_err(|_| format!("{digits} in {text}"))?;
        assert!(past >= least && (past > 0) == (cache == "auto"), "{cache}: {past} bytes");
        scratch.clear("out")?;
    }
    Ok(())
}

#[test]
fn a_run_that_fits_stays_cached() -> Outcome {
    let Some(scratch) = scene()? else { return Ok(()) };
    let Some(group) = Cgroup::make("fits")? else { return Ok(()) };
    plant(&scratch.at("s/small"), 12 * MIB)?;
    let words = ["cp", "--reflink=never", "s/small", "out"];
    group.run(Call::of(haul()).words(words).in_dir(scratch.path()))?;
    assert_eq!(cached_bytes(&scratch.at("out"))?, 12 * MIB);
    Ok(())
}
