//! POSIX access-control lists as the kernel has them in the attributes `system.posix_acl_access` and
//! `system.posix_acl_default` (`include/uapi/linux/posix_acl_xattr.h`): a version, then entries of a tag,
//! permissions and a number, in little-endian order.

/// The version that the kernel reads and writes.
const VERSION: u32 = 2;

/// Number of an entry that is not about a certain user or group.
pub const NO_ID: u32 = u32::MAX;

/// Tag of the permissions of the owner.
pub const USER_OBJ: u16 = 0x01;
/// Tag of the permissions of a certain user.
pub const USER: u16 = 0x02;
/// Tag of the permissions of the file's group.
pub const GROUP_OBJ: u16 = 0x04;
/// Tag of the permissions of a certain group.
pub const GROUP: u16 = 0x08;
/// Tag of what users and groups may have at most, except for the owner.
pub const MASK: u16 = 0x10;
/// Tag of the permissions of all others.
pub const OTHER: u16 = 0x20;

/// Entry of a list. Entries are ordered as the kernel demands: by tag, then by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// One of the tags of this module.
    pub tag: u16,
    /// User or group, or [`NO_ID`].
    pub id: u32,
    /// Bits as in an octal digit of a mode.
    pub permissions: u16,
}

/// Reads the value of an attribute; `None` if it is malformed or of another version.
#[must_use]
pub fn read(value: &[u8]) -> Option<Vec<Entry>> {
    let (version, rest) = value.split_first_chunk::<4>()?;
    let (entries, []) = rest.as_chunks::<8>() else { return None };
    if u32::from_le_bytes(*version) != VERSION {
        return None;
    }
    let entry = |[tag, tag_high, permissions, permissions_high, id @ ..]: &[u8; 8]| Entry {
        tag: u16::from_le_bytes([*tag, *tag_high]),
        id: u32::from_le_bytes(*id),
        permissions: u16::from_le_bytes([*permissions, *permissions_high]),
    };
    Some(entries.iter().map(entry).collect())
}

/// Returns the value of the attribute for these entries, which the caller has ordered.
#[must_use]
pub fn write(entries: &[Entry]) -> Vec<u8> {
    let mut value = VERSION.to_le_bytes().to_vec();
    for entry in entries {
        value.extend_from_slice(&entry.tag.to_le_bytes());
        value.extend_from_slice(&entry.permissions.to_le_bytes());
        value.extend_from_slice(&entry.id.to_le_bytes());
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_nothing_else() {
        let entries = [
            Entry { tag: USER_OBJ, id: NO_ID, permissions: 7 },
            Entry { tag: USER, id: 4_000_000_001, permissions: 4 },
            Entry { tag: OTHER, id: NO_ID, permissions: 0 },
        ];
        let value = write(&entries);
        assert_eq!(value.len(), 4 + 3 * 8);
        assert_eq!(read(&value).as_deref(), Some(&entries[..]));
        assert_eq!(read(&write(&[])).as_deref(), Some(&[][..]));
        for length in [0, 3, 5, value.len() - 1] {
            assert_eq!(read(&value[..length]), None, "{length}");
        }
        assert_eq!(read(&[1, 0, 0, 0]), None);
    }
}
