//! Archives: what haul lists and extracts must be what GNU tar or bsdtar lists and extracts.
//!
//! Where the two differ, haul may be as either. Where both read an archive, haul may refuse it only
//! for a reason of the table, and a refused member must not cost the members behind it.

use super::accepted;
use super::corpus::Seed;
use super::kept::Flaw;
use super::lab::{Done, Lab};
use super::mutate;
use crate::error::Result;
use haul_manifest::Numbers;
use haul_manifest::{
    Aspect, Aspects, CompareOptions, Finding, Kind, Manifest, RootAttributes, ScanOptions, What,
    compare,
};
use std::path::Path;

/// The name of this target.
pub(crate) const NAME: &str = "tar";

/// Lists and extracts a changed archive with all three programs.
pub(crate) fn attempt(
    numbers: &mut Numbers,
    corpus: &[Seed],
    lab: &Lab,
) -> Result<(Vec<u8>, String, Vec<Flaw>)> {
    let seed = numbers.pick(corpus);
    let mut input = seed.bytes.clone();
    mutate::archive(numbers, &mut input);
    let path = lab.write("in", &input)?;
    let list = |program: &[&str]| lab.run(&[program, &["-tf", "in"]].concat(), None);
    let listed = [list(&["haul", "tar"])?, list(&["tar"])?, list(&["bsdtar"])?];
    let mut flaws = judge_lists(&listed);
    let extract = |program: &[&str], name: &str| {
        lab.folder(name)?;
        let words = [program, &["--no-same-owner", "-xf", "in", "-C", name]].concat();
        lab.run(&words, None)
    };
    let haul = extract(&["haul", "tar"], "haul")?;
    let gnu = extract(&["tar"], "gnu")?;
    let bsd = extract(&["bsdtar"], "bsd")?;
    let roots = ["haul", "gnu", "bsd"].map(|name| lab.path(name));
    flaws.extend(judge_trees([&haul, &gnu, &bsd], [&roots[0], &roots[1], &roots[2]]));
    for root in roots {
        let name = root.file_name().unwrap_or_default().to_string_lossy().into_owned();
        lab.folder(&name)?;
    }
    std::fs::remove_file(path).ok();
    Ok((input, seed.name.clone(), flaws))
}

/// Judges the listings of haul, GNU tar and bsdtar.
fn judge_lists([haul, gnu, bsd]: &[Done; 3]) -> Vec<Flaw> {
    let mut flaws = Flaw::unsound(&haul.trial);
    let says = &haul.trial.stderr;
    match (haul, gnu, bsd).map_status() {
        (true, true, _) if haul.output != gnu.output && haul.output != bsd.output => {
            flaws.push(Flaw::new("another list with status 0", &both_lists(haul, gnu)));
        }
        (true, false, false) if !accepted::looser(NAME, &gnu.trial.stderr) => {
            let why =
                format!("GNU tar says: {}bsdtar says: {}", gnu.trial.stderr, bsd.trial.stderr);
            flaws.push(Flaw::new("lists what both others refuse", &why));
        }
        (false, true, true) if !accepted::stricter(NAME, says) => {
            flaws.push(Flaw::with_reason("refuses to list what both others list", says));
        }
        _ => {}
    }
    flaws
}

/// Judges what haul has extracted beside what the others have.
fn judge_trees([haul, gnu, bsd]: [&Done; 3], [ours, theirs, others]: [&Path; 3]) -> Vec<Flaw> {
    let mut flaws = Flaw::unsound(&haul.trial);
    let says = &haul.trial.stderr;
    match (haul, gnu, bsd).map_status() {
        (true, true, _) => {
            let found = differences(theirs, ours);
            if !found.is_empty() && !differences(others, ours).is_empty() {
                flaws.push(Flaw::new("another tree with status 0", &found.join("\n")));
            }
        }
        (true, false, false) if !accepted::looser(NAME, &gnu.trial.stderr) => {
            let why =
                format!("GNU tar says: {}bsdtar says: {}", gnu.trial.stderr, bsd.trial.stderr);
            flaws.push(Flaw::new("extracts what both others refuse", &why));
        }
        (false, true, true) => {
            if !accepted::stricter(NAME, says) {
                flaws.push(Flaw::with_reason("refuses to extract what both others extract", says));
            }
            let (lacking, refused) = (lacking(theirs, ours), says.lines().count());
            if lacking > refused.max(1) {
                let what = format!("{lacking} entries lack, {refused} lines of messages\n{says}");
                flaws.push(Flaw::new("a refused member costs others", &what));
            }
        }
        _ => {}
    }
    flaws
}

