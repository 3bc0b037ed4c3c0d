//! Compression of whole archives: which formats there are, and readers and writers of each.
//!
//! `haul-codec` and other programs do the work, behind [`decoder`] and [`encoder`].

mod magic;
mod program;

use std::io::{Read, Write};

use haul_codec::{Cut, DecodePlan, Decoder, EncodePlan, Encoder, Format, Packing, Trailing};

pub use haul_codec::Memory;

pub use magic::{MAGIC_BYTES, of_magic};
pub use program::{decode_by, encode_by};

/// A format of compressed data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    /// gzip (`-z`).
    Gzip,
    /// bzip2 (`-j`), which is only read.
    Bzip2,
    /// xz (`-J`).
    Xz,
    /// The format of LZMA alone (`--lzma`).
    Lzma,
    /// Zstandard (`--zstd`).
    Zstd,
}

/// The formats, with the name that messages show and the endings of names for `-a`.
pub const TABLE: &[(Filter, &str, &[&str])] = &[
    (Filter::Gzip, "gzip", &["gz", "tgz", "taz"]),
    (Filter::Bzip2, "bzip2", &["bz2", "tz2", "tbz2", "tbz"]),
    (Filter::Xz, "xz", &["xz", "txz"]),
    (Filter::Lzma, "lzma", &["lzma", "tlz"]),
    (Filter::Zstd, "zstd", &["zst", "tzst"]),
];

impl Filter {
    /// Returns the name that messages show.
    #[must_use]
    pub fn name(self) -> &'static str {
        TABLE.iter().find(|(filter, ..)| *filter == self).map_or("", |(_, name, _)| *name)
    }

    /// Returns the format that the ending of a file's name stands for.
    #[must_use]
    pub fn of_name(name: &[u8]) -> Option<Filter> {
        let ending = name.rsplit(|byte| *byte == b'.').next()?;
        if ending.len() == name.len() {
            return None;
        }
        let row = TABLE
            .iter()
            .find(|(_, _, endings)| endings.iter().any(|known| known.as_bytes() == ending))?;
        Some(row.0)
    }

    const fn format(self) -> Format {
        match self {
            Filter::Gzip => Format::Gzip,
            Filter::Bzip2 => Format::Bzip2,
            Filter::Xz => Format::Xz,
            Filter::Lzma => Format::Lzma,
            Filter::Zstd => Format::Zstd,
        }
    }
}

/// Memory of a worker that compresses with gzip.
const GZIP_JOB_BYTES: u64 = 4 << 20;

/// Original bytes of a frame of Zstandard, unless the user wants another size.
pub const FRAME_BYTES: u64 = 16 << 20;

/// A decoder that fails at the end where bytes behind the data were not understood, as the formats'
/// own programs do.
struct Whole(Decoder, Filter);

impl Read for Whole {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        let count = self.0.read(room)?;
        let is_end = count == 0 && !room.is_empty();
        // The program of bzip2 ignores what is behind its data, such as the padding of a tape.
        let is_odd = !matches!(self.1, Filter::Bzip2);
        if is_end && is_odd && self.0.summary().trailing == Trailing::Garbage {
            return Err(std::io::Error::other("trailing garbage behind the compressed data"));
        }
        Ok(count)
    }
}

/// Returns a reader of the decompressed bytes. Members of several frames follow one another. `jobs`
/// workers decompress at the same time, where the data and the memory allow it.
pub fn decoder(
    filter: Filter,
    compressed: impl Read + Send + 'static,
    jobs: usize,
    memory: Memory,
) -> Box<dyn Read + Send> {
    let plan = DecodePlan { jobs, memory, ..DecodePlan::default() };
    Box::new(Whole(Decoder::of(compressed, plan, filter.format()), filter))
}

/// A writer that compresses. Its end has to be written by [`Encode::end`].
pub trait Encode: Write + Send {
    /// Writes the end of the compressed data. Fails as a write.
    fn end(self: Box<Self>) -> std::io::Result<()>;

    /// Ends the frame before the last `kept` bytes of what was written; see [`Encoder::cut`].
    fn cut(&mut self, _kept: usize) -> std::io::Result<()> {
        Ok(())
    }

