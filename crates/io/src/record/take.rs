//! Reads a record: one read, or as many as make it whole.

use std::os::fd::BorrowedFd;

use haul_sys::Errno;
use haul_sys::data::read;

use super::monitor::Quit;
use super::order::Order;
use crate::system::retry::through_signals_while;

/// What reading a record came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Taken {
    /// How many bytes there are; none at the end of the input.
    pub(super) answer: Result<usize, Errno>,
    /// How short the read before was, if it was short and yet not the last.
    pub(super) partial: Option<usize>,
}

/// Reads records one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taker {
    is_full: bool,
    is_direct: bool,
    /// What the read before this one gave.
    before: usize,
}

impl Taker {
    pub(super) fn new(order: &Order) -> Taker {
        Taker { is_full: order.is_full, is_direct: order.reads_direct, before: 0 }
    }

    /// Fills a buffer with a record. `heed` is asked before each read, and ends it.
    pub(super) fn record(
        &mut self,
        fd: BorrowedFd<'_>,
        buffer: &mut [u8],
        heed: &mut dyn FnMut() -> Result<(), Quit>,
    ) -> Result<Taken, Quit> {
        let wanted = buffer.len();
        let mut filled = 0;
        let mut partial = None;
        loop {
            let taken = self.once(fd, &mut buffer[filled..], heed)?;
            partial = partial.or(taken.partial);
            let Ok(count) = taken.answer else { return Ok(Taken { partial, ..taken }) };
            filled += count;
            if count == 0 || filled == wanted || !self.is_full {
                return Ok(Taken { answer: Ok(filled), partial });
            }
        }
    }

    fn once(
        &mut self,
        fd: BorrowedFd<'_>,
        room: &mut [u8],
        heed: &mut dyn FnMut() -> Result<(), Quit>,
    ) -> Result<Taken, Quit> {
        let size = room.len();
        let was_partial = self.before > 0 && self.before < size;
        let answer = match through_signals_while(heed, || read(fd, &mut *room))? {
            // After a last block that was short the position is not aligned any more.
            Err(error) if error.errno == Errno::INVAL && was_partial && self.is_direct => Ok(0),
            answer => answer.map_err(|error| error.errno),
        };
        let count = answer.unwrap_or(0);
        if count > 0 && count < size {
            heed()?;
        }
        let partial = (count > 0 && was_partial).then_some(self.before);
        self.before = count;
        Ok(Taken { answer, partial })
    }
}
