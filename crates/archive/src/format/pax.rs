//! Extended headers: records `LENGTH KEYWORD=VALUE\n`, POSIX.1-2017 `pax`, "pax Extended Header".

use std::collections::HashMap;
use std::sync::Arc;

use super::limits::{OWNER_MAX_BYTES, XATTRS_MAX};
use super::member::{Moment, Region};
use super::next::Flaw;
use super::refusal::Refusal;

/// One record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) keyword: Vec<u8>,
    pub(super) value: Vec<u8>,
}

/// Keywords of which a header has several records on purpose: the regions of a sparse file, version 0.0,
/// and comments, which mean nothing.
const REPEATED: [&[u8]; 3] = [b"GNU.sparse.offset", b"GNU.sparse.numbytes", b"comment"];

/// Keywords that carry no attribute that haul restores, and that are no reason for a warning.
const SILENT: [&[u8]; 1] = [b"comment"];

/// The number of an owner that is malformed: no user has it, and GNU tar shows it, too.
pub(super) const NO_OWNER: u64 = u32::MAX as u64;

/// The records of one header, up to the first that is malformed.
#[derive(Debug, Default)]
pub(super) struct Records {
    pub(super) all: Vec<Record>,
    /// Why the header is refused, if it is.
    pub(super) refusal: Option<Refusal>,
}

/// Splits an extended header. A keyword that occurs twice must have the same value.
pub(super) fn records(mut text: &[u8]) -> Records {
    let mut found = Records::default();
    let mut by_keyword: HashMap<Vec<u8>, usize> = HashMap::new();
    while !text.is_empty() {
        let Some((record, rest)) = first(text) else {
            found.refusal.get_or_insert(Refusal::MalformedRecord);
            break;
        };
        text = rest;
        if !REPEATED.contains(&record.keyword.as_slice()) {
            let earlier = by_keyword.get(&record.keyword).and_then(|at| found.all.get(*at));
            if let Some(earlier) = earlier {
                if earlier.value != record.value {
                    found.refusal.get_or_insert(Refusal::RepeatedRecord);
                }
                continue;
            }
            by_keyword.insert(record.keyword.clone(), found.all.len());
        }
        found.all.push(record);
    }
    found
}

/// Returns whether an extended header seems to have a record of one of these keywords, however it is malformed.
pub(super) fn mentions(text: &[u8], keywords: &[&[u8]]) -> bool {
    let mut behind_spaces = text.split(|byte| matches!(byte, b' ' | b'\t')).skip(1);
    behind_spaces.any(|rest| keywords.iter().any(|keyword| rest.starts_with(keyword)))
}

fn first(text: &[u8]) -> Option<(Record, &[u8])> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    // A longer number would be longer than any header.
    if !(1..=9).contains(&digits) || text.get(digits) != Some(&b' ') {
        return None;
    }
    let length: usize = std::str::from_utf8(text.get(..digits)?).ok()?.parse().ok()?;
    let (record, rest) = text.split_at_checked(length)?;
    let body = record.get(digits + 1..)?.strip_suffix(b"\n")?;
    let equals = body.iter().position(|byte| *byte == b'=')?;
    let (keyword, value) = body.split_at(equals);
    // Some programs take all blanks before the keyword for a separator.
    if keyword.is_empty() || keyword.contains(&0) || matches!(keyword[0], b' ' | b'\t') {
        return None;
    }
    let value = value.get(1..)?.to_vec();
    Some((Record { keyword: keyword.to_vec(), value }, rest))
}

/// Appends a record.
pub(super) fn push(text: &mut Vec<u8>, keyword: &[u8], value: &[u8]) {
    let rest = keyword.len() + value.len() + 3;
    let mut length = rest + 1;
    while length != rest + digits(length) {
        length = rest + digits(length);
    }
    text.extend_from_slice(length.to_string().as_bytes());
    text.push(b' ');
    text.extend_from_slice(keyword);
    text.push(b'=');
    text.extend_from_slice(value);
    text.push(b'\n');
}

/// Encodes the name of an extended attribute as a part of a keyword, which cannot contain `=`.
pub(super) fn encoded(name: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(name.len());
    for byte in name {
        match byte {
            b'%' => text.extend_from_slice(b"%25"),
            b'=' => text.extend_from_slice(b"%3D"),
            other => text.push(*other),
        }
    }
    text
}

/// Decodes such a name.
fn decoded(text: &[u8]) -> Vec<u8> {
    let mut name = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((byte, behind)) = rest.split_first() {
        let (plain, behind) = match rest {
            [b'%', b'2', b'5', behind @ ..] => (b'%', behind),
            [b'%', b'3', b'D', behind @ ..] => (b'=', behind),
            _ => (*byte, behind),
        };
        name.push(plain);
        rest = behind;
    }
    name
}

