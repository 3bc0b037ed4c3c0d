//! An archive whose bytes, and the time that they are waited for, are counted for `--progress` and
//! `--stats`.

use std::io::{Result, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use haul_archive::create::Output;
use haul_archive::source::{Source, SourceError};
use haul_io::stream::Side;

use super::session::Session;

/// A source that is counted.
pub(super) struct TalliedSource {
    inner: Box<dyn Source + Send>,
    session: Arc<Session>,
}

impl TalliedSource {
    /// Counts what is read from a source.
    pub(super) fn new(inner: Box<dyn Source + Send>, session: &Arc<Session>) -> TalliedSource {
        TalliedSource { inner, session: Arc::clone(session) }
    }
}

impl Source for TalliedSource {
    fn fill(&mut self, buffer: &mut [u8]) -> std::result::Result<usize, SourceError> {
        let Some(reporting) = self.session.reporting() else { return self.inner.fill(buffer) };
        // Nothing is waited for, and two looks at the clock take as long.
        let count = if self.inner.at_hand() >= buffer.len() {
            self.inner.fill(buffer)?
        } else {
            reporting.tally.waiting(Side::Source, || self.inner.fill(buffer))?
        };
        reporting.tally.moved(count as u64);
        Ok(count)
    }

    fn skip(&mut self, bytes: u64) -> std::result::Result<u64, SourceError> {
        let Some(reporting) = self.session.reporting() else { return self.inner.skip(bytes) };
        let count = if self.inner.at_hand() as u64 >= bytes {
            self.inner.skip(bytes)?
        } else {
            reporting.tally.waiting(Side::Source, || self.inner.skip(bytes))?
        };
        reporting.tally.moved(count);
        Ok(count)
    }

    fn at_hand(&self) -> usize {
        self.inner.at_hand()
    }

    fn file(&self) -> Option<(Arc<OwnedFd>, u64)> {
        self.inner.file()
    }
}

/// A target that is counted.
pub(super) struct TalliedTarget<'s, W> {
    inner: W,
    session: &'s Session,
}

impl<'s, W> TalliedTarget<'s, W> {
    /// Counts what is written to a target.
    pub(super) const fn new(inner: W, session: &'s Session) -> TalliedTarget<'s, W> {
        TalliedTarget { inner, session }
    }

    /// Returns the target.
    pub(super) fn into_inner(self) -> W {
        self.inner
    }
}

impl<W: Write> Write for TalliedTarget<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let Some(reporting) = self.session.reporting() else { return self.inner.write(bytes) };
        let count = reporting.tally.waiting(Side::Target, || self.inner.write(bytes))?;
        reporting.tally.moved(count as u64);
        Ok(count)
    }

    fn flush(&mut self) -> Result<()> {
        self.inner.flush()
    }
}

impl<W: Output> Output for TalliedTarget<'_, W> {
    fn leave(&mut self, bytes: u64) -> Result<Option<(Arc<OwnedFd>, u64)>> {
        let room = self.inner.leave(bytes)?;
        if let (Some(_), Some(reporting)) = (&room, self.session.reporting()) {
            reporting.tally.moved(bytes);
        }
        Ok(room)
    }

    fn skip(&mut self, bytes: u64) {
        if let Some(reporting) = self.session.reporting() {
            reporting.tally.moved(bytes);
        }
        self.inner.skip(bytes);
    }

    fn has_offsets(&self) -> bool {
        self.inner.has_offsets()
    }
}
