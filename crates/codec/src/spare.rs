//! Buffers whose bytes were read, which are filled again: their memory is mapped and needs no zeros.

use std::sync::{Arc, Mutex, PoisonError};

/// Buffers that wait to be filled again. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Spare {
    buffers: Arc<Mutex<Vec<Vec<u8>>>>,
    most: usize,
    /// Bytes of them at most.
    most_bytes: usize,
}

impl Spare {
    /// Keeps this many buffers at most, and so many bytes.
    pub(crate) fn new(most: usize, most_bytes: usize) -> Spare {
        Spare { buffers: Arc::default(), most, most_bytes }
    }

    /// Returns an empty buffer with room for so many bytes. One that is too small is freed in exchange.
    pub(crate) fn empty(&self, bytes: usize) -> Vec<u8> {
        let mut buffer = self.any(bytes);
        buffer.clear();
        buffer
    }

    /// Returns a buffer of so many bytes, whatever they are.
    pub(crate) fn filled(&self, bytes: usize) -> Vec<u8> {
        let mut buffer = self.any(bytes);
        buffer.resize(bytes, 0);
        buffer
    }

    fn any(&self, bytes: usize) -> Vec<u8> {
        let mut buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        let found = buffers.iter().rposition(|buffer| buffer.capacity() >= bytes);
        if let Some(at) = found {
            return buffers.swap_remove(at);
        }
        let _too_small = buffers.pop();
        drop(buffers);
        Vec::with_capacity(bytes)
    }

    /// Keeps a buffer.
    pub(crate) fn keep(&self, buffer: Vec<u8>) {
        let mut buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        let kept: usize = buffers.iter().map(Vec::capacity).sum();
        let fits = kept.saturating_add(buffer.capacity()) <= self.most_bytes;
        if buffers.len() < self.most && fits && buffer.capacity() > 0 {
            buffers.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_that_is_large_enough_is_used_again() {
        let spare = Spare::new(2, 1000);
        let one = spare.filled(100);
        assert_eq!(one, [0; 100]);
        let place = one.as_ptr();
        spare.keep(one);
        let again = spare.clone().empty(50);
        assert_eq!((again.as_ptr(), again.len()), (place, 0), "the clone has other buffers");
        for bytes in [10, 20, 30] {
            spare.keep(vec![1; bytes]);
        }
        // The third was one too many; the first makes room for a larger one.
        assert_eq!(spare.filled(15).len(), 15);
        assert_eq!(spare.empty(1000).capacity(), 1000);
        assert!(spare.buffers.lock().unwrap().is_empty());
    }
}
