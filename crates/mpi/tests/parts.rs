//! Parts of large files that other ranks move.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use haul_engine::copy_among;
use haul_engine::monitor::{Control, Report};
use haul_engine::peers::{Exchange, Peers, Ranks};
use haul_engine::request::{
    Appearance, Hashing, Policy, Request, Resources, TargetForm, Verify, WholeDigest,
};
use haul_io::digest::Algorithm;
use haul_manifest::{noise, wait_until};

use crate::copy::{archive, copy};
use crate::ranks::{Reports, Scratch};

const MIB: u64 = 1 << 20;

/// So slow that rank 0 alone takes seconds for a file, in which other ranks get parts of it.
const BYTES_PER_SECOND: u64 = 64 * MIB;

/// A source `a` of so many bytes, no two blocks of which are alike.
fn large_file(path: &Path, bytes: u64) {
    let file = File::create(path).unwrap();
    let mut piece = noise(1, MIB as usize);
    for at in (0..bytes).step_by(piece.len()) {
        for (block, number) in piece.chunks_mut(4096).zip(at / 4096..) {
            block[..8].copy_from_slice(&number.to_le_bytes());
        }
        let length = usize::try_from((bytes - at).min(MIB)).unwrap();
        file.write_all_at(&piece[..length], at).unwrap();
    }
}

fn slowly(policy: Policy) -> Policy {
    policy.bytes_per_second(Some(BYTES_PER_SECOND))
}

fn request(scratch: &Scratch, policy: Policy) -> Request {
    let resources = Resources::available().jobs(2).waiting_jobs(2);
    let request = Request::new([scratch.a()], scratch.b(), slowly(policy)).unwrap();
    request.resources(resources).form(TargetForm::Name)
}

fn verifying() -> Option<Hashing> {
    let algorithm = Algorithm::find("sha256").unwrap();
    Some(Hashing { algorithm, verify: Verify::Compare, whole: WholeDigest::No })
}

#[test]
fn a_large_file_is_moved_by_all_ranks_and_each_byte_once() {
    const BYTES: u64 = 160 * MIB + 123;
    let whole = archive().appearance(Appearance::Whole);
    let durable = archive().appearance(Appearance::Durable).hashing(verifying());
    for (policy, story) in [(archive(), "in its place"), (whole, "--atomic"), (durable, "--verify")]
    {
        let scratch = Scratch::new();
        large_file(&scratch.a(), BYTES);
        let reports = Reports::default();
        let returned = copy(&request(&scratch, policy), 3, &reports, &AtomicBool::new(false));
        assert_eq!(reports.errors(), [], "{story}");
        let bytes = |rank: usize| returned[rank].unwrap().bytes;
        assert_eq!(bytes(0), BYTES, "{story}: rank 0 has the sum");
        assert!(bytes(1) + bytes(2) >= 32 * MIB, "{story}: {} and {}", bytes(1), bytes(2));
        scratch.assert_equal(story);
        let left = fs::read_dir(scratch.0.path()).unwrap().count();
        assert_eq!(left, 2, "{story}: something is left beside the target");
    }
}

#[test]
fn holes_stay_holes_and_an_existing_file_is_replaced_in_its_place() {
    const BYTES: u64 = 400 * MIB;
    let scratch = Scratch::new();
    fs::create_dir(scratch.a()).unwrap();
    fs::create_dir(scratch.b()).unwrap();
    let (source, target) = (scratch.a().join("file"), scratch.b().join("file"));
    large_file(&source, 90 * MIB);
    let file = File::options().write(true).open(&source).unwrap();
    file.write_all_at(&[1; 4096], 200 * MIB).unwrap();
    file.set_len(BYTES).unwrap();
    large_file(&target, 10 * MIB);
    let before = target.metadata().unwrap().ino();
    let reports = Reports::default();
    let returned = copy(&request(&scratch, archive()), 3, &reports, &AtomicBool::new(false));
    assert_eq!(reports.errors(), []);
    let bytes = |rank: usize| returned[rank].unwrap().bytes;
    assert!(bytes(1) + bytes(2) > 0, "rank 0 did everything");
    scratch.assert_equal("holes");
    assert_eq!(target.metadata().unwrap().ino(), before);
}

