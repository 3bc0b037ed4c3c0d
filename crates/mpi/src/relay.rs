//! Relay of a rank's lines to rank 0, which prints the lines of all ranks.
//!
//! MPI's own forwarding of standard output may tear lines, and a list of errors is one file. Workers
//! put lines here; the thread that exchanges messages sends them. A rank sends the next lines when
//! rank 0 has printed the last ones, so a slow terminal stops the workers and fills no memory.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use haul::Stream;

use crate::wire::{put, take};

/// Bytes that may wait. Some thousand lines; more would not print faster.
const ROOM_BYTES: usize = 256 << 10;

/// Lines that wait to be sent.
#[derive(Default)]
pub struct Relay {
    waiting: Mutex<Waiting>,
    taken: Condvar,
}

#[derive(Default)]
struct Waiting {
    bytes: Vec<u8>,
    /// Whether lines are accepted without room: nothing takes them before the rank ends.
    is_last: bool,
}

impl Relay {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Accepts whole lines. Blocks while there is no room for them.
    pub fn print(&self, stream: Stream, text: &[u8]) {
        let is_full = |waiting: &mut Waiting| waiting.bytes.len() >= ROOM_BYTES && !waiting.is_last;
        let mut waiting =
            self.taken.wait_while(self.lock(), is_full).unwrap_or_else(PoisonError::into_inner);
        put(&mut waiting.bytes, number_of(stream));
        put(&mut waiting.bytes, text.len() as u64);
        waiting.bytes.extend_from_slice(text);
    }

    /// Takes what waits.
    pub(crate) fn take(&self) -> Vec<u8> {
        let bytes = std::mem::take(&mut self.lock().bytes);
        self.taken.notify_all();
        bytes
    }

    /// Accepts lines without room from now on.
    pub(crate) fn end(&self) {
        self.lock().is_last = true;
        self.taken.notify_all();
    }
}

const fn number_of(stream: Stream) -> u64 {
    match stream {
        Stream::Output => 0,
        Stream::Error => 1,
        Stream::List => 2,
        Stream::Result => 3,
    }
}

/// Prints relayed lines. Returns `false` if the bytes do not have the expected form.
pub(crate) fn print_all(mut bytes: &[u8], print: &dyn Fn(Stream, &[u8])) -> bool {
    while !bytes.is_empty() {
        let (Some(number), Some(length)) = (take(&mut bytes), take(&mut bytes)) else {
            return false;
        };
        let stream = match number {
            0 => Stream::Output,
            1 => Stream::Error,
            2 => Stream::List,
            3 => Stream::Result,
            _ => return false,
        };
        let Ok(length) = usize::try_from(length) else { return false };
        let Some((text, rest)) = bytes.split_at_checked(length) else { return false };
        print(stream, text);
        bytes = rest;
    }
    true
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn lines_come_back_in_order() {
        let relay = Relay::default();
        let lines: [(Stream, &[u8]); 3] =
            [(Stream::Output, b"a\n"), (Stream::Error, b"b\xff\n"), (Stream::List, b"")];
        for (stream, text) in lines {
            relay.print(stream, text);
        }
        let printed = RefCell::new(Vec::new());
        let print = |stream, text: &[u8]| printed.borrow_mut().push((stream, text.to_vec()));
        let bytes = relay.take();
        assert!(print_all(&bytes, &print));
        let expected = lines.map(|(stream, text)| (stream, text.to_vec()));
        assert_eq!(printed.take(), expected);
        assert_eq!(relay.take(), [0_u8; 0]);
        for length in 1..bytes.len() {
            let mut whole = 0;
            // A cut at the end of a line is not visible.
            for (_, text) in lines {
                whole += 16 + text.len();
                if length == whole {
                    break;
                }
            }
            assert_eq!(print_all(&bytes[..length], &print), length == whole, "{length} bytes");
        }
    }

    #[test]
    fn workers_wait_for_room_until_the_end() {
        let relay = Relay::default();
        let line = vec![b'x'; ROOM_BYTES];
        relay.print(Stream::Output, &line);
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| relay.print(Stream::Output, b"second"));
            let first = relay.take();
            assert!(first.len() >= ROOM_BYTES);
            waits.join().unwrap();
        });
        relay.print(Stream::Output, &line);
        relay.end();
        relay.print(Stream::Output, b"last");
        assert!(relay.take().ends_with(b"last"));
    }
}
