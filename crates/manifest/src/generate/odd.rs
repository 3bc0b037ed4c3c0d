//! Names and attributes that tools get wrong.
//!
//! Every entry of these tables has broken a copier, a terminal or a script; the tests draw from
//! them.

use super::numbers::Numbers;
use crate::text::RawText;
use crate::values::Timestamp;
use crate::xattrs::Xattr;

/// `NAME_MAX` of `linux/limits.h`.
const NAME_BYTES_MAX: usize = 255;

/// Draws an odd name; `unique` makes it unique in its directory.
pub(super) fn name(numbers: &mut Numbers, unique: u64) -> RawText {
    // The number comes last, so that an odd beginning is preserved.
    const STEMS: [&[u8]; 20] = [
        b"\xff\xfe",
        b"latin\xe9",
        b"cut \xe2\x82",
        b"new\nline",
        b"\x1b[31mred\x1b[0m",
        b"bell\x07\x08",
        b"-rf",
        b"--no-preserve-root",
        b"-",
        b" lead",
        b"*?[a]",
        b"$(true);`true`&",
        b"\"quote'\\",
        b"...",
        b"~",
        b"a\xe2\x80\xaetxt.exe",
        b"zero\xe2\x80\x8bwidth",
        b"e\xcc\x81",
        b"\xc3\xa9",
        b"tab\tcr\r",
    ];
    let mut name = numbers.pick(&STEMS).to_vec();
    let unique = unique.to_string();
    if numbers.chance(15) {
        // A name of the maximum length.
        let filler = *numbers.pick(b"nN ");
        name.resize(NAME_BYTES_MAX - unique.len(), filler);
    }
    name.extend_from_slice(unique.as_bytes());
    if numbers.chance(10) && name.len() < NAME_BYTES_MAX {
        name.push(b' ');
    }
    name.into()
}

/// Draws a mode for a file: unreadable, setuid, setgid, sticky, without the owner's bits.
pub(super) fn file_mode(numbers: &mut Numbers) -> u16 {
    *numbers.pick(&[
        0o000, 0o001, 0o044, 0o222, 0o444, 0o600, 0o755, 0o777, 0o1644, 0o2755, 0o4755, 0o6711,
        0o7777,
    ])
}

/// Draws a mode for a directory.
pub(super) fn directory_mode(numbers: &mut Numbers) -> u16 {
    *numbers.pick(&[0o000, 0o055, 0o300, 0o400, 0o500, 0o555, 0o700, 0o777, 0o1777, 0o2775])
}

/// Draws an old, a far or a borderline time: 1900, around 1970, 2038, 2106, 2400. File systems
/// that cannot store one clamp it (Linux 5.4 and later).
pub(super) fn mtime(numbers: &mut Numbers) -> Timestamp {
    const SECONDS: [i64; 9] = [
        -2_208_988_800,
        -1,
        0,
        1,
        2_147_483_647,
        2_147_483_648,
        4_294_967_296,
        13_569_465_600,
        951_782_400,
    ];
    Timestamp {
        seconds: *numbers.pick(&SECONDS),
        nanoseconds: *numbers.pick(&[0, 1, 999, 123_456_789, 999_999_999]),
    }
}

/// Draws the text of a symbolic link in an entry called `own_name`: to a sibling, a directory,
/// nowhere, itself, out of the tree, not UTF-8, very long.
pub(super) fn link_text(numbers: &mut Numbers, own_name: &RawText, sibling: &RawText) -> RawText {
    match numbers.below(9) {
        0 => own_name.clone(),
        1 => ".".into(),
        2 => "..".into(),
        3 => "missing/entry".into(),
        4 => "/nonexistent/haul".into(),
        5 => RawText::from(&b"\xff\n\x1b[0m"[..]),
        // Less than the 1,024 bytes of the shortest limit (XFS).
        6 => RawText("x/".repeat(500).into_bytes()),
        _ => sibling.clone(),
    }
}

/// Draws some attributes of the `user` namespace, empty and binary ones among them.
pub(super) fn user_xattrs(numbers: &mut Numbers) -> Vec<Xattr> {
    (0..numbers.between(1, 3))
        .map(|index| {
            let length = *numbers.pick(&[0_usize, 1, 16, 200]);
            let value: Vec<u8> = (0..length).map(|_| numbers.next() as u8).collect();
            Xattr { name: format!("user.haul.{index}").into(), value: value.into() }
        })
        .collect()
}

/// Returns an ACL that grants permissions to a named user and a named group and agrees with `mode`,
/// in the kernel's form: version 2, then tag, rights and id of each entry in little-endian order
/// (`linux/posix_acl_xattr.h`).
pub(super) fn acl(name: &str, mode: u16, uid: u32, gid: u32) -> Xattr {
    const UNDEFINED_ID: u32 = u32::MAX;
    const USER_OBJ: u16 = 0x01;
    const USER: u16 = 0x02;
    const GROUP_OBJ: u16 = 0x04;
    const GROUP: u16 = 0x08;
    const MASK: u16 = 0x10;
    const OTHER: u16 = 0x20;
    let (owner, group, other) = (mode >> 6 & 7, mode >> 3 & 7, mode & 7);
    let entries = [
        (USER_OBJ, owner, UNDEFINED_ID),
        (USER, 4, uid),
        (GROUP_OBJ, group, UNDEFINED_ID),
        (GROUP, 5, gid),
        // The mask is what stat(2) shows as the group's bits.
        (MASK, group, UNDEFINED_ID),
        (OTHER, other, UNDEFINED_ID),
    ];
    let mut value = 2_u32.to_le_bytes().to_vec();
    for (tag, rights, id) in entries {
        value.extend_from_slice(&tag.to_le_bytes());
        value.extend_from_slice(&rights.to_le_bytes());
        value.extend_from_slice(&id.to_le_bytes());
    }
    Xattr { name: name.into(), value: value.into() }
}

/// Returns the capability to open raw sockets, in the form of `struct vfs_cap_data`, revision 2
/// (`linux/capability.h`).
pub(super) fn capability() -> Xattr {
    const REVISION_2: u32 = 0x0200_0000;
    const CAP_NET_RAW: u32 = 13;
    let words = [REVISION_2, 1 << CAP_NET_RAW, 0, 0, 0];
    let value: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    Xattr { name: "security.capability".into(), value: value.into() }
}
