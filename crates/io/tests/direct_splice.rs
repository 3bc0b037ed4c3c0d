//! Direct splice: from storage into a pipe without a copy, on every file system that supports it.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;

use haul_io::stream::{PassError, ReadPlan, Reader, Side, Source, StreamError, Watch};
use haul_io::{Cache, DataPolicy};
use haul_sys::data::pipe_with_room;
use haul_sys::fs::{Blocking, set_blocking};

use super::support::{MIB, Outcome, Place, places};

/// Ends the splice after this number of chunks.
struct After(u64);

impl Watch for After {
    fn waiting<T>(&self, _: Side, call: impl FnOnce() -> T) -> T {
        call()
    }

    fn moved(&mut self, _: u64) -> bool {
        self.0 = self.0.saturating_sub(1);
        self.0 > 0
    }
}

/// Opens the source for direct I/O; `None` where that, or splicing, is not possible.
fn reader(place: &Place, length: Option<u64>) -> Outcome<Option<Reader>> {
    let file = Arc::new(OwnedFd::from(File::open(place.at("source"))?));
    let policy = DataPolicy { cache: Cache::Direct, ..DataPolicy::PLAIN };
    let reader = Reader::new(Source::Own(file), ReadPlan { policy, length, ..ReadPlan::whole() })?;
    Ok(Some(reader).filter(Reader::can_pour))
}

/// Makes a pipe and a thread that reads `bytes` from it at a time until it is closed.
fn taker(bytes: usize) -> Outcome<(OwnedFd, std::thread::JoinHandle<std::io::Result<Vec<u8>>>)> {
    let (outlet, inlet, _) = pipe_with_room(1 << 20)?;
    let thread = std::thread::spawn(move || {
        let (mut outlet, mut taken) = (File::from(outlet), Vec::new());
        loop {
            let before = taken.len();
            outlet.by_ref().take(bytes as u64).read_to_end(&mut taken)?;
            if taken.len() == before {
                return Ok(taken);
            }
        }
    });
    Ok((inlet, thread))
}

