//! `mv`: within a file system or to another one, onto an earlier state.

use super::{Places, Script, shape};
use crate::soak::earlier::{Earlier, with_bytes_of_their_own};
use crate::soak::promise::Promise;
use crate::soak::stage::{Cell, Prepared};
use crate::soak::step::{Call, Step, below};
use crate::soak::tree;
use haul_manifest::{Aspects, ItemKind, Numbers};
use std::ffi::OsString;
use std::path::PathBuf;

const OPTIONS: [&[&str]; 6] = [&["-f"], &["-n"], &["-u"], &["-b"], &["--backup=numbered"], &["-v"]];

const OWN: [&[&str]; 4] = [&["--jobs=1"], &["--jobs=4"], &["--stats"], &["--bandwidth=1G"]];

pub(super) fn draw(numbers: &mut Numbers, places: &Places) -> Script {
    let shape = shape(numbers);
    let mut items = tree::draw(numbers, &shape);
    let earlier = Earlier::draw(numbers);
    let mut before = earlier.items(numbers, &items);
    let (near, far) = (format!("{}/src", places.near), format!("{}/dst", places.far));
    let words: Vec<&str> =
        numbers.some(12, &OPTIONS).into_iter().copied().flatten().copied().collect();
    let own: Vec<&str> = numbers.some(12, &OWN).into_iter().copied().flatten().copied().collect();
    let leaves_some = words.iter().any(|word| ["-n", "-u"].contains(word));
    if words.contains(&"-u") {
        // GNU mv puts a link to a file that it has moved or skipped in the place of a newer file.
        items.retain(|item| !matches!(item.kind, ItemKind::HardLink(_)));
        if let Some(items) = &mut before {
            with_bytes_of_their_own(items);
        }
    }
    let top: Vec<OsString> = items
        .iter()
        .filter(|item| item.depth == 1)
        .map(|item| below(&near, item.name.as_bytes()))
        .collect();
    let call = Call::new("mv").args(&words).own(own);
    let step = match numbers.below(5) {
        0 if !top.is_empty() => Step::new(vec![call.args(["-t", &far]).args(top)]),
        1 if !top.is_empty() => Step::new(vec![call.arg(numbers.pick(&top)).arg(&far)]),
        2 => Step::new(vec![call.args([&near, &far])]),
        _ => {
            let step = Step::new(vec![call.args(["-T", &near, &far])]);
            let from = (Cell::Original, PathBuf::from(&near));
            let moved =
                Promise::Copied { from, to: far.clone().into(), aspects: Aspects::preserved() };
            let gone = Promise::Gone { path: near.clone().into() };
            if leaves_some { step } else { step.promise(moved).promise(gone) }
        }
    };
    let step = if numbers.chance(25) { step.absolute() } else { step };
    let mut prepared = vec![Prepared::tree(&near, items)];
    prepared.extend(before.map(|items| Prepared::tree(&far, items)));
    Script { prepared, steps: vec![step.clone(), step] }
}
