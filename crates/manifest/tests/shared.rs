//! Comparisons that several processes carry out together find what one finds, whichever gets which
//! part, and in any order.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use haul_manifest::{
    Aspects, CompareOptions, Finding, Outside, Share, Summary, Unit, Work, compare,
};

use crate::support::{Outcome, Scratch};

/// Numbers from a seed (xorshift64*).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let mixed = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(mixed).unwrap_or(0) % bound.max(1)
    }
}

/// What all simulated processes share.
struct Common {
    numbers: Numbers,
    /// Units on their way to each process.
    queues: Vec<Vec<Unit>>,
    findings: Vec<Finding>,
    given: usize,
    sent: usize,
}

impl Common {
    fn new(seed: u64, count: usize) -> Common {
        Common {
            numbers: Numbers(seed * 2 + 1),
            queues: vec![Vec::new(); count],
            findings: Vec::new(),
            given: 0,
            sent: 0,
        }
    }
}

struct Process<'a> {
    own: usize,
    common: &'a RefCell<Common>,
}

impl Outside for Process<'_> {
    fn report(&mut self, finding: Finding) -> ControlFlow<()> {
        self.common.borrow_mut().findings.push(finding);
        ControlFlow::Continue(())
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn is_wanted(&self) -> bool {
        self.common.borrow_mut().numbers.below(8) == 0
    }

    fn give(&mut self, unit: Unit) {
        let mut common = self.common.borrow_mut();
        let count = common.queues.len();
        let to = common.numbers.below(count);
        common.given += 1;
        common.queues[to].push(unit);
    }

    fn owner(&self, ino: u64) -> Option<usize> {
        let owner = usize::try_from(ino).unwrap_or(0) % self.common.borrow().queues.len();
        (owner != self.own).then_some(owner)
    }

    fn send(&mut self, to: usize, unit: Unit) {
        let mut common = self.common.borrow_mut();
        common.sent += 1;
        common.queues[to].push(unit);
    }
}

/// Findings and the sum of all summaries.
struct Together {
    findings: Vec<Finding>,
    summary: Summary,
    given: usize,
    sent: usize,
}

fn compare_by(scratch: &Scratch, count: usize, seed: u64) -> Together {
    let (a, b, options) = (scratch.a(), scratch.b(), CompareOptions::new(Aspects::all()));
    let common = RefCell::new(Common::new(seed, count));
    common.borrow_mut().queues[0].push(Unit::roots());
    let mut processes: Vec<Process<'_>> =
        (0..count).map(|own| Process { own, common: &common }).collect();
    let mut shares: Vec<Share<'_>> =
        processes.iter_mut().map(|process| Share::new(&a, &b, &options, process)).collect();
    loop {
        let next = {
            let mut common = common.borrow_mut();
            let busy: Vec<usize> =
                (0..count).filter(|own| !common.queues[*own].is_empty()).collect();
            if busy.is_empty() {
                break;
            }
            let own = busy[common.numbers.below(busy.len())];
            let length = common.queues[own].len();
            let index = common.numbers.below(length);
            (own, common.queues[own].swap_remove(index))
        };
        assert!(shares[next.0].compare(&next.1), "the caller did not stop");
    }
    let mut summary = Summary::default();
    for share in &shares {
        summary.add(share.summary());
    }
    drop(shares);
    let Common { findings, given, sent, .. } = common.into_inner();
    Together { findings, summary, given, sent }
}

fn files(root: &Path) -> Outcome<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let is_directory = entry.file_type()?.is_dir();
            if is_directory { &mut directories } else { &mut files }.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

/// Makes a tree with a flat directory, nested ones, and hard links if wanted; and a copy by GNU cp.
fn twins(numbers: &mut Numbers, has_links: bool) -> Outcome<Scratch> {
    let scratch = Scratch::new()?;
    let mut directories = vec![scratch.a()];
    fs::create_dir(scratch.a())?;
    for number in 0..30 {
        let parent = directories[numbers.below(directories.len())].clone();
        let directory = parent.join(format!("d{number}"));
        fs::create_dir(&directory)?;
        directories.push(directory);
    }
    for number in 0..600 {
        // Half of the files are in one directory.
        let index = if number % 2 == 0 { 1 } else { numbers.below(directories.len()) };
        fs::write(directories[index].join(format!("f{number}")), format!("bytes of {number}"))?;
    }
    if has_links {
        let files = files(&scratch.a())?;
        for number in 0..200 {
            let file = &files[numbers.below(files.len() / 4)];
            let directory = &directories[numbers.below(directories.len())];
            fs::hard_link(file, directory.join(format!("link{number}")))?;
        }
    }
    let copied =
        Command::new("cp").arg("-a").arg("--").arg(scratch.a()).arg(scratch.b()).status()?;
    assert!(copied.success());
    Ok(scratch)
}

/// Changes bytes, modes and names of some files in B, without changing links.
fn change(numbers: &mut Numbers, scratch: &Scratch) -> Outcome {
    for file in files(&scratch.b())? {
        match numbers.below(40) {
            0 => fs::write(&file, "other bytes")?,
            1 => fs::set_permissions(&file, fs::Permissions::from_mode(0o600))?,
            2 => fs::write(file.with_extension("new"), "")?,
            _ => {}
        }
    }
    Ok(())
}