/// Delivers the rest of a file by plain writes.
fn rest(reader: &mut Reader, inlet: &OwnedFd) -> Outcome {
    while let Some(block) = reader.next().map_err(|error| error.to_string())? {
        let never = std::sync::atomic::AtomicBool::new(false);
        haul_io::stream::write_all(inlet.as_fd(), &block, &never)
            .map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn failed(error: PassError) -> String {
    format!("{:?}: {}", error.side, error.error)
}

#[test]
fn the_spliced_bytes_are_the_file() -> Outcome {
    for place in places()? {
        let mut spliced = 0;
        for (size, length, blocks, chunks) in [
            (MIB, None, 0, u64::MAX),
            (9 * MIB + 123, None, 0, u64::MAX),
            (21 * MIB + 4096, None, 1, u64::MAX),
            (21 * MIB + 1, None, 1, 3),
            (40 * MIB, Some(33 * MIB + 5), 2, u64::MAX),
        ] {
            let source = place.dense(size)?;
            let Some(mut reader) = reader(&place, length)? else { continue };
            let (inlet, taking) = taker(70_001)?;
            set_blocking(&inlet, if blocks == 1 { Blocking::No } else { Blocking::Yes })?;
            let never = std::sync::atomic::AtomicBool::new(false);
            let write = |block: &[u8]| {
                haul_io::stream::write_all(inlet.as_fd(), block, &never)
                    .map_err(|error| error.to_string())
            };
            for _ in 0..blocks {
                let block = reader.next().map_err(|error| error.to_string())?;
                write(&block.ok_or("no block")?)?;
            }
            while let Some(block) = reader.next_on_its_way().map_err(|error| error.to_string())? {
                write(&block)?;
            }
            let begun = reader.position();
            let moved = reader.direct_splice(inlet.as_fd(), &mut After(chunks)).map_err(failed)?;
            assert_eq!(reader.position(), begun + moved);
            // Chunks that are in flight when it ends still arrive.
            assert!(chunks == u64::MAX || (chunks * MIB..chunks * MIB + 4 * MIB).contains(&moved));
            spliced += moved;
            rest(&mut reader, &inlet)?;
            drop(inlet);
            let taken = taking.join().map_err(|_| "the taker failed")??;
            let whole = usize::try_from(length.unwrap_or(size))?;
            assert!(taken == source.bytes[..whole], "{} {size}: {}", place.name, taken.len());
        }
        println!("{}: {spliced} bytes spliced", place.name);
        assert!(spliced > 0 || !["ext4", "xfs", "btrfs"].contains(&place.name.as_str()));
    }
    Ok(())
}

#[test]
fn what_is_in_the_pipe_is_not_the_files_any_more() -> Outcome {
    for place in places()? {
        let source = place.dense(3 * MIB)?;
        let Some(mut reader) = reader(&place, None)? else { continue };
        let (outlet, inlet, room) = pipe_with_room(1 << 20)?;
        let mut taken = vec![0; usize::try_from(3 * MIB)? - room];
        let mut outlet = File::from(outlet);
        std::thread::scope(|scope| {
            let taking = scope.spawn(|| outlet.read_exact(&mut taken));
            let moved =
                reader.direct_splice(inlet.as_fd(), &mut After(u64::MAX)).map_err(failed)?;
            assert_eq!(moved, 3 * MIB);
            taking.join().map_err(|_| "the taker failed")??;
            Ok::<_, Box<dyn std::error::Error>>(())
        })?;
        // The last pipeful is still in flight.
        let file = File::options().write(true).open(place.at("source"))?;
        std::os::unix::fs::FileExt::write_all_at(&file, &vec![0; 3 << 20], 0)?;
        file.sync_all()?;
        let mut others = Reader::new(
            Source::Own(Arc::new(OwnedFd::from(File::open(place.at("source"))?))),
            ReadPlan::whole(),
        )?;
        while others.next().map_err(|error| error.to_string())?.is_some() {}
        drop(inlet);
        outlet.read_to_end(&mut taken)?;
        assert!(taken == source.bytes, "{}", place.name);
    }
    Ok(())
}

#[test]
fn a_file_that_was_cut_ends_where_it_does_and_says_so() -> Outcome {
    for place in places()? {
        for left in [0, 2 * MIB, 3 * MIB + 1000, 5 * MIB + 4096] {
            let source = place.dense(9 * MIB)?;
            let Some(mut reader) = reader(&place, None)? else { continue };
            File::options().write(true).open(place.at("source"))?.set_len(left)?;
            let (inlet, taking) = taker(1 << 20)?;
            reader.direct_splice(inlet.as_fd(), &mut After(u64::MAX)).map_err(failed)?;
            let end = rest(&mut reader, &inlet).map_err(|error| error.to_string());
            assert_eq!(end, Err(StreamError::Shrank.to_string()), "{} {left}", place.name);
            drop(inlet);
            let taken = taking.join().map_err(|_| "the taker failed")??;
            let whole = usize::try_from(left)?;
            assert!(taken == source.bytes[..whole], "{} {left}: {}", place.name, taken.len());
        }
    }
    Ok(())
}

#[test]
fn a_pipe_without_a_reader_ends_it() -> Outcome {
    for place in places()? {
        place.dense(9 * MIB)?;
        let Some(mut reader) = reader(&place, None)? else { continue };
        let (outlet, inlet, _) = pipe_with_room(1 << 20)?;
        let gone = std::thread::spawn(move || {
            let mut some = vec![0; 2 << 20];
            File::from(outlet).read_exact(&mut some)
        });
        let error =
            reader.direct_splice(inlet.as_fd(), &mut After(u64::MAX)).err().ok_or("it went on")?;
        gone.join().map_err(|_| "the taker failed")??;
        assert_eq!(error.side, Side::Target);
        let what = error.error.to_string();
        assert!(what.contains("Broken pipe"), "{what}");
    }
    Ok(())
}
