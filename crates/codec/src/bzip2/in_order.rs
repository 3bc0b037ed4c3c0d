//! bzip2 in order: one stream behind the other, and behind the last one what is no stream and is
//! ignored, as `bzip2 -d` reads them.

use bzip2::{Decompress, Error, Status};

use crate::decoding::Trailing;
use crate::error::Damage;
use crate::library::{Library, Step};

/// The state of one stream at a time.
pub(super) struct Bzip2 {
    /// `None` between streams.
    stream: Option<Decompress>,
    /// Streams that have begun.
    count: u64,
    trailing: Trailing,
    /// What is wrong behind the bytes that the last step produced.
    failed: Option<Damage>,
}

impl Bzip2 {
    /// Makes the reader of what follows so many streams.
    pub(super) fn new(count: u64) -> Bzip2 {
        Bzip2 { stream: None, count, trailing: Trailing::Nothing, failed: None }
    }
}

impl Library for Bzip2 {
    fn step(&mut self, bytes: &[u8], room: &mut [u8], is_end: bool) -> Result<Step, Damage> {
        if let Some(damage) = self.failed {
            return Err(damage);
        }
        if self.trailing == Trailing::Garbage {
            return Ok(Step { consumed: bytes.len(), produced: 0, may_end: true });
        }
        if self.stream.is_none() && is_end {
            return Ok(Step { consumed: 0, produced: 0, may_end: self.count > 0 });
        }
        let stream = match &mut self.stream {
            Some(stream) => stream,
            None => {
                self.count += 1;
                self.stream.insert(Decompress::new(false))
            }
        };
        let before = (stream.total_in(), stream.total_out());
        let status = match stream.decompress(bytes, room) {
            Ok(Status::MemNeeded) => return Err(Damage::Memory),
            Ok(status) => status,
            Err(Error::DataMagic) if self.count == 1 => return Err(Damage::UnknownFormat),
            Err(Error::DataMagic) => {
                self.trailing = Trailing::Garbage;
                return Ok(Step { consumed: bytes.len(), produced: 0, may_end: true });
            }
            Err(_) => {
                self.failed = Some(Damage::Format);
                Status::Ok
            }
        };
        let consumed = usize::try_from(stream.total_in() - before.0).unwrap_or(0);
        let produced = usize::try_from(stream.total_out() - before.1).unwrap_or(0);
        let has_ended = status == Status::StreamEnd;
        if has_ended {
            self.stream = None;
        }
        Ok(Step { consumed, produced, may_end: has_ended })
    }

    fn trailing(&self) -> Trailing {
        self.trailing
    }
}
