//! The index of a gzip file: its points, in a file of its own.
//!
//! All numbers are little-endian. The file has
//!
//! | bytes | what |
//! | --- | --- |
//! | 8 | the magic bytes `HAULGZX\n` |
//! | 4 | the version, 1 |
//! | 4 | zero |
//! | … | a record for each point, in the order of the gzip file |
//! | 1 | zero, where the records end |
//! | 8 | number of points |
//! | 8 | bytes of the gzip file |
//! | 8 | original bytes, of all members |
//! | 8 | members |
//! | 8 | original bytes of the last member |
//! | 4 | CRC-32 of the last member, as its trailer has it |
//! | 32 | the identity of the gzip file, a digest that the caller defines |
//! | 4 | CRC-32 of everything before |
//!
//! A record is one byte, 1 for a member or 2 for a block; 8 bytes, the bits of the gzip file before the
//! point; 8 bytes, the original bytes before the point. With a block follow 2 bytes, the length of its
//! window, at most 32 KiB; 2 bytes, the length of the compressed window; and the window, as a raw
//! deflate stream, or nothing where the length is 0.
//!
//! A reader verifies all of it once ([`read_index`]), with memory for one window, and then reads the
//! points again as it needs them ([`IndexPoints`]), so an index may be larger than memory.

use std::io::{self, Read, Write};

use libdeflater::{CompressionLvl, Compressor, Decompressor};

use super::point::{Place, Point, WINDOW_BYTES};

const MAGIC: [u8; 8] = *b"HAULGZX\n";

/// The version that is written, and the only one that is read.
const VERSION: u32 = 1;

const END: u8 = 0;
const MEMBER: u8 = 1;
const BLOCK: u8 = 2;

/// What an index says about its gzip file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexFacts {
    /// Number of points; a writer counts itself.
    pub points: u64,
    /// Bytes of the gzip file.
    pub archive_bytes: u64,
    /// Original bytes, of all members.
    pub original_bytes: u64,
    /// Members.
    pub members: u64,
    /// Original bytes of the last member.
    pub last_bytes: u64,
    /// CRC-32 of the last member.
    pub last_check: u32,
    /// Digest of bytes of the gzip file; the caller decides of which.
    pub identity: [u8; 32],
}

/// Why a file cannot be used as an index.
#[derive(Debug)]
pub enum IndexError {
    /// It cannot be read.
    Input(io::Error),
    /// It does not begin as an index does.
    NotAnIndex,
    /// It is of another version: its number.
    Version(u32),
    /// It is damaged or incomplete.
    Damaged,
}

impl std::fmt::Display for IndexError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            IndexError::Input(error) => error.fmt(f),
            IndexError::NotAnIndex => f.write_str("not an index of a gzip file"),
            IndexError::Version(version) => write!(f, "index of the unknown version {version}"),
            IndexError::Damaged => f.write_str("the index is damaged or incomplete"),
        }
    }
}

impl std::error::Error for IndexError {}

/// Writes an index.
pub struct IndexWriter<W> {
    sink: W,
    check: crc32fast::Hasher,
    points: u64,
    packer: Compressor,
}

impl<W: Write> IndexWriter<W> {
    /// Begins an index. Blocks and fails as the sink does.
    pub fn begin(sink: W) -> io::Result<IndexWriter<W>> {
        let packer = Compressor::new(CompressionLvl::default());
        let mut writer = IndexWriter { sink, check: crc32fast::Hasher::new(), points: 0, packer };
        writer.put(&MAGIC)?;
        writer.put(&VERSION.to_le_bytes())?;
        writer.put(&[0; 4])?;
        Ok(writer)
    }

    /// Adds a point, in the order of the file. Blocks and fails as the sink does.
    pub fn add(&mut self, point: &Point) -> io::Result<()> {
        let kind = if point.place == Place::Member { MEMBER } else { BLOCK };
        self.put(&[kind])?;
        self.put(&point.bit.to_le_bytes())?;
        self.put(&point.original_bytes.to_le_bytes())?;
        self.points += 1;
        let Place::Block(window) = &point.place else { return Ok(()) };
        let from = window.len().saturating_sub(WINDOW_BYTES);
        let window = &window[from..];
        let packed = self.pack(window)?;
        for length in [window.len(), packed.len()] {
            let length = u16::try_from(length).map_err(io::Error::other)?;
            self.put(&length.to_le_bytes())?;
        }
        self.put(&packed)
    }

    fn pack(&mut self, window: &[u8]) -> io::Result<Vec<u8>> {
        if window.is_empty() {
            return Ok(Vec::new());
        }
        let mut packed = vec![0; self.packer.deflate_compress_bound(window.len())];
        let length = self
            .packer
            .deflate_compress(window, &mut packed)
            .map_err(|error| io::Error::other(error.to_string()))?;
        packed.truncate(length);
        Ok(packed)
    }

    /// Writes the end and returns the sink. Blocks and fails as the sink does.
    pub fn finish(mut self, facts: &IndexFacts) -> io::Result<W> {
        self.put(&[END])?;
        for number in [
            self.points,
            facts.archive_bytes,
            facts.original_bytes,
            facts.members,
            facts.last_bytes,
        ] {
            self.put(&number.to_le_bytes())?;
        }
        self.put(&facts.last_check.to_le_bytes())?;
        self.put(&facts.identity)?;
        let check = self.check.clone().finalize();
        self.sink.write_all(&check.to_le_bytes())?;
        Ok(self.sink)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.check.update(bytes);
        self.sink.write_all(bytes)
    }
}

