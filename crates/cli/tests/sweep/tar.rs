//! Faults at every call of `tar`: an archive is what it would be without the fault, or the run fails; and
//! no extracted file looks complete and is not.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;

use haul_manifest::{Aspect, Aspects};

use super::faults::{Calls, Extent, Injection, beyond, calls, injections, is_chosen, said};
use super::scene::fingerprint;
use super::verdict::Ending;
use crate::support::judge::{compared, shown};
use crate::support::run::{Call, Done, haul};
use crate::support::scratch::Scratch;
use crate::support::strace::{Strace, is_usable};
use crate::support::tar::ours;
use crate::support::{Outcome, entries, if_there};

/// One command of `tar`. Its source is `s`, its target `t`; `p` is the tree itself.
struct Case {
    /// The name in `cargo xtask sweep`.
    name: &'static str,
    words: &'static [&'static str],
    task: Task,
    /// As in the other table.
    beyond: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    /// `t` becomes an archive of `s`.
    Create,
    /// `s` is added to the archive `t`.
    Append,
    /// The archive `s`, made with these options, is extracted into `t`.
    Extract(&'static [&'static str], Before),
}

/// What is in the target before an extraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    Nothing,
    OlderFiles,
}

const CREATE: Case = Case { name: "", words: &[], task: Task::Create, beyond: None };

const EXTRACT: Case = Case {
    name: "tar -x",
    words: &["-x", "--jobs=1", "-pf", "s", "-C", "t"],
    task: Task::Extract(&["--posix", "-S"], Before::Nothing),
    beyond: None,
};

/// Every command that is swept.
const CASES: &[Case] = &[
    Case { name: "tar -c", words: &["-c", "--jobs=1", "-Sf", "t", "s"], ..CREATE },
    Case { name: "tar -c --zstd", words: &["-c", "--zstd", "--jobs=1", "-f", "t", "s"], ..CREATE },
    Case {
        name: "tar -r",
        words: &["-r", "--jobs=1", "-f", "t", "s"],
        task: Task::Append,
        ..CREATE
    },
    EXTRACT,
    Case {
        name: "tar -x, several workers",
        words: &["-x", "--jobs=3", "-pf", "s", "-C", "t"],
        ..EXTRACT
    },
    Case {
        name: "tar -x, over older files",
        task: Task::Extract(&["--posix", "-S"], Before::OlderFiles),
        ..EXTRACT
    },
    Case {
        name: "tar -x --atomic, over older files",
        words: &["-x", "--atomic", "--jobs=1", "-pf", "s", "-C", "t"],
        task: Task::Extract(&["--posix", "-S"], Before::OlderFiles),
        ..EXTRACT
    },
    Case {
        name: "tar -x --durable of a zstd archive",
        words: &["-x", "--durable", "--jobs=1", "-pf", "s", "-C", "t"],
        task: Task::Extract(&["--posix", "-S", "--zstd"], Before::OlderFiles),
        ..EXTRACT
    },
    Case {
        name: "tar -x of a zstd archive",
        task: Task::Extract(&["--posix", "-S", "--zstd"], Before::Nothing),
        beyond: Some("tar -x"),
        ..EXTRACT
    },
];

/// The regular files of the tree, and their lengths. The last one has holes.
const FILES: [(&str, usize); 5] =
    [("a", 1000), ("b", 1024), ("d/c", 70_000), ("large", 3 << 20), ("holes", 2 << 20)];

/// The only bytes of the file with holes, and their offset.
const ISLAND: (&[u8], u64) = (&[7; 5000], 1 << 20);

/// The contents of older files, longer than some of the new ones.
const OLDER: &[u8] = &[9; 100_000];

/// Bytes of the blocks of zeros at the end of an archive.
const END_BYTES: usize = 1024;

/// The name and the bytes of the member that the archive has before something is added.
const EARLIER: (&str, &[u8]) = ("earlier", &[5; 3000]);

struct Scene<'c> {
    case: &'c Case,
    scratch: Scratch,
    /// The archive that an undisturbed run makes.
    archive: Vec<u8>,
    /// The archive before something is added.
    earlier: Vec<u8>,
}

