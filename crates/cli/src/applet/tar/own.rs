//! The options of `tar` about the run as a whole, as `cp` has them, and where each makes sense.

use std::ffi::{OsStr, OsString};

use haul_archive::extract::{Appearance, Existing};
use haul_archive::filter::Memory;
use haul_io::cache::ledger::Ledger;
use haul_io::digest::{Algorithm, TABLE};
use haul_io::stream::Durable;
use haul_io::{Cache, DataPolicy, Reflink};
use haul_sys::memory::room_bytes;

use super::buffered::Buffer;
use super::extraction::Extraction;
use super::refuse::bad;
use super::task::{Compression, Mode};
use crate::ending::CommandError;
use crate::metrics::Wanted;
use crate::value::When;

/// What is asked for by these options.
#[derive(Clone, Debug)]
pub(super) struct Own {
    /// Whether blocks are shared, if anything was said about it.
    pub(super) reflink: Option<Reflink>,
    pub(super) cache: Cache,
    ledger: Ledger,
    /// Where failures are listed.
    pub(super) errors: Option<OsString>,
    pub(super) metrics: Wanted,
    pub(super) progress: When,
    pub(super) is_json: bool,
    pub(super) shows_stats: bool,
    pub(super) verifies: bool,
    /// Bytes of memory between the archive and the files.
    pub(super) buffer_bytes: Option<u64>,
    pub(super) marks: Option<(usize, usize)>,
    /// Whether nothing is written.
    pub(super) is_dry: bool,
    /// Where digests of files are written.
    pub(super) sum_file: Option<OsString>,
    pub(super) algorithm: Option<&'static Algorithm>,
    /// Whether complete files of an earlier extraction stay.
    pub(super) resumes: bool,
    /// Memory that decompressing may take.
    pub(super) memory_bytes: Option<u64>,
    /// Whether the index of an archive decides which of its frames are read.
    pub(super) trusts_index: bool,
    pub(super) atomic: bool,
    pub(super) durable: bool,
}

impl Default for Own {
    fn default() -> Own {
        Own {
            reflink: None,
            cache: Cache::Auto,
            ledger: Ledger::of_run(),
            errors: None,
            metrics: Wanted::default(),
            progress: When::Auto,
            is_json: false,
            shows_stats: false,
            verifies: false,
            buffer_bytes: None,
            marks: None,
            is_dry: false,
            sum_file: None,
            algorithm: None,
            resumes: false,
            memory_bytes: None,
            trusts_index: false,
            atomic: false,
            durable: false,
        }
    }
}

/// The rest of the command line, which decides what makes sense.
pub(super) struct Among<'s> {
    pub(super) mode: Mode,
    pub(super) file: &'s OsStr,
    pub(super) packing: Option<&'s Compression>,
    pub(super) extraction: &'s Extraction,
    pub(super) removes_files: bool,
}

impl Own {
    /// Returns the policy for the bytes of files and of the archive.
    pub(super) fn data(&self) -> DataPolicy {
        DataPolicy {
            reflink: self.reflink.unwrap_or_default(),
            cache: self.cache,
            ledger: self.ledger.clone(),
            ..DataPolicy::PLAIN
        }
    }

    /// Returns whether the archive, or each extracted file, gets its name when it is complete.
    pub(super) const fn is_atomic(&self) -> bool {
        self.atomic || self.durable
    }

    /// Returns whether the archive is on stable storage by then.
    pub(super) const fn durable(&self) -> Durable {
        if self.durable { Durable::Yes } else { Durable::No }
    }

