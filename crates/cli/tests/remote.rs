//! Remote storage: the tests count requests, and how many were in flight at once.
//!
//! They read no clock: the time that a growing pool saves is measured by the benchmark.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use haul_faultfs::{Config, Mode, Mounted, Offload, Operation, Renames};

use super::support::run::{Call, cp, haul};
use super::support::scratch::Scratch;
use super::support::shell::noise;
use super::support::{Outcome, ignored};

const MIB: usize = 1 << 20;

/// A delay far longer than the processor time of a request, even on a busy machine.
const TRIP: Duration = Duration::from_millis(20);

/// A directory that faultfs shows at another place.
struct Far {
    /// Dropped first, because the folder below it is removed with the scratch folder.
    mounted: Mounted,
    scratch: Scratch,
}

impl Far {
    /// Mounts one with a source in it; `None`, and the test ignored, if that is not possible.
    fn new(config: &Config, make: impl Fn(&Path) -> Outcome) -> Outcome<Option<Far>> {
        if !rustix::process::geteuid().is_root() || !PathBuf::from("/dev/fuse").exists() {
            ignored("root and /dev/fuse")?;
            return Ok(None);
        }
        let scratch = Scratch::new()?;
        fs::create_dir(scratch.at("below"))?;
        fs::create_dir(scratch.at("far"))?;
        make(&scratch.at("below").join("s"))?;
        let mounted = Mounted::new(&scratch.at("below"), &scratch.at("far"), config)?;
        Ok(Some(Far { scratch, mounted }))
    }

    fn copy(&self, options: &[&str]) -> Outcome {
        cp(options).words(["s", "t"]).in_dir(self.mounted.path()).succeed()?;
        Ok(())
    }

    fn in_flight(&self, operation: Operation) -> u64 {
        self.mounted.seen(operation).in_flight
    }
}

fn large(bytes: usize) -> impl Fn(&Path) -> Outcome {
    move |path| Ok(fs::write(path, noise(bytes))?)
}

fn tree(root: &Path) -> Outcome {
    for directory in 0..8 {
        let path = root.join(format!("d{directory}"));
        fs::create_dir_all(&path)?;
        for file in 0..12 {
            fs::write(path.join(format!("f{file}")), [file; 4096])?;
        }
    }
    Ok(())
}

fn direct() -> Config {
    Config { data_delay: TRIP, mode: Mode::Direct, ..Config::default() }
}

#[test]
fn a_large_file_has_many_requests_in_flight() -> Outcome {
    let Some(far) = Far::new(&direct(), large(64 * MIB + 1001))? else { return Ok(()) };
    far.copy(&[])?;
    let (read, written) = (far.mounted.seen(Operation::Read), far.mounted.seen(Operation::Write));
    assert!(far.in_flight(Operation::Write) >= 8, "{written:?}");
    assert_eq!((read.largest, written.largest), (MIB as u64, MIB as u64));
    // The kernel may use three requests to find out whether the server copies by itself.
    assert!(written.requests <= 64 + 3 * 20, "{written:?}");
    let at = |name| far.scratch.at("below").join(name);
    assert!(fs::read(at("s"))? == fs::read(at("t"))?);
    Ok(())
}

#[test]
fn an_explicit_number_of_workers_is_not_exceeded() -> Outcome {
    let Some(far) = Far::new(&direct(), large(16 * MIB))? else { return Ok(()) };
    far.copy(&["--jobs=2", "--reflink=never"])?;
    assert_eq!(far.in_flight(Operation::Write), 2);
    assert!(far.in_flight(Operation::Read) <= 2);
    Ok(())
}

#[test]
fn a_tree_of_small_files_has_many_requests_in_flight() -> Outcome {
    let config = Config { metadata_delay: TRIP, ..Config::default() };
    let Some(far) = Far::new(&config, tree)? else { return Ok(()) };
    far.copy(&["-r"])?;
    let most = [Operation::Lookup, Operation::Open, Operation::Create, Operation::Flush]
        .map(|operation| far.in_flight(operation));
    assert!(most.iter().sum::<u64>() >= 12, "{most:?}");
    // Names are made one after another in one directory, and concurrently in several.
    assert!((2..=8).contains(&most[2]), "{most:?}");
    super::support::judge::demand_equal(
        &far.scratch.at("below").join("s"),
        &far.scratch.at("below").join("t"),
        haul_manifest::Aspects::contents_only(),
        "a tree over there",
    );
    Ok(())
}