impl<'c> Scene<'c> {
    fn new(case: &'c Case) -> Outcome<Scene<'c>> {
        let scratch = Scratch::new()?;
        furnish(&scratch)?;
        scratch.write("w/victim", "stays")?;
        let mut scene = Scene { case, scratch, archive: Vec::new(), earlier: Vec::new() };
        let here = scene.scratch.path().to_owned();
        match case.task {
            Task::Extract(options, _) => {
                let call = ours().words(options).words(["-C", "p", "-cf", "s", "."]);
                call.in_dir(&here).succeed()?;
            }
            Task::Create => fs::rename(here.join("p"), here.join("s"))?,
            Task::Append => {
                fs::rename(here.join("p"), here.join("s"))?;
                scene.scratch.write(EARLIER.0, EARLIER.1)?;
                ours().words(["-cf", "t", EARLIER.0]).in_dir(&here).succeed()?;
                scene.earlier = fs::read(here.join("t"))?;
                fs::remove_file(here.join(EARLIER.0))?;
            }
        }
        Ok(scene)
    }

    /// Restores the state before a run.
    fn reset(&self) -> Outcome {
        self.scratch.clear("t")?;
        match self.case.task {
            Task::Create => {}
            Task::Append => {
                self.scratch.write("t", &self.earlier)?;
            }
            Task::Extract(_, before) => {
                fs::create_dir(self.scratch.at("t"))?;
                if before == Before::OlderFiles {
                    for (name, _) in FILES {
                        self.scratch.write(&format!("t/{name}"), OLDER)?;
                    }
                    symlink("elsewhere", self.scratch.at("t/link"))?;
                }
            }
        }
        Ok(())
    }

    fn run(&self, under: Option<&Strace>) -> Outcome<Done> {
        let call = ours().words(self.case.words).in_dir(self.scratch.path());
        under.map_or_else(|| call.run(), |strace| strace.wrap(call.clone()).run())
    }

    /// Returns what is wrong with a run, if anything.
    fn objection(&self, done: &Done, ending: Ending) -> Outcome<Option<String>> {
        if done.code() == Some(0) {
            let wrong = self.result()?;
            return Ok(wrong.map(|wrong| format!("exit 0, but {wrong}")));
        }
        if ending != Ending::Killed {
            // A file that vanishes meanwhile is told by another status, as GNU tar's.
            let is_vanished = done.errors().contains("File removed before we read it");
            if done.code() != Some(2) && !(is_vanished && done.code() == Some(1)) {
                return Ok(Some(format!("ended by {:?}", done.status)));
            }
            if done.stderr.is_empty() && ending != Ending::Mute {
                return Ok(Some("failed without a word".to_owned()));
            }
        }
        match self.case.task {
            Task::Create => Ok(None),
            Task::Append => self.earlier_member(ending),
            Task::Extract(..) => self.names(ending),
        }
    }

    fn is_atomic(&self) -> bool {
        self.case.words.iter().any(|word| matches!(*word, "--atomic" | "--durable"))
    }

    /// Checks that after exit code 0 everything is there.
    fn result(&self) -> Outcome<Option<String>> {
        if let Task::Extract(..) = self.case.task {
            // `tar` restores attributes with --xattrs and --acls only.
            let aspects = Aspects::preserved().without(Aspect::Xattrs).without(Aspect::Acl);
            let comparison = compared(&self.scratch.at("p"), &self.scratch.at("t"), aspects);
            return Ok((!comparison.is_equal()).then(|| shown(&comparison)));
        }
        let archive = fs::read(self.scratch.at("t"))?;
        // Before the first run is judged there is nothing to compare with.
        if self.archive.is_empty() || archive == self.archive {
            return Ok(None);
        }
        // Without names of owners, or with holes as zeros, it has other bytes and the same files.
        self.scratch.clear("x")?;
        fs::create_dir(self.scratch.at("x"))?;
        let words = ["-xpf", "t", "-C", "x", "s"];
        let done = ours().words(words).in_dir(self.scratch.path()).run()?;
        if done.code() != Some(0) {
            return Ok(Some(format!("the archive cannot be extracted: {}", said(&done))));
        }
        let aspects = Aspects::contents_only();
        let comparison = compared(&self.scratch.at("s"), &self.scratch.at("x/s"), aspects);
        Ok((!comparison.is_equal()).then(|| shown(&comparison)))
    }

    /// Checks that what was in an archive is in it still, and that it is one after an orderly end.
    fn earlier_member(&self, ending: Ending) -> Outcome<Option<String>> {
        let now = fs::read(self.scratch.at("t"))?;
        let members = self.earlier.len() - end_of(&self.earlier);
        if now.get(..members) != self.earlier.get(..members) {
            return Ok(Some("a member that was there before is damaged".to_owned()));
        }
        // Like GNU tar, it adds those files that can be read.
        let done = ours().words(["-tf", "t"]).in_dir(self.scratch.path()).run()?;
        let is_sound = done.code() == Some(0) && done.text().starts_with(EARLIER.0);
        let is_wrong = ending != Ending::Killed && !is_sound;
        Ok(is_wrong.then(|| format!("the archive is damaged: {}", said(&done))))
    }

    /// Checks that no file looks right and is wrong, and that there are no unknown names.
    fn names(&self, ending: Ending) -> Outcome<Option<String>> {
        for (name, _) in FILES.iter().chain(&[("d/twin", 0)]) {
            let read = |root: &str| if_there(fs::read(self.scratch.at(root).join(name)));
            let (Some(whole), Some(found)) = (read("p")?, read("t")?) else { continue };
            if whole.len() == found.len() && whole != found {
                return Ok(Some(format!("{name:?} is wrong, and looks right")));
            }
            if self.is_atomic() && found != whole && found != OLDER {
                return Ok(Some(format!("{name:?} is neither the old file nor the new one")));
            }
        }
        let mut waiting = vec![self.scratch.at("t")];
        while let Some(folder) = waiting.pop() {
            for entry in entries(&folder)? {
                let path = entry.path();
                let relative = path.strip_prefix(self.scratch.at("t"))?;
                // `haul clean` removes what a killed run leaves.
                let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".haul-");
                if self.is_atomic() && ending == Ending::Killed && is_hidden {
                    continue;
                }
                if fs::symlink_metadata(self.scratch.at("p").join(relative)).is_err() {
                    return Ok(Some(format!("it left {path:?}")));
                }
                if entry.file_type()?.is_dir() {
                    waiting.push(path);
                }
            }
        }
        Ok(None)
    }

