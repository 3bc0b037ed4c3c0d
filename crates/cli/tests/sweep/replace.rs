//! Commands that replace a file by another form of it, `gzip` and `gunzip`: the data are at any moment
//! in the input or in a complete output, and no output looks complete that is not.

use std::fs;
use std::io::Write as _;

use super::faults::{Extent, Injection, calls, injections, is_chosen};
use super::verdict::Ending;
use crate::support::run::{Call, Done, haul};
use crate::support::scratch::Scratch;
use crate::support::strace::{Strace, is_usable};
use crate::support::{Outcome, entries, hidden};

/// A replacement.
struct Case {
    /// The name in `cargo xtask sweep`.
    name: &'static str,
    words: &'static [&'static str],
    input: &'static str,
    output: &'static str,
    /// What the name of the output leads to before the run.
    older: Option<&'static [u8]>,
    index: Index,
    before: Vec<u8>,
    after: Vec<u8>,
}

/// The file `i`, which `--index` names.
enum Index {
    Unwanted,
    /// It does not exist, and gets these bytes.
    Written(Vec<u8>),
    /// It has these bytes.
    Used(Vec<u8>),
}

const OLDER: &[u8] = b"older";

fn data() -> Vec<u8> {
    (0..30_000_u32).flat_map(|line| format!("{} lines\n", line * 7919).into_bytes()).collect()
}

fn packed() -> Outcome<Vec<u8>> {
    Ok(Call::of(haul()).words(["gzip", "-nc"]).input(data()).succeed()?.stdout)
}

/// Returns data with a point in them, compressed, and the index of that.
fn indexed() -> Outcome<(Vec<u8>, Vec<u8>, Vec<u8>)> {
    let scratch = Scratch::new()?;
    let data: Vec<u8> =
        (0..250_000_u32).flat_map(|line| format!("{} lines\n", line * 7919).into_bytes()).collect();
    let call = Call::of(haul()).words(["gzip", "-nc"]).input(data.clone());
    scratch.write("s.gz", call.succeed()?.stdout)?;
    let call = Call::of(haul()).words(["gzip", "-t", "--index=i", "s.gz"]);
    call.in_dir(scratch.path()).succeed()?;
    Ok((data, fs::read(scratch.at("s.gz"))?, fs::read(scratch.at("i"))?))
}

impl Index {
    /// Returns what is wrong with the file after a run.
    fn objection(&self, found: Option<Vec<u8>>, is_success: bool) -> Option<&'static str> {
        match (self, found) {
            (Index::Unwanted, None) => None,
            (Index::Written(index), Some(found)) if found == *index => None,
            (Index::Written(_), None) if !is_success => None,
            (Index::Written(_), None) => Some("exit status 0, and no index"),
            (Index::Written(_), Some(_)) => Some("an index that is not complete has its name"),
            (Index::Used(index), Some(found)) if found == *index => None,
            (Index::Used(_), _) => Some("the index has changed"),
            (Index::Unwanted, Some(_)) => Some("there is an index"),
        }
    }
}

impl Case {
    fn call(&self, scratch: &Scratch) -> Call {
        Call::of(haul()).words(self.words).word(self.input).in_dir(scratch.path().join("d"))
    }

    fn reset(&self, scratch: &Scratch) -> Outcome {
        scratch.clear("d")?;
        fs::create_dir_all(scratch.at("d"))?;
        fs::write(scratch.at("d").join(self.input), &self.before)?;
        if let Some(older) = self.older {
            fs::write(scratch.at("d").join(self.output), older)?;
        }
        if let Index::Used(index) = &self.index {
            fs::write(scratch.at("d/i"), index)?;
        }
        Ok(())
    }

    /// Returns what is wrong after a run.
    fn objection(&self, scratch: &Scratch, done: &Done, ending: Ending) -> Outcome<Option<String>> {
        let dir = scratch.at("d");
        let read = |name: &str| fs::read(dir.join(name)).ok();
        let (input, output) = (read(self.input), read(self.output));
        let is_whole = output.as_ref() == Some(&self.after);
        let is_as_before = output.as_deref() == self.older;
        let says = |text: &str| Ok(Some(text.to_owned()));
        if !is_whole && !is_as_before {
            return says("an output that is not complete has its name");
        }
        if input.is_none() && !is_whole {
            return says("the data are lost");
        }
        if input.as_ref().is_some_and(|input| *input != self.before) {
            return says("the input has changed");
        }
        if done.code() == Some(0) && !(is_whole && input.is_none()) {
            return says("exit status 0, and the work is not done");
        }
        let objection = self.index.objection(read("i"), done.code() == Some(0));
        if let Some(objection) = objection {
            return says(objection);
        }
        let is_killed = ending == Ending::Killed;
        if !is_killed && !matches!(done.code(), Some(0..=2)) {
            return Ok(Some(format!("ended by {:?}", done.status)));
        }
        let is_mute = is_killed || ending == Ending::Mute;
        if !is_mute && done.code() != Some(0) && done.stderr.is_empty() {
            return says("failed without a word");
        }
        let left = hidden(&dir)?.len();
        if !is_killed && left > 0 && !done.errors().contains(".haul-") {
            return says("a hidden file was left");
        }
        let others = entries(&dir)?.len() - left;
        let most = if matches!(self.index, Index::Unwanted) { 2 } else { 3 };
        Ok((others > most).then(|| format!("{others} names")))
    }

