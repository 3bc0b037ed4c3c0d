//! Archives: what haul lists and extracts must be what GNU tar or bsdtar lists and extracts.
//!
//! Where the two differ, haul may be as either, or refuse the archive. Where they agree, haul may refuse it only
//! for a reason of the table, and a refused member must not cost the members behind it.

use super::accepted;
use super::corpus::Seed;
use super::lab::{Done, Lab};
use super::mutate;
use crate::error::Result;
use crate::flaw::Flaw;
use haul_manifest::Numbers;
use haul_manifest::{
    Aspect, Aspects, CompareOptions, EntryId, Finding, Kind, Manifest, RootAttributes, ScanOptions,
    What, compare,
};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The name of this target.
pub(crate) const NAME: &str = "tar";

/// What one program made of an archive.
struct Reading {
    list: Done,
    extraction: Done,
    tree: PathBuf,
}

/// What the three programs made of it.
struct Readings<'a> {
    input: &'a [u8],
    haul: Reading,
    gnu: Reading,
    bsd: Reading,
}

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
    let read = |program: &[&str], name: &str| -> Result<Reading> {
        let list = lab.run(&[program, &["-tf", "in"]].concat(), None)?;
        let tree = lab.folder(name)?;
        let words = [program, &["--no-same-owner", "-xf", "in", "-C", name]].concat();
        Ok(Reading { list, extraction: lab.run(&words, None)?, tree })
    };
    let readings = Readings {
        input: &input,
        haul: read(&["haul", "tar"], "haul")?,
        gnu: read(&["tar"], "gnu")?,
        bsd: read(&["bsdtar"], "bsd")?,
    };
    let mut flaws = readings.judge_lists();
    flaws.extend(readings.judge_trees());
    for name in ["haul", "gnu", "bsd"] {
        lab.folder(name)?;
    }
    std::fs::remove_file(path).ok();
    Ok((input, seed.name.clone(), flaws))
}

impl Readings<'_> {
    /// Judges the listings.
    fn judge_lists(&self) -> Vec<Flaw> {
        let (haul, gnu, bsd) = (&self.haul.list, &self.gnu.list, &self.bsd.list);
        let mut flaws = Flaw::unsound(&haul.trial);
        // Only the listing of GNU tar skips the size that a link claims: alone, it says nothing about what is an archive.
        let gnu_extracts = is_read(&self.gnu.extraction);
        match (is_read(haul), is_read(gnu), is_read(bsd)) {
            (true, true, _) if haul.output != gnu.output && haul.output != bsd.output => {
                flaws.push(Flaw::of_text("another list with status 0", &both_lists(haul, gnu)));
            }
            (true, false, false) if !gnu_extracts && !gives_all_but_known(haul, gnu) => {
                flaws.push(Flaw::of_text("lists what both others refuse", &both_say(gnu, bsd)));
            }
            (false, true, true)
                if gnu_extracts
                    && gnu.output == bsd.output
                    && differences(&self.gnu.tree, &self.bsd.tree).is_empty() =>
            {
                flaws.extend(self.doubt("refuses to list what both others list", haul));
            }
            _ => {}
        }
        flaws
    }

    /// Judges the extracted trees.
    fn judge_trees(&self) -> Vec<Flaw> {
        let (haul, gnu, bsd) = (&self.haul.extraction, &self.gnu.extraction, &self.bsd.extraction);
        let (ours, theirs, others) = (&self.haul.tree, &self.gnu.tree, &self.bsd.tree);
        let mut flaws = Flaw::unsound(&haul.trial);
        let unlisted = unlisted(&self.haul.list.output, ours);
        if !unlisted.is_empty() {
            flaws.push(Flaw::of_text("extracts what it does not list", &unlisted.join("\n")));
        }
        match (is_read(haul), is_read(gnu), is_read(bsd)) {
            (true, true, _) => {
                let found = described(&differences(theirs, ours));
                if !found.is_empty() && !differences(others, ours).is_empty() {
                    flaws.push(Flaw::of_text("another tree with status 0", &found.join("\n")));
                }
            }
            (true, false, false) if !has_all_but_known(gnu, &differences(theirs, ours)) => {
                flaws.push(Flaw::of_text("extracts what both others refuse", &both_say(gnu, bsd)));
            }
            (false, true, true) if differences(theirs, others).is_empty() => {
                let says = &haul.trial.stderr;
                flaws.extend(self.doubt("refuses to extract what both others extract", haul));
                let (lacking, refused) = (lacking(theirs, ours), says.lines().count());
                if lacking > refused.max(1) {
                    let what =
                        format!("{lacking} entries lack, {refused} lines of messages\n{says}");
                    flaws.push(Flaw::of_text("a refused member costs others", &what));
                }
            }
            _ => {}
        }
        flaws
    }

    /// Returns a finding about what haul refuses, unless the table has each of its reasons.
    fn doubt(&self, class: &str, haul: &Done) -> Option<Flaw> {
        let says = &haul.trial.stderr;
        let is_known = accepted::stricter(NAME, self.input, says);
        (!is_known).then(|| Flaw::with_reason(class, says))
    }
}

