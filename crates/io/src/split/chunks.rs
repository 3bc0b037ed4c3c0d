//! A file of known size in a given number of chunks: by bytes, or by lines around those places.

use std::ops::Range;

use memchr::memchr;

/// Bytes of which a line's end is looked for at once: most lines are shorter, and a longer one is
/// not the rule for which a page would be wasted each time.
const LOOK_BYTES: usize = 16 << 10;

/// The boundaries of equal chunks; the first ones are a byte longer where it does not divide.
fn start_of(chunk: u64, chunks: u64, file_bytes: u64) -> u64 {
    let (each, more) = (file_bytes / chunks, file_bytes % chunks);
    chunk.saturating_mul(each) + chunk.min(more)
}

/// Returns the range of one chunk, counted from 0.
#[must_use]
pub fn nth_byte_chunk(chunk: u64, chunks: u64, file_bytes: u64) -> Range<u64> {
    start_of(chunk, chunks, file_bytes)..start_of(chunk + 1, chunks, file_bytes)
}

/// The ranges of all chunks, in order.
#[derive(Clone, Debug)]
pub struct ByteChunks {
    file_bytes: u64,
    chunks: u64,
    next: u64,
}

impl ByteChunks {
    /// Cuts a file of this size into this many chunks.
    #[must_use]
    pub const fn new(file_bytes: u64, chunks: u64) -> ByteChunks {
        ByteChunks { file_bytes, chunks, next: 0 }
    }
}

impl Iterator for ByteChunks {
    type Item = Range<u64>;

    fn next(&mut self) -> Option<Range<u64>> {
        if self.next >= self.chunks {
            return None;
        }
        self.next += 1;
        Some(nth_byte_chunk(self.next - 1, self.chunks, self.file_bytes))
    }
}

/// Reads a file at an offset; nothing is the end.
pub type ReadAt<'r, E> = dyn FnMut(&mut [u8], u64) -> Result<usize, E> + Send + 'r;

/// Chunks of whole lines: each has the lines that begin in the chunk of bytes.
pub struct LineChunks<'r, E> {
    file_bytes: u64,
    chunks: u64,
    end: u8,
    read_at: &'r mut ReadAt<'r, E>,
    /// The last place from which a line's end was looked for, and where it was.
    known: Option<(u64, u64)>,
}

impl<'r, E> LineChunks<'r, E> {
    /// Cuts a file of this size into this many chunks; `read_at` reads it at an offset.
    pub fn new(
        file_bytes: u64,
        chunks: u64,
        end: u8,
        read_at: &'r mut ReadAt<'r, E>,
    ) -> LineChunks<'r, E> {
        LineChunks { file_bytes, chunks, end, read_at, known: None }
    }

    /// Returns the range of one chunk, counted from 0; an empty one where no line begins in it.
    pub fn nth(&mut self, chunk: u64) -> Result<Range<u64>, E> {
        let bytes = nth_byte_chunk(chunk, self.chunks, self.file_bytes);
        let start = self.line_start(bytes.start)?;
        if start >= bytes.end {
            return Ok(bytes.end..bytes.end);
        }
        Ok(start..self.line_start(bytes.end)?)
    }

    /// Returns where the first line begins at or behind an offset.
    fn line_start(&mut self, offset: u64) -> Result<u64, E> {
        if offset == 0 || offset >= self.file_bytes {
            return Ok(offset);
        }
        let from = offset - 1;
        if let Some((asked, found)) = self.known
            && asked <= from
            && from < found
        {
            return Ok(found);
        }
        let found = self.behind_line_end(from)?;
        self.known = Some((from, found));
        Ok(found)
    }

    fn behind_line_end(&mut self, mut from: u64) -> Result<u64, E> {
        let mut buffer = [0; LOOK_BYTES];
        while from < self.file_bytes {
            let filled = (self.read_at)(&mut buffer, from)?;
            let bytes = &buffer[..filled];
            if let Some(at) = memchr(self.end, bytes) {
                return Ok((from + at as u64 + 1).min(self.file_bytes));
            }
            if filled == 0 {
                break;
            }
            from += filled as u64;
        }
        Ok(self.file_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_the_file_without_gaps() {
        for bytes in 0..40 {
            for chunks in 1..12 {
                let all: Vec<Range<u64>> = ByteChunks::new(bytes, chunks).collect();
                assert_eq!(all.len() as u64, chunks);
                assert!(all.windows(2).all(|pair| pair[0].end == pair[1].start));
                assert_eq!((all[0].start, all[all.len() - 1].end), (0, bytes));
                let sizes: Vec<u64> = all.iter().map(|range| range.end - range.start).collect();
                assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
            }
        }
        assert_eq!(
            nth_byte_chunk(i64::MAX as u64 - 1, i64::MAX as u64, i64::MAX as u64).end,
            i64::MAX as u64
        );
    }

    #[test]
    fn lines_stay_whole_and_belong_where_they_begin() {
        let text = b"12345\n1\n12345\n1\n12345\n1\n12345\n1\n12345\n\n\n12345\n1\n12345\n1\n12345\n1\n12345\n1\n12345\n1\n";
        let mut read_at = |buffer: &mut [u8], from: u64| {
            let rest = &text[from as usize..];
            // Short answers, so that the search goes on.
            let count = rest.len().min(3).min(buffer.len());
            buffer[..count].copy_from_slice(&rest[..count]);
            Ok::<usize, ()>(count)
        };
        for chunks in 1..90 {
            let mut lines = LineChunks::new(text.len() as u64, chunks, b'\n', &mut read_at);
            let mut at = 0;
            for chunk in 0..chunks {
                let range = lines.nth(chunk).unwrap();
                if range.is_empty() {
                    continue;
                }
                assert_eq!(range.start, at);
                assert_eq!(text[range.end as usize - 1], b'\n');
                let bytes = nth_byte_chunk(chunk, chunks, text.len() as u64);
                assert!(bytes.contains(&range.start), "{chunks} {chunk}");
                at = range.end;
            }
            assert_eq!(at, text.len() as u64);
        }
    }
}
