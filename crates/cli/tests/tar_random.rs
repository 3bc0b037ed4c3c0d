//! Random trees through archives: of haul, read by other programs, and of other programs, read by haul.

use std::fs;

use haul_manifest::{Aspect, Aspects, Feature, Limits, create_tree, random_tree};

use super::support::judge::demand_equal;
use super::support::run::Call;
use super::support::scratch::Scratch;
use super::support::tar::{gnu_tar, ours};
use super::support::{Outcome, has};

/// Numbers of the trees.
const SEEDS: std::ops::Range<u64> = 1..9;

/// The module of Python as a program: `MODE ARCHIVE`, in the folder of the tree.
const PYTHON: &str = "\
import sys,tarfile
mode,archive=sys.argv[1:]
if mode=='c':
  with tarfile.open(archive,'w',format=tarfile.PAX_FORMAT,encoding='utf-8') as tar: tar.add('.')
else:
  with tarfile.open(archive,encoding='utf-8') as tar:
    tar.errorlevel=1
    if hasattr(tarfile,'fully_trusted_filter'): tar.extraction_filter=tarfile.fully_trusted_filter
    tar.extractall('.')
";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Program {
    Haul,
    Gnu,
    Bsd,
    Python,
}

impl Program {
    fn is_there(self) -> Outcome<bool> {
        match self {
            Program::Haul => Ok(true),
            Program::Gnu => has("tar"),
            Program::Bsd => has("bsdtar"),
            Program::Python => has("python3"),
        }
    }

    fn call(self) -> Call {
        match self {
            Program::Haul => ours(),
            Program::Gnu => gnu_tar(),
            Program::Bsd => Call::of("bsdtar"),
            Program::Python => Call::of("python3").words(["-c", PYTHON]),
        }
        // Names are bytes; where a program thinks of characters, they are those of UTF-8.
        .env("LC_ALL", "C.UTF-8")
    }

    /// Archives the tree `s` as `archive`.
    fn create(self, scratch: &Scratch, archive: &str, options: &[&str]) -> Outcome {
        let call = self.call();
        let archive = format!("../{archive}");
        let call = match self {
            Program::Python => call.words(["c", &archive]),
            _ => call.words(options).words(["-cf", &archive, "."]),
        };
        demand(&call.in_dir(scratch.at("s")))
    }

    /// Extracts `archive` into the new folder `t`.
    fn extract(self, scratch: &Scratch, archive: &str) -> Outcome {
        fs::create_dir(scratch.at("t"))?;
        let archive = format!("../{archive}");
        let call = match self {
            Program::Python => self.call().words(["x", &archive]),
            _ => self.call().words(["-xpf", &archive]),
        };
        demand(&call.in_dir(scratch.at("t")))
    }
}

/// Runs a program, which may warn of times in the future.
fn demand(call: &Call) -> Outcome {
    let done = call.run()?;
    match done.code() {
        Some(0) => Ok(()),
        code => Err(format!("exit status {code:?}: {}", done.errors()).into()),
    }
}

#[test]
fn random_trees_go_through_archives_of_and_for_other_programs() -> Outcome {
    let mut programs = vec![Program::Haul];
    for program in [Program::Gnu, Program::Bsd, Program::Python] {
        if program.is_there()? {
            programs.push(program);
        }
    }
    // Archives have no sockets, and Python writes times near 1970 in a way that no other program reads.
    let without = vec![Feature::Socket, Feature::OddTime];
    let limits = Limits { without, ..Limits::default() };
    let aspects = Aspects::contents_only().with(Aspect::Mode).with(Aspect::Links);
    for seed in SEEDS {
        let scratch = Scratch::new()?;
        create_tree(&scratch.at("s"), random_tree(seed, &limits)).map_err(|f| f.to_string())?;
        let has_linked_links = found(&scratch, &["-type", "l", "-links", "+1"])? > 0;
        let read = |reader: Program, archive: &str, aspects: Aspects, what: &str| -> Outcome {
            let what = format!("seed {seed}: {what} read by {reader:?}");
            reader.extract(&scratch, archive).map_err(|error| format!("{what}: {error}"))?;
            demand_equal(&scratch.at("s"), &scratch.at("t"), aspects, &what);
            scratch.clear("t")
        };
        for options in [&["--format=gnu"][..], &["--format=posix"], &["--format=posix", "-S"]] {
            Program::Haul.create(&scratch, "ours.tar", options)?;
            for reader in &programs {
                let is_skipped = match reader {
                    // It refuses records whose names are not UTF-8, which GNU tar writes as well.
                    Program::Bsd => options.contains(&"--format=posix"),
                    // It does not find the names of sparse files that are not UTF-8.
                    Program::Python => options.contains(&"-S"),
                    Program::Haul | Program::Gnu => false,
                };
                if is_skipped {
                    continue;
                }
                let aspects = match reader {
                    // For a further name of a symbolic link it makes a copy, or gives the mode of the link
                    // to the file that the link leads to, if that is there already.
                    Program::Python if has_linked_links => {
                        aspects.without(Aspect::Links).without(Aspect::Mode)
                    }
                    Program::Python => aspects.without(Aspect::Links),
                    _ => aspects,
                };
                read(*reader, "ours.tar", aspects, &format!("haul {options:?}"))?;
            }
        }
        for writer in programs.iter().skip(1) {
            // bsdtar cuts long names of sparse files.
            let options: &[&str] = match writer {
                Program::Bsd => &["--format=pax", "--no-read-sparse"],
                _ => &["--format=pax"],
            };
            writer.create(&scratch, "theirs.tar", options)?;
            // No other program keeps the hard links of all kinds of files.
            let aspects = aspects.without(Aspect::Links);
            read(Program::Haul, "theirs.tar", aspects, &format!("{writer:?}"))?;
        }
    }
    Ok(())
}

