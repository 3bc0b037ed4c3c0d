//! Memory for the bytes of small files, which one thread reads and another one writes.

use bytes::BytesMut;

/// Bytes of one allocation: few enough that the allocator does not map each.
const ROOM_BYTES: usize = 64 << 10;

/// Memory that one thread gives to small files, many of them in one allocation: another thread frees it, and
/// if it did so for each file both would wait for a lock of the allocator.
#[derive(Default)]
pub(crate) struct Room(BytesMut);

impl Room {
    /// Returns so many zeros.
    pub(crate) fn take(&mut self, bytes: usize) -> BytesMut {
        if bytes > ROOM_BYTES / 4 {
            return BytesMut::zeroed(bytes);
        }
        if self.0.capacity() < bytes {
            self.0 = BytesMut::with_capacity(ROOM_BYTES);
        }
        self.0.resize(bytes, 0);
        self.0.split()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_apart_and_zeros() {
        let mut room = Room::default();
        let sizes = [0, 1, 1000, ROOM_BYTES / 4, ROOM_BYTES / 4 + 1, 3 * ROOM_BYTES];
        let mut pieces = Vec::new();
        for (number, size) in (0_u8..).zip(sizes.into_iter().cycle().take(60)) {
            let mut piece = room.take(size);
            assert!(piece.len() == size && piece.iter().all(|byte| *byte == 0), "{number}");
            piece.fill(number);
            pieces.push((number, piece.freeze()));
        }
        for (number, piece) in pieces {
            assert!(piece.iter().all(|byte| *byte == number), "{number}");
        }
    }

    #[test]
    fn small_pieces_share_an_allocation() {
        let mut room = Room::default();
        let first = room.take(1024);
        let next = room.take(1024);
        assert_eq!(next.as_ptr().addr(), first.as_ptr().addr() + 1024);
    }
}
