//! The ordered reader.

use std::io::{Seek as _, Write as _};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use haul_sys::{Call, CallError, Errno};

use super::super::queue::Queue;
use super::super::source::{Executor, Pages, ReadStrategy};
use super::super::{Block, ReadPlan, Reader, Source, StreamError};
use super::{Numbers, Unruly, file};
use crate::method::policy::{Cache, DataPolicy};
use crate::method::sides::Way;
use crate::system::segment::Map;

fn all(reader: &mut Reader) -> (Vec<u8>, Option<StreamError>) {
    let mut bytes = Vec::new();
    loop {
        match reader.next() {
            Ok(Some(block)) => {
                assert!(!block.is_empty());
                bytes.extend_from_slice(&block);
            }
            Ok(None) => return (bytes, None),
            Err(failure) => {
                assert_eq!(reader.next(), Ok(None), "an error is told once");
                return (bytes, Some(failure));
            }
        }
    }
}

fn strategy(told: u64, request_bytes: usize, way: Way, align: u64) -> ReadStrategy {
    ReadStrategy {
        positioned: true,
        reported_bytes: told,
        allocated_bytes: told,
        is_guess: false,
        way,
        align,
        map: Map::Dense,
        pages: Pages::Stay,
        put: None,
        executor: Executor::Calls,
        request_bytes,
        depth: 1,
        not_direct: None,
    }
}

#[test]
fn any_schedule_of_faults_gives_the_same_bytes() {
    for seed in 1..400 {
        let mut numbers = Numbers::new(seed);
        let length = usize::try_from(numbers.below(200_000)).unwrap();
        let bytes = numbers.bytes(length);
        let file = file(&bytes);
        let offset = numbers.below(length as u64 + 10);
        let wanted = (numbers.below(2) == 0).then(|| numbers.below(length as u64 + 10));
        let align = if numbers.below(2) == 0 { 512 } else { 1 };
        let way = if align > 1 { Way::Direct } else { Way::Cached };
        let request = 4096 * usize::try_from(1 + numbers.below(4)).unwrap();
        // The reported size may be too small or too large.
        let told = (length as u64 + numbers.below(9000)).saturating_sub(numbers.below(9000));
        let depth = usize::try_from(1 + numbers.below(8)).unwrap();
        let plan = ReadPlan { offset, length: wanted, ..ReadPlan::whole() };
        let mut reader = Reader::with(
            Source::Own(file),
            plan,
            strategy(told, request, way, align),
            Box::new(Unruly::new(seed, depth)),
        );
        let start = bytes.len().min(usize::try_from(offset).unwrap());
        let most = wanted.map_or(usize::MAX, |wanted| usize::try_from(wanted).unwrap());
        let end = bytes.len().min(start.saturating_add(most));
        let (read, failure) = all(&mut reader);
        let told_end = told.min(wanted.map_or(u64::MAX, |wanted| offset + wanted));
        let is_short = offset + (read.len() as u64) < told_end;
        assert_eq!(failure, is_short.then_some(StreamError::Shrank), "seed {seed}");
        assert!(read == bytes[start..end], "seed {seed}: {} of {}", read.len(), end - start);
        assert_eq!(reader.pool.out(), 0, "seed {seed}");
    }
}

#[test]
fn an_error_comes_after_the_bytes_before_it() {
    let error = CallError::new(Call::Pread, Errno::IO);
    for seed in 1..100 {
        let mut numbers = Numbers::new(seed);
        let bytes = numbers.bytes(100_000);
        let mut queue = Unruly::new(seed, 4);
        queue.fails = Some((1 + numbers.below(30), error));
        let mut reader = Reader::with(
            Source::Own(file(&bytes)),
            ReadPlan::whole(),
            strategy(100_000, 4096, Way::Cached, 1),
            Box::new(queue),
        );
        let (read, failure) = all(&mut reader);
        assert_eq!(failure, Some(StreamError::Call(error)), "seed {seed}");
        assert!(bytes.starts_with(&read), "seed {seed}");
    }
}

