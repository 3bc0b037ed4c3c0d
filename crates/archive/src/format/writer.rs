//! Writes the headers of a member, byte for byte as GNU tar does.

use super::header::{BLOCK_BYTES, Block, field, pad, parts, seal};
use super::limits::{EXTENDED_MAX_BYTES, OWNER_MAX_BYTES};
use super::member::{Member, MemberKind, Moment};
use super::number::{octal_max, write_base_256, write_octal};
use super::pax::{encoded, moment_text, push};
use super::pax_options::{PaxOptions, header_name};
use super::sparse::{self, SparseVersion};

/// A format that archives are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteFormat {
    /// Unix V7.
    V7,
    /// GNU tar up to 1.12.
    OldGnu,
    /// GNU tar since then.
    Gnu,
    /// POSIX.1-1988.
    Ustar,
    /// POSIX.1-2001, with extended headers.
    Posix,
}

/// Whether the owner's and group's names are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnerNames {
    /// They are.
    Write,
    /// Numbers suffice.
    Leave,
}

/// Whether a member has a header before its own that it does not need: a long name, or an extended header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtraHeader {
    /// It has none.
    Omit,
    /// It has one, where the format has such headers.
    Write,
}

/// How members are written.
#[derive(Clone, Copy, Debug)]
pub struct Style<'p> {
    /// The format.
    pub format: WriteFormat,
    /// Whether names of owners are written.
    pub owners: OwnerNames,
    /// The time of extended headers, in seconds since 1970; `None` is that of their member.
    pub extended_mtime: Option<i64>,
    /// How extended headers describe sparse files.
    pub sparse: SparseVersion,
    /// The bits of the kind of file that a hard link names, as `st_mode` has them.
    pub link_kind: u32,
    /// What the user wants changed in extended headers.
    pub pax: &'p PaxOptions,
    /// Where the data of the member begin; `None` is behind the last header.
    pub boundary: Option<Boundary>,
    /// Whether a header is written that is not needed.
    pub extra: ExtraHeader,
}

/// A multiple at which the data of a member begin, so that their blocks can be shared with its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Boundary {
    /// Offset of the first header in the archive.
    pub offset: u64,
    /// What the offset of the data is a multiple of, in bytes: a multiple of [`BLOCK_BYTES`].
    pub bytes: u64,
}

/// Why a member cannot be written in a format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unwritable {
    /// The name is empty.
    NameEmpty,
    /// The name is longer than this number of bytes, which is what all fields hold.
    NameTooLong(usize),
    /// The name cannot be cut at a slash so that both parts fit.
    NameUnsplittable,
    /// The target of a link is too long.
    LinkTooLong,
    /// A number does not fit its field: what it is, the number, and the largest that fits.
    NumberTooLarge(&'static str, i64, i64),
    /// The format has no such kind of file.
    Kind,
    /// The target of a link is empty.
    LinkEmpty,
    /// The extended header, or a long name, is larger than [`EXTENDED_MAX_BYTES`], so that it would not be read.
    HeaderTooLarge,
}

