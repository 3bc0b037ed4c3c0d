//! The delay applies to each request, and many requests wait concurrently.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::time::{Duration, Instant};

use haul_faultfs::{Config, Mode, Operation};

use crate::support::{faulty, place};

const DELAY: Duration = Duration::from_millis(20);
const MIB: usize = 1 << 20;

#[test]
fn requests_wait_side_by_side_and_arrive_as_issued() {
    let Some(place) = place() else { return };
    let config = Config { data_delay: DELAY, mode: Mode::Direct, ..Config::default() };
    let mounted = faulty(&place, &[], &config);
    let file = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(mounted.path().join("a"))
        .unwrap();
    file.set_len(16 * MIB as u64).unwrap();
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for at in 0..16 {
            let file = &file;
            scope.spawn(move || {
                // A request holds 256 pages, and a buffer that begins inside a page spans 257.
                let room = vec![at as u8; 2 * MIB];
                let start = room.as_ptr().align_offset(4096);
                file.write_all_at(&room[start..start + MIB], (at * MIB) as u64).unwrap();
            });
        }
    });
    assert!(begun.elapsed() >= DELAY);
    let seen = mounted.seen(Operation::Write);
    assert_eq!((seen.requests, seen.largest), (16, MIB as u64));
    assert!(seen.in_flight > 1, "writes within the file were made one after another");
    let mut byte = [0];
    file.read_exact_at(&mut byte, 5 * MIB as u64 + 17).unwrap();
    assert_eq!(byte, [5]);
}

#[test]
fn metadata_has_a_delay_of_its_own() {
    let Some(place) = place() else { return };
    std::fs::write(place.below.join("a"), "x").unwrap();
    let config = Config { metadata_delay: DELAY, ..Config::default() };
    let mounted = faulty(&place, &[], &config);
    let begun = Instant::now();
    std::fs::metadata(mounted.path().join("a")).unwrap();
    assert!(begun.elapsed() >= DELAY);
    assert_eq!(mounted.seen(Operation::Lookup).requests, 1);
}