/// Returns whether a program has read all of an archive. bsdtar looks for the next header behind damage, and calls that
/// a success.
fn is_read(done: &Done) -> bool {
    done.trial.status.is_success() && !done.trial.stderr.contains("Retrying...")
}

/// Returns whether haul lists what GNU tar lists, and no more than what the table explains.
fn gives_all_but_known(haul: &Done, gnu: &Done) -> bool {
    let Some(members) = accepted::looser(NAME, &gnu.trial.stderr) else { return false };
    let (mut ours, mut more) = (lines(haul), 0);
    for name in lines(gnu) {
        let Some(before) = ours.by_ref().position(|own| own == name) else { return false };
        more += before;
    }
    more + ours.count() <= members
}

/// Returns whether haul has extracted what GNU tar has, and no more than what the table explains.
fn has_all_but_known(gnu: &Done, differences: &[Finding]) -> bool {
    let is_more = |finding: &Finding| match finding {
        Finding::Difference(it) => matches!(it.what, What::OnlyInB { .. }),
        _ => false,
    };
    accepted::looser(NAME, &gnu.trial.stderr)
        .is_some_and(|members| differences.len() <= members && differences.iter().all(is_more))
}

fn lines(done: &Done) -> impl Iterator<Item = &[u8]> {
    done.output.split(|byte| *byte == b'\n')
}

fn both_lists(haul: &Done, gnu: &Done) -> String {
    let text = |done: &Done| String::from_utf8_lossy(&done.output).replace('\n', " ");
    format!("haul lists {}\nGNU tar lists {}", text(haul), text(gnu))
}

fn both_say(gnu: &Done, bsd: &Done) -> String {
    format!("GNU tar says: {}bsdtar says: {}", gnu.trial.stderr, bsd.trial.stderr)
}

/// Compares two trees but for owners and attributes, which the programs restore by different options.
fn differences(theirs: &Path, ours: &Path) -> Vec<Finding> {
    let aspects = Aspects::contents_only().with(Aspect::Links);
    let options =
        CompareOptions { root_attributes: RootAttributes::Ignore, ..CompareOptions::new(aspects) };
    compare(theirs, ours, &options).findings
}