/// Number of attempts after which a pool that has not grown is a failure.
const TRIES: u32 = 6;

/// Asserts that five requests or more are in flight at once in one of a few runs. A pool grows if its
/// workers wait for the storage and not for processors, so on a busy machine it may not; it never does if
/// growing is broken.
fn has_many_in_flight(once: impl Fn() -> Outcome<Option<u64>>) -> Outcome {
    let mut seen = Vec::new();
    for _ in 0..TRIES {
        let Some(most) = once()? else { return Ok(()) };
        if most >= 5 {
            return Ok(());
        }
        seen.push(most);
    }
    panic!("never more than {seen:?}");
}

/// Asserts the same of removals, of which there is one at once for each of eight directories.
fn removes_by_many(once: impl Fn() -> Outcome<Option<u64>>) -> Outcome {
    has_many_in_flight(|| {
        let most = once()?;
        assert!(most.is_none_or(|most| most <= 8), "{most:?}");
        Ok(most)
    })
}

#[test]
fn a_tree_of_small_files_is_removed_by_many_at_once() -> Outcome {
    removes_by_many(|| {
        let config = Config { metadata_delay: TRIP, ..Config::default() };
        let Some(far) = Far::new(&config, tree)? else { return Ok(None) };
        Call::of(haul()).words(["rm", "-r", "s"]).in_dir(far.mounted.path()).succeed()?;
        assert!(!far.scratch.at("below/s").exists());
        Ok(Some(far.in_flight(Operation::Unlink)))
    })
}

#[test]
fn an_explicit_number_of_removing_workers_is_not_exceeded() -> Outcome {
    let config = Config { metadata_delay: TRIP, ..Config::default() };
    let Some(far) = Far::new(&config, tree)? else { return Ok(()) };
    let rm = Call::of(haul()).words(["rm", "-r", "--jobs=2", "s"]);
    rm.in_dir(far.mounted.path()).succeed()?;
    assert_eq!(far.in_flight(Operation::Unlink), 2);
    Ok(())
}

#[test]
fn a_tree_is_moved_there_and_back_by_many_at_once() -> Outcome {
    has_many_in_flight(|| {
        let config = Config { metadata_delay: TRIP, ..Config::default() };
        let Some(far) = Far::new(&config, tree)? else { return Ok(None) };
        tree(&far.scratch.at("near"))?;
        let dir = far.scratch.path();
        let mv = |words: &[&str]| Call::of(haul()).word("mv").words(words).in_dir(dir).succeed();
        mv(&["near", "far/came"])?;
        let most = [Operation::Create, Operation::Flush].map(|operation| far.in_flight(operation));
        mv(&["far/s", "back"])?;
        let contents = haul_manifest::Aspects::contents_only();
        let came = far.scratch.at("below/came");
        super::support::judge::demand_equal(&far.scratch.at("back"), &came, contents, "two moves");
        // The copy to the server must have had as many in flight.
        let there = most.iter().sum::<u64>() >= 8;
        // A source is renamed before it is removed, and the numbers are the most of each.
        let removing = [Operation::Rename, Operation::Unlink].map(|one| far.in_flight(one));
        Ok(Some(if there { removing.iter().sum() } else { 0 }))
    })
}

#[test]
fn a_server_that_copies_by_itself_is_let_to() -> Outcome {
    let config = Config { offload: Offload::Yes, ..direct() };
    let Some(far) = Far::new(&config, large(96 * MIB))? else { return Ok(()) };
    far.copy(&[])?;
    // While one worker finds out that it does, each of the others may move a range.
    let written = far.mounted.seen(Operation::Write).requests;
    assert!(written <= 32, "{written} writes");
    assert!(far.mounted.seen(Operation::CopyRange).requests > 0);
    let at = |name| far.scratch.at("below").join(name);
    assert!(fs::read(at("s"))? == fs::read(at("t"))?);
    Ok(())
}