    /// Makes one run with one injection, and returns what is wrong with it.
    fn inject(&self, injection: &Injection) -> Outcome<(bool, Option<String>)> {
        self.reset()?;
        let log = self.scratch.at("log");
        let strace = Strace::new(log).trace(&injection.call).inject(&injection.what);
        let done = self.run(Some(&strace))?;
        let was_injected = match injection.ending {
            Ending::Killed => done.code() != Some(0),
            _ => strace.has_injected()?,
        };
        let mut wrong = self.objection(&done, injection.ending)?;
        // A second run completes the work, except that more would be added to an archive.
        if wrong.is_none() && injection.ending == Ending::Killed && self.case.task != Task::Append {
            if self.is_atomic() {
                Call::of(haul())
                    .words(["clean", "--older-than=0", "t"])
                    .in_dir(self.scratch.path())
                    .succeed()?;
            }
            let again = self.run(None)?;
            wrong = match again.code() {
                Some(0) => self.result()?,
                _ => Some(said(&again)),
            };
            wrong = wrong.map(|wrong| format!("a second run: {wrong}"));
        }
        let told =
            wrong.map(|wrong| format!("{}: {wrong}\n  said {}", injection.what, said(&done)));
        Ok((was_injected, told))
    }
}

/// Returns the number of bytes from the end of the last member on.
fn end_of(archive: &[u8]) -> usize {
    let zeros = archive.iter().rev().take_while(|byte| **byte == 0).count();
    assert!(zeros >= END_BYTES);
    zeros
}