/// How often there is a difference of a kind at a path.
type Found = BTreeMap<(Vec<u8>, &'static str), usize>;

/// Paths and kinds of all differences.
fn differences(findings: &[Finding]) -> Outcome<Found> {
    let mut differences = BTreeMap::new();
    for finding in findings {
        let Finding::Difference(found) = finding else {
            return Err(format!("{finding}").into());
        };
        let key = (found.path.as_bytes().to_vec(), found.what.label());
        *differences.entry(key).or_default() += 1;
    }
    Ok(differences)
}

#[test]
fn several_processes_find_what_one_finds() -> Outcome {
    let (mut given, mut found) = (0, 0);
    for seed in 1..7 {
        let mut numbers = Numbers(seed * 77);
        let scratch = twins(&mut numbers, false)?;
        change(&mut numbers, &scratch)?;
        let one = scratch.compare(Aspects::all());
        let several = compare_by(&scratch, 1 + numbers.below(6), seed);
        assert_eq!(differences(&several.findings)?, differences(&one.findings)?, "seed {seed}");
        assert_eq!(several.summary, one.summary, "seed {seed}");
        given += several.given;
        found += one.findings.len();
    }
    assert!(given > 50 && found > 50, "{given} units, {found} differences");
    Ok(())
}

#[test]
fn linked_files_are_compared_once_by_one_process() -> Outcome {
    let mut sent = 0;
    for seed in 1..7 {
        let mut numbers = Numbers(seed * 99);
        let scratch = twins(&mut numbers, true)?;
        change(&mut numbers, &scratch)?;
        let one = scratch.compare(Aspects::all()).summary;
        let several = compare_by(&scratch, 2 + numbers.below(5), seed);
        // A difference is reported under another name of the file.
        assert_eq!(several.summary, one, "seed {seed}");
        sent += several.sent;
    }
    assert!(sent > 50, "{sent} units");
    Ok(())
}

/// Returns the names of the files that have links that differ between the trees.
fn link_groups(findings: &[Finding]) -> Outcome<usize> {
    Ok(differences(findings)?.keys().filter(|(_, label)| *label == "link_group").count())
}

#[test]
fn links_that_differ_are_found_whoever_meets_them() -> Outcome {
    for seed in 1..7 {
        let mut numbers = Numbers(seed * 55);
        let scratch = twins(&mut numbers, true)?;
        let files = files(&scratch.b())?;
        let (one, two) = (&files[numbers.below(300)], &files[300 + numbers.below(300)]);
        fs::remove_file(two)?;
        // Either a name becomes a file of its own, or a name of another file.
        if seed % 2 == 0 {
            fs::copy(one, two)?;
        } else {
            fs::hard_link(one, two)?;
        }
        let alone = compare(&scratch.a(), &scratch.b(), &CompareOptions::new(Aspects::all()));
        for count in [2, 3, 5] {
            let several = compare_by(&scratch, count, seed);
            let is_found = link_groups(&several.findings)? > 0;
            assert_eq!(is_found, link_groups(&alone.findings)? > 0, "seed {seed}, {count}");
        }
    }
    Ok(())
}

#[test]
fn names_of_one_file_in_b_alone_are_found() -> Outcome {
    for count in 1..6 {
        let scratch = Scratch::new()?;
        for root in [scratch.a(), scratch.b()] {
            fs::create_dir(root)?;
        }
        for number in 0..20 {
            fs::write(scratch.a().join(format!("x{number}")), "same")?;
            fs::write(scratch.a().join(format!("y{number}")), "same")?;
            fs::write(scratch.b().join(format!("x{number}")), "same")?;
            fs::hard_link(
                scratch.b().join(format!("x{number}")),
                scratch.b().join(format!("y{number}")),
            )?;
        }
        let several = compare_by(&scratch, count, 3);
        assert_eq!(link_groups(&several.findings)?, 20, "{count} processes");
    }
    Ok(())
}

#[test]
fn a_unit_whose_directory_is_another_one_is_a_failure() -> Outcome {
    let scratch = Scratch::new()?;
    for root in [scratch.a(), scratch.b()] {
        fs::create_dir_all(root.join("d/e"))?;
    }
    let options = CompareOptions::new(Aspects::all());
    let works = [
        Work::Directory("e".into()),
        Work::Range("a".into(), None),
        Work::Names(vec!["e".into()]),
        Work::Links(vec![("e".into(), false)]),
    ];
    let (a, b) = (scratch.a(), scratch.b());
    for (work, path) in works.iter().flat_map(|work| [(work, "d"), (work, "missing")]) {
        let common = RefCell::new(Common::new(1, 1));
        let mut process = Process { own: 0, common: &common };
        let mut share = Share::new(&a, &b, &options, &mut process);
        assert!(share.compare(&Unit { path: path.into(), inodes: (1, 1), work: work.clone() }));
        assert!(share.summary().failures > 0, "{work:?} in {path}");
        assert_eq!(share.summary().entries, 0);
    }
    Ok(())
}
