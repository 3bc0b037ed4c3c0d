//! Compression of whole archives: which formats there are, and readers and writers of each.
//!
//! The libraries are used behind two functions, [`decoder`] and [`encoder`], so that others can take
//! their place.

mod magic;
mod program;

use std::io::{BufReader, Read, Write};

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
    /// The format of LZMA alone (`--lzma`), which is only read.
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
}

/// Memory that decoding xz may take: its largest preset needs 65 MiB, and a window of 1 GiB is the
/// largest of `zstd --long=31 --memory`.
const MEMORY_MAX_BYTES: u64 = 1 << 30;

/// The largest window of Zstandard, as a power of two: `--long=30`, and what
/// [`MEMORY_MAX_BYTES`] allows.
const ZSTD_WINDOW_LOG_MAX: u32 = 30;

/// Returns a reader of the decompressed bytes. Members of several frames follow one another.
pub fn decoder<'r>(
    filter: Filter,
    compressed: impl Read + Send + 'r,
) -> std::io::Result<Box<dyn Read + Send + 'r>> {
    let buffered = BufReader::with_capacity(256 << 10, compressed);
    Ok(match filter {
        Filter::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(buffered)),
        Filter::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(buffered)),
        Filter::Xz => {
            let stream = liblzma::stream::Stream::new_stream_decoder(
                MEMORY_MAX_BYTES,
                liblzma::stream::CONCATENATED,
            )?;
            Box::new(liblzma::bufread::XzDecoder::new_stream(buffered, stream))
        }
        Filter::Lzma => {
            // Some programs of this name write xz.
            let stream = liblzma::stream::Stream::new_auto_decoder(
                MEMORY_MAX_BYTES,
                liblzma::stream::CONCATENATED,
            )?;
            Box::new(liblzma::bufread::XzDecoder::new_stream(buffered, stream))
        }
        Filter::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(buffered)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
            Box::new(decoder)
        }
    })
}

/// A writer that compresses. Its end has to be written by [`Encode::end`].
pub trait Encode: Write + Send {
    /// Writes the end of the compressed data. Fails as a write.
    fn end(self: Box<Self>) -> std::io::Result<()>;
}

struct Gzip<W: Write>(flate2::write::GzEncoder<W>);
struct Xz<W: Write>(liblzma::write::XzEncoder<W>);
struct Zstd<W: Write>(zstd::stream::write::Encoder<'static, W>);

macro_rules! encode {
    ($name:ident) => {
        impl<W: Write + Send> Write for $name<W> {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                self.0.write(bytes)
            }

            fn flush(&mut self) -> std::io::Result<()> {
                self.0.flush()
            }
        }

        impl<W: Write + Send> Encode for $name<W> {
            fn end(self: Box<Self>) -> std::io::Result<()> {
                self.0.finish()?.flush()
            }
        }
    };
}

encode!(Gzip);
encode!(Xz);
encode!(Zstd);

/// Returns a writer that compresses with the level that the format's own program has by default, or
/// `None` for a format that is only read.
pub fn encoder<'w>(
    filter: Filter,
    target: impl Write + Send + 'w,
) -> std::io::Result<Option<Box<dyn Encode + 'w>>> {
    Ok(match filter {
        Filter::Gzip => {
            let level = flate2::Compression::new(6);
            Some(Box::new(Gzip(flate2::write::GzEncoder::new(target, level))))
        }
        Filter::Xz => Some(Box::new(Xz(liblzma::write::XzEncoder::new(target, 6)))),
        Filter::Zstd => {
            let mut encoder = zstd::stream::write::Encoder::new(target, 3)?;
            encoder.include_checksum(true)?;
            Some(Box::new(Zstd(encoder)))
        }
        Filter::Bzip2 | Filter::Lzma => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again_also_in_several_parts() {
        let text: Vec<u8> = (0..200_000_u32).map(|at| (at ^ at >> 7) as u8).collect();
        for filter in [Filter::Gzip, Filter::Xz, Filter::Zstd] {
            let mut packed = Vec::new();
            for half in text.chunks(100_000) {
                let mut encoder = encoder(filter, &mut packed).unwrap().unwrap();
                encoder.write_all(half).unwrap();
                encoder.end().unwrap();
            }
            assert_eq!(of_magic(&packed), Some(filter));
            let mut found = Vec::new();
            decoder(filter, &packed[..]).unwrap().read_to_end(&mut found).unwrap();
            assert!(found == text, "{filter:?}");
            let half = &packed[..packed.len() / 2 + 100];
            assert!(decoder(filter, half).unwrap().read_to_end(&mut Vec::new()).is_err());
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