/// Writes the headers of a member, and the map of a sparse file: what comes before its data. `original`
/// is the name of its file, after which extended headers are named.
pub fn headers(member: &Member, original: &[u8], style: Style<'_>) -> Result<Vec<u8>, Unwritable> {
    if member.name.is_empty() {
        return Err(Unwritable::NameEmpty);
    }
    let mut writer = Writer { style, records: Vec::new(), is_extended: false, out: Vec::new() };
    let mut block = [0; BLOCK_BYTES];
    let mut behind = Vec::new();
    let mut changed = None;
    if let Some(regions) = &member.regions
        && style.format == WriteFormat::Posix
    {
        sparse::records(&mut writer.records, member, regions, style.sparse);
        writer.is_extended = true;
        let mut plain = member.clone();
        if style.sparse != SparseVersion::V00 {
            plain.name = sparse::plain_name(original);
        }
        if style.sparse == SparseVersion::V10 {
            sparse::cut_plain_name(&mut plain.name);
            behind = sparse::map_in_data(regions);
            plain.stored_bytes += behind.len() as u64;
        }
        changed = Some(plain);
    }
    let member = changed.as_ref().unwrap_or(member);
    writer.names(member, &mut block)?;
    writer.fields(member, &mut block)?;
    if let Some(regions) = &member.regions
        && writer.is_gnu()
    {
        put(&mut block, field::TYPE..field::TYPE + 1, b"S");
        behind = sparse::old_gnu(&mut block, member, regions);
    }
    if style.format == WriteFormat::Posix {
        writer.times(member);
        writer.attributes(member);
    }
    if writer.is_extended {
        style.pax.finish(&mut writer.records);
    }
    if let Some(boundary) = style.boundary {
        writer.align(boundary, BLOCK_BYTES + behind.len());
    }
    let wants_extra = style.extra == ExtraHeader::Write && style.format == WriteFormat::Posix;
    if writer.records.is_empty() && wants_extra {
        push(&mut writer.records, b"comment", b"");
    }
    if writer.records.len() as u64 > EXTENDED_MAX_BYTES {
        return Err(Unwritable::HeaderTooLarge);
    }
    if !writer.records.is_empty() {
        writer.extended(member, original);
    }
    seal(&mut block);
    writer.out.extend_from_slice(&block);
    writer.out.extend_from_slice(&behind);
    Ok(writer.out)
}

/// Bytes of the longest name that has a NUL behind it.
const V7_NAME_MAX: usize = 99;

/// Bytes of the longest name of ustar: prefix, slash and name.
const USTAR_NAME_MAX: usize = 256;

/// Where a name goes.
enum Fit {
    /// Into its field.
    Short,
    /// Into a record of the extended header.
    Record,
    /// Into a member of its own before this one.
    Long,
    /// Nowhere.
    None,
}

struct Writer<'p> {
    style: Style<'p>,
    records: Vec<u8>,
    /// Whether a record was wanted, even if none is left of its own.
    is_extended: bool,
    out: Vec<u8>,
}

fn put(block: &mut Block, range: std::ops::Range<usize>, text: &[u8]) {
    let room = block.get_mut(range).unwrap_or_default();
    for (to, from) in room.iter_mut().zip(text) {
        *to = *from;
    }
}

impl WriteFormat {
    /// Returns whether files can be written without their holes.
    #[must_use]
    pub const fn has_sparse(self) -> bool {
        matches!(self, WriteFormat::Gnu | WriteFormat::OldGnu | WriteFormat::Posix)
    }
}

