//! Pieces that are written in turns: all open, as far as descriptors go.
//!
//! What a piece gets is gathered, for a line at a time would be a call at a time. Where there are
//! more pieces than descriptors, one that was written is closed and opened again to append.

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use haul_io::DataPolicy;
use haul_io::split::{Taken, Turns};
use haul_sys::{Errno, errno_text};

use super::output::{Fatal, Maker, OutputError, Piece};

/// Bytes that are gathered for all pieces together.
const GATHERED_BYTES: u64 = 64 << 20;

/// The most that is gathered for one piece, and the least.
const PIECE_BYTES: (u64, u64) = (4 << 10, 64 << 10);

enum State {
    New,
    Open(Piece),
    /// Closed for want of descriptors; the file that it is, which is opened again.
    Closed(Option<(u64, u64)>),
}

struct Slot {
    name: Vec<u8>,
    gathered: Vec<u8>,
    state: State,
    refused: bool,
}

/// All pieces.
pub(super) struct AllPieces<'m, 'a> {
    maker: &'m mut Maker<'a>,
    slots: Vec<Slot>,
    /// Bytes that are gathered for each piece.
    most: usize,
    /// Whether descriptors have run out.
    scarce: bool,
}

impl<'m, 'a> AllPieces<'m, 'a> {
    /// Names all pieces. With `gathers` false every line is written at once.
    pub(super) fn new(maker: &'m mut Maker<'a>, count: u64, gathers: bool) -> Result<Self, Fatal> {
        let too_many = || Fatal::new("memory exhausted".to_owned());
        let room = usize::try_from(count).map_err(|_| too_many())?;
        let mut slots = Vec::new();
        slots.try_reserve_exact(room).map_err(|_| too_many())?;
        for _ in 0..count {
            let name = maker.next_name()?;
            let state = State::New;
            slots.push(Slot { name, gathered: Vec::new(), state, refused: false });
        }
        let most = (GATHERED_BYTES / count.max(1)).clamp(PIECE_BYTES.0, PIECE_BYTES.1);
        let most = if gathers { usize::try_from(most).unwrap_or(0) } else { 0 };
        Ok(AllPieces { maker, slots, most, scarce: false })
    }

    /// Opens a piece, for which another may have to be closed.
    fn open(&mut self, index: usize) -> Result<(), Fatal> {
        let mut victim = index;
        loop {
            let Some(slot) = self.slots.get(index) else { return Ok(()) };
            let name = slot.name.clone();
            let opened = match slot.state {
                State::Open(_) => return Ok(()),
                State::New => self.maker.open(name),
                State::Closed(file) => reopen(name, file, self.maker.policy),
            };
            let error = match opened {
                Ok(piece) => {
                    if let Some(slot) = self.slots.get_mut(index) {
                        slot.state = State::Open(piece);
                    }
                    return Ok(());
                }
                Err(error) => error,
            };
            if !is_scarcity(&error) || self.maker.filter.is_some() {
                return Err(error.fatal());
            }
            self.scarce = true;
            // The one before was written last, and comes last again.
            loop {
                victim = victim.checked_sub(1).unwrap_or(self.slots.len() - 1);
                if victim == index {
                    return Err(error.fatal());
                }
                if self.slots.get(victim).is_some_and(|slot| matches!(slot.state, State::Open(_))) {
                    break;
                }
            }
            self.shut(victim)?;
        }
    }

    /// Closes a piece that will be opened again.
    fn shut(&mut self, index: usize) -> Result<(), Fatal> {
        let filter = self.maker.filter;
        let Some(slot) = self.slots.get_mut(index) else { return Ok(()) };
        match std::mem::replace(&mut slot.state, State::Closed(None)) {
            State::Open(piece) => {
                slot.state = State::Closed(piece.identity());
                piece.close(filter)
            }
            _ => Ok(()),
        }
    }

    /// Writes what was gathered.
    fn flush(&mut self, index: usize) -> Result<(), Fatal> {
        if self.slots.get(index).is_none_or(|slot| slot.gathered.is_empty()) {
            return Ok(());
        }
        self.open(index)?;
        let Some(slot) = self.slots.get_mut(index) else { return Ok(()) };
        if let State::Open(piece) = &mut slot.state {
            slot.refused |= piece.write(&slot.gathered)? == Taken::Refused;
        }
        slot.gathered.clear();
        if self.scarce { self.shut(index) } else { Ok(()) }
    }

    /// Writes what is left, and makes those that got nothing, unless they are not wanted.
    pub(super) fn end(&mut self, touched: u64, elide: bool) -> Result<(), Fatal> {
        for index in 0..self.slots.len() {
            if (index as u64) < touched {
                self.flush(index)?;
            } else if !elide {
                self.open(index)?;
            }
            let filter = self.maker.filter;
            let Some(slot) = self.slots.get_mut(index) else { continue };
            if let State::Open(piece) = std::mem::replace(&mut slot.state, State::Closed(None)) {
                piece.close(filter)?;
            }
        }
        Ok(())
    }
}

/// Opens a piece again, if its name still leads to it. A FIFO whose reader went away when it was closed is an error,
/// not a wait.
fn reopen(
    name: Vec<u8>,
    file: Option<(u64, u64)>,
    policy: &DataPolicy,
) -> Result<Piece, OutputError> {
    const O_NONBLOCK: i32 = 0o4000;
    let path = Path::new(OsStr::from_bytes(&name));
    match OpenOptions::new().append(true).custom_flags(O_NONBLOCK).open(path) {
        Ok(opened) => {
            let piece = Piece::of_file(name, opened, policy);
            if file.is_some() && piece.identity() != file {
                // Another process has put it there. What this piece has got is in none of the names.
                let why = errno_text(Errno::STALE);
                return Err(OutputError::Fatal(Fatal::of(&piece.name, &why)));
            }
            Ok(piece)
        }
        Err(error) => Err(OutputError::Open(name, error)),
    }
}

fn is_scarcity(error: &OutputError) -> bool {
    let OutputError::Open(_, error) = error else { return false };
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
}

impl Turns for AllPieces<'_, '_> {
    type Error = Fatal;

    fn write(&mut self, piece: u64, bytes: &[u8]) -> Result<Taken, Fatal> {
        let Ok(index) = usize::try_from(piece) else { return Ok(Taken::Refused) };
        if self.slots.get(index).is_some_and(|slot| matches!(slot.state, State::New)) {
            self.open(index)?;
            if self.scarce {
                self.shut(index)?;
            }
        }
        let Some(slot) = self.slots.get_mut(index) else { return Ok(Taken::Refused) };
        if slot.refused {
            return Ok(Taken::Refused);
        }
        slot.gathered.extend_from_slice(bytes);
        let (is_full, refused) = (slot.gathered.len() > self.most, slot.refused);
        if is_full {
            self.flush(index)?;
        }
        let refused = refused || self.slots.get(index).is_some_and(|slot| slot.refused);
        Ok(if refused { Taken::Refused } else { Taken::All })
    }
}
