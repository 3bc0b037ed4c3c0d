//! Rounds in which a thread changes the source while the command runs.
//!
//! GNU's tools promise nothing here, so only haul runs. A copy that ends with status 0 has, under each
//! name, a state that the source had under that name; so the thread notes every state before it
//! makes it. A move, however it ends, leaves the last contents of each name in one of the two places.

use super::case::Places;
use super::judge;
use super::play::{Found, Tools};
use super::stage::{Cell, Stage};
use super::step::{Call, Step};
use crate::error::{Context, Result};
use crate::flaw::Flaw;
use crate::trial::{self, Ends, Status};
use haul_manifest::Numbers;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// One kind of rounds beside changes.
pub(crate) struct Beside {
    pub(crate) name: &'static str,
    pub(crate) weight: u64,
    operation: Operation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Copy,
    Move,
}

pub(crate) const CASES: &[Beside] = &[
    Beside { name: "cp-beside", weight: 2, operation: Operation::Copy },
    Beside { name: "mv-beside", weight: 2, operation: Operation::Move },
];

const NAMES: [&str; 8] = ["a", "b", "c", "d/a", "d/b", "d/e/a", "f", "g"];

/// The longest time of a copy beside changes.
const LIMIT: Duration = Duration::from_secs(20);

const COPY: [&[&str]; 4] = [&["-a"], &["-r"], &["-rp"], &["-aT"]];

const OWN: [&[&str]; 8] = [
    &["--atomic"],
    &["--durable"],
    &["--verify"],
    &["--resume"],
    &["--retry-changed=3"],
    &["--jobs=4"],
    &["--jobs=1"],
    &["--cache=direct"],
];

/// What the noted states may take of memory; the thread ends when they do.
const NOTED_BYTES_MAX: usize = 256 << 20;

/// Bytes of a file that was rewritten in its place.
struct Rewriting {
    old: Vec<u8>,
    new: Vec<u8>,
}

/// The files that the thread changes, and what they have been.
struct Source {
    dir: PathBuf,
    /// A folder on the same file system, outside of the tree.
    beside: PathBuf,
    /// The contents now; a name that is missing is not there.
    now: BTreeMap<&'static str, Vec<u8>>,
    /// Every state that each name has had, in order.
    seen: BTreeMap<&'static str, Vec<Vec<u8>>>,
    seen_bytes: usize,
    /// Names that were missing at some time, or that another file got: a directory that is changed while
    /// it is read need not list them (readdir(3p)).
    missed: BTreeSet<&'static str>,
    rewritten: BTreeMap<&'static str, Vec<Rewriting>>,
    operation: Operation,
}

impl Source {
    fn make(numbers: &mut Numbers, dir: PathBuf, operation: Operation) -> Result<Self> {
        let beside = dir.with_extension("beside");
        fs::create_dir_all(dir.join("d/e")).context("create", dir.display())?;
        fs::create_dir(&beside).context("create", beside.display())?;
        let (now, seen) = (BTreeMap::new(), BTreeMap::new());
        let (missed, rewritten) = (BTreeSet::new(), BTreeMap::new());
        let mut source =
            Self { dir, beside, now, seen, seen_bytes: 0, missed, rewritten, operation };
        for name in NAMES {
            let bytes = contents(numbers);
            source.note(name, &bytes);
            fs::write(source.dir.join(name), &bytes).context("write", name)?;
            source.now.insert(name, bytes);
        }
        Ok(source)
    }

    /// Notes a state that a name is about to have.
    fn note(&mut self, name: &'static str, bytes: &[u8]) {
        self.seen_bytes += bytes.len();
        self.seen.entry(name).or_default().push(bytes.to_vec());
    }

    /// Notes the states of a file while its bytes are replaced from the beginning on.
    fn note_rewriting(&mut self, name: &'static str, old: &[u8], new: &[u8]) {
        self.note(name, new);
        self.rewritten
            .entry(name)
            .or_default()
            .push(Rewriting { old: old.to_vec(), new: new.to_vec() });
    }

    /// Whether a file was being rewritten and had these bytes: new ones up to a place, old ones behind it.
    fn was_in_between(&self, name: &str, found: &[u8]) -> bool {
        let is_it = |Rewriting { old, new }: &Rewriting| {
            let first = found.iter().zip(new).take_while(|(one, two)| one == two).count();
            old.len() == found.len() && found[first..] == old[first..]
        };
        self.rewritten.get(name).is_some_and(|all| all.iter().any(is_it))
    }

