//! POSIX access-control lists: the text that archives have, and the bytes that the kernel has.
//!
//! The bytes are those of [`haul_sys::fs::acl`]. The text has a line for each entry, `user:NAME:rwx`, as
//! acl_to_text(3) writes it.

use haul_sys::fs::acl::{Entry, GROUP, GROUP_OBJ, MASK, NO_ID, OTHER, USER, USER_OBJ, read, write};
use haul_sys::process::{group_id, group_name, user_id, user_name};

type NameOf = fn(u32) -> Option<Vec<u8>>;
type NumberOf = fn(&[u8]) -> Option<u32>;

/// Whether users and groups are written by their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ids {
    Named,
    Numbered,
}

/// Writes the kernel's bytes as text; `None` if they are of another version.
pub(crate) fn to_text(bytes: &[u8], ids: Ids) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    for entry in read(bytes)? {
        line(&mut text, entry, ids)?;
    }
    // As acl_to_any_text(3) writes numbers for GNU tar.
    if ids == Ids::Numbered {
        text.pop();
    }
    Some(text)
}

fn line(text: &mut Vec<u8>, entry: Entry, ids: Ids) -> Option<()> {
    let (kind, name): (&str, NameOf) = match entry.tag {
        USER_OBJ | USER => ("user", user_name),
        GROUP_OBJ | GROUP => ("group", group_name),
        MASK => ("mask", |_| None),
        OTHER => ("other", |_| None),
        _ => return None,
    };
    text.extend_from_slice(kind.as_bytes());
    text.push(b':');
    if matches!(entry.tag, USER | GROUP) {
        let name = if ids == Ids::Named { name(entry.id) } else { None };
        text.extend_from_slice(&name.unwrap_or_else(|| entry.id.to_string().into_bytes()));
    }
    text.push(b':');
    for (bit, letter) in [(4, b'r'), (2, b'w'), (1, b'x')] {
        text.push(if entry.permissions & bit != 0 { letter } else { b'-' });
    }
    text.push(b'\n');
    Some(())
}

/// Reads a text: entries that end in newlines or commas, with fields behind the third that are
/// ignored (star writes the number there). `None` if it is malformed, or names a user or group
/// that is not known here.
pub(crate) fn from_text(text: &[u8]) -> Option<Vec<u8>> {
    let mut entries = Vec::new();
    for part in text.split(|byte| matches!(byte, b'\n' | b',')) {
        let part = part.split(|byte| *byte == b'#').next().unwrap_or_default().trim_ascii();
        if !part.is_empty() {
            entries.push(entry(part)?);
        }
    }
    // The kernel wants users and groups by number.
    entries.sort_unstable();
    Some(write(&entries))
}

fn entry(part: &[u8]) -> Option<Entry> {
    let mut fields = part.split(|byte| *byte == b':');
    let (kind, name) = (fields.next()?, fields.next()?);
    let last = fields.next();
    // `mask` and `other` may come without an empty name.
    let (name, letters) = match (kind, last) {
        (b"mask" | b"m" | b"other" | b"o", None) => (&b""[..], name),
        (_, letters) => (name, letters?),
    };
    let (named, plain, number): (u16, u16, NumberOf) = match kind {
        b"user" | b"u" => (USER, USER_OBJ, user_id),
        b"group" | b"g" => (GROUP, GROUP_OBJ, group_id),
        b"mask" | b"m" => (MASK, MASK, |_| None),
        b"other" | b"o" => (OTHER, OTHER, |_| None),
        _ => return None,
    };
    let permissions = permissions(letters)?;
    if name.is_empty() {
        return Some(Entry { tag: plain, id: NO_ID, permissions });
    }
    let known = number(name);
    let id = known.or_else(|| std::str::from_utf8(name).ok().and_then(|text| text.parse().ok()))?;
    matches!(named, USER | GROUP).then_some(Entry { tag: named, id, permissions })
}

fn permissions(letters: &[u8]) -> Option<u16> {
    letters.iter().try_fold(0, |bits, letter| match letter {
        b'r' => Some(bits | 4),
        b'w' => Some(bits | 2),
        b'x' => Some(bits | 1),
        b'-' => Some(bits),
        _ => None,
    })
}

/// Returns the list that says the same as permission bits.
pub(crate) fn from_mode(mode: u32) -> Vec<u8> {
    let entry = |tag, shift: u32| {
        let permissions = ((mode >> shift & 7) as u16).to_le();
        Entry { tag, id: NO_ID, permissions }
    };
    write(&[entry(USER_OBJ, 6), entry(GROUP_OBJ, 3), entry(OTHER, 0)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_bytes_say_the_same() {
        let text = b"user::rw-\nuser:4000000001:r--\ngroup::r-x\nmask::rwx\nother::---\n";
        let bytes = from_text(text).unwrap();
        assert_eq!(bytes.len(), 4 + 5 * 8);
        assert_eq!(to_text(&bytes, Ids::Named).unwrap(), text);
        assert_eq!(to_text(&bytes, Ids::Numbered).unwrap(), text.trim_ascii_end());
        let star = b"mask:rwx,u::rw-,user:4000000001:r--:4000000001,g::r-x,other:---";
        assert_eq!(from_text(star), Some(bytes));
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for text in [&b"user"[..], b"user::rwq", b"what::rwx", b"mask:x:rwx", b"user:no such:r--"] {
            assert_eq!(from_text(text), None, "{text:?}");
        }
        assert_eq!(to_text(b"\x01\0\0\0", Ids::Numbered), None);
        assert_eq!(to_text(b"\x02\0\0\0abc", Ids::Numbered), None);
    }

    #[test]
    fn permission_bits_are_a_list_of_three() {
        let text = to_text(&from_mode(0o754), Ids::Named).unwrap();
        assert_eq!(text, b"user::rwx\ngroup::r-x\nother::r--\n");
    }
}
