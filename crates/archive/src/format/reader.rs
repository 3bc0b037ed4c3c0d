//! Reads the members of an archive in order, one header after the other.
//!
//! Memory is bounded whatever a header claims: extended headers by [`EXTENDED_MAX_BYTES`], sparse maps
//! by [`REGIONS_MAX`], and data are never kept.

use super::header::{BLOCK_BYTES, Block, Checked, Header, Layout, bytes, check, field};
use super::member::{Member, MemberKind, Moment, Region};
use super::next::{At, Next, ReadError, Zeros};
use super::number::{octal_max, parse, parse_unsigned};
use super::pax::{Extended, number, records};
use super::refusal::Refusal;
use super::regions::{check_regions, part_of_map};
use crate::source::Source;

/// Bytes of the largest extended header or long name, and of all global headers together: sixty times the largest value that the kernel
/// allows for an extended attribute.
pub const EXTENDED_MAX_BYTES: u64 = 4 << 20;

/// The largest number of regions of a sparse file; GNU tar's own test has a thousand.
pub const REGIONS_MAX: usize = 1 << 20;

/// Why the headers of a member give no member.
enum Failure {
    Read(ReadError),
    Refused(Refusal),
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        Failure::Refused(refusal)
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Failure {
        Failure::Read(error)
    }
}

/// Reads the members of an archive.
pub struct Reader<S> {
    source: S,
    zeros: Zeros,
    offset: u64,
    /// Bytes of the member's data that were not read, and of the padding behind them.
    data: u64,
    padding: u64,
    globals: Extended,
    /// Bytes of all global headers.
    global_bytes: u64,
    /// Headers that were read and belong to the member that comes.
    pending: Pending,
    warnings: Vec<Vec<u8>>,
    ready: Option<Next>,
    has_ended: bool,
    end: At,
    was_invalid: bool,
    refuses_empty: bool,
}

/// Headers before that of a member.
#[derive(Default)]
struct Pending {
    start: Option<u64>,
    name: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    extended: Option<Extended>,
}

impl Pending {
    fn is_empty(&self) -> bool {
        self.name.is_none() && self.link.is_none() && self.extended.is_none()
    }
}

impl<S: Source> Reader<S> {
    /// Reads an archive from the source's position.
    pub fn new(source: S, zeros: Zeros) -> Reader<S> {
        Reader {
            source,
            zeros,
            offset: 0,
            data: 0,
            padding: 0,
            globals: Extended::default(),
            global_bytes: 0,
            pending: Pending::default(),
            warnings: Vec::new(),
            ready: None,
            has_ended: false,
            end: At::default(),
            was_invalid: false,
            refuses_empty: false,
        }
    }

    /// Returns the source.
    pub const fn source(&mut self) -> &mut S {
        &mut self.source
    }

    /// Returns the number of bytes of the archive that were read or skipped.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns where the archive ended, once it has.
    #[must_use]
    pub const fn end(&self) -> At {
        self.end
    }

    /// Returns the number of bytes of the member's data that were not read yet.
    #[must_use]
    pub const fn left(&self) -> u64 {
        self.data
    }