impl Writer<'_> {
    fn push(&mut self, keyword: &[u8], value: &[u8]) {
        self.is_extended |= self.style.pax.push(&mut self.records, keyword, value);
    }

    fn is_gnu(&self) -> bool {
        matches!(self.style.format, WriteFormat::Gnu | WriteFormat::OldGnu)
    }

    fn names(&mut self, member: &Member, block: &mut Block) -> Result<(), Unwritable> {
        let is_link = matches!(member.kind, MemberKind::HardLink | MemberKind::Symlink);
        if member.name.len().max(member.link.len()) as u64 >= EXTENDED_MAX_BYTES {
            return Err(Unwritable::HeaderTooLarge);
        }
        if is_link && member.link.is_empty() {
            return Err(Unwritable::LinkEmpty);
        }
        if is_link {
            match self.fit(&member.link) {
                Fit::Short => {}
                Fit::Record => self.push(b"linkpath", &member.link),
                Fit::Long => self.long(b'K', &member.link),
                Fit::None => return Err(Unwritable::LinkTooLong),
            }
            put(block, field::LINK, &member.link);
        }
        let name = &member.name;
        match self.fit(name) {
            Fit::Short if self.is_gnu() && self.style.extra == ExtraHeader::Write => {
                self.long(b'L', name);
            }
            Fit::Short => {}
            Fit::Record => self.push(b"path", name),
            Fit::Long => self.long(b'L', name),
            Fit::None if self.style.format == WriteFormat::Ustar => return split_name(name, block),
            Fit::None => return Err(Unwritable::NameTooLong(V7_NAME_MAX)),
        }
        // The old format has a NUL behind every name.
        let shorter = usize::from(self.style.format == WriteFormat::OldGnu);
        put(block, field::NAME.start..field::NAME.end - shorter, name);
        Ok(())
    }

    /// Returns how a name of 100 bytes or more, or one that is not ASCII, is written.
    fn fit(&self, name: &[u8]) -> Fit {
        let most = match self.style.format {
            WriteFormat::V7 | WriteFormat::OldGnu => V7_NAME_MAX,
            _ => field::NAME.len(),
        };
        match self.style.format {
            WriteFormat::Posix if !name.is_ascii() => Fit::Record,
            _ if name.len() <= most => Fit::Short,
            WriteFormat::Posix => Fit::Record,
            WriteFormat::Gnu | WriteFormat::OldGnu => Fit::Long,
            WriteFormat::V7 | WriteFormat::Ustar => Fit::None,
        }
    }

    /// Writes a member of GNU's format that has the long name of the next one as its data.
    fn long(&mut self, kind: u8, text: &[u8]) {
        let mut block = [0; BLOCK_BYTES];
        put(&mut block, field::NAME, b"././@LongLink");
        for range in [field::UID, field::GID] {
            write_octal(block.get_mut(range).unwrap_or_default(), 0);
        }
        let file_kind = if self.style.format == WriteFormat::OldGnu { 0o100_000 } else { 0 };
        write_octal(block.get_mut(field::MODE).unwrap_or_default(), 0o644 | file_kind);
        write_octal(block.get_mut(field::MTIME).unwrap_or_default(), 0);
        let size = i64::try_from(text.len() + 1).unwrap_or(i64::MAX);
        write_octal(block.get_mut(field::SIZE).unwrap_or_default(), size);
        put(&mut block, field::TYPE..field::TYPE + 1, &[kind]);
        put(&mut block, field::MAGIC, b"ustar  \0");
        if self.style.owners == OwnerNames::Write {
            put(&mut block, field::USER, b"root");
            put(&mut block, field::GROUP, b"root");
        }
        seal(&mut block);
        self.out.extend_from_slice(&block);
        self.out.extend_from_slice(text);
        self.out.push(0);
        pad(&mut self.out);
    }

    fn fields(&mut self, member: &Member, block: &mut Block) -> Result<(), Unwritable> {
        let mode = i64::from(self.mode(member));
        write_octal(block.get_mut(field::MODE).unwrap_or_default(), mode);
        self.number(block, field::UID, ("uid", "uid_t"), signed(member.uid))?;
        self.number(block, field::GID, ("gid", "gid_t"), signed(member.gid))?;
        self.number(block, field::SIZE, ("size", "off_t"), signed(member.stored_bytes))?;
        self.number(block, field::MTIME, ("mtime", "time_t"), member.mtime.seconds)?;
        put(block, field::TYPE..field::TYPE + 1, &[self.type_flag(member)?]);
        match self.style.format {
            WriteFormat::V7 => {}
            WriteFormat::Gnu | WriteFormat::OldGnu => put(block, field::MAGIC, b"ustar  \0"),
            WriteFormat::Ustar | WriteFormat::Posix => put(block, field::MAGIC, b"ustar\x0000"),
        }
        if self.style.format != WriteFormat::V7 {
            self.owner(block, field::USER, b"uname", &member.user);
            self.owner(block, field::GROUP, b"gname", &member.group);
        }
        let is_device = matches!(member.kind, MemberKind::CharDevice | MemberKind::BlockDevice);
        // GNU tar before 1.35 wrote zeros for other kinds in some formats.
        if is_device {
            let (major, minor) = member.device;
            self.number(block, field::MAJOR, ("", "major_t"), i64::from(major))?;
            self.number(block, field::MINOR, ("", "minor_t"), i64::from(minor))?;
        }
        Ok(())
    }

    /// Returns the permissions, in the oldest format of GNU with the kind of the file, as since 1.35.
    fn mode(&self, member: &Member) -> u32 {
        let kind = match member.kind {
            _ if self.style.format != WriteFormat::OldGnu => 0,
            MemberKind::Directory => 0o40_000,
            MemberKind::Symlink => 0o120_000,
            MemberKind::Fifo => 0o10_000,
            MemberKind::CharDevice => 0o20_000,
            MemberKind::BlockDevice => 0o60_000,
            // A link has the kind of its file, which may be a symbolic link.
            MemberKind::HardLink => self.style.link_kind,
            _ => 0o100_000,
        };
        member.mode | kind
    }

    fn owner(&mut self, block: &mut Block, range: std::ops::Range<usize>, key: &[u8], name: &[u8]) {
        // The last byte stays a NUL.
        let fits = name.len() < range.len() && name.is_ascii();
        let is_readable = name.len() <= OWNER_MAX_BYTES;
        if !fits && is_readable && self.style.format == WriteFormat::Posix {
            self.push(key, name);
        }
        put(block, range.start..range.end - 1, name);
    }

    /// Writes a number in octal, or as the format allows for what does not fit.
    fn number(
        &mut self,
        block: &mut Block,
        range: std::ops::Range<usize>,
        (keyword, kind): (&'static str, &'static str),
        value: i64,
    ) -> Result<(), Unwritable> {
        let room = block.get_mut(range).unwrap_or_default();
        if write_octal(room, value) {
            return Ok(());
        }
        match self.style.format {
            WriteFormat::Gnu | WriteFormat::OldGnu => write_base_256(room, value),
            WriteFormat::Posix if keyword == "mtime" => {
                // `times` writes the record.
                write_octal(room, 0);
            }
            WriteFormat::Posix if !keyword.is_empty() => {
                self.push(keyword.as_bytes(), value.to_string().as_bytes());
                write_octal(room, 0);
            }
            _ => return Err(Unwritable::NumberTooLarge(kind, value, octal_max(room.len()))),
        }
        Ok(())
    }

    fn type_flag(&self, member: &Member) -> Result<u8, Unwritable> {
        let is_v7 = self.style.format == WriteFormat::V7;
        Ok(match member.kind {
            MemberKind::Regular | MemberKind::Contiguous if is_v7 => 0,
            MemberKind::Regular | MemberKind::Contiguous => b'0',
            MemberKind::HardLink => b'1',
            MemberKind::Symlink => b'2',
            MemberKind::Directory => b'5',
            _ if is_v7 => return Err(Unwritable::Kind),
            MemberKind::CharDevice => b'3',
            MemberKind::BlockDevice => b'4',
            MemberKind::Fifo => b'6',
            MemberKind::DumpDirectory
            | MemberKind::VolumeLabel
            | MemberKind::Continued
            | MemberKind::Unknown(_) => return Err(Unwritable::Kind),
        })
    }

    fn times(&mut self, member: &Member) {
        let mtime = member.mtime;
        let is_plain = mtime.nanoseconds == 0 && (0..=octal_max(12)).contains(&mtime.seconds);
        if !is_plain {
            self.push(b"mtime", &moment_text(mtime));
        }
        let times: [(&[u8], Option<Moment>); 2] =
            [(b"atime", member.atime), (b"ctime", member.ctime)];
        for (key, moment) in times {
            if let Some(moment) = moment {
                self.push(key, &moment_text(moment));
            }
        }
    }

    /// Writes access-control lists, the context and extended attributes, in the order of GNU tar.
    fn attributes(&mut self, member: &Member) {
        let [access, default] = &member.acls;
        let known: [(&[u8], &Option<Vec<u8>>); 3] = [
            (b"SCHILY.acl.access", access),
            (b"SCHILY.acl.default", default),
            (b"RHT.security.selinux", &member.context),
        ];
        for (keyword, value) in known {
            if let Some(value) = value {
                self.push(keyword, value);
            }
        }
        for (name, value) in &member.xattrs {
            self.push(&[b"SCHILY.xattr.", &encoded(name)[..]].concat(), value);
        }
    }

    /// Adds a comment of such a length that the data begin at a boundary. `behind` is the number of
    /// bytes between the extended header and the data.
    fn align(&mut self, boundary: Boundary, behind: usize) {
        let records = match self.records.len() {
            0 => 0,
            bytes => BLOCK_BYTES + bytes.next_multiple_of(BLOCK_BYTES),
        };
        let end = boundary.offset + (self.out.len() + records + behind) as u64;
        let mut missing = end.next_multiple_of(boundary.bytes) - end;
        if missing > 0 && records == 0 {
            // The extended header itself is the first block.
            if missing == BLOCK_BYTES as u64 {
                missing += boundary.bytes;
            }
            missing -= BLOCK_BYTES as u64;
        }
        if missing > 0 {
            let begin = format!("{missing} comment=");
            let bytes = usize::try_from(missing).unwrap_or(0);
            self.records.extend_from_slice(begin.as_bytes());
            self.records.resize(self.records.len() + bytes - begin.len() - 1, b' ');
            self.records.push(b'\n');
        }
    }

    /// Writes the extended header.
    fn extended(&mut self, member: &Member, original: &[u8]) {
        let format = self.style.pax.name.as_deref().unwrap_or(b"%d/PaxHeaders/%f");
        let name = header_name(format, Some(parts(original)), 0);
        let mtime = self.style.extended_mtime.unwrap_or(member.mtime.seconds);
        let records = std::mem::take(&mut self.records);
        private(&mut self.out, &name, b'x', self.style.pax.mtime.unwrap_or(mtime), &records);
    }
}

