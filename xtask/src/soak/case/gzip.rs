//! `gzip` and `gunzip`: a stream, a file in its place, and files of two members.

use super::{Places, Script, bytes};
use crate::soak::promise::Promise;
use crate::soak::stage::Prepared;
use crate::soak::step::{After, By, Call, Step};
use haul_manifest::Numbers;

const LEVELS: [&str; 9] = ["-1", "-2", "-3", "-4", "-5", "-6", "-7", "-8", "-9"];

const OWN: [&[&str]; 3] = [&["--jobs=1"], &["--jobs=4"], &["--cache=drop"]];

pub(super) fn draw(numbers: &mut Numbers, places: &Places) -> Script {
    let (file, other) = (format!("{}/f", places.near), format!("{}/g", places.far));
    let prepared =
        vec![Prepared::file(&file, bytes(numbers)), Prepared::file(&other, bytes(numbers))];
    let (writer, reader) =
        *numbers.pick(&[(By::Haul, By::Haul), (By::Haul, By::Gnu), (By::Gnu, By::Haul)]);
    let mut pack = Call::new("gzip").arg(*numbers.pick(&LEVELS));
    pack = pack.own(numbers.some(30, &OWN).into_iter().copied().flatten()).by(writer);
    if numbers.chance(20) {
        pack = pack.arg("--rsyncable");
    }
    let unpack =
        Call::new("gzip").arg("-d").own(numbers.some(30, &OWN).into_iter().copied().flatten());
    let unpack = unpack.by(reader);
    let out = format!("{}/out", places.far);
    let same = || Promise::SameBytes { from: (&file).into(), to: (&out).into() };
    let steps = match numbers.below(4) {
        0 => vec![Step::new(vec![pack, unpack]).from(&file).to(&out).promise(same())],
        1 => {
            let options = numbers.some(25, &["-k", "-n", "-N", "-v"]);
            let packed = format!("{file}.gz");
            let unpacked: Vec<_> =
                options.iter().filter(|option| **option != &"-k").copied().collect();
            vec![
                Step::new(vec![pack.args(options)]).after(After::Status).from(&file),
                // With -k the file is still there, and both refuse to replace it.
                Step::new(vec![unpack.args(unpacked).arg("-f").arg(packed)]),
            ]
            .into_iter()
            .map(|step| with_file(step, &file))
            .collect()
        }
        2 => {
            let packed = format!("{}/two.gz", places.far);
            let cat = Call::new("cat").args([&file, &other]).by(By::Gnu);
            let both = Step::new(vec![pack.arg("-c").args([&file, &other])]).to(&packed);
            vec![
                both.after(After::Status),
                Step::new(vec![unpack.arg("-c").arg(&packed)]).to(&out).after(After::Status),
                Step::new(vec![cat]).to(format!("{}/want", places.far)).after(After::Status),
                Step::new(vec![
                    Call::new("cmp").by(By::Gnu).arg(&out).arg(format!("{}/want", places.far)),
                ])
                .after(After::Status),
            ]
        }
        _ => {
            let packed = format!("{}/z", places.far);
            vec![
                Step::new(vec![pack.arg("-c")]).from(&file).to(&packed).after(After::Status),
                Step::new(vec![unpack.arg("-c")])
                    .from(&packed)
                    .to(&out)
                    .after(After::Status)
                    .promise(same()),
            ]
        }
    };
    Script { prepared, steps }
}

/// Adds the file to a step that compresses it in its place.
fn with_file(mut step: Step, file: &str) -> Step {
    if step.input.take().is_some() {
        let call = step.calls.remove(0).arg(file);
        step.calls.push(call);
    }
    step
}
