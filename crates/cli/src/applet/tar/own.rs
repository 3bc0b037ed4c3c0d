//! The options of `tar` that only haul has, as `cp` has them, and where each makes sense.

use std::ffi::OsStr;

use haul_io::Reflink;
use haul_io::stream::Durable;

use super::options::Id;
use super::refuse::bad;
use super::task::{Compression, Mode};
use crate::ending::CommandError;
use crate::option::data::reflink;

/// What is asked for by haul's own options.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Own {
    /// Whether blocks are shared, if anything was said about it.
    pub(super) reflink: Option<Reflink>,
    atomic: bool,
    durable: bool,
}

impl Own {
    pub(super) fn set(&mut self, id: Id, value: Option<&OsStr>) -> Result<(), CommandError> {
        match id {
            Id::Reflink => self.reflink = Some(reflink(value)?),
            Id::Atomic => self.atomic = true,
            Id::Durable => self.durable = true,
            _ => {}
        }
        Ok(())
    }

    /// Returns whether the archive gets its name when it is complete.
    pub(super) const fn is_atomic(&self) -> bool {
        self.atomic || self.durable
    }

    /// Returns whether it is on stable storage by then.
    pub(super) const fn durable(&self) -> Durable {
        if self.durable { Durable::Yes } else { Durable::No }
    }

    /// Returns whether the data of large members begin at blocks of the archive. The bytes of an archive
    /// depend on what was asked for, and not on what the file system can do.
    pub(super) const fn aligns(&self) -> bool {
        matches!(self.reflink, Some(Reflink::Auto | Reflink::Always))
    }

    /// Refuses what a mode cannot do.
    pub(super) fn check(
        &self,
        mode: Mode,
        file: &OsStr,
        compression: Option<&Compression>,
    ) -> Result<(), CommandError> {
        let is_standard = file == "-";
        if self.is_atomic() {
            let option = if self.durable { "--durable" } else { "--atomic" };
            if mode != Mode::Create {
                return bad(&format!("{option} is for -c"));
            }
            if is_standard {
                return bad(&format!("{option} needs the name of an archive; give it with -f"));
            }
        }
        let Some(reflink) = self.reflink else { return Ok(()) };
        if !matches!(mode, Mode::Create | Mode::Extract) {
            return bad("--reflink is for -c and -x");
        }
        if self.aligns() && mode == Mode::Create && compression.is_some() {
            return bad("--reflink cannot share the blocks of compressed archives");
        }
        if reflink == Reflink::Always && is_standard {
            return bad("--reflink=always needs the name of an archive; give it with -f");
        }
        Ok(())
    }
}
