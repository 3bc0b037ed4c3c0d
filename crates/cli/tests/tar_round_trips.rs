//! Random trees in archives: what haul writes, other programs extract, and what they write, haul does.

use std::fs;

use haul_manifest::{Aspect, Aspects, Feature, Limits, create_tree, random_tree};

use super::support::judge::{compared, shown};
use super::support::run::Call;
use super::support::scratch::Scratch;
use super::support::tar::ours;
use super::support::{Outcome, has};

/// A program that writes and reads archives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Program {
    Haul,
    Gnu,
    Bsd,
    Python,
}

/// Writes `d` as `a.tar`, as posix or in GNU's format; and reads it into the current folder.
const WRITER: &str = "import tarfile,sys\n\
    format={'posix':tarfile.PAX_FORMAT,'gnu':tarfile.GNU_FORMAT}[sys.argv[1]]\n\
    tarfile.open('a.tar','w',format=format).add('d')";
const READER: &str = "import tarfile; tarfile.open('../a.tar').extractall('.')";

impl Program {
    fn is_here(self) -> Outcome<bool> {
        match self {
            Program::Haul => Ok(true),
            Program::Gnu => has("tar"),
            Program::Bsd => has("bsdtar"),
            Program::Python => has("python3"),
        }
    }

    /// Returns the call that writes `d` as `a.tar` in the current folder.
    fn writer(self, format: &str) -> Call {
        let words = ["--format", format, "-cf", "a.tar", "d"];
        match self {
            Program::Haul => ours().words(words),
            Program::Gnu => Call::of("tar").words(words),
            Program::Bsd => {
                let format = if format == "gnu" { "gnutar" } else { "pax" };
                Call::of("bsdtar").words(["--format", format, "-cf", "a.tar", "d"])
            }
            Program::Python => Call::of("python3").words(["-c", WRITER, format]),
        }
    }

    /// Returns the call that extracts the archive in the folder above into the current one.
    fn reader(self) -> Call {
        match self {
            Program::Haul => ours().words(["-xpf", "../a.tar"]),
            Program::Gnu => Call::of("tar").words(["-xpf", "../a.tar"]),
            Program::Bsd => Call::of("bsdtar").words(["-xpf", "../a.tar"]),
            Program::Python => Call::of("python3").words(["-c", READER]),
        }
    }
}

/// Number of random trees.
const TREES: u64 = 6;

/// What both formats and all four programs keep. Python sets times as fractions of seconds that are not
/// exact, and GNU's format has whole seconds.
fn aspects() -> Aspects {
    [Aspect::Xattrs, Aspect::Acl, Aspect::Mtime, Aspect::Blocks]
        .into_iter()
        .fold(Aspects::preserved(), Aspects::without)
}

#[test]
fn random_trees_survive_archives_of_other_programs() -> Outcome {
    let others = [Program::Gnu, Program::Bsd, Program::Python];
    let pairs = others.iter().flat_map(|other| [(Program::Haul, *other), (*other, Program::Haul)]);
    let pairs: Vec<_> = [(Program::Haul, Program::Haul)].into_iter().chain(pairs).collect();
    for seed in 0..TREES {
        let scratch = Scratch::new()?;
        // bsdtar converts names, and refuses those that are not in the encoding of its locale; Python
        // writes some times in a form that is none of the format's.
        let is_plain = seed % 2 == 0;
        let mut without = vec![Feature::Socket];
        if is_plain {
            without.extend([Feature::OddName, Feature::OddTime]);
        }
        let limits = Limits { without, ..Limits::default() };
        create_tree(&scratch.at("d"), random_tree(seed, &limits))
            .map_err(|failure| failure.to_string())?;
        for (writer, reader) in &pairs {
            for format in ["posix", "gnu"] {
                let converts = |program| matches!(program, Program::Bsd | Program::Python);
                let is_unable = !is_plain && (converts(*writer) || converts(*reader));
                if is_unable || !writer.is_here()? || !reader.is_here()? {
                    continue;
                }
                let context = format!("tree {seed}: {writer:?}, {format}, {reader:?}");
                writer.writer(format).in_dir(scratch.path()).succeed()?;
                scratch.clear("in")?;
                fs::create_dir(scratch.at("in"))?;
                let done = reader.reader().in_dir(scratch.at("in")).run()?;
                assert_eq!(done.code(), Some(0), "{context}: {done:?}");
                let comparison = compared(&scratch.at("d"), &scratch.at("in/d"), aspects());
                assert!(comparison.is_equal(), "{context}: {}", shown(&comparison));
            }
        }
    }
    Ok(())
}