    /// Reads bytes of the member's data; fewer than the buffer only at their end. Blocks.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<usize, ReadError> {
        let most = usize::try_from(self.data).unwrap_or(usize::MAX).min(buffer.len());
        let room = buffer.get_mut(..most).unwrap_or_default();
        let count = self.source.fill(room)?;
        self.offset += count as u64;
        self.data -= count as u64;
        if count < most { Err(ReadError::UnexpectedEnd) } else { Ok(count) }
    }

    /// Skips what is left of the member's data. Fails if the archive ends before.
    pub fn finish_member(&mut self) -> Result<(), ReadError> {
        let bytes = self.data + self.padding;
        (self.data, self.padding) = (0, 0);
        let skipped = self.source.skip(bytes)?;
        self.offset += skipped;
        if skipped < bytes { Err(ReadError::UnexpectedEnd) } else { Ok(()) }
    }

    /// Reads a block; `None` at the end. What is left of a piece of a block is no part of the archive.
    fn block(&mut self) -> Result<Option<Block>, ReadError> {
        let mut block = [0; BLOCK_BYTES];
        let count = self.source.fill(&mut block)?;
        self.offset += count as u64;
        Ok((count == BLOCK_BYTES).then_some(block))
    }

    /// Reads what follows the end of the archive, so that a decoder compares the sums of all its data
    /// and a program that decompresses can end. Blocks.
    pub fn drain(&mut self) -> Result<(), ReadError> {
        self.source.skip(u64::MAX)?;
        Ok(())
    }

    /// Makes an archive without a byte an error ([`Next::TooShort`]), as a file that was cut there.
    #[must_use]
    pub const fn refusing_empty(mut self, refuses_empty: bool) -> Reader<S> {
        self.refuses_empty = refuses_empty;
        self
    }

    /// Returns what is next, skipping what is left of the last member's data. Blocks.
    pub fn advance(&mut self) -> Result<Next, ReadError> {
        if let Some(keyword) = self.warnings.pop() {
            return Ok(Next::UnknownKeyword(keyword));
        }
        if let Some(next) = self.ready.take() {
            return Ok(next);
        }
        if self.has_ended {
            return Ok(Next::End);
        }
        self.finish_member()?;
        self.pending = Pending::default();
        let next = self.headers()?;
        if matches!(next, Next::Member(_)) && !self.warnings.is_empty() {
            self.warnings.reverse();
            self.ready = Some(next);
            return self.advance();
        }
        self.warnings.clear();
        // A block of zeros has ended it, whatever comes with it.
        self.has_ended |= match &next {
            Next::End | Next::TooShort => true,
            Next::Refused(_, refusal) => refusal.hides_next_header(),
            _ => false,
        };
        Ok(next)
    }

    fn headers(&mut self) -> Result<Next, ReadError> {
        loop {
            let start = self.offset;
            self.end = At { offset: start, zeros: false };
            let Some(block) = self.block()? else {
                // Headers that belong to a member that does not come.
                return match self.pending.is_empty() {
                    false => Err(ReadError::UnexpectedEnd),
                    true if start == 0 && (self.offset > 0 || self.refuses_empty) => {
                        Ok(Next::TooShort)
                    }
                    true => Ok(Next::End),
                };
            };
            match check(&block) {
                Checked::Zero if self.zeros == Zeros::Skip => {}
                Checked::Zero => return self.zero(start),
                Checked::Invalid if self.was_invalid => {}
                Checked::Invalid => {
                    self.was_invalid = true;
                    return Ok(Next::Invalid);
                }
                Checked::Header => {
                    self.was_invalid = false;
                    let first = *self.pending.start.get_or_insert(start);
                    match self.header(&block, first) {
                        Ok(Some(member)) => return Ok(Next::Member(Box::new(member))),
                        Ok(None) => {}
                        Err(Failure::Read(error)) => return Err(error),
                        Err(Failure::Refused(refusal)) => {
                            return Ok(Next::Refused(self.shown_name(&block), refusal));
                        }
                    }
                }
            }
        }
    }

    /// Reads what follows a block of zeros: another one ends the archive.
    fn zero(&mut self, start: u64) -> Result<Next, ReadError> {
        self.end = At { offset: start, zeros: true };
        let next = self.block()?;
        self.has_ended = true;
        Ok(match next {
            Some(block) if check(&block) == Checked::Zero => Next::End,
            _ => Next::LoneZero(start / BLOCK_BYTES as u64 + 1),
        })
    }

    /// Returns the name for a message about a member that is refused.
    fn shown_name(&self, block: &Block) -> Vec<u8> {
        let extended = self.pending.extended.as_ref();
        let path = extended.and_then(|extended| extended.path.clone());
        path.or_else(|| self.pending.name.clone())
            .unwrap_or_else(|| super::header::text(block, field::NAME).to_vec())
    }

    /// Reads a header; `None` if it belongs to a later one.
    fn header(&mut self, block: &Block, start: u64) -> Result<Option<Member>, Failure> {
        let header = Header::read(block)?;
        match header.type_flag {
            b'L' => {
                let text = self.long_text(header.size)?;
                demand_absent(self.pending.name.replace(text))?;
            }
            b'K' => {
                let text = self.long_text(header.size)?;
                demand_absent(self.pending.link.replace(text))?;
            }
            b'x' | b'X' => {
                let records = records(&self.body(header.size)?)?;
                let mut extended = self.globals.clone();
                extended.add(&records).map_err(of_extended)?;
                demand_absent(self.pending.extended.replace(extended))?;
                self.pending.start = None;
            }
            b'g' => {
                // What they say is kept to the end.
                self.global_bytes = self.global_bytes.saturating_add(header.size);
                if self.global_bytes > EXTENDED_MAX_BYTES {
                    return Err(Refusal::HeaderTooLarge.into());
                }
                let records = records(&self.body(header.size)?)?;
                self.globals.add_global(&records).map_err(of_extended)?;
                // Told once, not for each member.
                self.warnings.append(&mut self.globals.unknown);
                self.pending.start = None;
            }
            _ => return self.member(block, header, start).map(Some),
        }
        Ok(None)
    }

    /// Reads data that belong to a header.
    fn body(&mut self, size: u64) -> Result<Vec<u8>, Failure> {
        if size > EXTENDED_MAX_BYTES {
            return Err(Refusal::HeaderTooLarge.into());
        }
        let bytes = usize::try_from(size.next_multiple_of(BLOCK_BYTES as u64)).unwrap_or(0);
        let mut body = vec![0; bytes];
        let count = self.source.fill(&mut body).map_err(ReadError::from)?;
        self.offset += count as u64;
        if count < bytes {
            return Err(ReadError::UnexpectedEnd.into());
        }
        body.truncate(usize::try_from(size).unwrap_or(0));
        Ok(body)
    }

    /// Reads a long name. It may end in a NUL, and has none before.
    fn long_text(&mut self, size: u64) -> Result<Vec<u8>, Failure> {
        let mut text = self.body(size)?;
        while text.last() == Some(&0) {
            text.pop();
        }
        Ok(text)
    }

    fn member(&mut self, block: &Block, header: Header, start: u64) -> Result<Member, Failure> {
        let pending = std::mem::take(&mut self.pending);
        let extended = pending.extended.clone().unwrap_or_else(|| self.globals.clone());
        // The name that messages show, whatever is wrong.
        self.pending = Pending {
            start: None,
            name: pending.name.clone(),
            link: None,
            extended: Some(extended.clone()),
        };
        let layout = header.layout;
        let kind = match extended.sparse.is_there() {
            true => kind_of(header.type_flag),
            false => kind(&header, pending.name.as_deref().or(extended.path.as_deref())),
        };
        let stored = stored_bytes(&header, kind, &extended)?;
        (self.data, self.padding) = (stored, padding(stored));
        let name = chosen(&header.name, pending.name, extended.path.clone());
        let link = chosen(&header.link, pending.link, extended.link.clone());
        let mut member = Member {
            layout,
            is_extended: pending.extended.is_some(),
            kind,
            name: Vec::new(),
            link: Vec::new(),
            mode: header.mode,
            uid: extended.uid.unwrap_or(header.uid),
            gid: extended.gid.unwrap_or(header.gid),
            user: extended.user.clone().unwrap_or(header.user),
            group: extended.group.clone().unwrap_or(header.group),
            size: stored,
            mtime: extended.mtime.unwrap_or(Moment { seconds: header.mtime, nanoseconds: 0 }),
            atime: extended.atime,
            ctime: extended.ctime,
            device: (header.major, header.minor),
            regions: None,
            xattrs: extended.xattrs.clone(),
            acls: extended.acls.clone(),
            context: extended.context.clone(),
            header_offset: start,
            data_offset: 0,
            stored_bytes: stored,
        };
        // Everything that says where the next header is comes before what can be refused alone.
        if header.type_flag == b'S' {
            // star has another map there, and readers disagree about what continues it.
            if !matches!(layout, Layout::Gnu | Layout::OldGnu) {
                return Err(Refusal::SparseLayout.into());
            }
            self.old_gnu_sparse(block, &mut member)?;
        }
        member.data_offset = self.offset;
        member.name = name?;
        member.link = link?;
        if let (Layout::Gnu | Layout::OldGnu, None) = (layout, member.atime) {
            member.atime = gnu_atime(block)?;
        }
        if extended.sparse.is_there() {
            if kind != MemberKind::Regular || member.regions.is_some() {
                return Err(Refusal::SparseVersion.into());
            }
            self.extended_sparse(&extended, &mut member)?;
        }
        check_names(&member)?;
        self.warnings.extend(extended.unknown);
        Ok(member)
    }

    /// Reads the map of GNU's own sparse format: regions in the header and in the blocks behind it.
    fn old_gnu_sparse(&mut self, block: &Block, member: &mut Member) -> Result<(), Failure> {
        let mut regions = Vec::new();
        let mut more = block.get(field::GNU_EXTENDED).is_some_and(|flag| *flag != 0);
        part_of_map(bytes(block, field::GNU_SPARSE), more, &mut regions)?;
        while more {
            let block = self.block()?.ok_or(ReadError::UnexpectedEnd)?;
            more = block.get(504).is_some_and(|flag| *flag != 0);
            part_of_map(bytes(&block, 0..504), more, &mut regions)?;
            if regions.len() > REGIONS_MAX {
                return Err(Refusal::HeaderTooLarge.into());
            }
        }
        member.size = parse_unsigned(bytes(block, field::GNU_REAL_SIZE))?;
        check_regions(&regions, member.size, member.stored_bytes)?;
        member.regions = Some(regions);
        Ok(())
    }

    /// Reads a map of an extended header, or in version 1.0 at the beginning of the data.
    fn extended_sparse(&mut self, extended: &Extended, member: &mut Member) -> Result<(), Failure> {
        let sparse = &extended.sparse;
        let size = sparse.size.ok_or(Refusal::SparseVersion)?;
        let regions = match (sparse.major, sparse.minor) {
            (None, None) => {
                if sparse.blocks != Some(sparse.regions.len() as u64) {
                    return Err(Refusal::SparseMap.into());
                }
                sparse.regions.clone()
            }
            // Two maps would be two files.
            (Some(1), Some(0)) if sparse.blocks.is_none() && sparse.regions.is_empty() => {
                self.map_in_data()?
            }
            _ => return Err(Refusal::SparseVersion.into()),
        };
        member.data_offset = self.offset;
        member.stored_bytes = self.data;
        if let Some(name) = &sparse.name {
            member.name.clone_from(name);
        }
        member.size = size;
        // Some readers make a directory of it, others a file.
        if member.name.ends_with(b"/") {
            return Err(Refusal::SparseName.into());
        }
        check_regions(&regions, size, member.stored_bytes)?;
        member.regions = Some(regions);
        Ok(())
    }

    fn map_in_data(&mut self) -> Result<Vec<Region>, Failure> {
        let mut numbers: Vec<u64> = Vec::new();
        let mut wanted = 1;
        let mut digits: Vec<u8> = Vec::new();
        let mut block = [0; BLOCK_BYTES];
        while numbers.len() < wanted {
            if self.data < BLOCK_BYTES as u64 {
                return Err(Refusal::SparseMap.into());
            }
            self.read(&mut block)?;
            for byte in block {
                if numbers.len() == wanted {
                    break;
                }
                if byte != b'\n' {
                    digits.push(byte);
                    // The longest number has 19 digits.
                    if digits.len() > 19 {
                        return Err(Refusal::SparseMap.into());
                    }
                    continue;
                }
                let value = number(&digits).map_err(|_| Refusal::SparseMap)?;
                digits.clear();
                if numbers.is_empty() {
                    let count = usize::try_from(value).unwrap_or(usize::MAX);
                    if count > REGIONS_MAX {
                        return Err(Refusal::SparseMap.into());
                    }
                    wanted = 1 + 2 * count;
                }
                numbers.push(value);
            }
        }
        let pairs = numbers.get(1..).unwrap_or_default().as_chunks::<2>().0;
        Ok(pairs.iter().map(|[offset, bytes]| Region { offset: *offset, bytes: *bytes }).collect())
    }
}