/// The only process of a run, which takes parts as if others had asked for them.
struct Fake<'a> {
    /// Returns the answer to a part, or `None` to end the run with it out.
    answer: &'a (dyn Fn(&[u8]) -> Option<Vec<u8>> + Sync),
    parts: usize,
}

impl Peers for Fake<'_> {
    fn exchange(&mut self, exchange: &mut dyn Exchange) {
        exchange.ask(1);
        wait_until("the own part is complete", || {
            if exchange.completed().iter().any(|(token, _)| *token == 0) {
                return true;
            }
            if let Some(sent) = exchange.take() {
                self.parts += 1;
                match (self.answer)(&sent.bytes) {
                    Some(answer) => exchange.release(sent.ticket, &answer),
                    None => {
                        exchange.stop();
                        return true;
                    }
                }
            }
            false
        });
    }
}

/// Copies with a fake process; returns how many parts it had.
fn copy_with(
    scratch: &Scratch,
    policy: Policy,
    answer: &(dyn Fn(&[u8]) -> Option<Vec<u8>> + Sync),
) -> (Reports, usize) {
    let stop = AtomicBool::new(false);
    let control = Control::new(&stop);
    let (reports, mut fake) = (Reports::default(), Fake { answer, parts: 0 });
    reports.copy_with(&request(scratch, policy), &mut fake, &control);
    let parts = fake.parts;
    (reports, parts)
}

#[test]
fn a_part_that_another_rank_could_not_move_is_moved_here() {
    let hashed = archive().hashing(verifying());
    // That it has arrived, without digests.
    let arrived = [&[1][..], &[0; 8]].concat();
    // Of one piece with a digest, and of another length than the part.
    let wrong = [&[1][..], &1_u64.to_le_bytes(), &[0; 8], &[9; 8], &32_u64.to_le_bytes(), &[7; 32]];
    for (policy, answer, story) in [
        (archive(), vec![], "it failed"),
        (archive(), arrived.clone(), "this machine does not see what that one wrote"),
        (hashed.clone(), arrived, "it took no digests"),
        (hashed, wrong.concat(), "its digests are of other bytes"),
    ] {
        let scratch = Scratch::new();
        large_file(&scratch.a(), 96 * MIB);
        let (reports, parts) = copy_with(&scratch, policy, &|_| Some(answer.clone()));
        assert!(parts > 0, "{story}: no part was taken");
        assert_eq!(reports.errors(), [], "{story}");
        scratch.assert_equal(story);
    }
}

/// What another machine still has in its memory could be written later, over what is moved here.
#[test]
fn a_part_that_was_not_flushed_makes_the_file_fail() {
    for answer in [&[0][..], &[3], &[1, 0]] {
        let scratch = Scratch::new();
        large_file(&scratch.a(), 96 * MIB);
        let (reports, parts) = copy_with(&scratch, archive(), &|_| Some(answer.to_vec()));
        assert!(parts > 0);
        assert_eq!(reports.errors().len(), 1, "{answer:?}: {:?}", reports.errors());
        assert!(!scratch.b().exists(), "{answer:?}");
    }
}

#[test]
fn after_three_parts_that_came_back_no_more_are_sent() {
    let scratch = Scratch::new();
    large_file(&scratch.a(), 400 * MIB);
    let (reports, parts) = copy_with(&scratch, archive(), &|_| Some(Vec::new()));
    assert_eq!(reports.errors(), []);
    // Some are on their way before a worker looks at those that came back.
    assert!((3..=6).contains(&parts), "{parts} parts were sent");
    scratch.assert_equal("refused");
}