    /// Makes one change. A name that the move has taken away cannot be changed any more.
    fn change(&mut self, numbers: &mut Numbers) -> io::Result<()> {
        let name = *numbers.pick(&NAMES);
        let choice = match self.operation {
            // What is written into a file that is being removed is lost with it, by any tool.
            Operation::Move => 0,
            Operation::Copy => numbers.below(6),
        };
        let path = self.dir.join(name);
        let old = self.now.get(name).cloned();
        match (choice, old) {
            (0 | 1, _) | (_, None) => self.replace(name, contents(numbers)),
            (2, Some(old)) => {
                let mut bytes = vec![0; old.len()];
                numbers.fill(&mut bytes);
                self.note_rewriting(name, &old, &bytes);
                rewrite(&path, &bytes)?;
                self.now.insert(name, bytes);
                Ok(())
            }
            (3, Some(old)) => {
                let mut more = vec![0; numbers.index(9000) + 1];
                numbers.fill(&mut more);
                let bytes = [old, more.clone()].concat();
                self.note(name, &bytes);
                OpenOptions::new().append(true).open(&path)?.write_all(&more)?;
                self.now.insert(name, bytes);
                Ok(())
            }
            (4, Some(mut old)) => {
                old.truncate(old.len() / 2);
                self.note(name, &old);
                File::options().write(true).open(&path)?.set_len(old.len() as u64)?;
                self.now.insert(name, old);
                Ok(())
            }
            (_, Some(_)) => {
                self.missed.insert(name);
                fs::remove_file(&path)?;
                self.now.remove(name);
                Ok(())
            }
        }
    }

    /// Gives a name to a new, complete file.
    fn replace(&mut self, name: &'static str, bytes: Vec<u8>) -> io::Result<()> {
        let new = self.beside.join("new");
        fs::write(&new, &bytes)?;
        self.note(name, &bytes);
        self.missed.insert(name);
        fs::rename(&new, self.dir.join(name))?;
        self.now.insert(name, bytes);
        Ok(())
    }

    /// Changes the files until `stop`; returns the number of changes.
    fn change_until(&mut self, stop: &AtomicBool, numbers: &mut Numbers) -> u64 {
        let mut changes = 0;
        while !stop.load(Ordering::Relaxed) && self.seen_bytes < NOTED_BYTES_MAX {
            if self.change(numbers).is_ok() {
                changes += 1;
            }
            std::thread::sleep(Duration::from_micros(numbers.below(400)));
        }
        changes
    }

    /// Returns what a copy that ended with status 0 has and the source never had.
    fn judge_copy(&self, target: &Path) -> Vec<String> {
        let mut broken = Vec::new();
        for name in NAMES {
            match fs::read(target.join(name)) {
                Ok(bytes) if self.seen[name].contains(&bytes) => {}
                Ok(bytes) if self.was_in_between(name, &bytes) => {}
                Ok(bytes) => {
                    let of = made_of(&bytes, &self.seen[name]);
                    broken.push(format!("{name}: {} bytes that it never had: {of}", bytes.len()));
                }
                Err(_) if self.missed.contains(name) => {}
                Err(cause) => broken.push(format!("{name} kept its name, and the copy: {cause}")),
            }
        }
        broken
    }

    /// Returns the names whose last contents are in neither place.
    fn judge_move(&self, target: &Path) -> Vec<String> {
        let has = |dir: &Path, name: &str, bytes: &[u8]| {
            fs::read(dir.join(name)).is_ok_and(|found| found == bytes)
        };
        let lost = |(name, bytes): (&&'static str, &Vec<u8>)| {
            let is_lost = !has(&self.dir, name, bytes) && !has(target, name, bytes);
            is_lost.then(|| format!("{name}: its last {} bytes are in neither place", bytes.len()))
        };
        self.now.iter().filter_map(lost).collect()
    }
}

/// Writes new bytes in the place of the old ones, and a last one again.
///
/// A file gets its time when a `write` begins, not when it ends. So a program that opens the file
/// while one is going on sees no change afterwards, and can notice it only by a further one.
fn rewrite(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let file = File::options().write(true).open(path)?;
    file.write_all_at(bytes, 0)?;
    let last = bytes.len().saturating_sub(1);
    file.write_all_at(&bytes[last..], last as u64)
}

/// Says which states the pages of a file are from, for a person who looks for the cause.
fn made_of(found: &[u8], seen: &[Vec<u8>]) -> String {
    const PAGE: usize = 4096;
    let origin = |(index, page): (usize, &[u8])| {
        let at = index * PAGE;
        let is_from = |state: &Vec<u8>| state.get(at..at + page.len()) == Some(page);
        seen.iter().position(is_from)
    };
    let mut runs: Vec<(Option<usize>, usize)> = Vec::new();
    for state in found.chunks(PAGE).enumerate().map(origin) {
        match runs.last_mut() {
            Some((last, count)) if *last == state => *count += 1,
            _ => runs.push((state, 1)),
        }
    }
    let run = |(state, count): &(Option<usize>, usize)| match state {
        Some(state) => format!("{count} pages of state {state}"),
        None => format!("{count} pages of none"),
    };
    let text = runs.iter().map(run).collect::<Vec<_>>().join(", ");
    format!("{text} (of {} states)", seen.len())
}

