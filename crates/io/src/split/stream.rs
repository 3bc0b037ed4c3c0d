//! Cutting what comes in order: by bytes, by lines, in turns.

use memchr::{memchr, memchr_iter};

use super::{Pieces, Source, Taken, Turns};

/// Pieces of this many bytes.
pub fn by_bytes<P: Pieces>(
    piece_bytes: u64,
    source: &mut dyn Source<P::Error>,
    pieces: &mut P,
) -> Result<(), P::Error> {
    let mut left = 0;
    let mut taken = Taken::All;
    loop {
        let mut bytes = source.next()?;
        if bytes.is_empty() {
            return Ok(());
        }
        while !bytes.is_empty() {
            if left == 0 {
                pieces.begin()?;
                left = piece_bytes;
                taken = Taken::All;
            }
            let count = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
            let (now, later) = bytes.split_at(count);
            if taken == Taken::All {
                taken = pieces.write(now)?;
            }
            left -= count as u64;
            bytes = later;
        }
    }
}

/// Pieces of this many lines, each of which ends in `end`.
pub fn by_lines<P: Pieces>(
    piece_lines: u64,
    end: u8,
    source: &mut dyn Source<P::Error>,
    pieces: &mut P,
) -> Result<(), P::Error> {
    let mut lines = 0;
    let mut begun = false;
    loop {
        let bytes = source.next()?;
        if bytes.is_empty() {
            return Ok(());
        }
        let mut from = 0;
        for at in memchr_iter(end, bytes) {
            lines += 1;
            if lines < piece_lines {
                continue;
            }
            if !begun {
                pieces.begin()?;
            }
            pieces.write(&bytes[from..=at])?;
            (lines, begun, from) = (0, false, at + 1);
        }
        if from < bytes.len() {
            if !begun {
                pieces.begin()?;
                begun = true;
            }
            pieces.write(&bytes[from..])?;
        }
    }
}

/// Calls with each line, or part of one; and whether it is the line's last part.
fn for_each_line<E>(
    end: u8,
    source: &mut dyn Source<E>,
    mut line: impl FnMut(&[u8], bool) -> Result<bool, E>,
) -> Result<(), E> {
    loop {
        let mut bytes = source.next()?;
        if bytes.is_empty() {
            return Ok(());
        }
        while !bytes.is_empty() {
            let found = memchr(end, bytes);
            let (now, later) = bytes.split_at(found.map_or(bytes.len(), |at| at + 1));
            if !line(now, found.is_some())? {
                return Ok(());
            }
            bytes = later;
        }
    }
}

/// Lines in turns to this many pieces. Ends early when a whole round was refused. Returns how many
/// pieces got something.
pub fn by_turns<T: Turns>(
    pieces: u64,
    end: u8,
    source: &mut dyn Source<T::Error>,
    turns: &mut T,
) -> Result<u64, T::Error> {
    let mut piece = 0;
    let mut touched = 0;
    let mut any = false;
    for_each_line(end, source, |bytes, is_whole| {
        any |= turns.write(piece, bytes)? == Taken::All;
        touched = touched.max(piece + 1);
        if is_whole {
            piece += 1;
            if piece == pieces {
                piece = 0;
                return Ok(std::mem::take(&mut any));
            }
        }
        Ok(true)
    })?;
    Ok(touched)
}

/// Of lines that are dealt out in turns, those of one piece; counted from 0.
pub fn only_turn<E>(
    piece: u64,
    pieces: u64,
    end: u8,
    source: &mut dyn Source<E>,
    mut write: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut turn = 0;
    for_each_line(end, source, |bytes, is_whole| {
        if turn == piece {
            write(bytes)?;
        }
        if is_whole {
            turn = if turn + 1 == pieces { 0 } else { turn + 1 };
        }
        Ok(true)
    })
}
