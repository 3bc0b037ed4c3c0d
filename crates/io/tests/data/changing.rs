//! Sources that change while they are copied: every method reports it, and none gets a signal.

use std::fs::File;
use std::io::Write as _;

use haul_io::{Choice, DataError, DataPolicy};

use super::support::{Workers, copy_while, is_refusal, make, methods, places};

/// Several workers share a file of 8 MiB.
const SIZE: u64 = 9 << 20;

fn each(what: &str, change: impl Fn(&std::path::Path)) {
    for place in places() {
        let (source, target) = (place.path.join("source"), place.path.join("target"));
        for (method, name) in methods() {
            for workers in [Workers::One, Workers::Several] {
                make(&source, SIZE, std::slice::from_ref(&(0..SIZE)));
                let policy = DataPolicy { choice: Choice::Only(method), ..DataPolicy::PLAIN };
                let moved = copy_while(&policy, workers, (&source, &target), &change);
                match moved {
                    Err(DataError::Changed) => {}
                    Err(error) if is_refusal(error) => {}
                    other => panic!("{what}: {name}, {workers:?}, {}: {other:?}", place.name),
                }
            }
        }
    }
}

#[test]
fn a_source_that_shrinks_is_an_error() {
    each("cut in the middle", |path| {
        File::options().write(true).open(path).unwrap().set_len(SIZE / 2 + 77).unwrap();
    });
    each("emptied", |path| {
        File::options().write(true).open(path).unwrap().set_len(0).unwrap();
    });
}

#[test]
fn a_source_that_grows_is_an_error() {
    each("grown", |path| {
        File::options().append(true).open(path).unwrap().write_all(&[1; 5000]).unwrap();
    });
}