#[test]
fn a_stop_with_a_part_away_leaves_no_file_that_looks_complete() {
    let whole = archive().appearance(Appearance::Whole);
    for (policy, is_left) in [(archive(), false), (archive(), true), (whole, false)] {
        let scratch = Scratch::new();
        large_file(&scratch.a(), 96 * MIB);
        if is_left {
            // What was there before the run stays, and is cut where the first byte is missing.
            fs::write(scratch.b(), "old").unwrap();
        }
        let (_, parts) = copy_with(&scratch, policy, &|_| None);
        assert_eq!(parts, 1);
        let bytes = fs::read(scratch.a()).unwrap();
        match fs::read(scratch.b()) {
            Ok(left) => {
                assert!(is_left);
                assert!(
                    left.len() < bytes.len() && bytes.starts_with(&left),
                    "{} bytes",
                    left.len()
                );
            }
            Err(_) => assert!(!is_left),
        }
        assert_eq!(fs::read_dir(scratch.0.path()).unwrap().count(), 1 + usize::from(is_left));
    }
}

/// The second process of a run, which has this unit and nothing else.
struct Second {
    unit: Vec<u8>,
    answer: Option<Vec<u8>>,
}

impl Peers for Second {
    fn exchange(&mut self, exchange: &mut dyn Exchange) {
        exchange.receive(7, std::mem::take(&mut self.unit));
        wait_until("the unit is answered", || {
            self.answer = exchange.completed().pop().map(|(token, answer)| {
                assert_eq!(token, 7);
                answer
            });
            self.answer.is_some()
        });
    }
}

/// Carries out a unit as the second of two processes, and returns the answer.
fn adopt(scratch: &Scratch, policy: Policy, unit: &[u8]) -> Vec<u8> {
    let stop = AtomicBool::new(false);
    let mut second = Second { unit: unit.to_vec(), answer: None };
    let request = request(scratch, policy);
    let ranks = Ranks { own: 1, count: 2 };
    copy_among(&request, ranks, &mut second, &silent, &Control::new(&stop)).unwrap();
    second.answer.unwrap()
}

/// What fails is reported by the process that found the file.
fn silent(report: Report<'_>) {
    panic!("{report:?}");
}

#[test]
fn a_part_is_written_only_into_the_file_that_it_belongs_to() {
    const PRECIOUS: &[u8] = b"another file";
    for story in ["the same files", "another target", "another source"] {
        let scratch = Scratch::new();
        large_file(&scratch.a(), 96 * MIB);
        let away = scratch.0.path().join("away");
        let (reports, parts) = copy_with(&scratch, archive(), &|unit| {
            let changed = match story {
                "another target" => scratch.b(),
                "another source" => scratch.a(),
                _ => {
                    let answer = adopt(&scratch, archive(), unit);
                    assert!(!answer.is_empty());
                    return Some(answer);
                }
            };
            fs::rename(&changed, &away).unwrap();
            fs::write(&changed, PRECIOUS).unwrap();
            let answer = adopt(&scratch, archive(), unit);
            assert_eq!(answer, b"", "{story}: it was moved");
            assert_eq!(fs::read(&changed).unwrap(), PRECIOUS);
            fs::rename(&away, &changed).unwrap();
            Some(answer)
        });
        assert!(parts > 0);
        assert_eq!(reports.errors(), [], "{story}");
        scratch.assert_equal(story);
    }
}

/// The second process of a run, which gets this part; and what it can use while all its workers move that.
struct Busy {
    unit: Vec<u8>,
    usable: usize,
}

impl Peers for Busy {
    fn exchange(&mut self, exchange: &mut dyn Exchange) {
        exchange.receive(1, self.unit.clone());
        wait_until("all workers are busy with it", || {
            assert_eq!(exchange.completed(), [], "the part was moved too fast");
            self.usable = exchange.usable_units();
            self.usable > 0 && exchange.idle_workers() == 0
        });
        exchange.stop();
    }
}