#[test]
fn every_policy_reads_the_same_with_every_executor() {
    let mut numbers = Numbers::new(7);
    let size = (9 << 20) + 4321;
    let bytes = numbers.bytes(size);
    for cache in [Cache::Auto, Cache::Keep, Cache::Drop, Cache::Direct, Cache::Restore] {
        for io_bytes in [None, Some(64 << 10)] {
            let policy = DataPolicy { cache, io_bytes, ..DataPolicy::PLAIN };
            let plan = ReadPlan { policy, offset: 12_345, ..ReadPlan::whole() };
            let mut reader = Reader::new(Source::Own(file(&bytes)), plan).unwrap();
            assert_eq!(reader.reported_bytes(), Some(size as u64 - 12_345));
            let (read, failure) = all(&mut reader);
            assert_eq!(failure, None);
            assert!(read == bytes[12_345..], "{cache:?} {io_bytes:?}: {}", read.len());
        }
    }
    for queue in [
        Box::new(crate::stream::by_threads::ByThreads::new(5)) as Box<dyn Queue>,
        match crate::stream::by_ring::ByRing::new(5) {
            Ok(ring) => Box::new(ring),
            Err(_) => Box::new(crate::stream::by_call::ByCall::default()),
        },
    ] {
        let strategy = strategy(size as u64, 256 << 10, Way::Cached, 1);
        let source = Source::Own(file(&bytes));
        let mut reader = Reader::with(source, ReadPlan::whole(), strategy, queue);
        assert!(all(&mut reader).0 == bytes);
    }
}

#[test]
fn holes_are_zeros() {
    let mut sparse = tempfile::tempfile().unwrap();
    sparse.write_all(b"begin").unwrap();
    sparse.seek(std::io::SeekFrom::Start(40 << 20)).unwrap();
    sparse.write_all(b"end").unwrap();
    let plan = ReadPlan::whole();
    let mut reader = Reader::new(Source::Own(Arc::new(OwnedFd::from(sparse))), plan).unwrap();
    let (read, failure) = all(&mut reader);
    assert_eq!((failure, read.len()), (None, (40 << 20) + 3));
    assert!(read.starts_with(b"begin\0") && read.ends_with(b"\0end"));
    assert!(read[5..40 << 20].iter().all(|byte| *byte == 0));
}

#[test]
fn a_pipe_that_does_not_block_is_read_to_its_end() {
    let (reader, writer) = rustix_pipe();
    let sent = Numbers::new(3).bytes(300_000);
    let expected = sent.clone();
    let thread = std::thread::spawn(move || {
        let mut writer = std::fs::File::from(writer);
        for part in sent.chunks(70_001) {
            writer.write_all(part).unwrap();
            // Then the next read finds nothing.
            let is_read = || rustix::io::ioctl_fionread(&writer) == Ok(0);
            haul_manifest::wait_until("the part is read", is_read);
        }
    });
    let source = Source::Shared(Arc::new(reader));
    let mut reader = Reader::new(source, ReadPlan::whole()).unwrap();
    let (read, failure) = all(&mut reader);
    thread.join().unwrap();
    assert_eq!(failure, None);
    assert!(read == expected);
}

