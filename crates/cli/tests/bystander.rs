//! What a run leaves of the page cache of another process, counted in a memory cgroup.
//!
//! A bystander has read a file several times, so that the kernel takes its pages for used. Then haul
//! moves more than fits beside them. Pages are counted, not seconds.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use haul_sys::data::{Advice, fadvise};
use haul_sys::memory::cachestat;

use super::support::run::{Call, haul};
use super::support::scratch::Scratch;
use super::support::shell::cycle;
use super::support::{Outcome, ignored, is_root};

const MIB: usize = 1 << 20;

/// The memory of the cgroup. The bystander has three eighths of it.
const LIMIT_BYTES: usize = 256 * MIB;

/// A memory cgroup that is removed when it goes out of scope.
struct Cgroup(PathBuf);

impl Cgroup {
    /// Makes a cgroup with a limit, in version 1 below that of this process, or says why not.
    fn make(name: &str) -> Outcome<Option<Cgroup>> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("haul-test-{name}-{}-{number}", std::process::id());
        let made = match (is_root()?, Cgroup::parent()?) {
            (true, Some((parent, limit))) => {
                let path = parent.join(name);
                std::fs::create_dir(&path).is_ok().then_some((Cgroup(path), limit))
            }
            _ => None,
        };
        let Some((group, limit)) = made else {
            ignored("a memory cgroup that root can divide")?;
            return Ok(None);
        };
        std::fs::write(group.0.join(limit), LIMIT_BYTES.to_string())?;
        Ok(Some(group))
    }

    /// Returns a cgroup in which others can be made, and the name of their limit.
    fn parent() -> Outcome<Option<(PathBuf, &'static str)>> {
        let mounted = Path::new("/sys/fs/cgroup");
        let groups = std::fs::read_to_string("/proc/self/cgroup")?;
        if let Some((_, own)) = groups.lines().find_map(|line| line.split_once(":memory:")) {
            let own = mounted.join("memory").join(own.trim_start_matches('/'));
            return Ok(Some((own, "memory.limit_in_bytes")));
        }
        // Below the root, the only group of version 2 that may have processes and groups with limits.
        let has_memory = std::fs::read_to_string(mounted.join("cgroup.controllers"))
            .is_ok_and(|all| all.split_whitespace().any(|name| name == "memory"));
        let divided =
            has_memory && std::fs::write(mounted.join("cgroup.subtree_control"), "+memory").is_ok();
        Ok(divided.then(|| (mounted.to_owned(), "memory.max")))
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
        // The pages of the files would keep a group of version 1 alive; both are tidying up after a test.
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

/// Runs a line of the shell beside a bystander, and returns the share of its pages that are left.
fn left_beside(scratch: &Scratch, line: &str) -> Outcome<Option<f64>> {
    let Some(group) = Cgroup::make("beside")? else { return Ok(None) };
    let hot = scratch.at("hot");
    plant(&hot, LIMIT_BYTES / 8 * 3)?;
    for _ in 0..3 {
        group.run(Call::of("cat").word(&hot).output_to("/dev/null"))?;
    }
    let before = cached_bytes(&hot)?;
    let call = Call::of("sh").words(["-c", line]).env("HAUL", &haul().display().to_string());
    group.run(call.in_dir(scratch.path()).output_to("/dev/null"))?;
    let after = cached_bytes(&hot)?;
    scratch.clear("out")?;
    Ok(Some(after as f64 / before as f64))
}

/// The share of the bystander's pages that a run leaves: 0.95 where nothing else uses the memory and the disk, and
/// what the promise leaves, an eighth of the memory less, whatever the kernel reclaims for others meanwhile.
const LEFT: f64 = 0.95;
const LEFT_AT_LEAST: f64 = 1.0 - 8.0 / 3.0 / 8.0;

/// Runs of a line of which one has to leave [`LEFT`].
const RUNS: usize = 3;

/// Tells of every line that leaves less of a bystander's pages than it should: [`LEFT`] in one of its runs, and
/// `at_least` in each.
fn spare(scratch: &Scratch, lines: &[&str], at_least: f64) -> Outcome {
    let mut bad = Vec::new();
    for line in lines {
        let mut found = Vec::new();
        while found.len() < RUNS && !found.iter().any(|left| *left >= LEFT) {
            let Some(left) = left_beside(scratch, line)? else { return Ok(()) };
            found.push(left);
        }
        if found.iter().all(|left| *left < LEFT) || found.iter().any(|left| *left < at_least) {
            bad.push(format!("{line}: {found:.2?} of the bystander's pages are left"));
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
    Ok(())
}

/// Makes a tree whose bytes are on storage and not cached.
fn plant_tree(root: &Path, files: usize, bytes: usize) -> Outcome {
    std::fs::create_dir(root)?;
    let content = cycle(bytes);
    for number in 0..files {
        std::fs::write(root.join(format!("f{number}")), &content)?;
    }
    haul_sys::fs::syncfs(File::open(root)?)?;
    for number in 0..files {
        fadvise(&File::open(root.join(format!("f{number}")))?, 0, 0, Advice::DontNeed)?;
    }
    Ok(())
}

/// A folder on a device with two trees: `s` has twice the bytes of the cgroup's memory, in large files; `t`
/// has as many as the memory, in small ones.
fn scene() -> Outcome<Option<Scratch>> {
    let scratch = Scratch::new()?;
    let probe = scratch.at("probe");
    plant(&probe, 4096)?;
    // On tmpfs the pages of a file are its storage.
    if cachestat(File::open(&probe)?, 0, 0).is_err() || cached_bytes(&probe)? > 0 {
        ignored("cachestat, and a folder for temporary files on a device")?;
        return Ok(None);
    }
    plant_tree(&scratch.at("s"), 16, LIMIT_BYTES / 8)?;
    plant_tree(&scratch.at("t"), 1024, LIMIT_BYTES / 1024)?;
    Ok(Some(scratch))
}

#[test]
fn trees_and_sums_leave_the_pages_of_others_alone() -> Outcome {
    let Some(scratch) = scene()? else { return Ok(()) };
    spare(
        &scratch,
        &[
            "$HAUL cp -r --reflink=never s out",
            "$HAUL cp -a --reflink=never s out",
            "$HAUL cp -r --reflink=never t out",
            "$HAUL md5sum s/* t/*",
            "$HAUL md5sum s/* >out && $HAUL verify s --against out",
            "$HAUL cp -a --reflink=auto t out && $HAUL compare t out",
            "$HAUL compare s s/../s/../s",
            "$HAUL sync -a s/ out",
            "$HAUL cp -a --reflink=auto t out && $HAUL sync -ac t/ out",
        ],
        LEFT_AT_LEAST,
    )
}

#[test]
fn archives_leave_the_pages_of_others_alone() -> Outcome {
    let Some(scratch) = scene()? else { return Ok(()) };
    let made = Call::of(haul()).words(["tar", "-cf", "s.tar", "s"]).in_dir(scratch.path());
    made.succeed()?;
    let made = Call::of(haul()).words(["tar", "-cf", "t.tar", "t"]).in_dir(scratch.path());
    made.succeed()?;
    for name in ["s.tar", "t.tar"] {
        let file = File::open(scratch.at(name))?;
        file.sync_all()?;
        fadvise(&file, 0, 0, Advice::DontNeed)?;
    }
    spare(
        &scratch,
        &[
            "$HAUL tar -cf out s",
            "$HAUL tar -cf out t",
            "$HAUL tar -c s >out",
            "$HAUL tar --zstd -cf out s",
            "mkdir out && $HAUL tar -xf s.tar -C out",
            "mkdir out && $HAUL tar -xf t.tar -C out",
            "mkdir out && $HAUL tar -x -C out <s.tar",
            "$HAUL tar -df s.tar",
            "$HAUL tar -tf s.tar",
        ],
        LEFT_AT_LEAST,
    )
}

#[test]
fn streams_leave_the_pages_of_others_alone() -> Outcome {
    let Some(scratch) = scene()? else { return Ok(()) };
    plant(&scratch.at("big"), 2 * LIMIT_BYTES)?;
    spare(
        &scratch,
        &[
            "$HAUL cat s/* >out",
            "$HAUL cat s/* | cat >/dev/null",
            "$HAUL cat -n t/* >out",
            "$HAUL tee out <big",
            "$HAUL read t/* | $HAUL write out",
            "$HAUL read s/* >out",
            "mkdir out; for file in t/f1?; do $HAUL write out/${file#t/} <$file; done",
            "$HAUL gzip -c t/* >out",
            "$HAUL cp -r --reflink=auto s out && $HAUL gzip -r out",
            "$HAUL cp -r --reflink=auto t out && $HAUL gzip -1r out",
            "$HAUL gzip -1c s/* >out && $HAUL zcat out >out2; rm out2",
        ],
        LEFT_AT_LEAST,
    )
}

#[test]
fn records_and_pieces_leave_the_pages_of_others_alone() -> Outcome {
    let Some(scratch) = scene()? else { return Ok(()) };
    let big = scratch.at("big");
    plant(&big, 2 * LIMIT_BYTES)?;
    spare(
        &scratch,
        &[
            "$HAUL dd if=big of=out bs=1M status=none",
            "$HAUL dd bs=128K status=none <big >out",
            "mkdir out && $HAUL split -b 8M big out/x",
            "mkdir out && $HAUL split -n r/3 big out/x",
        ],
        LEFT_AT_LEAST,
    )
}

#[test]
fn what_goes_past_the_page_cache_is_reported() -> Outcome {
    let Some(scratch) = scene()? else { return Ok(()) };
    let Some(group) = Cgroup::make("reported")? else { return Ok(()) };
    // Of each file two copies would be in memory, so at most a quarter of the tree has room there.
    for (cache, least) in [("auto", 3 * LIMIT_BYTES / 2), ("keep", 0)] {
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

#[test]
fn any_command_leaves_the_pages_of_others_alone_in_a_group_of_its_own() -> Outcome {
    let Some(scratch) = scene()? else { return Ok(()) };
    let big = scratch.at("big");
    let lines: Vec<u8> = (0..LIMIT_BYTES / 32)
        .flat_map(|line| format!("{:07}\n", line % 9973).into_bytes())
        .collect();
    std::fs::write(&big, lines)?;
    let file = File::open(&big)?;
    file.sync_all()?;
    fadvise(&file, 0, 0, Advice::DontNeed)?;
    let mut lines = vec![
        "$HAUL spare -q -- tar -cf out s",
        "$HAUL spare -q --memory=32M -- sh -c 'cat s/* >out'",
        "$HAUL spare -q -- env LC_ALL=C sort -S 16M -T . -o out big",
    ];
    if Call::of("sh").words(["-c", "command -v rsync"]).run()?.code() == Some(0) {
        lines.push("$HAUL spare -q -- rsync -r s/ out");
    }
    // It looks at the command's pages every 10 ms: not if others have the processors meanwhile.
    spare(&scratch, &lines, 0.0)
}
