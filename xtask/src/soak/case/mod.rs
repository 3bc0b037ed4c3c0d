//! What a soak plays: a table of cases, each of which draws a script from random numbers.

mod cp;
mod data;
mod gzip;
mod mv;
mod rm;
mod tar;

use super::stage::{FILE_SYSTEMS, Prepared};
use super::step::Step;
use super::tree::{Shape, Specials};
use haul_manifest::Numbers;

/// A state, and the steps from there.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) prepared: Vec<Prepared>,
    pub(crate) steps: Vec<Step>,
}

/// One kind of rounds.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// How often it is played, in proportion to the others.
    pub(crate) weight: u64,
    pub(crate) draw: fn(&mut Numbers, &Places) -> Script,
}

pub(crate) const CASES: &[Case] = &[
    Case { name: "cp", weight: 8, draw: cp::draw },
    Case { name: "mv", weight: 3, draw: mv::draw },
    Case { name: "rm", weight: 1, draw: rm::draw },
    Case { name: "tar", weight: 5, draw: tar::draw },
    Case { name: "gzip", weight: 2, draw: gzip::draw },
    Case { name: "dd", weight: 2, draw: data::dd },
    Case { name: "split", weight: 1, draw: data::split },
    Case { name: "cat", weight: 1, draw: data::cat },
    Case { name: "tee", weight: 1, draw: data::tee },
];

/// The file systems of a round: the same or different ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places {
    pub(crate) near: &'static str,
    pub(crate) far: &'static str,
}

impl Places {
    pub(crate) fn draw(numbers: &mut Numbers) -> Self {
        Self { near: *numbers.pick(&FILE_SYSTEMS), far: *numbers.pick(&FILE_SYSTEMS) }
    }
}

/// Draws the bounds of a source.
fn shape(numbers: &mut Numbers) -> Shape {
    Shape {
        entries: numbers.between(1, 40),
        depth: usize::try_from(numbers.between(1, 5)).unwrap_or(1),
        specials: Specials::Some,
    }
}

/// Draws the bytes of a file: of a size at which buffers end, and of a kind that compresses well or not.
fn bytes(numbers: &mut Numbers) -> Vec<u8> {
    const SIZES: [u64; 15] = [
        0,
        1,
        255,
        256,
        257,
        4095,
        4096,
        4097,
        65_535,
        65_536,
        65_537,
        (1 << 20) - 1,
        1 << 20,
        (1 << 20) + 1,
        3_000_000,
    ];
    let size = if numbers.chance(60) { *numbers.pick(&SIZES) } else { numbers.below(300_000) };
    let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
    match numbers.below(4) {
        0 => numbers.fill(&mut bytes),
        1 => {
            let period = numbers.between(1, 40);
            bytes.iter_mut().zip(0_u64..).for_each(|(byte, at)| *byte = (at % period) as u8);
        }
        2 => {
            let lines = numbers.between(1, 200);
            for byte in &mut bytes {
                *byte = if numbers.below(lines) == 0 {
                    b'\n'
                } else {
                    b'a' + (numbers.next() % 26) as u8
                };
            }
        }
        _ => {}
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_names_one_script_of_every_case() {
        for case in CASES {
            let mut shown = std::collections::BTreeSet::new();
            for seed in 0..30 {
                let draw = || {
                    let mut numbers = Numbers::new(seed);
                    let places = Places::draw(&mut numbers);
                    (case.draw)(&mut numbers, &places)
                };
                let script = draw();
                assert!(!script.steps.is_empty(), "{}", case.name);
                let lines: Vec<_> = script.steps.iter().map(Step::shown).collect();
                let again: Vec<_> = draw().steps.iter().map(Step::shown).collect();
                assert_eq!(lines, again, "{}", case.name);
                shown.extend(lines);
            }
            assert!(shown.len() > 10, "{} varies too little: {shown:?}", case.name);
        }
    }
}
