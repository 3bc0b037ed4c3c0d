//! `rm`: a tree, or its entries, with operands that do not exist or lie within each other.

use super::{Places, Script, shape};
use crate::soak::promise::Promise;
use crate::soak::stage::Prepared;
use crate::soak::step::{Call, Step, below};
use crate::soak::tree;
use haul_manifest::Numbers;
use std::ffi::OsString;

const OPTIONS: [&[&str]; 6] = [&["-f"], &["-d"], &["-v"], &["--one-file-system"], &["-f"], &["-R"]];

pub(super) fn draw(numbers: &mut Numbers, places: &Places) -> Script {
    let shape = shape(numbers);
    let items = tree::draw(numbers, &shape);
    let near = format!("{}/src", places.near);
    let top: Vec<OsString> = items
        .iter()
        .filter(|item| item.depth == 1)
        .map(|item| below(&near, item.name.as_bytes()))
        .collect();
    let mut steps = Vec::new();
    for _ in 0..2 {
        let mut call = Call::new("rm");
        call = if numbers.chance(80) { call.arg("-r") } else { call };
        call = call.args(numbers.some(20, &OPTIONS).into_iter().copied().flatten());
        call = if numbers.chance(30) { call.own(["--jobs=1"]) } else { call };
        let step = match numbers.below(4) {
            0 => Step::new(vec![call.arg(&near)]).promise(Promise::Gone { path: (&near).into() }),
            1 if !top.is_empty() => Step::new(vec![call.args(&top)]),
            2 => Step::new(vec![call.args([format!("{near}/missing"), format!("{near}/a")])]),
            _ => Step::new(vec![call.arg(format!("{near}/a")).args(&top)]),
        };
        steps.push(step);
    }
    Script { prepared: vec![Prepared::tree(&near, items)], steps }
}