/// The statuses of three programs.
trait Statuses {
    fn map_status(&self) -> (bool, bool, bool);
}

impl Statuses for (&Done, &Done, &Done) {
    fn map_status(&self) -> (bool, bool, bool) {
        let ok = |done: &Done| done.trial.status.is_success();
        (ok(self.0), ok(self.1), ok(self.2))
    }
}

fn both_lists(haul: &Done, gnu: &Done) -> String {
    let text = |done: &Done| String::from_utf8_lossy(&done.output).replace('\n', " ");
    format!("haul lists {}\nGNU tar lists {}", text(haul), text(gnu))
}

/// Compares two trees but for owners and attributes, which the programs restore by different options.
fn differences(theirs: &Path, ours: &Path) -> Vec<String> {
    let aspects = Aspects::contents_only().with(Aspect::Links);
    let options =
        CompareOptions { root_attributes: RootAttributes::Ignore, ..CompareOptions::new(aspects) };
    let findings = compare(theirs, ours, &options).findings;
    findings.iter().map(|finding| format!("{finding} (A is GNU's)")).collect()
}

/// Returns the number of files and links that one tree has and the other has not.
fn lacking(theirs: &Path, ours: &Path) -> usize {
    let findings = compare(theirs, ours, &CompareOptions::new(Aspects::none())).findings;
    let mut count = 0;
    for finding in findings {
        if let Finding::Difference(it) = finding
            && let What::OnlyInA { kind } = it.what
        {
            let name = std::ffi::OsStr::new(std::str::from_utf8(it.path.as_bytes()).unwrap_or(""));
            count += match kind {
                Some(Kind::Directory) => {
                    let options = ScanOptions { skip_xattrs: true, ..ScanOptions::default() };
                    Manifest::scan(&theirs.join(name), &options).entries.len()
                }
                _ => 1,
            };
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{Status, Trial};
    use std::fs;
    use std::time::Duration;

    fn done(code: i32, output: &str) -> Done {
        let stderr = if code == 0 { String::new() } else { "tar: unknown words\n".to_owned() };
        let trial =
            Trial { status: Status::Exited(code), stderr, max_rss_bytes: 1, cpu: Duration::ZERO };
        Done { trial, output: output.as_bytes().to_vec() }
    }

    #[test]
    fn a_list_is_that_of_one_of_the_others() {
        let classes = |haul: Done, gnu: Done, bsd: Done| -> Vec<String> {
            judge_lists(&[haul, gnu, bsd]).into_iter().map(|flaw| flaw.class).collect()
        };
        assert!(classes(done(0, "a"), done(0, "a"), done(1, "")).is_empty());
        assert!(classes(done(0, "a"), done(0, "b"), done(0, "a")).is_empty());
        assert!(classes(done(2, ""), done(0, "b"), done(1, "a")).is_empty());
        let found = classes(done(0, "c"), done(0, "b"), done(0, "a"));
        assert_eq!(found, ["another list with status 0"]);
        let found = classes(done(0, "a"), done(2, "a"), done(1, "a"));
        assert_eq!(found, ["lists what both others refuse"]);
        let found = classes(done(2, "a"), done(0, "a"), done(0, "a"));
        assert_eq!(found, ["refuses to list what both others list: unknown words"]);
    }

    #[test]
    fn another_tree_and_what_lacks_are_found() {
        let top = std::env::temp_dir().join(format!("xtask-trees-{}", std::process::id()));
        let [ours, theirs, others] = ["h", "g", "b"].map(|name| top.join(name));
        for dir in [&ours, &theirs, &others] {
            fs::create_dir_all(dir.join("d")).unwrap();
            fs::write(dir.join("d/f"), "1").unwrap();
        }
        let judged = |code: i32| {
            let (haul, other) = (done(code, ""), done(0, ""));
            judge_trees([&haul, &other, &other], [&ours, &theirs, &others])
        };
        assert_eq!(judged(0), []);
        fs::write(ours.join("d/f"), "2").unwrap();
        assert_eq!(judged(0)[0].class, "another tree with status 0");
        fs::remove_dir_all(ours.join("d")).unwrap();
        assert_eq!(lacking(&theirs, &ours), 2);
        let classes: Vec<_> = judged(2).into_iter().map(|flaw| flaw.class).collect();
        let expected = "refuses to extract what both others extract: unknown words";
        assert_eq!(classes, [expected, "a refused member costs others"]);
        fs::remove_dir_all(&top).unwrap();
    }
}