/// Ways to write an archive, each with the options to read it again.
const WAYS: [(&[&str], &[&str]); 8] = [
    (&["--format=gnu"], &[]),
    (&["--format=gnu", "-S"], &[]),
    (&["--format=oldgnu", "-S"], &[]),
    (&["--format=posix", "-S", "--sparse-version=0.0"], &[]),
    (&["--format=posix", "-S", "--sparse-version=0.1"], &[]),
    (
        &[
            "--format=posix",
            "-S",
            "--sparse-version=1.0",
            "--xattrs",
            "--xattrs-include=*",
            "--acls",
        ],
        &["--xattrs", "--xattrs-include=*", "--acls"],
    ),
    (
        &["--format=posix", "--pax-option=comment=x,globexthdr.name=g", "--xattrs"],
        &["--xattrs", "--xattrs-include=*"],
    ),
    (&["--format=posix", "--pax-option=delete=atime,delete=ctime", "--zstd"], &[]),
];

#[test]
fn whatever_is_written_is_listed_compared_and_extracted_as_it_was() -> Outcome {
    for seed in SEEDS {
        let scratch = Scratch::new()?;
        let limits = Limits { without: vec![Feature::Socket], ..Limits::default() };
        create_tree(&scratch.at("s"), random_tree(seed, &limits)).map_err(|f| f.to_string())?;
        for (written, read) in WAYS {
            let context = |what: &str| format!("seed {seed}: {written:?} {what}");
            let call = |words: &[&str]| ours().words(words).in_dir(scratch.at("s"));
            demand(&call(written).words(["-cf", "../a.tar", "."]))?;
            let listed = call(&["-tf", "../a.tar"]).succeed()?.text();
            assert_eq!(listed.lines().count(), found(&scratch, &[])?, "{}", context("-t"));
            let compared = call(read).words(["-df", "../a.tar"]);
            demand(&compared).map_err(|error| context(&error.to_string()))?;
            fs::create_dir(scratch.at("t"))?;
            let extract = ours().words(read).words(["-xpf", "../a.tar"]).in_dir(scratch.at("t"));
            demand(&extract).map_err(|error| context(&error.to_string()))?;
            let mut aspects =
                Aspects::contents_only().with(Aspect::Mode).with(Aspect::Links).with(Aspect::Owner);
            // Other formats have whole seconds.
            if written.contains(&"--format=posix") {
                aspects = aspects.with(Aspect::Mtime);
            }
            if read.contains(&"--xattrs") {
                aspects = aspects.with(Aspect::Xattrs);
            }
            if read.contains(&"--acls") {
                aspects = aspects.with(Aspect::Acl);
            }
            demand_equal(&scratch.at("s"), &scratch.at("t"), aspects, &context("-x"));
            scratch.clear("t")?;
        }
    }
    Ok(())
}

/// Returns the number of entries of the tree `s`, with itself, that meet the conditions of find.
fn found(scratch: &Scratch, conditions: &[&str]) -> Outcome<usize> {
    let find = Call::of("find").word("s").words(conditions).words(["-printf", "x\\n"]);
    let found = find.in_dir(scratch.path()).succeed()?;
    Ok(found.text().lines().count())
}