#[test]
fn a_process_gets_the_next_part_while_it_moves_one() {
    let scratch = Scratch::new();
    large_file(&scratch.a(), 96 * MIB);
    let (_, parts) = copy_with(&scratch, archive(), &|unit| {
        let mut busy = Busy { unit: unit.to_vec(), usable: 0 };
        // So slow that no part is done before it is stopped.
        let policy = archive().bytes_per_second(Some(MIB));
        let request = request(&scratch, archive()).policy(policy);
        let (ranks, stop) = (Ranks { own: 1, count: 2 }, AtomicBool::new(false));
        copy_among(&request, ranks, &mut busy, &silent, &Control::new(&stop)).unwrap();
        assert_eq!(busy.usable, 1);
        None
    });
    assert_eq!(parts, 1);
}

/// The second process of a run, which gets a part twice, the second time under names that lead nowhere.
struct Twice<'s> {
    unit: Vec<u8>,
    scratch: &'s Scratch,
    /// Answers to the two, and to the part that comes after both.
    answers: Vec<(u64, Vec<u8>)>,
}

impl Twice<'_> {
    fn wait_for(&mut self, exchange: &dyn Exchange, count: usize) {
        wait_until("the parts are answered", || {
            self.answers.extend(exchange.completed());
            self.answers.len() >= count
        });
    }

    /// Gives the directory of the files another name, or its own one again. The rename of a file would
    /// change its status.
    fn rename(&self, (from, to): (&str, &str)) {
        let name = |end: &str| {
            let mut name = self.scratch.0.path().as_os_str().to_owned();
            name.push(end);
            name
        };
        fs::rename(name(from), name(to)).unwrap();
    }
}

impl Peers for Twice<'_> {
    fn exchange(&mut self, exchange: &mut dyn Exchange) {
        loop {
            exchange.receive(1, self.unit.clone());
            // One part is open, and no other.
            wait_until("one part is open", || {
                if exchange.usable_units() == 1 && exchange.idle_workers() == 0 {
                    return true;
                }
                if !exchange.completed().is_empty() {
                    // It was moved too fast to be seen.
                    exchange.receive(1, self.unit.clone());
                }
                false
            });
            self.rename(("", ".away"));
            exchange.receive(2, self.unit.clone());
            self.wait_for(exchange, 2);
            // The first one may have ended before the second one was begun.
            let is_late = self.answers[0].0 == 1 && self.answers[1].1.is_empty();
            if !is_late {
                break;
            }
            self.rename((".away", ""));
            self.answers.clear();
        }
        exchange.receive(3, self.unit.clone());
        self.wait_for(exchange, 3);
        self.rename((".away", ""));
    }
}

#[test]
fn names_are_not_looked_up_again_for_the_next_part_while_the_files_are_open() {
    let scratch = Scratch::new();
    large_file(&scratch.a(), 96 * MIB);
    let (reports, parts) = copy_with(&scratch, archive(), &|unit| {
        let mut twice = Twice { unit: unit.to_vec(), scratch: &scratch, answers: Vec::new() };
        let request = request(&scratch, archive());
        let (ranks, stop) = (Ranks { own: 1, count: 2 }, AtomicBool::new(false));
        copy_among(&request, ranks, &mut twice, &silent, &Control::new(&stop)).unwrap();
        twice.answers.sort();
        let [(1, first), (2, second), (3, after)] = &twice.answers[..] else {
            panic!("{:?}", twice.answers);
        };
        assert_eq!(first, second);
        assert!(!first.is_empty());
        assert_eq!(after, b"", "the files of a part that has ended stayed open");
        Some(first.clone())
    });
    assert!(parts > 0);
    assert_eq!(reports.errors(), []);
    scratch.assert_equal("a part that was moved twice");
}
