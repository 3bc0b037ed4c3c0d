//! Every kind of call of `gzip` and `gunzip` fails, is interrupted, or is the last: the data are
//! then in the input or in a complete output, and no output looks complete that is not.

use std::collections::BTreeMap;
use std::fs;

use super::support::run::{Call, haul};
use super::support::scratch::Scratch;
use super::support::strace::{SPARED, Strace, is_usable, points};
use super::support::{Outcome, entries, hidden};

/// Calls that fail only by a fault of the test: see the sweep.
const SPARED_TOO: [&str; 5] = ["rt_sigreturn", "madvise", "sched_yield", "brk", "exit_group"];

/// A replacement that is checked.
struct Case {
    words: [&'static str; 3],
    input: &'static str,
    output: &'static str,
    before: Vec<u8>,
    after: Vec<u8>,
}

fn data() -> Vec<u8> {
    (0..40_000_u32).flat_map(|line| format!("{} lines\n", line * 7919).into_bytes()).collect()
}

impl Case {
    fn call(&self, scratch: &Scratch) -> Call {
        Call::of(haul()).words(self.words).word(self.input).in_dir(scratch.path().join("d"))
    }

    fn reset(&self, scratch: &Scratch) -> Outcome {
        scratch.clear("d")?;
        fs::create_dir_all(scratch.at("d"))?;
        fs::write(scratch.at("d").join(self.input), &self.before)?;
        Ok(())
    }

    /// Returns what is wrong after a run.
    fn objection(&self, scratch: &Scratch, code: Option<i32>) -> Outcome<Option<String>> {
        let dir = scratch.at("d");
        let read = |name: &str| fs::read(dir.join(name)).ok();
        let (input, output) = (read(self.input), read(self.output));
        let is_whole = output.as_ref() == Some(&self.after);
        if output.is_some() && !is_whole {
            return Ok(Some("an output that is not complete has its name".to_owned()));
        }
        if input.is_none() && !is_whole {
            return Ok(Some("the data are lost".to_owned()));
        }
        if input.is_some_and(|input| input != self.before) {
            return Ok(Some("the input has changed".to_owned()));
        }
        if code == Some(0) && !is_whole {
            return Ok(Some("exit status 0 without the output".to_owned()));
        }
        let left = hidden(&dir)?.len();
        if code.is_some() && left > 0 {
            return Ok(Some("a hidden file was left".to_owned()));
        }
        let others = entries(&dir)?.len() - left;
        Ok((others > 2).then(|| format!("{others} names")))
    }
}

fn sweep(case: &Case) -> Outcome {
    if !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    let log = scratch.at("log");
    case.reset(&scratch)?;
    Strace::new(&log).wrap(case.call(&scratch)).succeed()?;
    assert_eq!(case.objection(&scratch, Some(0))?, None, "undisturbed");
    let mut last = BTreeMap::new();
    for point in points(&Strace::new(&log).lines()?) {
        let name = point.name.as_str();
        if !SPARED.contains(&name) && !SPARED_TOO.contains(&name) {
            last.insert(point.name, point.occurrence);
        }
    }
    assert!(last.contains_key("unlinkat"), "{last:?}");
    let mut injected = 0;
    for (name, occurrence) in &last {
        for fault in ["error=EIO", "error=ENOSPC", "error=EINTR", "signal=KILL", "signal=TERM"] {
            case.reset(&scratch)?;
            let what = format!("{name}:{fault}:when={occurrence}");
            let strace = Strace::new(&log).inject(&what);
            let done = strace.wrap(case.call(&scratch)).run()?;
            injected += usize::from(strace.has_injected()?);
            // strace ends as its command did, also by a signal.
            let wrong = case.objection(&scratch, done.code())?;
            assert_eq!(wrong, None, "{what}: {:?} {}", done.status, done.errors());
        }
    }
    assert!(injected > last.len(), "{injected} injections");
    Ok(())
}

#[test]
fn the_data_survive_every_fault_of_gzip_and_gunzip() -> Outcome {
    let whole = data();
    let packed = Call::of(haul()).words(["gzip", "-nc"]).input(whole.clone()).succeed()?.stdout;
    let (gzip, gunzip) = (["gzip", "-n", "--jobs=1"], ["gzip", "-d", "--jobs=1"]);
    sweep(&Case {
        words: gzip,
        input: "s",
        output: "s.gz",
        before: whole.clone(),
        after: packed.clone(),
    })?;
    sweep(&Case {
        words: gunzip,
        input: "s.gz",
        output: "s",
        before: packed.clone(),
        after: whole.clone(),
    })?;
    let durable = ["gzip", "-n", "--synchronous"];
    sweep(&Case { words: durable, input: "s", output: "s.gz", before: whole, after: packed })
}
