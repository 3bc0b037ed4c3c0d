//! Reads the members of an archive in order, one header after the other.
//!
//! Memory is bounded whatever a header claims: extended headers by [`EXTENDED_MAX_BYTES`], sparse maps
//! by [`REGIONS_MAX`], and data are never kept.

use super::extent::{Dialect, Extent};
use super::failure::Failure;
use super::header::{BLOCK_BYTES, Block, Checked, Header, Layout, bytes, check, field};
use super::limits::{EXTENDED_MAX_BYTES, REGIONS_MAX};
use super::member::{Member, MemberKind, Moment, Region};
use super::next::{At, Ending, Flaw, Next, ReadError, Zeros};
use super::number::parse_unsigned;
use super::pax::{Extended, NO_OWNER, number};
use super::pending::{Pending, add_global};
use super::refusal::Refusal;
use super::regions::{check_regions, map_of_star, part_of_map, stored_by};
use crate::source::Source;

/// Reads the members of an archive.
pub struct Reader<S> {
    source: S,
    zeros: Zeros,
    offset: u64,
    /// Bytes of the member's data that were not read, and of the padding behind them.
    data: u64,
    padding: u64,
    dialect: Dialect,
    globals: Extended,
    /// Bytes of all global headers.
    global_bytes: u64,
    /// Headers that were read and belong to the member that comes.
    pending: Pending,
    /// What is told before the member that comes.
    notes: Vec<Next>,
    ready: Option<Next>,
    /// Why the next member is refused: its long name is, too.
    orphaned: Option<Refusal>,
    is_lost: bool,
    has_ended: bool,
    end: At,
    was_invalid: bool,
    ending: Ending,
    /// Whether the last block was one of zeros.
    was_zero: bool,
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
            dialect: Dialect::Other,
            globals: Extended::default(),
            global_bytes: 0,
            pending: Pending::default(),
            notes: Vec::new(),
            ready: None,
            orphaned: None,
            is_lost: false,
            has_ended: false,
            end: At::default(),
            was_invalid: false,
            ending: Ending::Any,
            was_zero: false,
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
        let room = &mut buffer[..most];
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

    /// Demands an ending.
    #[must_use]
    pub const fn ending(mut self, ending: Ending) -> Reader<S> {
        self.ending = ending;
        self
    }

    /// Returns what is next, skipping what is left of the last member's data. Blocks.
    pub fn advance(&mut self) -> Result<Next, ReadError> {
        if let Some(note) = self.notes.pop() {
            return Ok(note);
        }
        if let Some(next) = self.ready.take() {
            return Ok(next);
        }
        if self.has_ended {
            return Ok(Next::End);
        }
        if self.is_lost {
            self.has_ended = true;
            return Ok(Next::Lost);
        }
        self.finish_member()?;
        self.pending = Pending { refusal: self.orphaned, ..Pending::default() };
        let next = self.headers()?;
        if matches!(next, Next::Member(_)) && !self.notes.is_empty() {
            self.notes.reverse();
            self.ready = Some(next);
            return self.advance();
        }
        self.notes.clear();
        // A block of zeros has ended it, whatever comes with it.
        self.has_ended |= matches!(next, Next::End | Next::TooShort | Next::NoZeros);
        Ok(next)
    }