    /// Makes one run with one injection, and returns what is wrong with it.
    fn inject(&self, scratch: &Scratch, injection: &Injection) -> Outcome<(bool, Option<String>)> {
        self.reset(scratch)?;
        let strace = Strace::new(scratch.at("log")).trace(&injection.call).inject(&injection.what);
        let done = strace.wrap(self.call(scratch)).run()?;
        let is_killed = injection.ending == Ending::Killed;
        let was_injected =
            if is_killed { done.code() != Some(0) } else { strace.has_injected()? };
        let mut wrong = self.objection(scratch, &done, injection.ending)?;
        if is_killed && wrong.is_none() {
            Call::of(haul()).words(["clean", "--older-than=0"]).word(scratch.at("d")).succeed()?;
            let left = hidden(&scratch.at("d"))?;
            wrong = (!left.is_empty()).then(|| format!("`haul clean` leaves {left:?}"));
        }
        let told = wrong.map(|wrong| format!("{}: {wrong}: {:?}", injection.what, done.errors()));
        Ok((was_injected, told))
    }
}

fn sweep(case: &Case) -> Outcome {
    if !is_chosen(case.name) || !is_usable()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    let log = scratch.at("log");
    case.reset(&scratch)?;
    let done = Strace::new(&log).wrap(case.call(&scratch)).succeed()?;
    assert_eq!(case.objection(&scratch, &done, Ending::Undisturbed)?, None, "undisturbed");
    let calls = calls(&Strace::new(&log).lines()?);
    assert!(calls.contains_key("unlinkat") && calls.contains_key("linkat"), "{calls:?}");
    let (mut injected, mut wrong) = (0, Vec::new());
    for injection in injections(&calls, Extent::asked()) {
        let (was_injected, objection) = case.inject(&scratch, &injection)?;
        injected += usize::from(was_injected);
        wrong.extend(objection);
    }
    let name = case.name;
    // The tally of `cargo xtask sweep` reads this line.
    writeln!(std::io::stdout(), "swept {name}: {injected} injections, {} violations", wrong.len())?;
    assert!(injected > 20, "{name}: only {injected} faults were injected");
    assert!(wrong.is_empty(), "{name}: {} wrong:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

#[test]
fn gzip() -> Outcome {
    sweep(&Case {
        name: "gzip F",
        words: &["gzip", "-n", "--jobs=1"],
        input: "s",
        output: "s.gz",
        older: None,
        index: Index::Unwanted,
        before: data(),
        after: packed()?,
    })
}

#[test]
fn gunzip() -> Outcome {
    sweep(&Case {
        name: "gunzip F.gz",
        words: &["gunzip", "--jobs=1"],
        input: "s.gz",
        output: "s",
        older: None,
        index: Index::Unwanted,
        before: packed()?,
        after: data(),
    })
}

#[test]
fn gzip_over_an_older_file() -> Outcome {
    sweep(&Case {
        name: "gzip -f --synchronous F",
        words: &["gzip", "-nf", "--synchronous", "--jobs=1"],
        input: "s",
        output: "s.gz",
        older: Some(OLDER),
        index: Index::Unwanted,
        before: data(),
        after: packed()?,
    })
}

#[test]
fn gunzip_that_writes_an_index() -> Outcome {
    let (data, packed, index) = indexed()?;
    sweep(&Case {
        name: "gunzip --index, written",
        words: &["gunzip", "--index=i", "--jobs=1"],
        input: "s.gz",
        output: "s",
        older: None,
        index: Index::Written(index),
        before: packed,
        after: data,
    })
}

#[test]
fn gunzip_that_uses_an_index() -> Outcome {
    let (data, packed, index) = indexed()?;
    sweep(&Case {
        name: "gunzip --index, used",
        words: &["gunzip", "--index=i", "--jobs=2"],
        input: "s.gz",
        output: "s",
        older: None,
        index: Index::Used(index),
        before: packed,
        after: data,
    })
}
