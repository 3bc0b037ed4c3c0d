//! The ordered writer.

use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use haul_sys::{Call, CallError, Errno};

use super::super::{
    Block, Durable, End, Place, Pool, StreamError, Target, WritePlan, Writer, Zeros,
};
use super::{Numbers, Unruly, file};
use crate::method::policy::{Cache, DataPolicy};
use crate::method::sides::Way;

fn target(file: &Arc<OwnedFd>) -> Target {
    Target { file: Arc::clone(file), base: 0, end: End::Exact, place: Place::Offsets }
}

fn contents(file: &Arc<OwnedFd>) -> Vec<u8> {
    haul_sys::data::set_way(&**file, haul_sys::data::Way::Cached).unwrap();
    let mut bytes = Vec::new();
    let mut offset = 0;
    let mut buffer = vec![0; 1 << 16];
    loop {
        match haul_sys::data::pread(&**file, &mut buffer, offset).unwrap() {
            0 => return bytes,
            count => {
                bytes.extend_from_slice(&buffer[..count]);
                offset += count as u64;
            }
        }
    }
}

/// Cuts bytes into blocks of the pool's size; the last is what is left.
fn feed(writer: &mut Writer, pool: &Arc<Pool>, bytes: &[u8]) {
    for part in bytes.chunks(pool.block_bytes()) {
        writer.put(block(pool, part)).unwrap();
    }
}

fn block(pool: &Arc<Pool>, part: &[u8]) -> Block {
    let mut block = pool.try_take().unwrap().expect("the writer holds more than it says");
    block.room().unwrap()[..part.len()].copy_from_slice(part);
    block.set_filled(0..part.len());
    block
}

#[test]
fn any_schedule_of_faults_writes_the_same_bytes() {
    for seed in 1..300 {
        let mut numbers = Numbers::new(seed);
        let length = usize::try_from(numbers.below(150_000)).unwrap();
        let bytes = numbers.bytes(length);
        let depth = usize::try_from(1 + numbers.below(6)).unwrap();
        let pool = Pool::new(4096 * usize::try_from(1 + numbers.below(4)).unwrap(), depth + 2);
        let files = [file(b""), file(b"")];
        let targets = files.iter().map(target).collect();
        let mut writer = Writer::new(targets, WritePlan::PLAIN)
            .unwrap()
            .with_queue(Box::new(Unruly::new(seed, depth)));
        if numbers.below(2) == 0 {
            // The file is not direct, but requests have to look as if it were.
            for lane in writer.lanes() {
                lane.way = Way::Direct;
                lane.align = 512;
            }
        }
        feed(&mut writer, &pool, &bytes);
        for outcome in writer.finish(Durable::No) {
            assert_eq!(outcome.error, None, "seed {seed}");
            assert_eq!(outcome.bytes, length as u64, "seed {seed}");
        }
        assert_eq!(pool.out(), 0, "seed {seed}");
        for file in &files {
            assert!(contents(file) == bytes, "seed {seed}");
        }
    }
}

#[test]
fn a_target_that_fails_ends_where_its_first_gap_is() {
    let error = CallError::new(Call::Pwrite, Errno::NOSPC);
    for seed in 1..100 {
        let mut numbers = Numbers::new(seed);
        let bytes = numbers.bytes(100_000);
        let pool = Pool::new(4096, 8);
        let file = file(b"");
        let mut queue = Unruly::new(seed, 6);
        queue.fails = Some((1 + numbers.below(40), error));
        let mut writer =
            Writer::new(vec![target(&file)], WritePlan::PLAIN).unwrap().with_queue(Box::new(queue));
        feed(&mut writer, &pool, &bytes);
        let outcome = writer.finish(Durable::No)[0];
        // With a long run of luck everything has arrived before the fault came.
        if outcome.error.is_none() {
            assert_eq!(outcome.bytes, 100_000);
        } else {
            assert_eq!(outcome.error, Some(StreamError::Call(error)), "seed {seed}");
        }
        let written = contents(&file);
        assert_eq!(written.len() as u64, outcome.bytes, "seed {seed}");
        assert!(bytes.starts_with(&written), "seed {seed}");
        assert_eq!(pool.out(), 0);
    }
}

