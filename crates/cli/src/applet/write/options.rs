//! The options of `write`, and `--help`.

use std::ffi::OsString;

use haul_io::stream::{Durable, Zeros};

use super::command::Command;
use crate::getopt::Takes::{self, Nothing, Required};
use crate::getopt::{Opt, Origin, Usage, own};
use crate::option::data::{marks, size, size_or_zero};
use crate::option::effect::{Effect, read, read_optional, set};
use crate::option::stream::{self, Settings, shared};
use crate::page::Page;

/// What the options change.
pub(super) struct Wanted {
    pub(super) settings: Settings,
    /// What is done with an input without a byte.
    pub(super) empty: Empty,
    pub(super) atomic: bool,
    pub(super) from: Option<Command>,
    pub(super) buffer: Option<u64>,
    pub(super) durable: Durable,
    pub(super) size: Option<u64>,
    pub(super) zeros: Zeros,
    pub(super) marks: (usize, usize),
}

/// What is done with an input without a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Empty {
    /// It replaces no file.
    Refuse,
    Write,
}

impl Wanted {
    pub(super) fn new() -> Wanted {
        Wanted {
            settings: Settings::new(),
            empty: Empty::Refuse,
            atomic: false,
            from: None,
            buffer: None,
            durable: Durable::No,
            size: None,
            zeros: Zeros::Write,
            marks: (50, 75),
        }
    }

    fn set_from(&mut self, line: Option<OsString>) -> Result<(), Usage> {
        if self.from.is_some() {
            return Err(Usage("there is only one input: give --from once".to_owned()));
        }
        self.from = Some(line.map_or(Command::Words(Vec::new()), Command::Line));
        Ok(())
    }
}

impl stream::Wanted for Wanted {
    fn shared(&mut self) -> &mut Settings {
        &mut self.settings
    }

    fn command(&mut self) -> Option<&mut Vec<OsString>> {
        match &mut self.from {
            Some(Command::Words(words)) => Some(words),
            Some(Command::Line(_)) | None => None,
        }
    }

    fn settle(&self) -> Result<(), Usage> {
        let is_missing = self.from.as_ref().is_some_and(|command| match command {
            Command::Words(words) => words.is_empty(),
            Command::Line(line) => line.is_empty(),
        });
        if is_missing {
            return Err(Usage("--from needs a command".to_owned()));
        }
        Ok(())
    }
}

const OWN: &[Opt<Effect<Wanted>>] = &[
    own(
        set(|write| write.empty = Empty::Write),
        "allow-empty",
        Nothing,
        "with --atomic: also take an input without a byte",
    ),
    own(
        set(|write: &mut Wanted| write.atomic = true),
        "atomic",
        Nothing,
        "give each FILE its name only when it is complete;\nkeep the old file until then",
    ).or_default(),
    own(
        read(|write: &mut Wanted, bytes| {
            write.buffer = Some(size("--buffer", &bytes)?);
            Ok(())
        }),
        "buffer",
        Required("SIZE"),
        "keep up to SIZE bytes in memory between input and\noutput, as in 1G",
    ).or_default(),
    own(
        read_optional(|write, line| Ok(write.set_from(line)?)),
        "from",
        Takes::Command("COMMAND"),
        "write what COMMAND prints; with --atomic only if\nits exit status is 0. See below",
    ),
    own(
        set(|write: &mut Wanted| write.durable = Durable::Yes),
        "fsync",
        Nothing,
        "exit only when the data is on the device",
    ).or_default(),
    own(
        read(|write, bytes| { write.size = Some(size_or_zero("--size", &bytes)?); Ok(()) }),
        "size",
        Required("N"),
        "reserve N bytes at once; fail if the input has\nanother size",
    ),
    own(
        set(|write: &mut Wanted| write.zeros = Zeros::Skip),
        "sparse",
        Nothing,
        "leave out blocks of zeros in regular files",
    ).or_default(),
    own(
        read(|write: &mut Wanted, percent| {
            write.marks = marks(&percent)?;
            Ok(())
        }),
        "watermarks",
        Required("LOW,HIGH"),
        "with --buffer: start writing when it is HIGH\npercent full, until it is empty; after it was \
         full,\nread again below LOW percent (default 50,75)",
    ).or_default(),
];

/// Returns all options.
pub(super) fn all_options() -> Vec<Opt<Effect<Wanted>>> {
    let mut all = OWN.to_vec();
    all.extend(shared::<Wanted>());
    all
}

/// Returns the page of `--help`.
pub(super) fn help(all: &[Opt<Effect<Wanted>>]) -> Page {
    Page::new(
        "Usage: haul write [OPTION]... FILE...\n  \
           or:  haul write [OPTION]... FILE... --from -- COMMAND [ARGUMENT]...\n  \
           or:  haul write [OPTION]... FILE... --from='COMMAND | COMMAND...'\n\
         Write standard input, or what a command prints, to each FILE, with many large\n\
         writes in flight. FILE - is standard output.\n\n",
    )
    .options(all, Origin::Haul)
    .text(
        "\nWith --cache=auto what is larger than 2 MiB goes past the page cache, and\n\
         nothing of it stays there. Digests are printed on standard output, or on\n\
         standard error where that is a FILE, as lines of a check file.\n\n\
         A pipe cannot tell the end of the data from the end of a program that failed.\n\
         So with --from haul starts the program itself: if it ends with an exit status\n\
         other than 0, or by a signal, no digest is printed, each FILE of --atomic stays\n\
         as it was, and the exit status is that of the program (128 and the number of\n\
         the signal; 127 if there is no such program, 126 if it cannot be run). All words\n\
         behind '--from --' are the command. One word is a line for bash, or for an sh\n\
         that has 'pipefail': then each program of a pipeline has to succeed. The command\n\
         has the standard input and standard error of haul.\n\n\
         Behind a pipe of the shell's, haul write publishes what it received, and the\n\
         shell reports the status of the last program: 'set -o pipefail' reports the\n\
         failure, but too late to keep the old file. --size helps where the size is\n\
         known: if the input has any other length, the exit status is 1 and no digest is\n\
         printed. With --atomic each FILE then stays as it was; without, FILE contains\n\
         the bytes that came. With --atomic an input without a byte is refused, too,\n\
         unless --allow-empty or --size=0 is given.\n",
    )
    .examples([
        (
            "haul write --atomic db.sql.zst --from 'pg_dump db | zstd'",
            "replace last night's dump only by a complete one",
        ),
        (
            "set -o pipefail; haul read db.sql | zstd | haul write --atomic db.sql.zst",
            "compress a file into one that appears when it is complete",
        ),
        (
            "haul write --buffer=1G --fsync /dev/nst0 < dump.tar",
            "write to a tape that must not stop",
        ),
    ])
    .exit(
        "The exit status is 0 if every FILE received all data, that of COMMAND if it\nfailed, and 1 \
         otherwise.",
    )
}