#[test]
fn a_full_server_leaves_no_file_that_looks_complete() -> Outcome {
    let rules = vec!["write:t@after=20M=ENOSPC".parse()?];
    let Some(far) = Far::new(&Config { rules, ..direct() }, large(32 * MIB))? else {
        return Ok(());
    };
    let done = cp(["s", "t"]).in_dir(far.mounted.path()).run()?;
    assert_eq!(done.code(), Some(1), "{done:?}");
    assert!(done.errors().contains("No space left on device"), "{done:?}");
    assert!(!far.scratch.at("below").join("t").exists());
    Ok(())
}

/// Several workers write beyond the byte that cannot be written, and their bytes are removed again.
#[test]
fn a_target_that_was_there_is_left_with_a_beginning_of_its_source() -> Outcome {
    let rules = vec!["write:t@offset=5M=EIO".parse()?];
    let Some(far) = Far::new(&Config { rules, ..direct() }, large(32 * MIB))? else {
        return Ok(());
    };
    let at = |name| far.scratch.at("below").join(name);
    fs::write(at("t"), [9; 3])?;
    let done = cp(["s", "t"]).in_dir(far.mounted.path()).run()?;
    assert_eq!(done.code(), Some(1), "{done:?}");
    assert!(done.errors().contains("Input/output error"), "{done:?}");
    let (source, target) = (fs::read(at("s"))?, fs::read(at("t"))?);
    assert!(target.len() <= 5 * MIB, "{}", target.len());
    assert!(source.starts_with(&target));
    Ok(())
}

/// No request is answered in full, not even up to a whole sector: the rest is requested again. FUSE
/// itself takes a short read for the end of the file, and then an error about missing bytes is allowed;
/// success with an incomplete copy is not.
#[test]
fn short_transfers_are_gone_on_from_or_told_by_every_method() -> Outcome {
    for (operation, bytes) in [("read:s", 4095), ("read:s", 100_001), ("write:t", 4095)] {
        let rules = vec![format!("{operation}=short:{bytes}").parse()?];
        let config = Config { rules, mode: Mode::Direct, ..Config::default() };
        let Some(far) = Far::new(&config, large(5 * MIB + 4321))? else { return Ok(()) };
        for method in ["read-write", "sendfile", "splice", "direct"] {
            for jobs in ["--jobs=1", "--jobs=4"] {
                let option = format!("--method={method}");
                let what = format!("{operation} {bytes}, {method}, {jobs}");
                let words = [&option, jobs, "s", "t"];
                let done = cp(words).in_dir(far.mounted.path()).run()?;
                let below = far.scratch.at("below");
                if operation.starts_with("read") && done.code() == Some(1) {
                    assert!(done.errors().contains("changed while"), "{what}: {done:?}");
                    assert!(!below.join("t").exists(), "{what}: a part of it was left");
                    continue;
                }
                assert_eq!(done.code(), Some(0), "{what}: {done:?}");
                assert!(fs::read(below.join("s"))? == fs::read(below.join("t"))?, "{what}");
                fs::remove_file(far.mounted.path().join("t"))?;
            }
        }
    }
    Ok(())
}

#[test]
fn both_ends_of_a_pipe_have_many_requests_in_flight() -> Outcome {
    for size in ["", "--size=67109865"] {
        let Some(far) = Far::new(&direct(), large(64 * MIB + 1001))? else { return Ok(()) };
        let line = format!("set -o pipefail; \"$0\" read s | \"$0\" write {size} t");
        let done = Call::of("bash").words(["-c", &line]).word(haul()).in_dir(far.mounted.path());
        done.succeed()?;
        let seen = |operation| far.mounted.seen(operation);
        let (read, written) = (seen(Operation::Read), seen(Operation::Write));
        assert!(read.in_flight >= 8 && written.in_flight >= 8, "{read:?} {written:?}");
        assert!(read.requests <= 66 && written.requests <= 66, "{read:?} {written:?}");
        let at = |name| far.scratch.at("below").join(name);
        assert!(fs::read(at("s"))? == fs::read(at("t"))?);
    }
    Ok(())
}

#[test]
fn an_input_that_is_a_file_is_read_by_many_requests_too() -> Outcome {
    let Some(far) = Far::new(&direct(), large(64 * MIB + 1001))? else { return Ok(()) };
    let line = "\"$0\" write ../t < s";
    let done = Call::of("bash").words(["-c", line]).word(haul()).in_dir(far.mounted.path());
    done.succeed()?;
    let read = far.mounted.seen(Operation::Read);
    assert!(read.in_flight >= 8 && read.requests <= 66, "{read:?}");
    assert!(fs::read(far.scratch.at("below/s"))? == fs::read(far.scratch.at("t"))?);
    Ok(())
}