    /// Returns the algorithm of digests that are to be written.
    pub(super) fn hashes(&self) -> Option<&'static Algorithm> {
        self.sum_file.as_ref().map(|_| self.algorithm.unwrap_or(&TABLE[0]))
    }

    /// Returns the buffer that is asked for.
    pub(super) fn buffer(&self) -> Option<Buffer> {
        let bytes = self.buffer_bytes?;
        let (low, high) = self.marks.unwrap_or((50, 75));
        Some(Buffer { bytes, low, high })
    }

    /// Returns the memory that decompressing may take: by default an eighth of what there is for frames at the same
    /// time, and 512 MiB at most, because a short archive can ask for any of it.
    pub(super) fn memory(&self) -> Memory {
        match self.memory_bytes {
            Some(bytes) => Memory { in_flight_bytes: bytes, window_bytes: bytes },
            None => {
                let usual = Memory::default();
                let in_flight_bytes = usual.in_flight_bytes.min(room_bytes() / 8);
                Memory { in_flight_bytes, ..usual }
            }
        }
    }

    /// Returns when extracted files get their names.
    pub(super) const fn appearance(&self) -> Appearance {
        match (self.durable, self.atomic) {
            (true, _) => Appearance::Durable,
            (false, true) => Appearance::Whole,
            (false, false) => Appearance::Gradual,
        }
    }

    /// Returns whether the data of large members begin at blocks of the archive. The bytes of an archive
    /// depend on what was asked for, and not on what the file system can do.
    pub(super) const fn aligns(&self) -> bool {
        matches!(self.reflink, Some(Reflink::Auto | Reflink::Always))
    }

    /// Refuses what makes no sense among the rest of the command line.
    pub(super) fn check(&self, among: &Among<'_>) -> Result<(), CommandError> {
        self.check_appearance(among)?;
        self.check_reflink(among)?;
        self.check_output(among)?;
        self.check_resume(among)?;
        self.check_dry(among)?;
        self.check_sums(among)?;
        if self.memory_bytes.is_some() && matches!(among.mode, Mode::Create | Mode::Append) {
            return bad("--memory is for -x, -t and -d");
        }
        if self.trusts_index && matches!(among.mode, Mode::Create | Mode::Append) {
            return bad("--trust-index is for -x, -t and -d");
        }
        if self.marks.is_some() && self.buffer_bytes.is_none() {
            return bad("--watermarks is for --buffer");
        }
        if self.buffer_bytes.is_some() && among.mode == Mode::Append {
            return bad("--buffer is for -c, -x, -t and -d");
        }
        self.metrics.settle()?;
        for (option, name) in [
            ("--errors", &self.errors),
            ("--metrics", &self.metrics.file),
            ("--sum-file", &self.sum_file),
        ] {
            if name.as_deref() == Some(among.file) {
                return bad(&format!("{option} and -f name the same file"));
            }
        }
        self.check_outputs()?;
        if self.verifies {
            let letter = match among.mode {
                Mode::Create | Mode::Extract | Mode::Append => None,
                Mode::List => Some("-t"),
                Mode::Compare => Some("-d"),
            };
            if let Some(letter) = letter {
                return bad(&format!("'--verify' cannot be used with '{letter}'"));
            }
            if among.file == "-" {
                return bad("--verify needs the name of an archive; give it with -f");
            }
            if among.extraction.to_stdout {
                return bad("--verify cannot read again what -O writes");
            }
            let keeps = matches!(among.extraction.existing, Existing::Skip | Existing::KeepNewer);
            if among.mode == Mode::Extract && (keeps || among.extraction.keeps_links) {
                return bad("--verify would find what is kept to differ");
            }
            if among.mode != Mode::Extract && !among.extraction.transform.is_empty() {
                return bad("--verify cannot find the files of names that --transform changed");
            }
        }
        Ok(())
    }

    fn check_appearance(&self, among: &Among<'_>) -> Result<(), CommandError> {
        if !self.is_atomic() {
            return Ok(());
        }
        let option = if self.durable { "--durable" } else { "--atomic" };
        let extraction = among.extraction;
        match among.mode {
            Mode::Create if among.file == "-" => {
                bad(&format!("{option} needs the name of an archive; give it with -f"))
            }
            Mode::Extract if extraction.to_stdout => {
                bad(&format!("{option} is about files, and -O makes none"))
            }
            Mode::Extract if extraction.existing == Existing::Overwrite => {
                bad(&format!("{option} replaces files, and --overwrite writes into them"))
            }
            Mode::Extract if extraction.existing == Existing::UnlinkFirst => bad(&format!(
                "{option} keeps a file until the new one is complete, and --unlink-first does not"
            )),
            Mode::Create | Mode::Extract => Ok(()),
            Mode::List | Mode::Compare | Mode::Append => bad(&format!("{option} is for -c and -x")),
        }
    }

    fn check_reflink(&self, among: &Among<'_>) -> Result<(), CommandError> {
        let Some(reflink) = self.reflink else { return Ok(()) };
        if !matches!(among.mode, Mode::Create | Mode::Extract) {
            return bad("--reflink is for -c and -x");
        }
        if self.aligns() && among.mode == Mode::Create && among.packing.is_some() {
            return bad("--reflink cannot share the blocks of compressed archives");
        }
        if reflink == Reflink::Always && among.file == "-" {
            return bad("--reflink=always needs the name of an archive; give it with -f");
        }
        Ok(())
    }

    fn check_dry(&self, among: &Among<'_>) -> Result<(), CommandError> {
        if !self.is_dry {
            return Ok(());
        }
        if !matches!(among.mode, Mode::Create | Mode::Extract) {
            return bad("--dry-run is for -c and -x");
        }
        if among.extraction.to_stdout {
            return bad("--dry-run shows what would be made, and -O makes nothing");
        }
        for (is_set, option) in [
            (self.verifies, "--verify"),
            (self.resumes, "--resume"),
            (among.removes_files, "--remove-files"),
            (self.metrics.file.is_some(), "--metrics"),
            (self.sum_file.is_some(), "--sum-file"),
        ] {
            if is_set {
                return bad(&format!("{option} cannot be combined with --dry-run"));
            }
        }
        Ok(())
    }

    /// Refuses one file for two outputs.
    fn check_outputs(&self) -> Result<(), CommandError> {
        let all = [
            ("--errors", &self.errors),
            ("--metrics", &self.metrics.file),
            ("--sum-file", &self.sum_file),
        ];
        for (at, (option, name)) in all.iter().enumerate() {
            let before = all.iter().take(at).find(|(_, other)| name.is_some() && other == name);
            if let Some((other, _)) = before {
                return bad(&format!("{other} and {option} name the same file"));
            }
        }
        Ok(())
    }

    fn check_sums(&self, among: &Among<'_>) -> Result<(), CommandError> {
        if self.sum_file.is_none() {
            return match self.algorithm {
                Some(_) => bad("--hash needs --sum-file"),
                None => Ok(()),
            };
        }
        if !matches!(among.mode, Mode::Create | Mode::Append | Mode::Extract) {
            return bad("--sum-file is for -c, -r and -x");
        }
        if among.extraction.to_stdout {
            return bad("--sum-file is about files, and -O makes none");
        }
        if self.reflink == Some(Reflink::Always) {
            return bad("--sum-file hashes every byte, and --reflink=always moves none");
        }
        Ok(())
    }

    fn check_resume(&self, among: &Among<'_>) -> Result<(), CommandError> {
        let extraction = among.extraction;
        if !self.resumes {
            return Ok(());
        }
        if among.mode != Mode::Extract {
            return bad("--resume is for -x");
        }
        if extraction.to_stdout {
            return bad("--resume is about files, and -O makes none");
        }
        if extraction.touch {
            return bad("--resume knows complete files by their times, which -m does not restore");
        }
        let replaces = matches!(
            extraction.existing,
            Existing::Replace | Existing::ReplaceKeepingDirectories | Existing::Overwrite
        );
        if !replaces {
            return bad(
                "--resume replaces files that are not complete; give no option to keep them",
            );
        }
        Ok(())
    }

    fn check_output(&self, among: &Among<'_>) -> Result<(), CommandError> {
        if !self.is_json {
            return Ok(());
        }
        let writes = matches!(among.mode, Mode::Create | Mode::Append);
        if writes && among.file == "-" && !self.is_dry {
            return bad("--json needs standard output, where the archive goes; name one with -f");
        }
        if among.extraction.to_stdout && among.mode == Mode::Extract {
            return bad("--json and -O both need standard output");
        }
        Ok(())
    }
}