fn contents(numbers: &mut Numbers) -> Vec<u8> {
    let size = *numbers.pick(&[1, 4096, 65_537, 300_000, 1_000_000]);
    let mut bytes = vec![0; size];
    numbers.fill(&mut bytes);
    bytes
}

/// Plays one round; returns what was found.
pub(crate) fn play(
    case: &Beside,
    numbers: &mut Numbers,
    places: &Places,
    tools: &Tools,
    stage: &Stage,
) -> Result<Option<Found>> {
    let (near, far) = (format!("{}/src", places.near), format!("{}/dst", places.far));
    let own = numbers.some(15, &OWN).into_iter().copied().flatten();
    let call = match case.operation {
        Operation::Copy => Call::new("cp").args(*numbers.pick(&COPY)).own(own),
        Operation::Move => Call::new("mv"),
    };
    let step = Step::new(vec![call.args([&near, &far])]);
    let path = |path: &str| stage.path(Cell::Haul, Path::new(path));
    let mut source = Source::make(numbers, path(&near), case.operation)?;
    let stop = AtomicBool::new(false);
    let command = tools.command(&step.calls[0], step.naming, Cell::Haul, &stage.cell(Cell::Haul));
    let (trials, changes) = std::thread::scope(|scope| {
        let thread = scope.spawn(|| source.change_until(&stop, numbers));
        let trials = trial::run(vec![command], &Ends::default(), LIMIT);
        stop.store(true, Ordering::Relaxed);
        (trials, thread.join().unwrap_or_default())
    });
    let trials = trials?;
    let mut flaws = judge::unsound(&trials);
    let broken = match case.operation {
        Operation::Copy if trials[0].status == Status::Exited(0) => source.judge_copy(&path(&far)),
        Operation::Copy => Vec::new(),
        Operation::Move => source.judge_move(&path(&far)),
    };
    if !broken.is_empty() {
        flaws.push(Flaw::new("bytes are wrong or lost beside changes", broken));
    }
    let mut lines = vec![format!("$ {} # beside {changes} changes", step.shown())];
    lines.extend(judge::ended("haul", &trials));
    Ok((!flaws.is_empty()).then_some(Found { lines, flaws }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(name: &str, operation: Operation) -> (Source, PathBuf) {
        let top = std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()));
        fs::create_dir(&top).unwrap();
        let source = Source::make(&mut Numbers::new(1), top.join("src"), operation).unwrap();
        (source, top)
    }

    /// Copies the files as they are.
    fn copy(source: &Source, target: &Path) {
        fs::create_dir_all(target.join("d/e")).unwrap();
        for name in source.now.keys() {
            fs::copy(source.dir.join(name), target.join(name)).unwrap();
        }
    }

    #[test]
    fn every_state_that_was_is_accepted_and_no_other() {
        let (mut source, top) = source("beside-copy", Operation::Copy);
        let target = top.join("dst");
        let mut numbers = Numbers::new(2);
        for _ in 0..100 {
            copy(&source, &target);
            source.change(&mut numbers).unwrap();
            assert_eq!(source.judge_copy(&target), Vec::<String>::new());
        }
        fs::write(target.join("a"), "torn").unwrap();
        assert_eq!(source.judge_copy(&target).len(), 1);
        source.note_rewriting("a", b"0000", b"1111");
        for (torn, wrong) in [("1100", 0), ("1111", 0), ("0011", 1), ("1010", 1)] {
            fs::write(target.join("a"), torn).unwrap();
            assert_eq!(source.judge_copy(&target).len(), wrong, "{torn}");
        }
        fs::write(target.join("a"), "torn").unwrap();
        source.missed.clear();
        fs::remove_file(target.join("b")).ok();
        assert_eq!(source.judge_copy(&target).len(), 2);
        fs::remove_dir_all(&top).unwrap();
    }

    #[test]
    fn a_torn_file_is_explained_page_by_page() {
        let states = [vec![1; 9000], vec![2; 9000]];
        let torn = [vec![1; 4096], vec![2; 4904]].concat();
        assert_eq!(made_of(&torn, &states), "1 pages of state 0, 2 pages of state 1 (of 2 states)");
        assert_eq!(made_of(&[3], &states), "1 pages of none (of 2 states)");
    }

    #[test]
    fn contents_in_neither_place_are_found() {
        let (mut source, top) = source("beside-move", Operation::Move);
        let target = top.join("dst");
        copy(&source, &target);
        source.replace("a", b"new".to_vec()).unwrap();
        assert_eq!(source.judge_move(&target), Vec::<String>::new());
        fs::remove_file(source.dir.join("b")).unwrap();
        assert_eq!(source.judge_move(&target), Vec::<String>::new());
        fs::remove_file(source.dir.join("a")).unwrap();
        assert_eq!(source.judge_move(&target).len(), 1);
        fs::remove_dir_all(&top).unwrap();
    }
}
