//! Compressed streams: what haul gives must be what the format's own program gives.

use super::accepted;
use super::corpus::{self, Seed};
use super::lab::{Done, Lab};
use super::mutate;
use crate::error::Result;
use crate::flaw::Flaw;
use haul_manifest::Numbers;
use std::path::Path;

/// A format of streams.
pub(crate) struct Format {
    pub(crate) name: &'static str,
    /// Commands that compress their standard input.
    packers: &'static [&'static [&'static str]],
    /// The program that decides what a stream means.
    reference: &'static [&'static str],
    content: Content,
    /// haul's command, without the number of workers.
    haul: &'static [&'static str],
}

/// What a stream has in it. haul reads some formats only as archives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Data,
    /// An archive of one file, of which the bytes of the file count.
    Archive,
}

pub(crate) const FORMATS: &[Format] = &[
    Format {
        name: "gzip",
        packers: &[&["gzip", "-1"], &["gzip", "-9"], &["haul", "gzip", "-6"]],
        reference: &["gzip", "-dc"],
        content: Content::Data,
        haul: &["haul", "gzip", "-dc"],
    },
    Format {
        name: "zstd",
        packers: &[&["zstd", "-qc", "-1"], &["zstd", "-qc", "-19", "--check"]],
        reference: &["zstd", "-qdc"],
        content: Content::Archive,
        haul: &["haul", "tar", "--zstd", "-xOf", "-"],
    },
    Format {
        name: "xz",
        packers: &[&["xz", "-c"], &["xz", "-c0", "--check=sha256", "--block-size=20000"]],
        reference: &["xz", "-dc"],
        content: Content::Archive,
        haul: &["haul", "tar", "-J", "-xOf", "-"],
    },
    Format {
        name: "lzma",
        packers: &[&["xz", "-c", "--format=lzma"]],
        reference: &["xz", "-dc", "--format=lzma"],
        content: Content::Archive,
        haul: &["haul", "tar", "--lzma", "-xOf", "-"],
    },
    Format {
        name: "bzip2",
        packers: &[&["bzip2", "-c"], &["bzip2", "-c1"]],
        reference: &["bzip2", "-dc"],
        content: Content::Archive,
        haul: &["haul", "tar", "-j", "-xOf", "-"],
    },
];

impl Format {
    pub(crate) fn corpus(&self, lab: &Lab) -> Result<Vec<Seed>> {
        corpus::streams(lab, self.packers, self.content == Content::Archive)
    }

    /// Reads a changed stream with one worker, with four, and with the reference.
    pub(crate) fn attempt(
        &self,
        numbers: &mut Numbers,
        corpus: &[Seed],
        lab: &Lab,
    ) -> Result<(Vec<u8>, String, Vec<Flaw>)> {
        let seed = numbers.pick(corpus);
        let mut input = seed.bytes.clone();
        mutate::bytes(numbers, &mut input);
        let path = lab.write("in", &input)?;
        let reference = self.reference(lab, &path)?;
        let mut runs = Vec::new();
        for workers in ["--jobs=1", "--jobs=4"] {
            runs.push(lab.run(&[self.haul, &[workers]].concat(), Some(&path))?);
        }
        let flaws = judge(self.name, &input, &reference, [&runs[0], &runs[1]]);
        Ok((input, seed.name.clone(), flaws))
    }
}

impl Format {
    /// Reads a stream with the format's own program, and an archive in it with GNU tar.
    fn reference(&self, lab: &Lab, path: &Path) -> Result<Done> {
        let decoded = lab.run(self.reference, Some(path))?;
        if self.content == Content::Data {
            return Ok(decoded);
        }
        let archive = lab.write("archive", &decoded.output)?;
        let mut read = lab.run(&["tar", "-xOf", "-"], Some(&archive))?;
        if !decoded.trial.status.is_success() {
            read.trial = decoded.trial;
        }
        Ok(read)
    }
}

/// Judges what one worker and four have read, beside the reference.
fn judge(format: &str, input: &[u8], reference: &Done, [one, four]: [&Done; 2]) -> Vec<Flaw> {
    let mut flaws = Flaw::unsound(&one.trial);
    flaws.extend(Flaw::unsound(&four.trial));
    let is_whole = reference.trial.status.is_success();
    for done in [one, four] {
        let says = &done.trial.stderr;
        match (done.trial.status.is_success(), is_whole) {
            (true, true) if done.output != reference.output => {
                flaws.push(Flaw::of_text("other bytes with status 0", says));
            }
            (true, false) if accepted::looser(format, &reference.trial.stderr).is_none() => {
                let why = format!("the reference says: {}", reference.trial.stderr);
                flaws.push(Flaw::of_text("accepts what the reference refuses", &why));
            }
            (false, true) if !accepted::stricter(format, input, says) => {
                flaws.push(Flaw::with_reason("refuses what the reference accepts", says));
            }
            (false, _) if !is_prefix(&done.output, &reference.output) => {
                flaws.push(Flaw::of_text("bytes that the reference does not give", says));
            }
            _ => {}
        }
    }
    // Usually both runs have the same one.
    flaws.dedup_by(|second, first| second.class == first.class);
    if one.trial.status != four.trial.status {
        let both = format!("{}\n{}", one.trial.stderr, four.trial.stderr);
        flaws.push(Flaw::of_text("one worker and four disagree", &both));
    }
    flaws
}

/// Whether one of two outputs is the beginning of the other: how much comes before an error may differ.
fn is_prefix(one: &[u8], two: &[u8]) -> bool {
    let common = one.len().min(two.len());
    one[..common] == two[..common]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{Status, Trial};
    use std::time::Duration;

    fn done(code: i32, output: &str) -> Done {
        let stderr = if code == 0 { String::new() } else { "gzip: -: unknown words".to_owned() };
        let trial =
            Trial { status: Status::Exited(code), stderr, max_rss_bytes: 1, cpu: Duration::ZERO };
        Done { trial, output: output.as_bytes().to_vec() }
    }

    fn classes(reference: &Done, one: &Done, four: &Done) -> Vec<String> {
        judge("gzip", b"", reference, [one, four]).into_iter().map(|flaw| flaw.class).collect()
    }

    #[test]
    fn what_the_reference_gives_is_right() {
        assert!(classes(&done(0, "ab"), &done(0, "ab"), &done(0, "ab")).is_empty());
        assert!(classes(&done(1, "ab"), &done(1, "a"), &done(1, "abc")).is_empty());
    }

    #[test]
    fn other_bytes_and_other_statuses_are_found() {
        let ok = || done(0, "ab");
        let found = classes(&ok(), &done(0, "ax"), &ok());
        assert_eq!(found, ["other bytes with status 0"]);
        let found = classes(&done(1, "ab"), &ok(), &ok());
        assert_eq!(found, ["accepts what the reference refuses"]);
        let found = classes(&ok(), &done(1, ""), &done(1, ""));
        assert_eq!(found, ["refuses what the reference accepts: unknown words"]);
        let found = classes(&done(1, "ab"), &done(1, "ab"), &done(1, "ax"));
        assert_eq!(found, ["bytes that the reference does not give"]);
        let found = classes(&done(2, "ab"), &done(1, "ab"), &done(2, "ab"));
        assert_eq!(found, ["one worker and four disagree"]);
    }
}
