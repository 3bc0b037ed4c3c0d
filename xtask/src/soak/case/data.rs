//! The tools of one stream: `dd`, `split`, `cat`, `tee`.

use super::{Places, Script, bytes};
use crate::soak::promise::Promise;
use crate::soak::stage::Prepared;
use crate::soak::step::{By, Call, Step};
use haul_manifest::Numbers;

const SIZES: [&str; 9] = ["1", "7", "512", "4095", "4096", "4097", "64K", "65537", "1M"];

pub(super) fn dd(numbers: &mut Numbers, places: &Places) -> Script {
    let (from, to) = (format!("{}/f", places.near), format!("{}/g", places.far));
    let source = bytes(numbers);
    // A block of one byte costs a call each.
    let sizes = if source.len() > 100_000 { &SIZES[2..] } else { &SIZES[..] };
    let mut prepared = vec![Prepared::file(&from, source)];
    if numbers.chance(50) {
        prepared.push(Prepared::file(&to, bytes(numbers)));
    }
    let mut call = Call::new("dd").arg("status=none");
    call = match numbers.below(3) {
        0 => call.arg(format!("bs={}", numbers.pick(sizes))),
        1 => call
            .args([format!("ibs={}", numbers.pick(sizes)), format!("obs={}", numbers.pick(sizes))]),
        _ => call,
    };
    for name in ["count", "skip", "seek"] {
        if numbers.chance(30) {
            call = call.arg(format!("{name}={}", numbers.below(20)));
        }
    }
    let conversions = numbers.some(12, &["notrunc", "sparse", "swab", "ucase", "sync", "fsync"]);
    if !conversions.is_empty() {
        let list: Vec<&str> = conversions.into_iter().copied().collect();
        call = call.arg(format!("conv={}", list.join(",")));
    }
    if numbers.chance(30) {
        call = call.arg("iflag=fullblock");
    }
    let step = match numbers.below(3) {
        0 => Step::new(vec![call]).from(&from).to(&to),
        1 => Step::new(vec![Call::new("cat").by(By::Gnu).arg(&from), call.arg(format!("of={to}"))]),
        _ => Step::new(vec![call.arg(format!("if={from}")).arg(format!("of={to}"))]),
    };
    // How much a read from a pipe returns is not determined, unless dd fills its blocks.
    let is_determined = step.calls.len() == 1 || step.calls[1].has(&["iflag=fullblock"]);
    let steps = if is_determined {
        vec![step.clone(), step]
    } else {
        vec![Step { calls: step.calls[1..].to_vec(), input: Some((&from).into()), ..step }]
    };
    Script { prepared, steps }
}

pub(super) fn split(numbers: &mut Numbers, places: &Places) -> Script {
    let (from, prefix) = (format!("{}/f", places.near), format!("{}/x", places.far));
    let source = bytes(numbers);
    let at_least = source.len() as u64 / 600 + 1;
    let size = numbers.between(at_least, at_least + 100_000);
    // Not `-n`: GNU's releases cut files into pieces of different sizes.
    let how = match numbers.below(4) {
        0 | 1 => format!("-b{size}"),
        2 => format!("-C{size}"),
        _ => format!("-l{}", numbers.between(at_least, at_least + 10_000)),
    };
    let options = numbers.some(20, &["-d", "-e", "--additional-suffix=.p", "-x"]);
    let call = Call::new("split").arg(how).args(options).arg("-a3").arg(&from).arg(&prefix);
    let step = Step::new(vec![call]);
    Script { prepared: vec![Prepared::file(&from, source)], steps: vec![step.clone(), step] }
}

pub(super) fn cat(numbers: &mut Numbers, places: &Places) -> Script {
    let (one, two) = (format!("{}/f", places.near), format!("{}/g", places.far));
    let out = format!("{}/out", places.far);
    let prepared = vec![Prepared::file(&one, bytes(numbers)), Prepared::file(&two, bytes(numbers))];
    let options = numbers.some(15, &["-n", "-b", "-s", "-E", "-T", "-v", "-A", "-e", "-t"]);
    let is_plain = options.is_empty();
    let call = Call::new("cat").args(options);
    let step = match numbers.below(3) {
        0 => Step::new(vec![call.arg(&one)]).to(&out),
        1 => Step::new(vec![call.args(["-", &two])]).from(&one).to(&out),
        _ => Step::new(vec![Call::new("cat").arg(&one), call]).to(&out),
    };
    let is_copy = is_plain && !step.calls[0].has(&["-"]);
    let same = Promise::SameBytes { from: (&one).into(), to: (&out).into() };
    let step = if is_copy { step.promise(same) } else { step };
    Script { prepared, steps: vec![step] }
}

pub(super) fn tee(numbers: &mut Numbers, places: &Places) -> Script {
    let from = format!("{}/f", places.near);
    let targets = [format!("{}/a", places.far), format!("{}/b", places.near)];
    let out = format!("{}/out", places.far);
    let prepared =
        vec![Prepared::file(&from, bytes(numbers)), Prepared::file(&targets[0], bytes(numbers))];
    let mut call = Call::new("tee");
    let appends = numbers.chance(30);
    if appends {
        call = call.arg("-a");
    }
    let count = numbers.index(targets.len() + 1);
    let call = call.args(&targets[..count]);
    let same = |to: &String| Promise::SameBytes { from: (&from).into(), to: to.into() };
    let mut step = match numbers.below(2) {
        0 => Step::new(vec![call]).from(&from).to(&out),
        _ => Step::new(vec![Call::new("cat").by(By::Gnu).arg(&from), call]).to(&out),
    };
    step = step.promise(same(&out));
    if !appends {
        step = targets[..count].iter().fold(step, |step, target| step.promise(same(target)));
    }
    Script { prepared, steps: vec![step.clone(), step] }
}