fn digits(number: usize) -> usize {
    number.to_string().len()
}

/// What extended headers say of a member; `None` where they do not say it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Extended {
    pub(super) path: Option<Vec<u8>>,
    pub(super) link: Option<Vec<u8>>,
    pub(super) size: Option<u64>,
    pub(super) uid: Option<u64>,
    pub(super) gid: Option<u64>,
    pub(super) user: Option<Vec<u8>>,
    pub(super) group: Option<Vec<u8>>,
    pub(super) mtime: Option<Moment>,
    pub(super) atime: Option<Moment>,
    pub(super) ctime: Option<Moment>,
    pub(super) xattrs: Vec<(Vec<u8>, Vec<u8>)>,
    pub(super) acls: [Option<Vec<u8>>; 2],
    pub(super) context: Option<Vec<u8>>,
    pub(super) sparse: Sparse,
    /// Keywords that mean nothing to haul.
    pub(super) unknown: Vec<Vec<u8>>,
    /// What is wrong and refuses no member.
    pub(super) flaws: Vec<Flaw>,
    /// Why the member is refused, if it is.
    pub(super) refusal: Option<Refusal>,
    /// What global headers say of each member, and only some readers believe.
    pub(super) claims: Arc<Claims>,
}

/// What a global header says of each member. GNU tar applies it, other readers do not, so that a member has to agree with
/// it, or to say it itself. All members share it: a name may be as long as a header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Claims {
    pub(super) path: Option<Vec<u8>>,
    pub(super) link: Option<Vec<u8>>,
    pub(super) size: Option<u64>,
    /// Whether each member would be a sparse file.
    pub(super) sparse: bool,
}

/// The records of sparse files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sparse {
    pub(super) name: Option<Vec<u8>>,
    pub(super) size: Option<u64>,
    pub(super) major: Option<u64>,
    pub(super) minor: Option<u64>,
    pub(super) blocks: Option<u64>,
    pub(super) regions: Vec<Region>,
    /// An offset whose number of bytes has not come yet.
    offset: Option<u64>,
}

impl Extended {
    /// Adds the records of a global header, without attributes, which each member would have a copy of. Returns why something
    /// is refused, if it is.
    pub(super) fn add_global(&mut self, records: Records) -> Option<Refusal> {
        let attributes = [&b"SCHILY.xattr."[..], b"SCHILY.acl.", b"RHT.security."];
        let begins = |record: &Record, all: &[&[u8]]| {
            all.iter().any(|begin| record.keyword.starts_with(begin))
        };
        let (attributes, rest): (Vec<_>, Vec<_>) =
            records.all.into_iter().partition(|record| begins(record, &attributes));
        let (sparse, rest): (Vec<_>, Vec<_>) =
            rest.into_iter().partition(|record| begins(record, &[b"GNU.sparse."]));
        self.add(Records { all: rest, refusal: records.refusal });
        let Extended { path, link, size, claims, .. } = self;
        let claims = Arc::make_mut(claims);
        claims.path = path.take().or_else(|| claims.path.take());
        claims.link = link.take().or_else(|| claims.link.take());
        claims.size = size.take().or(claims.size);
        claims.sparse |= !sparse.is_empty();
        let refusal = (!attributes.is_empty()).then_some(Refusal::GlobalMember);
        self.refusal.take().or(refusal)
    }

    /// Adds the records of one header; later headers win over earlier ones.
    pub(super) fn add(&mut self, records: Records) {
        self.refusal = self.refusal.or(records.refusal);
        self.sparse.regions.clear();
        for Record { keyword, value } in records.all {
            if let Err(refusal) = self.add_one(&keyword, &value) {
                self.refusal.get_or_insert(refusal);
            }
        }
        if self.sparse.offset.take().is_some() {
            self.refusal.get_or_insert(Refusal::SparseMap);
        }
    }

    /// Returns a number of an owner, of which a malformed one refuses no member.
    fn owner(&mut self, value: &[u8]) -> Option<u64> {
        optional(value).unwrap_or_else(|_| {
            self.flaws.push(Flaw::Owner);
            Some(NO_OWNER)
        })
    }

    /// Returns a time, of which a malformed one refuses no member.
    fn moment(&mut self, value: &[u8]) -> Option<Moment> {
        optional_moment(value).unwrap_or_else(|_| {
            self.flaws.push(Flaw::Time);
            None
        })
    }