#[test]
fn a_large_shared_file_is_read_by_many_and_its_position_moves_on_with_what_is_delivered() {
    let bytes = Numbers::new(3).bytes((12 << 20) + 345);
    let policy = DataPolicy { cache: Cache::Drop, io_bytes: Some(1 << 20), ..DataPolicy::PLAIN };
    for (start, copiers, cache) in
        [(0, 1, Cache::Drop), (4096, 1, Cache::Direct), (777, 2, Cache::Keep)]
    {
        let shared = file(&bytes);
        haul_sys::data::seek_set(&shared, start).unwrap();
        let policy = DataPolicy { cache, ..policy.clone() };
        let plan = ReadPlan { policy, copiers, ..ReadPlan::whole() };
        let mut reader = Reader::new(Source::Shared(Arc::clone(&shared)), plan).unwrap();
        assert_eq!(reader.reported_bytes(), Some(bytes.len() as u64 - start));
        let mut read = Vec::new();
        while let Some(block) = reader.next().unwrap() {
            read.extend_from_slice(&block);
            let at = haul_sys::data::seek_tell(&shared).unwrap();
            assert_eq!(at, start + read.len() as u64);
        }
        assert!(read == bytes[usize::try_from(start).unwrap()..]);
    }
}

#[test]
fn a_hole_that_is_filled_before_it_is_read_is_no_hole() {
    let file = tempfile::tempfile().unwrap();
    file.set_len(100 << 20).unwrap();
    let same = Arc::new(haul_sys::fs::open_anew(&file).unwrap());
    let mut reader = Reader::new(Source::Own(same), ReadPlan::whole()).unwrap();
    assert!(reader.next().unwrap().unwrap().iter().all(|byte| *byte == 0));
    for offset in [50 << 20, (99 << 20) + 5] {
        std::os::unix::fs::FileExt::write_all_at(&file, b"late", offset).unwrap();
    }
    let (rest, failure) = all(&mut reader);
    assert_eq!(failure, None);
    let start = (100 << 20) - rest.len();
    for offset in [50 << 20, (99 << 20) + 5] {
        assert_eq!(&rest[offset - start..][..4], b"late");
    }
    assert_eq!(rest.iter().filter(|byte| **byte != 0).count(), 8);
}

#[test]
fn what_is_open_for_writing_alone_is_not_read_by_a_back_door() {
    let scratch = tempfile::NamedTempFile::new().unwrap();
    scratch.as_file().set_len(20 << 20).unwrap();
    let written = std::fs::File::options().write(true).open(scratch.path()).unwrap();
    let source = Source::Shared(Arc::new(OwnedFd::from(written)));
    let mut reader = Reader::new(source, ReadPlan::whole()).unwrap();
    let failure = reader.next().unwrap_err();
    assert_eq!(failure, StreamError::Call(CallError::new(Call::Read, Errno::BADF)));
}

/// A pipe of which the end to read from does not block.
fn rustix_pipe() -> (OwnedFd, OwnedFd) {
    let (reader, writer, _) = haul_sys::data::pipe_with_room(4096).unwrap();
    haul_sys::fs::set_blocking(&reader, haul_sys::fs::Blocking::No).unwrap();
    (reader, writer)
}

#[test]
fn proc_is_read_to_its_end() {
    let file = std::fs::File::open("/proc/self/maps").unwrap();
    let mut reader =
        Reader::new(Source::Own(Arc::new(OwnedFd::from(file))), ReadPlan::whole()).unwrap();
    assert_eq!(reader.reported_bytes(), None);
    assert!(all(&mut reader).0.len() > 1000);
}

#[test]
fn blocks_can_be_held_by_another_thread() {
    let bytes = Numbers::new(9).bytes(3 << 20);
    let policy = DataPolicy {
        cache: Cache::Drop,
        io_bytes: Some(64 << 10),
        queue_depth: Some(4),
        ..DataPolicy::PLAIN
    };
    let plan = ReadPlan { policy, held: 2, ..ReadPlan::whole() };
    let mut reader = Reader::new(Source::Own(file(&bytes)), plan).unwrap();
    let (sender, receiver) = std::sync::mpsc::channel::<Block>();
    let slow = std::thread::spawn(move || {
        receiver.iter().flat_map(|block| block.to_vec()).collect::<Vec<u8>>()
    });
    while let Some(block) = reader.next().unwrap() {
        sender.send(block).unwrap();
    }
    drop(sender);
    assert!(slow.join().unwrap() == bytes);
}