/// Returns why an extended header is refused: never for a reason after which the member that it belongs to
/// would be read without it.
fn of_extended(refusal: Refusal) -> Refusal {
    if refusal.hides_next_header() { refusal } else { Refusal::MalformedRecord }
}

fn demand_absent<T>(earlier: Option<T>) -> Result<(), Refusal> {
    earlier.map_or(Ok(()), |_| Err(Refusal::RepeatedHeader))
}

fn padding(bytes: u64) -> u64 {
    bytes.next_multiple_of(BLOCK_BYTES as u64) - bytes
}

/// Returns the kind of a member that no record calls sparse. A regular file whose name ends in a slash is a
/// directory, as V7 wrote it.
fn kind(header: &Header, long: Option<&[u8]>) -> MemberKind {
    let name = long.unwrap_or(&header.name);
    match header.type_flag {
        0 | b'0' if name.ends_with(b"/") => MemberKind::Directory,
        flag => kind_of(flag),
    }
}

/// Returns the kind that a type stands for. Of a sparse file the name in the header is not its own, and may
/// be cut behind a slash.
const fn kind_of(type_flag: u8) -> MemberKind {
    match type_flag {
        0 | b'0' | b'S' => MemberKind::Regular,
        b'1' => MemberKind::HardLink,
        b'2' => MemberKind::Symlink,
        b'3' => MemberKind::CharDevice,
        b'4' => MemberKind::BlockDevice,
        b'5' => MemberKind::Directory,
        b'6' => MemberKind::Fifo,
        b'7' => MemberKind::Contiguous,
        b'D' => MemberKind::DumpDirectory,
        b'V' => MemberKind::VolumeLabel,
        b'M' => MemberKind::Continued,
        other => MemberKind::Unknown(other),
    }
}