/// Reads an index to its end and verifies all of it: sums, lengths, order. Needs memory for one
/// window. Blocks as the source does.
pub fn read_index(source: impl Read) -> Result<IndexFacts, IndexError> {
    let mut fields = Fields { source, check: crc32fast::Hasher::new() };
    fields.head()?;
    let (mut points, mut bit, mut original_bytes) = (0, 0, 0);
    while let Some(point) = fields.point()? {
        if point.bit <= bit || point.original_bytes < original_bytes {
            return Err(IndexError::Damaged);
        }
        (points, bit, original_bytes) = (points + 1, point.bit, point.original_bytes);
    }
    let facts = fields.facts()?;
    let check = fields.check.clone().finalize();
    let is_behind = bit / 8 >= facts.archive_bytes || original_bytes > facts.original_bytes;
    let is_wrong = fields.array()? != check.to_le_bytes() || facts.points != points;
    if is_wrong || (points > 0 && is_behind) || !fields.is_at_end()? {
        return Err(IndexError::Damaged);
    }
    Ok(facts)
}

/// The points of an index, one after the other. Ends where the index does, or where it is not what
/// [`read_index`] accepted.
pub struct IndexPoints<R> {
    fields: Option<Fields<R>>,
    unpacker: Decompressor,
}

impl<R: Read> IndexPoints<R> {
    /// Reads from the beginning of an index. Blocks as the source does.
    pub fn new(source: R) -> IndexPoints<R> {
        let mut fields = Fields { source, check: crc32fast::Hasher::new() };
        let fields = fields.head().is_ok().then_some(fields);
        IndexPoints { fields, unpacker: Decompressor::new() }
    }

    /// Tells whether the source begins as an index of a version that can be read.
    #[must_use]
    pub fn is_index(&self) -> bool {
        self.fields.is_some()
    }
}

impl<R: Read> Iterator for IndexPoints<R> {
    type Item = Point;

    fn next(&mut self) -> Option<Point> {
        let packed = self.fields.as_mut()?.point().ok().flatten();
        let point = packed.and_then(|packed| packed.unpack(&mut self.unpacker));
        if point.is_none() {
            self.fields = None;
        }
        point
    }
}

/// A point whose window is compressed.
struct PackedPoint {
    bit: u64,
    original_bytes: u64,
    /// Of a block: the compressed window, and how long the window is.
    window: Option<(Vec<u8>, usize)>,
}

impl PackedPoint {
    fn unpack(self, unpacker: &mut Decompressor) -> Option<Point> {
        let PackedPoint { bit, original_bytes, window } = self;
        let place = match window {
            None => Place::Member,
            Some((_, 0)) => Place::Block(Vec::new()),
            Some((packed, bytes)) => {
                let mut window = vec![0; bytes];
                let made = unpacker.deflate_decompress(&packed, &mut window).ok()?;
                Place::Block(Some(window).filter(|_| made == bytes)?)
            }
        };
        Some(Point { bit, original_bytes, place })
    }
}

/// The fields of an index.
struct Fields<R> {
    source: R,
    check: crc32fast::Hasher,
}

impl<R: Read> Fields<R> {
    fn read(&mut self, room: &mut [u8]) -> Result<(), IndexError> {
        match self.source.read_exact(room) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(IndexError::Damaged);
            }
            Err(error) => return Err(IndexError::Input(error)),
        }
        self.check.update(room);
        Ok(())
    }

    fn array<const BYTES: usize>(&mut self) -> Result<[u8; BYTES], IndexError> {
        let mut bytes = [0; BYTES];
        self.read(&mut bytes)?;
        Ok(bytes)
    }

    fn head(&mut self) -> Result<(), IndexError> {
        match self.array() {
            Ok(MAGIC) => {}
            Ok(_) | Err(IndexError::Damaged) => return Err(IndexError::NotAnIndex),
            Err(error) => return Err(error),
        }
        match (u32::from_le_bytes(self.array()?), self.array()?) {
            (VERSION, [0, 0, 0, 0]) => Ok(()),
            (VERSION, _) => Err(IndexError::Damaged),
            (version, _) => Err(IndexError::Version(version)),
        }
    }

    /// Reads a record; `None` where they end.
    fn point(&mut self) -> Result<Option<PackedPoint>, IndexError> {
        let [kind] = self.array()?;
        if kind == END {
            return Ok(None);
        }
        let bit = u64::from_le_bytes(self.array()?);
        let original_bytes = u64::from_le_bytes(self.array()?);
        let window = match kind {
            MEMBER if bit % 8 == 0 => None,
            BLOCK => {
                let bytes = usize::from(u16::from_le_bytes(self.array()?));
                let mut packed = vec![0; usize::from(u16::from_le_bytes(self.array()?))];
                if bytes > WINDOW_BYTES || (bytes == 0) != packed.is_empty() {
                    return Err(IndexError::Damaged);
                }
                self.read(&mut packed)?;
                Some((packed, bytes))
            }
            _ => return Err(IndexError::Damaged),
        };
        Ok(Some(PackedPoint { bit, original_bytes, window }))
    }

    fn facts(&mut self) -> Result<IndexFacts, IndexError> {
        let mut number = || self.array().map(u64::from_le_bytes);
        Ok(IndexFacts {
            points: number()?,
            archive_bytes: number()?,
            original_bytes: number()?,
            members: number()?,
            last_bytes: number()?,
            last_check: u32::from_le_bytes(self.array()?),
            identity: self.array()?,
        })
    }

    fn is_at_end(&mut self) -> Result<bool, IndexError> {
        let mut room = [0];
        loop {
            match self.source.read(&mut room) {
                Ok(count) => return Ok(count == 0),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(IndexError::Input(error)),
            }
        }
    }
}