    /// Gives bytes that other readers skip, to be written at the end.
    fn attach(&mut self, _bytes: Vec<u8>) {}
}

impl<W: Write + Send> Encode for Encoder<W> {
    fn end(self: Box<Self>) -> std::io::Result<()> {
        let (mut target, _totals) = self.finish()?;
        target.flush()
    }

    fn cut(&mut self, kept: usize) -> std::io::Result<()> {
        Encoder::cut(self, kept)
    }

    fn attach(&mut self, bytes: Vec<u8>) {
        Encoder::attach(self, bytes);
    }
}

/// How an archive is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Workers that compress at the same time; the bytes are the same for any number.
    pub jobs: usize,
    /// Memory that they may take; fewer work where it does not suffice.
    pub memory_bytes: u64,
    /// Original bytes of a frame of Zstandard, which ends where [`Encode::cut`] says; with 0 there is
    /// one frame.
    pub frame_bytes: u64,
}

/// Returns a writer that compresses with the level that the format's own program has by default, or
/// `None` for a format that is only read.
pub fn encoder<'w>(
    filter: Filter,
    target: impl Write + Send + 'w,
    effort: Effort,
) -> Option<Box<dyn Encode + 'w>> {
    let Effort { jobs, memory_bytes, frame_bytes } = effort;
    let packing = match filter {
        Filter::Gzip => {
            let fit = usize::try_from(memory_bytes / GZIP_JOB_BYTES).unwrap_or(usize::MAX);
            let jobs = jobs.min(fit).max(1);
            let plan = EncodePlan { jobs, cut: Cut::Even, ..EncodePlan::GZIP };
            return Some(Box::new(Encoder::new(target, plan)));
        }
        Filter::Bzip2 => return None,
        Filter::Xz => Packing::Xz,
        Filter::Lzma => Packing::Lzma,
        Filter::Zstd if frame_bytes == 0 => Packing::Zstd { frame_bytes },
        Filter::Zstd => Packing::ZstdCut { frame_bytes },
    };
    Some(Box::new(Encoder::packing_within(target, packing, jobs, memory_bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again_also_in_several_parts() {
        let text: Vec<u8> = (0..200_000_u32).map(|at| (at ^ at >> 7) as u8).collect();
        let effort = Effort { jobs: 2, memory_bytes: u64::MAX, frame_bytes: FRAME_BYTES };
        for filter in [Filter::Gzip, Filter::Xz, Filter::Zstd] {
            let mut packed = Vec::new();
            for half in text.chunks(100_000) {
                let mut encoder = encoder(filter, &mut packed, effort).unwrap();
                encoder.write_all(half).unwrap();
                encoder.end().unwrap();
            }
            assert_eq!(of_magic(&packed), Some(filter));
            let mut found = Vec::new();
            let source = std::io::Cursor::new(packed.clone());
            decoder(filter, source, 2, Memory::default()).read_to_end(&mut found).unwrap();
            assert!(found == text, "{filter:?}");
            let half = std::io::Cursor::new(packed[..packed.len() / 2 + 100].to_vec());
            assert!(
                decoder(filter, half, 2, Memory::default()).read_to_end(&mut Vec::new()).is_err()
            );
        }
    }

    #[test]
    fn garbage_behind_the_data_is_an_error() {
        let effort = Effort { jobs: 1, memory_bytes: u64::MAX, frame_bytes: FRAME_BYTES };
        for filter in [Filter::Gzip, Filter::Xz, Filter::Zstd] {
            let mut packed = Vec::new();
            encoder(filter, &mut packed, effort).unwrap().end().unwrap();
            packed.extend_from_slice(b"garbage that is no member and no frame");
            let read =
                decoder(filter, std::io::Cursor::new(packed), 1, Memory::default()).read(&mut [0]);
            assert!(read.is_err(), "{filter:?}");
        }
    }

    #[test]
    fn endings_name_formats() {
        assert_eq!(Filter::of_name(b"a.tar.gz"), Some(Filter::Gzip));
        assert_eq!(Filter::of_name(b"d.x/a.tzst"), Some(Filter::Zstd));
        assert_eq!(Filter::of_name(b"gz"), None);
        assert_eq!(Filter::of_name(b"a.tar"), None);
    }
}