/// A layer above it looks like a local file system, and passes short answers on.
#[test]
fn short_answers_below_a_layer_cause_no_failure() -> Outcome {
    for bytes in [131_584, 4097, 1 << 19] {
        let rules = vec![format!("read@60+=short:{bytes}").parse()?];
        let config = Config { rules, mode: Mode::Direct, ..Config::default() };
        let Some(far) = Far::new(&config, large(72 * MIB + 1001))? else { return Ok(()) };
        let line = "mkdir u w o; mount -t overlay -o lowerdir=far,upperdir=u,workdir=w none o || exit 9; \
                    set -o pipefail; timeout 60 \"$0\" read o/s | (sleep 1; cat) | cmp - below/s";
        let done = Call::of("unshare").words(["-m", "bash", "-c", line]).word(haul());
        let done = done.in_dir(far.scratch.path()).run()?;
        if done.code() == Some(9) {
            return ignored("an overlay over FUSE");
        }
        assert_eq!((done.code(), done.text().as_str()), (Some(0), ""), "{bytes}: {done:?}");
    }
    Ok(())
}

#[test]
fn a_write_that_is_killed_leaves_no_length_that_looks_whole() -> Outcome {
    let Some(far) = Far::new(&direct(), large(MIB))? else { return Ok(()) };
    for (size, most) in [("", u64::MAX), ("--size=40M", (40 << 20) - 1)] {
        let mut child = std::process::Command::new(haul())
            .args(["write", "t"])
            .args(Some(size).filter(|size| !size.is_empty()))
            .current_dir(far.mounted.path())
            .stdin(std::process::Stdio::piped())
            .spawn()?;
        let mut stdin = child.stdin.take().ok_or("no pipe")?;
        stdin.write_all(&vec![7; 20 * MIB])?;
        child.kill()?;
        child.wait()?;
        let length = fs::metadata(far.scratch.at("below").join("t"))?.len();
        assert!(!length.is_multiple_of(512) && length <= most, "{length}");
    }
    Ok(())
}

#[test]
fn a_limit_on_the_size_of_files_is_met_only_by_bytes() -> Outcome {
    let Some(far) = Far::new(&direct(), large(MIB))? else { return Ok(()) };
    let line = "ulimit -f 10240; head -c 8M /dev/zero | \"$0\" write t";
    let call = Call::of("bash").words(["-c", line]).word(haul()).in_dir(far.mounted.path());
    call.succeed()?;
    assert_eq!(fs::metadata(far.scratch.at("below").join("t"))?.len(), 8 << 20);
    Ok(())
}

/// Runs a command with two processors at most, so that more than two at once are those that were added.
const TWO_PROCESSORS: [&str; 3] = ["taskset", "-c", "0,1"];

#[test]
fn an_archive_is_extracted_there_by_many_at_once() -> Outcome {
    let extracted = |words: &'static [&'static str]| {
        let config = Config { metadata_delay: TRIP, ..Config::default() };
        let Some(far) = Far::new(&config, |_| Ok(()))? else { return Ok(None) };
        tree(&far.scratch.at("near"))?;
        let dir = far.scratch.path();
        Call::of("tar").words(["-cf", "a.tar", "near"]).in_dir(dir).succeed()?;
        let call = Call::of(haul()).words(["tar", "-xf", "a.tar", "-C", "far"]).words(words);
        call.under(TWO_PROCESSORS).in_dir(dir).succeed()?;
        let (near, came) = (far.scratch.at("near"), far.scratch.at("below/near"));
        let contents = haul_manifest::Aspects::contents_only();
        super::support::judge::demand_equal(&near, &came, contents, "an extraction");
        let most = [Operation::Create, Operation::Flush].map(|operation| far.in_flight(operation));
        Ok(Some(most.into_iter().max().unwrap_or(0)))
    };
    has_many_in_flight(|| extracted(&[]))?;
    if let Some(most) = extracted(&["--jobs=2"])? {
        assert!(most <= 2, "{most}");
    }
    Ok(())
}