fn described(findings: &[Finding]) -> Vec<String> {
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

/// Returns the entries of a tree that a listing does not have; directories may come from the names below them.
fn unlisted(list: &[u8], tree: &Path) -> Vec<String> {
    let listed: BTreeSet<Vec<u8>> =
        list.split(|byte| *byte == b'\n').map(|line| extracted_name(&unescaped(line))).collect();
    let options = ScanOptions { skip_xattrs: true, ..ScanOptions::default() };
    let manifest = Manifest::scan(tree, &options);
    let entries = manifest.entries.iter().enumerate();
    let others = entries.filter(|(_, entry)| entry.kind != Kind::Directory);
    let names = others.map(|(id, _)| manifest.path_of(EntryId(id)));
    names
        .filter(|name| !listed.contains(name.as_bytes()))
        .map(|name| String::from_utf8_lossy(name.as_bytes()).into_owned())
        .collect()
}

/// Returns the name under which a member is extracted: without a beginning that leads out, and without empty parts.
fn extracted_name(name: &[u8]) -> Vec<u8> {
    let parts: Vec<&[u8]> = name.split(|byte| *byte == b'/').collect();
    let start = parts.iter().rposition(|part| *part == b"..").map_or(0, |at| at + 1);
    let rest = parts[start..].iter().filter(|part| !matches!(**part, b"" | b"."));
    rest.copied().collect::<Vec<_>>().join(&b'/')
}

/// Takes back the escapes of a listing.
fn unescaped(line: &[u8]) -> Vec<u8> {
    let (mut name, mut rest) = (Vec::new(), line);
    while let Some((byte, behind)) = rest.split_first() {
        let octal = behind
            .get(..3)
            .filter(|_| *byte == b'\\')
            .and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        let (byte, behind) = match (octal, byte, behind) {
            (Some(value), _, [_, _, _, behind @ ..]) => (value, behind),
            (None, b'\\', [letter, behind @ ..]) => {
                let controls = b"abtnvfr".iter().zip(7..).find(|(name, _)| *name == letter);
                (controls.map_or(*letter, |(_, value)| value), behind)
            }
            _ => (*byte, behind),
        };
        name.push(byte);
        rest = behind;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{Status, Trial};
    use std::fs;
    use std::time::Duration;

    fn done(code: i32, output: &str) -> Done {
        let words = if code == 0 { "" } else { "tar: unknown words\n" };
        said(code, output, words)
    }

    fn said(code: i32, output: &str, words: &str) -> Done {
        let (status, stderr) = (Status::Exited(code), words.to_owned());
        let trial = Trial { status, stderr, max_rss_bytes: 1, cpu: Duration::ZERO };
        Done { trial, output: output.as_bytes().to_vec() }
    }

    /// A program that lists, and extracts with the same status and words.
    fn reading(list: Done, tree: &Path) -> Reading {
        let trial = list.trial.clone();
        let extraction = Done { trial, output: Vec::new() };
        Reading { list, extraction, tree: tree.to_owned() }
    }

    fn lists(haul: Done, gnu: Done, bsd: Done) -> Vec<String> {
        let [haul, gnu, bsd] = [haul, gnu, bsd].map(|list| reading(list, Path::new("/dev/null")));
        let flaws = Readings { input: b"", haul, gnu, bsd }.judge_lists();
        flaws.into_iter().map(|flaw| flaw.class).collect()
    }

    #[test]
    fn a_list_is_that_of_one_of_the_others() {
        assert!(lists(done(0, "a"), done(0, "a"), done(1, "")).is_empty());
        assert!(lists(done(0, "a"), done(0, "b"), done(0, "a")).is_empty());
        assert!(lists(done(2, ""), done(0, "b"), done(1, "a")).is_empty());
        let found = lists(done(0, "c"), done(0, "b"), done(0, "a"));
        assert_eq!(found, ["another list with status 0"]);
        let found = lists(done(0, "a"), done(2, "a"), done(1, "a"));
        assert_eq!(found, ["lists what both others refuse"]);
        let found = lists(done(2, "a"), done(0, "a"), done(0, "a"));
        assert_eq!(found, ["refuses to list what both others list: unknown words"]);
    }

    #[test]
    fn what_programs_read_differently_may_be_refused() {
        assert!(lists(done(2, ""), done(0, "b"), done(0, "a")).is_empty());
        let doubtful = said(0, "a", "bsdtar: Damaged tar archive\nbsdtar: Retrying...\n");
        assert!(lists(done(2, "a"), done(0, "a"), doubtful).is_empty());
        let mut gnu = reading(done(0, "a"), Path::new("/dev/null"));
        gnu.extraction = done(2, "");
        let [haul, bsd] =
            [done(2, "a"), done(0, "a")].map(|it| reading(it, Path::new("/dev/null")));
        assert_eq!(Readings { input: b"", haul, gnu, bsd }.judge_lists(), []);
        let mut gnu = reading(done(2, "a"), Path::new("/dev/null"));
        gnu.extraction = done(0, "");
        let [haul, bsd] = [done(0, "a"), done(1, "")].map(|it| reading(it, Path::new("/dev/null")));
        assert_eq!(Readings { input: b"", haul, gnu, bsd }.judge_lists(), []);
    }

    #[test]
    fn what_gnu_tar_leaves_out_is_counted() {
        let time = "tar: Archive contains 'x' where numeric time_t value expected\n";
        let size = "tar: Archive contains 'x' where numeric off_t value expected\n";
        let found = |haul: &str, gnu: &str, words: &str| {
            lists(done(0, haul), said(2, gnu, words), done(1, ""))
        };
        let class = "lists what both others refuse";
        assert!(found("a\nb\n", "a\nb\n", time).is_empty());
        assert_eq!(found("a\nb\n", "b\n", time), [class]);
        assert_eq!(found("b\n", "a\nb\n", time), [class]);
        for gnu in ["b\nc\n", "a\nc\n", "a\nb\n"] {
            assert!(found("a\nb\nc\n", gnu, size).is_empty(), "{gnu}");
        }
        assert_eq!(found("a\nb\nc\n", "b\n", size), [class]);
    }

    #[test]
    fn names_are_those_of_the_archive() {
        assert_eq!(unescaped(b"a\\nb\\\\\\033\\a\\303\\251 c"), b"a\nb\\\x1b\x07\xc3\xa9 c");
        assert_eq!(extracted_name(b"/../x/./y//z/"), b"x/y/z");
        assert_eq!(extracted_name(b"./"), b"");
    }

    #[test]
    fn another_tree_and_what_lacks_are_found() {
        let top = std::env::temp_dir().join(format!("xtask-trees-{}", std::process::id()));
        let [ours, theirs, others] = ["h", "g", "b"].map(|name| top.join(name));
        for dir in [&ours, &theirs, &others] {
            fs::create_dir_all(dir.join("d")).unwrap();
            fs::write(dir.join("d/f"), "1").unwrap();
        }
        let judged = |haul: Done, gnu: Done, bsd: Done| {
            let haul =
                Reading { list: done(0, "d/\n./d/f\n/../d/g\nd/h\n"), ..reading(haul, &ours) };
            let (gnu, bsd) = (reading(gnu, &theirs), reading(bsd, &others));
            Readings { input: b"", haul, gnu, bsd }.judge_trees()
        };
        let whole = |code: i32| judged(done(code, ""), done(0, ""), done(0, ""));
        assert_eq!(whole(0), []);
        let size = "tar: Archive contains 'x' where numeric off_t value expected\n";
        let leaves_out = || judged(done(0, ""), said(2, "", size), done(1, ""));
        assert_eq!(leaves_out(), []);
        fs::write(ours.join("d/g"), "1").unwrap();
        assert_eq!(leaves_out(), []);
        fs::write(ours.join("d/h"), "1").unwrap();
        assert_eq!(leaves_out()[0].class, "extracts what both others refuse");
        fs::write(ours.join("d/i"), "1").unwrap();
        assert_eq!(whole(0)[0].class, "extracts what it does not list");
        fs::remove_file(ours.join("d/i")).unwrap();
        fs::write(ours.join("d/f"), "2").unwrap();
        assert_eq!(whole(0)[0].class, "another tree with status 0");
        fs::remove_dir_all(ours.join("d")).unwrap();
        assert_eq!(lacking(&theirs, &ours), 2);
        let classes: Vec<_> = whole(2).into_iter().map(|flaw| flaw.class).collect();
        let expected = "refuses to extract what both others extract: unknown words";
        assert_eq!(classes, [expected, "a refused member costs others"]);
        fs::write(others.join("d/f"), "3").unwrap();
        assert_eq!(whole(2), []);
        fs::remove_dir_all(&top).unwrap();
    }
}