    fn add_one(&mut self, keyword: &[u8], value: &[u8]) -> Result<(), Refusal> {
        // An empty value deletes what a global header said. For those that it cannot say, some readers
        // take an empty name, and others that of the older header.
        if value.is_empty() && matches!(keyword, b"path" | b"linkpath") {
            return Err(Refusal::MalformedRecord);
        }
        if value.is_empty() && keyword == b"size" {
            return Err(Refusal::MalformedNumber);
        }
        // A global header gives it to all members.
        if matches!(keyword, b"uname" | b"gname") && value.len() > OWNER_MAX_BYTES {
            return Err(Refusal::HeaderTooLarge);
        }
        let text = || (!value.is_empty()).then(|| value.to_vec());
        match keyword {
            b"path" => self.path = text(),
            b"linkpath" => self.link = text(),
            b"uname" => self.user = text(),
            b"gname" => self.group = text(),
            b"size" => self.size = optional(value)?,
            b"uid" => self.uid = self.owner(value),
            b"gid" => self.gid = self.owner(value),
            b"mtime" => self.mtime = self.moment(value),
            b"atime" => self.atime = self.moment(value),
            b"ctime" => self.ctime = self.moment(value),
            b"SCHILY.acl.access" => self.acls[0] = text(),
            b"SCHILY.acl.default" => self.acls[1] = text(),
            b"RHT.security.selinux" => self.context = text(),
            _ => {
                if let Some(name) = keyword.strip_prefix(b"SCHILY.xattr.") {
                    let name = decoded(name);
                    self.xattrs.retain(|(other, _)| *other != name);
                    if self.xattrs.len() >= XATTRS_MAX {
                        return Err(Refusal::HeaderTooLarge);
                    }
                    self.xattrs.push((name, value.to_vec()));
                } else if let Some(rest) = keyword.strip_prefix(b"GNU.sparse.") {
                    self.sparse.add_one(rest, value)?;
                } else if !SILENT.contains(&keyword) {
                    self.unknown.push(keyword.to_vec());
                }
            }
        }
        Ok(())
    }
}

impl Sparse {
    fn add_one(&mut self, keyword: &[u8], value: &[u8]) -> Result<(), Refusal> {
        match keyword {
            b"name" => self.name = Some(value.to_vec()),
            b"size" | b"realsize" => {
                let size = number(value)?;
                if self.size.is_some_and(|other| other != size) {
                    return Err(Refusal::SizesDiffer);
                }
                self.size = Some(size);
            }
            b"major" => self.major = Some(number(value)?),
            b"minor" => self.minor = Some(number(value)?),
            b"numblocks" => self.blocks = Some(number(value)?),
            b"offset" => {
                if self.offset.replace(number(value)?).is_some() {
                    return Err(Refusal::SparseMap);
                }
            }
            b"numbytes" => {
                let offset = self.offset.take().ok_or(Refusal::SparseMap)?;
                self.regions.push(Region { offset, bytes: number(value)? });
            }
            b"map" => {
                let numbers: Vec<u64> =
                    value.split(|byte| *byte == b',').map(number).collect::<Result<_, _>>()?;
                let (pairs, []) = numbers.as_chunks::<2>() else {
                    return Err(Refusal::SparseMap);
                };
                self.regions = pairs
                    .iter()
                    .map(|[offset, bytes]| Region { offset: *offset, bytes: *bytes })
                    .collect();
            }
            _ => return Err(Refusal::SparseVersion),
        }
        Ok(())
    }

    /// Returns whether any record of a sparse file was there.
    pub(super) fn is_there(&self) -> bool {
        self.name.is_some()
            || self.size.is_some()
            || self.major.is_some()
            || self.minor.is_some()
            || self.blocks.is_some()
            || !self.regions.is_empty()
    }
}

/// Reads a number of digits alone.
pub(super) fn number(value: &[u8]) -> Result<u64, Refusal> {
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return Err(Refusal::MalformedNumber);
    }
    let number: Option<i64> = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
    number.and_then(|number| u64::try_from(number).ok()).ok_or(Refusal::NumberTooLarge)
}

fn optional(value: &[u8]) -> Result<Option<u64>, Refusal> {
    if value.is_empty() { Ok(None) } else { number(value).map(Some) }
}

fn optional_moment(value: &[u8]) -> Result<Option<Moment>, Refusal> {
    if value.is_empty() { Ok(None) } else { moment(value).map(Some) }
}