/// Returns the bytes of data behind the header. The two headers must agree, unless the number does not
/// fit the older one.
fn stored_bytes(header: &Header, kind: MemberKind, extended: &Extended) -> Result<u64, Refusal> {
    let most = octal_max(12).cast_unsigned();
    let fits = |size: u64| size <= most;
    let size = match extended.size {
        None => header.size,
        Some(size) if size == header.size => size,
        // What writers put into a field that is too small: nothing, as much as it can have, or the digits
        // that it has room for.
        Some(size) if !fits(size) && [0, most, size & most].contains(&header.size) => size,
        Some(_) => return Err(Refusal::SizesDiffer),
    };
    // No size can make an offset overflow.
    if size > u64::MAX >> 2 {
        return Err(Refusal::NumberTooLarge);
    }
    match kind {
        // Old programs wrote the size of the file here; all readers skip nothing, except some for
        // extended headers.
        MemberKind::HardLink if extended.size.is_none() => Ok(0),
        MemberKind::HardLink
        | MemberKind::Symlink
        | MemberKind::CharDevice
        | MemberKind::BlockDevice
        | MemberKind::Directory
        | MemberKind::Fifo
            if size > 0 =>
        {
            Err(Refusal::UnexpectedData)
        }
        _ => Ok(size),
    }
}