fn furnish(scratch: &Scratch) -> Outcome {
    for (name, bytes) in FILES {
        let text: Vec<u8> = (0..bytes).map(|at| (at % 251 + at / 4096 % 7) as u8 | 1).collect();
        scratch.write(&format!("p/{name}"), text)?;
    }
    let holes = fs::File::create(scratch.at("p/holes"))?;
    holes.set_len(2 << 20)?;
    std::os::unix::fs::FileExt::write_all_at(&holes, ISLAND.0, ISLAND.1)?;
    fs::create_dir(scratch.at("p/d/empty"))?;
    symlink("a", scratch.at("p/link"))?;
    symlink("../w/victim", scratch.at("p/out"))?;
    fs::hard_link(scratch.at("p/b"), scratch.at("p/d/twin"))?;
    Ok(())
}

/// Runs a case of the table with no fault, and returns its scene and its calls.
fn undisturbed(name: &str) -> Outcome<(Scene<'static>, Calls)> {
    let case = CASES.iter().find(|case| case.name == name).ok_or("there is no such case")?;
    let scene = Scene::new(case)?;
    scene.reset()?;
    let strace = Strace::new(scene.scratch.at("log"));
    let done = scene.run(Some(&strace))?;
    assert_eq!((done.code(), done.errors().as_str()), (Some(0), ""), "{name}, undisturbed");
    let calls = calls(&strace.lines()?);
    assert_eq!(scene.result()?, None, "{name}, undisturbed");
    Ok((scene, calls))
}

fn sweep(name: &str) -> Outcome {
    if !is_chosen(name) || !is_usable()? {
        return Ok(());
    }
    let (mut scene, mut calls) = undisturbed(name)?;
    let case = scene.case;
    if let Some(base) = case.beyond.filter(|_| Extent::asked() == Extent::Quick) {
        calls = beyond(calls, &undisturbed(base)?.1);
    }
    if case.task == Task::Create || case.task == Task::Append {
        scene.archive = fs::read(scene.scratch.at("t"))?;
    }
    let others = ["s", "w"].map(|name| scene.scratch.at(name));
    let before = [fingerprint(&others[0])?, fingerprint(&others[1])?];
    let mut injected = 0;
    let mut wrong = Vec::new();
    for injection in injections(&calls, Extent::asked()) {
        let (was_injected, objection) = scene.inject(&injection)?;
        injected += usize::from(was_injected);
        wrong.extend(objection);
        let after = [fingerprint(&others[0])?, fingerprint(&others[1])?];
        assert!(before == after, "{name}: {}: something else was changed", injection.what);
    }
    // The tally of `cargo xtask sweep` reads this line.
    writeln!(std::io::stdout(), "swept {name}: {injected} injections, {} violations", wrong.len())?;
    assert!(injected > case.beyond.map_or(20, |_| 10), "{name}: only {injected} faults");
    assert!(wrong.is_empty(), "{name}: {} wrong:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

#[test]
fn create() -> Outcome {
    sweep("tar -c")
}

#[test]
fn extract_atomically() -> Outcome {
    sweep("tar -x --atomic, over older files")
}

#[test]
fn extract_durably() -> Outcome {
    sweep("tar -x --durable of a zstd archive")
}

#[test]
fn create_compressed() -> Outcome {
    sweep("tar -c --zstd")
}

#[test]
fn append() -> Outcome {
    sweep("tar -r")
}

#[test]
fn extract() -> Outcome {
    sweep("tar -x")
}

#[test]
fn extract_by_several_workers() -> Outcome {
    sweep("tar -x, several workers")
}

#[test]
fn extract_over_older_files() -> Outcome {
    sweep("tar -x, over older files")
}

#[test]
fn extract_compressed() -> Outcome {
    sweep("tar -x of a zstd archive")
}

#[test]
fn every_case_has_its_test() {
    let here = include_str!("tar.rs");
    for case in CASES {
        assert!(here.contains(&format!("sweep(\"{}\")", case.name)), "{} is not swept", case.name);
    }
}