    fn headers(&mut self) -> Result<Next, ReadError> {
        loop {
            let start = self.offset;
            self.end = At { offset: start, zeros: false };
            let Some(block) = self.block()? else {
                // Headers that belong to a member that does not come.
                return match (self.pending.is_empty(), self.ending) {
                    (false, _) => Err(ReadError::UnexpectedEnd),
                    (true, Ending::Zeros) if !self.was_zero => Ok(Next::NoZeros),
                    (true, Ending::NotEmpty) if start == 0 => Ok(Next::TooShort),
                    (true, _) if start == 0 && self.offset > 0 => Ok(Next::TooShort),
                    (true, _) => Ok(Next::End),
                };
            };
            self.was_zero = false;
            match check(&block) {
                Checked::Zero => match (self.zeros == Zeros::Skip, self.pending.is_empty()) {
                    (true, true) => self.was_zero = true,
                    (true, false) => {
                        let name = self.pending.shown_name(&block);
                        return Ok(Next::Refused(name, Refusal::NoMember));
                    }
                    (false, true) => return self.zero(start),
                    (false, false) => return Err(ReadError::UnexpectedEnd),
                },
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
                            self.is_lost = false;
                            return Ok(Next::Refused(self.pending.shown_name(&block), refusal));
                        }
                        Err(Failure::Lost(refusal)) => {
                            self.is_lost = true;
                            return Ok(Next::Refused(self.pending.shown_name(&block), refusal));
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

    /// Reads a header; `None` if it belongs to a later one.
    fn header(&mut self, block: &Block, start: u64) -> Result<Option<Member>, Failure> {
        let header = Header::of(block);
        if matches!(header.type_flag, b'x' | b'X' | b'g') {
            self.dialect = Dialect::Pax;
        }
        match header.type_flag {
            b'L' => {
                let (text, rest) = self.long_text(header)?;
                self.pending.long_name(text, &rest);
            }
            b'K' => {
                let (text, rest) = self.long_text(header)?;
                self.pending.long_link(text, &rest);
            }
            b'x' | b'X' => {
                let (body, _) = self.body(header.size().map_err(Failure::Lost)?)?;
                self.pending.extended(&body, &self.globals)?;
            }
            b'g' => {
                let size = header.size().map_err(Failure::Lost)?;
                // What they say is kept to the end.
                self.global_bytes = self.global_bytes.saturating_add(size);
                if self.global_bytes > EXTENDED_MAX_BYTES {
                    return Err(Failure::Lost(Refusal::HeaderTooLarge));
                }
                let (body, _) = self.body(size)?;
                self.pending.start = None;
                let added = add_global(&mut self.globals, (&header.name(), &body), &mut self.notes);
                added.map_err(|failure| match failure {
                    // The headers before it belong to the next member, and may have its size.
                    Failure::Refused(refusal) if !self.pending.is_empty() => Failure::Lost(refusal),
                    other => other,
                })?;
            }
            _ => return self.member(block, header, start).map(Some),
        }
        Ok(None)
    }

    /// Reads data that belong to a header, and returns them and what is behind them in their last block.
    fn body(&mut self, size: u64) -> Result<(Vec<u8>, Vec<u8>), Failure> {
        if size > EXTENDED_MAX_BYTES {
            return Err(Failure::Lost(Refusal::HeaderTooLarge));
        }
        let bytes = usize::try_from(size.next_multiple_of(BLOCK_BYTES as u64)).unwrap_or(0);
        let mut body = vec![0; bytes];
        let count = self.source.fill(&mut body).map_err(ReadError::from)?;
        self.offset += count as u64;
        if count < bytes {
            return Err(ReadError::UnexpectedEnd.into());
        }
        let rest = body.split_off(usize::try_from(size).unwrap_or(0));
        Ok((body, rest))
    }

    /// Reads a long name. Without it, the member would have another name.
    fn long_text(&mut self, header: Header<'_>) -> Result<(Vec<u8>, Vec<u8>), Failure> {
        let size = header.size();
        self.orphaned = size.err();
        self.body(size?)
    }

    fn member(&mut self, block: &Block, header: Header<'_>, start: u64) -> Result<Member, Failure> {
        let mut pending = std::mem::take(&mut self.pending);
        self.orphaned = None;
        let is_extended = pending.extended.is_some();
        let mut extended = pending.extended.take().unwrap_or_else(|| self.globals.clone());
        // The name that messages show, whatever is wrong.
        self.pending.name = extended.path.clone().or_else(|| pending.name.clone());
        let kind = match extended.sparse.is_there() {
            // The name in the header is not its own, and may be cut behind a slash.
            true => MemberKind::of_type(header.type_flag),
            false => kind(header, pending.name.as_deref().or(extended.path.as_deref())),
        };
        let said = extended.size.or(extended.claims.size);
        let extent = Extent::of(header, kind, said, self.dialect);
        let stored = extent.bytes;
        (self.data, self.padding) = (stored, padding(stored));
        let mut member = described(header, kind, &mut extended);
        (member.is_extended, member.header_offset) = (is_extended, start);
        member.stored_bytes = stored;
        if kind.has_data() {
            member.size = stored;
        }
        // Everything that says where the next header is comes before what can be refused alone.
        let is_old_sparse = header.type_flag == b'S';
        if is_old_sparse && header.is_star() {
            self.skip_map_of_star(block)?;
            return Err(Refusal::SparseLayout.into());
        }
        let sparse = if is_old_sparse { self.old_gnu_sparse(block, &mut member)? } else { None };
        let is_global = extended.size.is_none() && extended.claims.size.is_some();
        let of_extent =
            extent.refusal.map(|one| if is_global { Refusal::GlobalMember } else { one });
        let refusal = of_extent.or(pending.refusal).or(extended.refusal).or(sparse);
        refusal.map_or(Ok(()), Err)?;
        member.data_offset = self.offset;
        if header.depends_on_magic() {
            return Err(Refusal::UnknownMagic.into());
        }
        set_names(&mut member, header, pending, &mut extended)?;
        member.mode = header.mode().unwrap_or_else(|_| private_mode(kind));
        if matches!(kind, MemberKind::CharDevice | MemberKind::BlockDevice) {
            member.device = header.device()?;
        }
        if extended.sparse.is_there() {
            if kind != MemberKind::Regular || member.regions.is_some() {
                return Err(Refusal::SparseVersion.into());
            }
            self.extended_sparse(&extended, &mut member)?;
        }
        check_names(&member)?;
        self.notes.extend(extended.unknown.drain(..).map(Next::UnknownKeyword));
        let flaws = flaws(header, kind, &extended);
        self.notes.extend(flaws.into_iter().map(|flaw| Next::Flawed(member.name.clone(), flaw)));
        Ok(member)
    }

    /// Reads the map of GNU's own sparse format: regions in the header and in the blocks behind it, all of which are read
    /// whatever is wrong with them. In a header of another layout only CPython looks for them. Returns why the member is
    /// refused, if it is.
    fn old_gnu_sparse(
        &mut self,
        block: &Block,
        member: &mut Member,
    ) -> Result<Option<Refusal>, ReadError> {
        let mut regions = Vec::new();
        let mut more = block.get(field::GNU_EXTENDED).is_some_and(|flag| *flag != 0);
        let mut read = part_of_map(bytes(block, field::GNU_SPARSE), more, &mut regions);
        while more {
            let block = self.block()?.ok_or(ReadError::UnexpectedEnd)?;
            more = block.get(504).is_some_and(|flag| *flag != 0);
            read = read.and_then(|()| match regions.len() {
                0..REGIONS_MAX => part_of_map(bytes(&block, 0..504), more, &mut regions),
                _ => Err(Refusal::HeaderTooLarge),
            });
        }
        let size = parse_unsigned(bytes(block, field::GNU_REAL_SIZE));
        let checked = read.and(size).and_then(|size| {
            member.size = size;
            check_regions(&regions, size, member.stored_bytes)
        });
        let is_gnu = matches!(member.layout, Layout::Gnu | Layout::OldGnu);
        if is_gnu {
            self.skip_what_a_map_has(&regions);
        }
        member.regions = Some(regions);
        Ok(if is_gnu { checked.err() } else { Some(Refusal::SparseLayout) })
    }

    /// Reads the map of star's sparse format. Its size counts the blocks of the map, too, so that star, GNU tar and bsdtar
    /// find the next header at the same place. Only CPython, which does not know this map, looks elsewhere.
    fn skip_map_of_star(&mut self, block: &Block) -> Result<(), ReadError> {
        let (mut regions, mut more) = map_of_star(block);
        let mut left = self.data + self.padding;
        while more {
            let block = self.block()?.ok_or(ReadError::UnexpectedEnd)?;
            left = left.saturating_sub(BLOCK_BYTES as u64);
            more = block[504] != 0;
            if regions.len() < REGIONS_MAX {
                // The member is refused, whatever its map says.
                let _malformed = part_of_map(bytes(&block, 0..504), more, &mut regions);
            }
        }
        (self.data, self.padding) = (left, 0);
        self.skip_what_a_map_has(&regions);
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
        if let Err(refusal) = check_regions(&regions, size, member.stored_bytes) {
            self.skip_what_a_map_has(&regions);
            return Err(refusal.into());
        }
        member.regions = Some(regions);
        Ok(())
    }

    /// Makes the data that are skipped those of a map, if they are more than those of the header: GNU tar finds the next
    /// header by the map when it extracts, and by the header when it lists.
    fn skip_what_a_map_has(&mut self, regions: &[Region]) {
        let bytes = stored_by(regions);
        if bytes > self.data + self.padding {
            (self.data, self.padding) = (bytes, 0);
        }
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

fn padding(bytes: u64) -> u64 {
    bytes.next_multiple_of(BLOCK_BYTES as u64) - bytes
}

/// Returns the kind of a member that no record calls sparse. A file whose name ends in a slash is a directory, as V7
/// wrote it.
fn kind(header: Header<'_>, name: Option<&[u8]>) -> MemberKind {
    let is_directory = || match name {
        Some(name) => name.ends_with(b"/"),
        None => header.name().ends_with(b"/"),
    };
    match header.type_flag {
        0 | b'0' | b'7' if is_directory() => MemberKind::Directory,
        flag => MemberKind::of_type(flag),
    }
}

/// Returns a member as far as no header can contradict another.
fn described(header: Header<'_>, kind: MemberKind, extended: &mut Extended) -> Member {
    let size = match kind {
        // GNU tar shows none, because it was that of the file.
        MemberKind::HardLink => 0,
        _ => extended.size.unwrap_or_else(|| header.size().unwrap_or(0)),
    };
    let moment = |seconds| Moment { seconds, nanoseconds: 0 };
    let own_atime = || header.atime().ok().filter(|seconds| *seconds != 0).map(moment);
    Member {
        layout: header.layout,
        is_extended: false,
        kind,
        name: Vec::new(),
        link: Vec::new(),
        mode: 0,
        uid: extended.uid.unwrap_or_else(|| header.uid().unwrap_or(NO_OWNER)),
        gid: extended.gid.unwrap_or_else(|| header.gid().unwrap_or(NO_OWNER)),
        user: extended.user.take().unwrap_or_else(|| header.user()),
        group: extended.group.take().unwrap_or_else(|| header.group()),
        size,
        mtime: extended.mtime.unwrap_or_else(|| moment(header.mtime().unwrap_or(0))),
        atime: extended.atime.or_else(own_atime),
        ctime: extended.ctime,
        device: (0, 0),
        regions: None,
        xattrs: std::mem::take(&mut extended.xattrs),
        acls: std::mem::take(&mut extended.acls),
        context: extended.context.take(),
        header_offset: 0,
        data_offset: 0,
        stored_bytes: 0,
    }
}

/// Returns the mode of a member whose own is malformed: only its owner may use it.
const fn private_mode(kind: MemberKind) -> u32 {
    match kind {
        MemberKind::Directory | MemberKind::DumpDirectory => 0o700,
        MemberKind::Symlink => 0o777,
        _ => 0o600,
    }
}

/// Returns what is wrong with the headers of a member and does not refuse it.
fn flaws(header: Header<'_>, kind: MemberKind, extended: &Extended) -> Vec<Flaw> {
    let mut flaws = extended.flaws.clone();
    let is_owner_bad = (extended.uid.is_none() && header.uid().is_err())
        || (extended.gid.is_none() && header.gid().is_err());
    let is_time_bad = (extended.mtime.is_none() && header.mtime().is_err())
        || (extended.atime.is_none() && header.atime().is_err());
    flaws.extend(header.mode().is_err().then_some(Flaw::Mode));
    flaws.extend(is_owner_bad.then_some(Flaw::Owner));
    flaws.extend(is_time_bad.then_some(Flaw::Time));
    flaws.extend((!kind.has_data() && header.size().is_err()).then_some(Flaw::Size));
    flaws.dedup();
    flaws
}

/// Gives a member the names on which its headers agree.
fn set_names(
    member: &mut Member,
    header: Header<'_>,
    pending: Pending,
    extended: &mut Extended,
) -> Result<(), Refusal> {
    let (path, link) = (extended.path.take(), extended.link.take());
    let claims = &extended.claims;
    member.name = chosen(header.name(), pending.name, path, claims.path.as_deref())?;
    let is_link = matches!(member.kind, MemberKind::HardLink | MemberKind::Symlink);
    let claimed = claims.link.as_deref().filter(|_| is_link);
    member.link = chosen(header.link(), pending.link, link, claimed)?;
    if claims.sparse { Err(Refusal::GlobalMember) } else { Ok(()) }
}

/// Chooses among the name in the header, a long one, one of an extended header, and one that a global header claims.
fn chosen(
    short: Vec<u8>,
    long: Option<Vec<u8>>,
    extended: Option<Vec<u8>>,
    claimed: Option<&[u8]>,
) -> Result<Vec<u8>, Refusal> {
    match (long, extended) {
        (Some(long), Some(extended)) if long != extended => Err(Refusal::NamesDiffer),
        (_, Some(name)) => Ok(name),
        (long, None) => {
            let name = long.unwrap_or(short);
            let agrees = claimed.is_none_or(|claimed| claimed == name);
            if agrees { Ok(name) } else { Err(Refusal::GlobalMember) }
        }
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
