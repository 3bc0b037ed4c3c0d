//! How many bytes of data follow a header, and with them where the next header begins.
//!
//! Where readers disagree the member is refused, and the reader skips as much as the one that skips most: what only
//! some of them take for a member is none for haul.

use super::header::Header;
use super::member::MemberKind;
use super::number::octal_max;
use super::refusal::Refusal;

/// No larger size can make an offset overflow.
pub(super) const BYTES_MAX: u64 = u64::MAX >> 2;

/// Whether an archive has had extended headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    Pax,
    Other,
}

/// The data behind a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) bytes: u64,
    /// Why the member is refused, if it is.
    pub(super) refusal: Option<Refusal>,
}

impl Extent {
    /// Returns the data of a member for which an extended header says `said`.
    pub(super) fn of(
        header: Header<'_>,
        kind: MemberKind,
        said: Option<u64>,
        dialect: Dialect,
    ) -> Extent {
        let (bytes, refusal) = match (is_header_only(header, kind), said) {
            // POSIX lets a link have the data of its file. GNU tar takes them for headers, other readers skip them.
            (true, None) if header.type_flag == b'1' && dialect == Dialect::Pax => {
                (header.size().unwrap_or(0), None)
            }
            // Some programs write the size of the file, of the directory, or of the link's text here. No reader accepts one
            // that no file has.
            (true, None) => {
                (0, header.size().err().filter(|refusal| *refusal != Refusal::MalformedNumber))
            }
            (true, Some(said)) => (said, None),
            (false, said) => agreed(header.size(), said),
        };
        if bytes > BYTES_MAX {
            return Extent { bytes: BYTES_MAX, refusal: Some(Refusal::NumberTooLarge) };
        }
        // Some readers have seen a directory of V7, before a longer name said that it is none.
        let is_unexpected = bytes > 0 && (!kind.has_data() || is_v7_directory(header));
        Extent { bytes, refusal: refusal.or(is_unexpected.then_some(Refusal::UnexpectedData)) }
    }
}

/// Returns whether no data follow a header, whatever size it has: of links, devices, pipes and directories. Only the
/// listing of GNU tar skips some for some of them; its extraction does not.
fn is_header_only(header: Header<'_>, kind: MemberKind) -> bool {
    matches!(header.type_flag, b'1'..=b'6')
        || (is_v7_directory(header) && kind == MemberKind::Directory)
}

/// Returns whether a header is that of a directory by its own name alone, as V7 wrote it.
fn is_v7_directory(header: Header<'_>) -> bool {
    header.type_flag == 0 && header.name().ends_with(b"/")
}

/// Returns the bytes on which a header and an extended header agree, or those of the larger number with the reason why the
/// member is refused. The numbers are the same, unless one does not fit the older header.
fn agreed(own: Result<u64, Refusal>, said: Option<u64>) -> (u64, Option<Refusal>) {
    let most = octal_max(12).cast_unsigned();
    // What writers put into a field that is too small: nothing, as much as it can have, or the digits that it has room
    // for.
    let is_cut = |own: u64, said: u64| said > most && [0, most, said & most].contains(&own);
    match (own, said) {
        (Ok(own), None) => (own, None),
        (Ok(own), Some(said)) if own == said || is_cut(own, said) => (said, None),
        (Ok(own), Some(said)) => (own.max(said), Some(Refusal::SizesDiffer)),
        (Err(refusal), said) => (said.unwrap_or(0), Some(refusal)),
    }
}