/// Returns the header of the whole archive, if the user wants records in it. Its time is the beginning
/// of 1970 unless the user gives one, so that archives do not depend on the time.
#[must_use]
pub fn global_header(pax: &PaxOptions) -> Vec<u8> {
    let mut out = Vec::new();
    let records = pax.global_records();
    if !records.is_empty() {
        let format = pax.global_name.as_deref().unwrap_or(b"/tmp/GlobalHead.%n");
        let name = header_name(format, None, 1);
        private(&mut out, &name, b'g', pax.global_mtime.unwrap_or(0), &records);
    }
    out
}

/// Writes a header that is no member, and its records.
fn private(out: &mut Vec<u8>, name: &[u8], kind: u8, mtime: i64, records: &[u8]) {
    let mut block = [0; BLOCK_BYTES];
    put(&mut block, field::NAME, name);
    write_octal(block.get_mut(field::MODE).unwrap_or_default(), 0o644);
    for range in [field::UID, field::GID] {
        write_octal(block.get_mut(range).unwrap_or_default(), 0);
    }
    let size = i64::try_from(records.len()).unwrap_or(i64::MAX);
    write_octal(block.get_mut(field::SIZE).unwrap_or_default(), size);
    let room = block.get_mut(field::MTIME).unwrap_or_default();
    let most = octal_max(room.len());
    write_octal(room, mtime.clamp(0, most));
    put(&mut block, field::TYPE..field::TYPE + 1, &[kind]);
    put(&mut block, field::MAGIC, b"ustar\x0000");
    seal(&mut block);
    out.extend_from_slice(&block);
    out.extend_from_slice(records);
    pad(out);
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Cuts a name at a slash into a prefix of up to 155 bytes and a name of up to 100.
fn split_name(name: &[u8], block: &mut Block) -> Result<(), Unwritable> {
    let (prefix_max, name_max) = (field::PREFIX.len(), field::NAME.len());
    if name.len() > prefix_max + name_max + 1 {
        return Err(Unwritable::NameTooLong(USTAR_NAME_MAX));
    }
    let end = match name.len() {
        length if length > prefix_max + 1 => prefix_max + 1,
        length if name.ends_with(b"/") => length - 1,
        length => length,
    };
    let slash = name.get(..end).and_then(|begin| begin.iter().rposition(|byte| *byte == b'/'));
    let slash = slash.filter(|at| *at > 0).ok_or(Unwritable::NameUnsplittable)?;
    let rest = &name[slash + 1..];
    if rest.is_empty() || rest.len() > name_max {
        return Err(Unwritable::NameUnsplittable);
    }
    put(block, field::PREFIX, &name[..slash]);
    put(block, field::NAME, rest);
    Ok(())
}