#[test]
fn a_tree_is_archived_from_there_by_many_at_once() -> Outcome {
    let archived = |jobs: &str, is_absolute: bool| {
        let config = Config { metadata_delay: TRIP, ..Config::default() };
        let Some(far) = Far::new(&config, tree)? else { return Ok(None) };
        let dir = far.scratch.path();
        let path = far.mounted.path().join("s").display().to_string();
        let operand = if is_absolute {
            vec!["-P", "--transform=s,.*far/,,", &path]
        } else {
            vec!["-C", "far", "s"]
        };
        let call = Call::of(haul())
            .words(["tar", "-cf", "a.tar"])
            .words(operand)
            .words(jobs.split_whitespace());
        call.under(TWO_PROCESSORS).in_dir(dir).succeed()?;
        let most = far.in_flight(Operation::Open);
        Call::of("tar").words(["-xf", "a.tar"]).in_dir(dir).succeed()?;
        let contents = haul_manifest::Aspects::contents_only();
        let (below, came) = (far.scratch.at("below/s"), far.scratch.at("s"));
        super::support::judge::demand_equal(&below, &came, contents, "an archive");
        Ok(Some(most))
    };
    has_many_in_flight(|| archived("", false))?;
    has_many_in_flight(|| archived("", true))?;
    if let Some(most) = archived("--jobs=2", false)? {
        assert!(most <= 2, "{most}");
    }
    Ok(())
}

#[test]
fn a_small_directory_is_shared_also_by_an_explicit_number_of_workers() -> Outcome {
    let small = |root: &Path| {
        fs::create_dir(root)?;
        // Fewer than a worker that does not wait would copy alone.
        (0..20).try_for_each(|file| fs::write(root.join(format!("f{file}")), [file; 4096]))?;
        Ok(())
    };
    let config = Config { metadata_delay: TRIP, ..direct() };
    let Some(far) = Far::new(&config, small)? else { return Ok(()) };
    far.copy(&["-r", "--jobs=4"])?;
    assert!(far.in_flight(Operation::Read) >= 2, "{:?}", far.mounted.seen(Operation::Read));
    Ok(())
}

#[test]
fn files_are_published_where_there_are_no_links_and_only_plain_renames() -> Outcome {
    let rules = vec!["link=EPERM".parse()?];
    let config = Config { rules, renames: Renames::Plain, ..Config::default() };
    let Some(far) = Far::new(&config, tree)? else { return Ok(()) };
    let run = |script: &str| {
        let call = Call::of("sh").words(["-ec", script]).word(haul());
        call.in_dir(far.mounted.path()).succeed()
    };
    for script in [
        "\"$0\" cp -rT --atomic s t",
        "\"$0\" cp -rT --durable s t",
        "\"$0\" cp -rT --verify s t",
        "\"$0\" cp -rT --resume s t; rm .haul-*",
        "cp -r s t; rm t/d0/f1; \"$0\" write --atomic t/d0/f1 < s/d0/f1",
        "cp -r s t; \"$0\" gzip t/d0/f1; \"$0\" gzip -d t/d0/f1.gz",
        "tar -cf a s; mkdir t; \"$0\" tar -xf a --atomic -C t --strip-components=1",
        "cp -r s t; \"$0\" cp -r --metrics=m s/d0 t/d9; rm -r m t/d9",
    ] {
        run(script)?;
        Call::of("diff").words(["-r", "s", "t"]).in_dir(far.mounted.path()).succeed()?;
        let left = super::support::hidden(far.mounted.path())?;
        assert!(left.is_empty(), "{script}: {left:?}");
        run("rm -rf t a")?;
    }
    let words = ["--atomic", "--explain", "s/d0/f1", "u"];
    let done = cp(words).in_dir(far.mounted.path()).succeed()?;
    let said = "named by a plain rename under a lock: renameat2";
    assert!(done.text().contains(said) && done.text().contains("linkat"), "{done:?}");
    // What exists is not replaced by a name that has to be free.
    fs::write(far.mounted.path().join("t"), "other")?;
    let kept = cp(["--atomic", "-n", "s/d0/f1", "t"]).in_dir(far.mounted.path()).run()?;
    assert_eq!(fs::read(far.mounted.path().join("t"))?, b"other", "{kept:?}");
    Ok(())
}