#[test]
fn every_policy_writes_exactly() {
    for cache in [Cache::Auto, Cache::Keep, Cache::Drop, Cache::Direct] {
        for length in [0, 1, 4095, 4096, 4097, (1 << 20) - 1, 1 << 20, (5 << 20) + 777] {
            for size in [None, Some(length as u64), Some(3)] {
                let bytes = Numbers::new(length as u64 + 5).bytes(length);
                let file = file(b"");
                let policy = DataPolicy { cache, ..DataPolicy::PLAIN };
                let plan = WritePlan { policy, size, ..WritePlan::PLAIN };
                let mut writer = Writer::new(vec![target(&file)], plan).unwrap();
                let pool = Pool::new(1 << 20, writer.holds(1 << 20) + 1);
                feed(&mut writer, &pool, &bytes);
                let outcome = writer.finish(Durable::Yes)[0];
                assert_eq!((outcome.error, outcome.bytes), (None, length as u64));
                assert!(contents(&file) == bytes, "{cache:?} {length}");
                let stat = haul_sys::fs::fstat(&*file).unwrap();
                assert!(stat.blocks * 512 <= length as u64 + (128 << 10), "{}", stat.blocks);
            }
        }
    }
}

#[test]
fn odd_blocks_in_the_middle_are_written_where_they_belong() {
    let bytes = Numbers::new(11).bytes(6 << 20);
    let file = file(b"");
    let policy = DataPolicy { cache: Cache::Direct, ..DataPolicy::PLAIN };
    let plan = WritePlan { policy, ..WritePlan::PLAIN };
    let mut writer = Writer::new(vec![target(&file)], plan).unwrap();
    let pool = Pool::new(1 << 20, 40);
    let mut left = &bytes[..];
    for length in [1 << 20, 1 << 20, 1000, 1 << 20, 4096, 513, 1 << 20, 1 << 20, 99] {
        let (part, rest) = left.split_at(length);
        writer.put(block(&pool, part)).unwrap();
        left = rest;
    }
    let outcome = writer.finish(Durable::No)[0];
    assert_eq!(outcome.error, None);
    assert!(contents(&file) == bytes[..bytes.len() - left.len()]);
}

#[test]
fn zeros_become_holes() {
    let mut bytes = vec![0; 8 << 20];
    bytes[..5].copy_from_slice(b"begin");
    bytes[(6 << 20) + 9] = 7;
    let file = file(b"");
    let plan = WritePlan { zeros: Zeros::Skip, ..WritePlan::PLAIN };
    let mut writer = Writer::new(vec![target(&file)], plan).unwrap();
    let pool = Pool::new(1 << 20, 40);
    feed(&mut writer, &pool, &bytes);
    assert_eq!(writer.finish(Durable::No)[0].error, None);
    assert!(contents(&file) == bytes);
    assert!(haul_sys::fs::fstat(&*file).unwrap().blocks * 512 < 1 << 20);
}

#[test]
fn zeros_are_written_over_bytes_that_are_there() {
    let mut bytes = vec![0; 3 << 20];
    bytes[..5].copy_from_slice(b"begin");
    let old = vec![b'o'; 5 << 20];
    for (base, end) in [(0, End::Exact), (4096, End::Exact), (0, End::Keep), (8 << 20, End::Keep)] {
        let file = file(&old);
        let target = Target { base, end, ..target(&file) };
        let plan = WritePlan { zeros: Zeros::Skip, ..WritePlan::PLAIN };
        let mut writer = Writer::new(vec![target], plan).unwrap();
        let pool = Pool::new(1 << 20, 40);
        feed(&mut writer, &pool, &bytes);
        assert_eq!(writer.finish(Durable::No)[0].error, None);
        let begin = usize::try_from(base).unwrap();
        let found = contents(&file);
        assert!(found.get(begin..begin + bytes.len()) == Some(&bytes), "{base} {end:?}");
    }
}

#[test]
fn a_pipe_among_the_targets_gets_everything_in_order() {
    let bytes = Numbers::new(12).bytes(3 << 20);
    let (reader, writer_end, _) = haul_sys::data::pipe_with_room(4096).unwrap();
    haul_sys::fs::set_blocking(&writer_end, haul_sys::fs::Blocking::No).unwrap();
    let drain = std::thread::spawn(move || {
        let mut all = Vec::new();
        std::fs::File::from(reader).read_to_end(&mut all).unwrap();
        all
    });
    let file = file(b"");
    let pipe = Arc::new(writer_end);
    let mut writer = Writer::new(vec![target(&pipe), target(&file)], WritePlan::PLAIN).unwrap();
    drop(pipe);
    let pool = Pool::new(256 << 10, 40);
    feed(&mut writer, &pool, &bytes);
    let outcomes = writer.finish(Durable::Yes);
    assert!(outcomes.iter().all(|outcome| outcome.error.is_none()), "{outcomes:?}");
    assert!(contents(&file) == bytes);
    assert!(drain.join().unwrap() == bytes);
}
