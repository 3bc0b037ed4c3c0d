//! What counts as proof that a file is the copy that an earlier run has made: each command that relies on such
//! a file meets one from which a proof was taken away, and copies it again.

use std::fs::{self, File, FileTimes};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use super::mv::{Two, hidden_names, mv};
use super::resume::become_old;
use super::support::run::{Call, cp, haul};
use super::support::shell::noise;
use super::support::strace::Strace;
use super::support::{Outcome, has};

/// Commands that rely on what an earlier run has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Command {
    CopyResumed,
    ExtractionResumed,
    MoveAdopted,
}

/// Files that change after the earlier run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Source,
    Target,
}

/// Changes of a file. Its time of modification stays, unless the change is about that.
#[derive(Clone, Copy, Debug)]
enum Change {
    /// Another byte in its place.
    Byte,
    Shorter,
    Longer,
    /// The size with no blocks, as storage leaves it that has lost them.
    Hole,
    /// Another file of the same size under the name.
    Exchanged,
    /// Other bytes and another time.
    Written,
}

const CHANGES: [Change; 6] = [
    Change::Byte,
    Change::Shorter,
    Change::Longer,
    Change::Hole,
    Change::Exchanged,
    Change::Written,
];

const BYTES: usize = 5000;

impl Change {
    fn make(self, path: &Path) -> Outcome {
        let modified = fs::metadata(path)?.modified()?;
        let size = BYTES as u64;
        if matches!(self, Change::Exchanged) {
            fs::remove_file(path)?;
            fs::write(path, vec![b'x'; BYTES])?;
        }
        let file = File::options().write(true).open(path)?;
        match self {
            Change::Byte | Change::Written => file.write_all_at(b"x", 1000)?,
            Change::Shorter => file.set_len(size - 1)?,
            Change::Longer => file.write_all_at(b"x", size)?,
            Change::Hole => {
                file.set_len(0)?;
                file.set_len(size)?;
            }
            Change::Exchanged => {}
        }
        if !matches!(self, Change::Written) {
            file.set_times(FileTimes::new().set_modified(modified))?;
        }
        Ok(())
    }
}

impl Command {
    fn call(self, two: &Two) -> Call {
        let call = match self {
            Command::CopyResumed => cp(["-aT", "--resume", "s", &two.far("t")]),
            Command::ExtractionResumed => {
                Call::of(haul()).words(["tar", "-xf", "archive", "--resume", "-C", &two.far("")])
            }
            Command::MoveAdopted => mv(["--jobs=1", "s", &two.far("t")]),
        };
        call.in_dir(two.here.path())
    }

    /// Runs the command for the first time. Returns the copy of the file.
    fn begin(self, two: &Two) -> Outcome<PathBuf> {
        match self {
            Command::CopyResumed => {
                self.call(two).succeed()?;
            }
            Command::ExtractionResumed => {
                let pack =
                    Call::of(haul()).words(["tar", "-cf", "archive", "--transform=s,^s,t,", "s"]);
                pack.in_dir(two.here.path()).succeed()?;
                self.call(two).succeed()?;
            }
            Command::MoveAdopted => {
                let strace = Strace::new(two.here.at("log")).trace("syncfs");
                strace.inject("syncfs:signal=KILL:when=1").wrap(self.call(two)).run()?;
                let names = hidden_names(two.there.path())?;
                let copy = names.iter().find(|name| !name.ends_with(".done")).ok_or("no copy")?;
                return Ok(two.there.at(copy).join("file"));
            }
        }
        Ok(two.there.at("t/file"))
    }
}

#[test]
fn a_copy_without_one_of_its_proofs_is_made_again() -> Outcome {
    let Some(two) = Two::traced()? else { return Ok(()) };
    if !has("strace")? {
        return Ok(());
    }
    for (command, sides) in [
        (Command::CopyResumed, &[Side::Source, Side::Target][..]),
        // The archive is the source, and is compared byte by byte.
        (Command::ExtractionResumed, &[Side::Target]),
        (Command::MoveAdopted, &[Side::Source, Side::Target]),
    ] {
        for side in sides {
            for change in CHANGES {
                let story = format!("{command:?}, {side:?}, {change:?}");
                two.here.clear_all()?;
                two.there.clear_all()?;
                two.here.write("s/file", noise(BYTES))?;
                two.here.write("s/other", "other")?;
                become_old();
                let copy = command.begin(&two)?;
                let source = two.here.at("s/file");
                change.make(if *side == Side::Source { &source } else { &copy })?;
                let expected = fs::read(&source)?;
                let done = command.call(&two).run()?;
                assert_eq!(done.code(), Some(0), "{story}: {done:?}");
                assert!(fs::read(two.there.at("t/file"))? == expected, "{story}");
            }
        }
    }
    Ok(())
}
