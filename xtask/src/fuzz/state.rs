//! What haul itself has written and reads again: the journal of `--resume`, and the index of archives.
//!
//! Both only tell where to look: whatever they say, the result is right, or the run fails.

use super::corpus::Seed;
use super::lab::Lab;
use super::mutate;
use crate::command::{command, output};
use crate::error::{Context, Result};
use crate::flaw::Flaw;
use haul_manifest::Numbers;
use haul_manifest::{Aspects, CompareOptions, compare};
use std::fs;
use std::path::Path;

/// Files of the tree that is copied.
const FILES: u64 = 6;

/// Copies a tree with a journal, changes the journal and some entries on both sides, and copies again.
pub(crate) fn journal(numbers: &mut Numbers, lab: &Lab) -> Result<(Vec<u8>, String, Vec<Flaw>)> {
    let source = lab.folder("src")?;
    lab.folder("dst")?;
    let name = |index: u64| format!("f{index}");
    for index in 0..FILES {
        let path = source.join(name(index));
        fs::write(&path, content(numbers)).context("write", path.display())?;
    }
    let words = ["haul", "cp", "-aT", "--journal=journal", "src", "dst"];
    let mut flaws = Flaw::unsound(&lab.run(&words, None)?.trial);
    let path = lab.path("journal");
    let mut bytes = fs::read(&path).context("read", path.display())?;
    mutate::bytes(numbers, &mut bytes);
    fs::write(&path, &bytes).context("write", path.display())?;
    for index in 0..FILES {
        change(numbers, &lab.path("src").join(name(index)), &lab.path("dst").join(name(index)))?;
    }
    let second = lab.run(&words, None)?;
    flaws.extend(Flaw::unsound(&second.trial));
    if second.trial.status.is_success() {
        flaws.extend(judge_copy(&lab.path("src"), &lab.path("dst")));
    }
    fs::remove_file(&path).ok();
    Ok((bytes, "a journal".to_owned(), flaws))
}

/// Returns how a copy differs from its source; the source may have lost entries since.
fn judge_copy(source: &Path, target: &Path) -> Option<Flaw> {
    let found = compare(source, target, &CompareOptions::new(Aspects::preserved())).findings;
    let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
    (!lines.is_empty()).then(|| Flaw::of_text("another tree with status 0", &lines.join("\n")))
}

/// Changes a file on one side, or not.
fn change(numbers: &mut Numbers, source: &Path, target: &Path) -> Result<()> {
    match numbers.below(6) {
        0 => fs::write(source, content(numbers)).context("write", source.display()),
        1 => fs::write(target, content(numbers)).context("write", target.display()),
        2 => fs::remove_file(target).context("remove", target.display()),
        _ => Ok(()),
    }
}

fn content(numbers: &mut Numbers) -> Vec<u8> {
    let mut bytes = vec![0; *numbers.pick(&[0, 1, 4096, 70_000])];
    numbers.fill(&mut bytes);
    bytes
}

/// The members of an indexed archive.
const MEMBERS: [&str; 4] = ["m0", "m1", "m2", "m3"];

/// Returns archives that have a member index and several frames.
pub(crate) fn indexed(lab: &Lab) -> Result<Vec<Seed>> {
    let dir = lab.folder("members")?;
    let mut numbers = Numbers::new(3);
    let mut seeds = Vec::new();
    for frame in ["--frame=64K", "--frame=128K"] {
        for member in MEMBERS {
            let mut bytes = vec![0; 50_000];
            numbers.fill(&mut bytes);
            fs::write(dir.join(member), bytes).context("write", member)?;
        }
        let archive = lab.path("indexed.tar.zst");
        let mut tar = command(&lab.haul);
        tar.args(["tar", "--zstd", frame, "-cf"]).arg(&archive).arg("-C").arg(&dir).args(MEMBERS);
        output(&mut tar)?;
        let bytes = fs::read(&archive).context("read", archive.display())?;
        seeds.push(Seed { name: format!("haul tar --zstd {frame}"), bytes });
    }
    Ok(seeds)
}

/// Changes the end of an archive, where its index is, and extracts one member.
pub(crate) fn index(
    numbers: &mut Numbers,
    corpus: &[Seed],
    lab: &Lab,
) -> Result<(Vec<u8>, String, Vec<Flaw>)> {
    let seed = numbers.pick(corpus);
    let mut input = seed.bytes.clone();
    let tail_bytes = numbers.index(600) + 1;
    let mut tail = input.split_off(input.len().saturating_sub(tail_bytes));
    mutate::bytes(numbers, &mut tail);
    input.extend(tail);
    let path = lab.write("in", &input)?;
    let member = *numbers.pick(&MEMBERS);
    let haul = lab.run(&["haul", "tar", "--zstd", "-xOf", "in", member], None)?;
    let plain = lab.run(&["zstd", "-qdc"], Some(&path))?;
    let archive = lab.write("archive", &plain.output)?;
    let gnu = lab.run(&["tar", "-xOf", "-", member], Some(&archive))?;
    let mut flaws = Flaw::unsound(&haul.trial);
    if haul.trial.status.is_success() && haul.output != gnu.output {
        flaws.push(Flaw::of_text("other bytes with status 0", member));
    }
    Ok((input, seed.name.clone(), flaws))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_that_differs_is_found() {
        let top = std::env::temp_dir().join(format!("xtask-journal-{}", std::process::id()));
        let [source, target] = ["src", "dst"].map(|name| top.join(name));
        fs::create_dir_all(&source).unwrap();
        fs::write(source.join("f"), "1").unwrap();
        let done = std::process::Command::new("cp").arg("-a").args([&source, &target]).status();
        assert!(done.unwrap().success());
        assert_eq!(judge_copy(&source, &target), None);
        fs::write(target.join("f"), "2").unwrap();
        assert_eq!(judge_copy(&source, &target).unwrap().class, "another tree with status 0");
        fs::remove_dir_all(&top).unwrap();
    }
}