/// Chooses among the name in the header, a long one, and one of an extended header.
fn chosen(
    short: &[u8],
    long: Option<Vec<u8>>,
    extended: Option<Vec<u8>>,
) -> Result<Vec<u8>, Refusal> {
    match (long, extended) {
        (Some(long), Some(extended)) if long != extended => Err(Refusal::NamesDiffer),
        (_, Some(name)) | (Some(name), None) => Ok(name),
        (None, None) => Ok(short.to_vec()),
    }
}

fn check_names(member: &Member) -> Result<(), Refusal> {
    if member.name.contains(&0) || member.link.contains(&0) {
        return Err(Refusal::NulInName);
    }
    let is_link = matches!(member.kind, MemberKind::HardLink | MemberKind::Symlink);
    let has_name = !member.name.is_empty() || member.kind == MemberKind::VolumeLabel;
    if !has_name || (is_link && member.link.is_empty()) {
        return Err(Refusal::EmptyName);
    }
    Ok(())
}

/// Reads the access time of GNU's layout; 0 is none.
fn gnu_atime(block: &Block) -> Result<Option<Moment>, Refusal> {
    let seconds = parse(bytes(block, field::GNU_ATIME))?;
    Ok((seconds != 0).then_some(Moment { seconds, nanoseconds: 0 }))
}