/// Reads a time: `[-]SECONDS[.FRACTION]`; digits beyond nanoseconds are cut.
fn moment(value: &[u8]) -> Result<Moment, Refusal> {
    let (is_negative, value) = match value.strip_prefix(b"-") {
        Some(rest) => (true, rest),
        None => (false, value),
    };
    let mut parts = value.splitn(2, |byte| *byte == b'.');
    let whole = number(parts.next().unwrap_or_default())?;
    let fraction = parts.next().unwrap_or_default();
    if !fraction.iter().all(u8::is_ascii_digit) {
        return Err(Refusal::MalformedNumber);
    }
    let mut nanoseconds = 0_u32;
    for at in 0..9 {
        let digit = fraction.get(at).map_or(0, |digit| digit - b'0');
        nanoseconds = nanoseconds * 10 + u32::from(digit);
    }
    let seconds = i64::try_from(whole).map_err(|_| Refusal::NumberTooLarge)?;
    Ok(match (is_negative, nanoseconds) {
        (false, _) => Moment { seconds, nanoseconds },
        (true, 0) => Moment { seconds: -seconds, nanoseconds: 0 },
        (true, _) => Moment { seconds: -seconds - 1, nanoseconds: 1_000_000_000 - nanoseconds },
    })
}

/// Writes a time as GNU tar does: without zeros at the end of the fraction.
pub(super) fn moment_text(moment: Moment) -> Vec<u8> {
    let (is_negative, seconds, nanoseconds) = if moment.seconds >= 0 {
        (false, moment.seconds, moment.nanoseconds)
    } else if moment.nanoseconds == 0 {
        (true, -moment.seconds, 0)
    } else {
        (true, -(moment.seconds + 1), 1_000_000_000 - moment.nanoseconds)
    };
    let mut text = format!("{}{seconds}", if is_negative { "-" } else { "" });
    if nanoseconds != 0 {
        text.push_str(format!(".{nanoseconds:09}").trim_end_matches('0'));
    }
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_as_written() {
        for length in (0..30).chain([90, 91, 92, 93, 94, 95, 985, 986, 987, 988, 989, 990]) {
            let value = vec![b'x'; length];
            let mut text = Vec::new();
            push(&mut text, b"path", &value);
            push(&mut text, b"comment", b"a=b\nc");
            let found = records(&text).all;
            assert_eq!(found.len(), 2);
            assert_eq!((found[0].keyword.as_slice(), &found[0].value), (&b"path"[..], &value));
            assert_eq!(found[1].value, b"a=b\nc");
        }
    }

    #[test]
    fn malformed_records_are_refused() {
        for text in [
            &b"x"[..],
            b"6 a=b",
            b"7 a=b\n",
            b"5 ab\n",
            b" 6 a=b\n",
            b"06a=b\n",
            b"99999999999 a=b\n",
            b"6 =bb\n",
            b"0 a=b\n",
            b"6 a=b\nx",
        ] {
            assert_eq!(records(text).refusal, Some(Refusal::MalformedRecord), "{text:?}");
        }
        let found = |text| {
            let found = records(text);
            (found.all.len(), found.refusal)
        };
        assert_eq!(found(b"6 a=b\n6 a=c\n"), (1, Some(Refusal::RepeatedRecord)));
        assert_eq!(found(b"6 a=b\n6 a=b\n"), (1, None));
        assert_eq!(found(b"6 a=b\nx"), (1, Some(Refusal::MalformedRecord)));
    }

    #[test]
    fn members_share_what_a_global_header_claims() {
        let mut globals = Extended::default();
        let mut text = Vec::new();
        push(&mut text, b"path", &vec![b'x'; 1 << 20]);
        assert_eq!(globals.add_global(records(&text)), None);
        let member = globals.clone();
        assert!(Arc::ptr_eq(&member.claims, &globals.claims));
        push(&mut text, b"linkpath", b"y");
        globals.add_global(records(&text));
        assert_eq!(globals.claims.link.as_deref(), Some(&b"y"[..]));
        assert_eq!(member.claims.link, None);
    }

    #[test]
    fn times_are_read_as_written() {
        for (text, seconds, nanoseconds) in [
            ("0", 0, 0),
            ("12.5", 12, 500_000_000),
            ("-1", -1, 0),
            ("-1.25", -2, 750_000_000),
            ("-0.000000001", -1, 999_999_999),
            ("1700000000.123456789", 1_700_000_000, 123_456_789),
        ] {
            let expected = Moment { seconds, nanoseconds };
            assert_eq!(moment(text.as_bytes()), Ok(expected));
            assert_eq!(moment_text(expected), text.as_bytes());
        }
        assert_eq!(moment(b"1.5x"), Err(Refusal::MalformedNumber));
        assert_eq!(moment(b"1e5"), Err(Refusal::MalformedNumber));
    }
}
