//! What a difference is worth where one of the two file systems cannot store what the other one has.
//!
//! A perfect copy on FAT has other times than its source, because FAT stores even seconds. A comparison that
//! reports each file hides the one that really differs. So the comparison is as coarse as the coarser side,
//! unless the caller wants it exact, and counts what it leaves out.

use rustix::fs::fstatfs;

use super::difference::What;
use crate::node::Node;
use crate::text::RawText;
use crate::values::Timestamp;

/// Properties of a kind of file system, by its number (`f_type` in statfs(2)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kind {
    magic: u32,
    /// Number of nanoseconds between two times that it can store.
    time_step_ns: u32,
    /// Whether it stores owners and permission bits. Elsewhere they are from the mount options.
    stores_owners: bool,
    /// Letters of the flags that it has.
    flags: &'static str,
}

impl Kind {
    /// Returns the properties of the file system with this number.
    const fn of(magic: u32) -> Kind {
        let time_step_ns = match magic {
            // FAT.
            0x4d44 => 2_000_000_000,
            // HFS, HFS+, ISO 9660, SquashFS, Minix, ReiserFS, Lustre, BeeGFS.
            0x4244 | 0x482b | 0x9660 | 0x7371_7368 | 0x137f | 0x138f | 0x2468 | 0x2478
            | 0x5265_4973 | 0x0bd0_0bd0 | 0x1983_0326 => 1_000_000_000,
            // exFAT.
            0x2011_bab0 => 10_000_000,
            // UDF.
            0x1501_3346 => 1_000,
            // NTFS and SMB.
            0x7366_746e | 0x5346_544e | 0xff53_4d42 | 0xfe53_4d42 | 0x517b => 100,
            _ => 1,
        };
        // The flags that each of them takes from FS_IOC_SETFLAGS (`*_fileattr_set` in the kernel, Linux 6.18).
        let flags = match magic {
            0xef53 => "suSDiadAcjtTxP",
            0x5846_5342 => "SiadAxP",
            0x9123_683e => "SDiadAcCm",
            0xf2f5_2010 => "SDiadAcPm",
            0x0102_1994 => "iadA",
            // FAT, exFAT, NFS, SMB, ISO 9660, SquashFS and EROFS.
            0x4d44 | 0x2011_bab0 | 0x6969 | 0xff53_4d42 | 0xfe53_4d42 | 0x517b | 0x9660
            | 0x7371_7368 | 0xe0f5_e1e2 => "",
            _ => "suSDiadAcjtTCxPm",
        };
        let stores_owners = !matches!(magic, 0x4d44 | 0x2011_bab0);
        Kind { magic, time_step_ns, stores_owners, flags }
    }

    /// Returns the properties where an inode has, or has not, a time of its creation. Without, an inode of ext2,
    /// ext3 or ext4 is one of 128 bytes, which has no room for nanoseconds (`i_crtime` and `i_mtime_extra` in
    /// Documentation/filesystems/ext4/inodes.rst).
    fn with_birth_time(self, has_birth_time: Option<bool>) -> Kind {
        match (self.magic, has_birth_time) {
            (0xef53, Some(false)) => Kind { time_step_ns: 1_000_000_000, ..self },
            _ => self,
        }
    }
}

/// The kinds of the file systems that a comparison has met, by device number.
#[derive(Default)]
pub(super) struct Stored {
    known: Vec<((u32, u32), Kind)>,
}

impl Stored {
    /// Returns whether a difference between two entries is one that a perfect copy has, too.
    pub(super) fn leaves_out(&mut self, what: &What, a: &Node, b: &Node) -> bool {
        let in_a = self.kind(a);
        is_left_out(what, in_a, self.kind(b))
    }

    fn kind(&mut self, node: &Node) -> Kind {
        let device = node.attributes.id.device();
        if let Some((_, kind)) = self.known.iter().find(|(known, _)| *known == device) {
            return *kind;
        }
        // The type of `f_type` differs between architectures; all the numbers fit its low 32 bits.
        let kind = Kind::of(fstatfs(&node.fd).map_or(0, |system| system.f_type as u32))
            .with_birth_time(node.attributes.has_birth_time);
        self.known.push((device, kind));
        kind
    }
}

fn is_left_out(what: &What, in_a: Kind, in_b: Kind) -> bool {
    match what {
        What::Mtime { a, b } => {
            let step = in_a.time_step_ns.max(in_b.time_step_ns);
            truncated(*a, step) == truncated(*b, step)
        }
        What::Mode { .. } | What::Owner { .. } | What::Group { .. } => {
            !in_a.stores_owners || !in_b.stores_owners
        }
        What::Flags { a, b } => {
            let both = |flag: &char| in_a.flags.contains(*flag) && in_b.flags.contains(*flag);
            a.chars().filter(both).eq(b.chars().filter(both))
        }
        // Projects are inherited by the flag `P`.
        What::Project { .. } => !in_a.flags.contains('P') || !in_b.flags.contains('P'),
        // Block sizes, inline data, compression and what is counted differ between kinds.
        What::Blocks { .. } => in_a.magic != in_b.magic,
        What::Acl { name, a: Some(acl), b: None } | What::Acl { name, a: None, b: Some(acl) } => {
            name.as_bytes() == b"system.nfs4_acl" && is_mode_in_other_words(acl)
        }
        _ => false,
    }
}

/// Returns a time as a file system stores it, in nanoseconds: the last one that it has before it.
fn truncated(time: Timestamp, step_ns: u32) -> i128 {
    let time = i128::from(time.seconds) * 1_000_000_000 + i128::from(time.nanoseconds);
    time - time.rem_euclid(i128::from(step_ns))
}

/// Returns whether an ACL of NFS 4 says nothing that the permission bits do not say: all its entries are about
/// the owner, the group and everyone. An NFS client shows such a list for each file of a server that
/// has ACLs (`nfsace4` in RFC 7530, section 6.2.1).
fn is_mode_in_other_words(acl: &RawText) -> bool {
    /// `ACE4_IDENTIFIER_GROUP`, which every entry of `GROUP@` has.
    const OF_GROUP: u32 = 0x40;
    let mut rest = acl.as_bytes();
    let Some(count) = take_number(&mut rest) else { return false };
    for _ in 0..count {
        let (Some(kind), Some(flags), Some(_mask), Some(length)) = (
            take_number(&mut rest),
            take_number(&mut rest),
            take_number(&mut rest),
            take_number(&mut rest),
        ) else {
            return false;
        };
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let Some(padded) = length.checked_next_multiple_of(4) else { return false };
        let Some((who, behind)) = rest.split_at_checked(padded) else { return false };
        let is_of_mode = matches!(who.get(..length), Some(b"OWNER@" | b"GROUP@" | b"EVERYONE@"));
        // Entries that allow and that deny; none that audits, and none for new files.
        if kind > 1 || flags & !OF_GROUP != 0 || !is_of_mode {
            return false;
        }
        rest = behind;
    }
    rest.is_empty()
}

fn take_number(bytes: &mut &[u8]) -> Option<u32> {
    let (number, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u32::from_be_bytes(*number))
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXT4: Kind = Kind::of(0xef53);
    const XFS: Kind = Kind::of(0x5846_5342);
    const FAT: Kind = Kind::of(0x4d44);
    const EXFAT: Kind = Kind::of(0x2011_bab0);
    const F2FS: Kind = Kind::of(0xf2f5_2010);

    fn mtime(a: (i64, u32), b: (i64, u32)) -> What {
        let at = |(seconds, nanoseconds)| Timestamp { seconds, nanoseconds };
        What::Mtime { a: at(a), b: at(b) }
    }

    #[test]
    fn times_are_compared_as_the_coarser_side_stores_them() {
        for (what, a, b, expected) in [
            (mtime((101, 999_999_999), (100, 0)), EXT4, FAT, true),
            (mtime((100, 0), (101, 999_999_999)), FAT, EXT4, true),
            (mtime((102, 0), (100, 0)), EXT4, FAT, false),
            (mtime((99, 999_999_999), (100, 0)), EXT4, FAT, false),
            (mtime((100, 19_999_999), (100, 10_000_000)), EXT4, EXFAT, true),
            (mtime((100, 20_000_000), (100, 10_000_000)), EXT4, EXFAT, false),
            // FAT is coarser than exFAT.
            (mtime((100, 10_000_000), (100, 0)), EXFAT, FAT, true),
            (mtime((-1, 500_000_000), (-2, 0)), EXT4, FAT, true),
            (mtime((100, 1), (100, 0)), EXT4, XFS, false),
        ] {
            assert_eq!(is_left_out(&what, a, b), expected, "{what:?} {a:?} {b:?}");
        }
    }

    #[test]
    fn small_inodes_of_ext2_have_whole_seconds() {
        let small = EXT4.with_birth_time(Some(false));
        assert!(is_left_out(&mtime((100, 5), (100, 0)), XFS, small));
        assert!(!is_left_out(&mtime((101, 5), (100, 0)), XFS, small));
        for fine in [EXT4.with_birth_time(Some(true)), EXT4.with_birth_time(None)] {
            assert_eq!(fine, EXT4);
        }
        // XFS before its fifth format has nanoseconds, and no time of creation.
        assert_eq!(XFS.with_birth_time(Some(false)), XFS);
    }

    #[test]
    fn blocks_and_owners_count_only_where_both_sides_mean_the_same() {
        let blocks = What::Blocks { a: 8, b: 24 };
        assert!(is_left_out(&blocks, EXT4, F2FS));
        assert!(!is_left_out(&blocks, F2FS, F2FS));
        for what in [
            What::Mode { a: 0o644, b: 0o755 },
            What::Owner { a: 1000, b: 0 },
            What::Group { a: 1000, b: 0 },
        ] {
            assert!(is_left_out(&what, EXT4, FAT));
            assert!(is_left_out(&what, EXFAT, EXT4));
            assert!(!is_left_out(&what, EXT4, XFS));
        }
        let size = What::Size { a: 1, b: 2 };
        assert!(!is_left_out(&size, EXT4, FAT));
    }

    #[test]
    fn flags_are_compared_as_far_as_both_sides_have_them() {
        let (btrfs, nfs) = (Kind::of(0x9123_683e), Kind::of(0x6969));
        let flags = |a: &str, b: &str| What::Flags { a: a.to_owned(), b: b.to_owned() };
        assert!(is_left_out(&flags("C", ""), btrfs, EXT4));
        assert!(!is_left_out(&flags("C", ""), btrfs, btrfs));
        assert!(!is_left_out(&flags("dC", ""), btrfs, XFS));
        assert!(is_left_out(&flags("dC", "d"), btrfs, XFS));
        assert!(!is_left_out(&flags("", "i"), EXT4, XFS));
        assert!(is_left_out(&flags("i", ""), EXT4, nfs));
        let project = What::Project { a: 42, b: 0 };
        assert!(is_left_out(&project, XFS, btrfs) && !is_left_out(&project, XFS, EXT4));
    }

    /// Encodes entries as an NFS client shows them: kind, flags, mask, who.
    fn acl(entries: &[(u32, u32, u32, &str)]) -> RawText {
        let mut bytes = u32::to_be_bytes(u32::try_from(entries.len()).unwrap()).to_vec();
        for (kind, flags, mask, who) in entries {
            for number in [*kind, *flags, *mask, u32::try_from(who.len()).unwrap()] {
                bytes.extend(number.to_be_bytes());
            }
            bytes.extend(who.as_bytes());
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        bytes.as_slice().into()
    }

    #[test]
    fn a_list_of_nfs_that_is_only_the_mode_is_none() {
        let name = || RawText::from("system.nfs4_acl");
        // What Linux 6.1 shows of a file of mode 644.
        let mode = [
            (0, 0, 0x0016_01a7, "OWNER@"),
            (0, 0x40, 0x0012_0081, "GROUP@"),
            (0, 0, 0x0012_0081, "EVERYONE@"),
        ];
        let only = |acl: RawText| What::Acl { name: name(), a: None, b: Some(acl) };
        let nfs = Kind::of(0x6969);
        assert!(is_left_out(&only(acl(&mode)), EXT4, nfs));
        assert!(is_left_out(&What::Acl { name: name(), a: Some(acl(&mode)), b: None }, EXT4, nfs));
        for entry in [
            (0, 0, 0x0012_0081, "guest@example.org"),
            (0, 0x40, 0x0012_0081, "staff@example.org"),
            // It is inherited by new files.
            (0, 3, 0x0012_0081, "EVERYONE@"),
            (2, 0, 0x0012_0081, "EVERYONE@"),
        ] {
            let list: Vec<_> = mode.iter().copied().chain([entry]).collect();
            assert!(!is_left_out(&only(acl(&list)), EXT4, nfs), "{entry:?}");
        }
        let cut = acl(&mode);
        for length in 0..cut.as_bytes().len() {
            assert!(!is_left_out(&only(cut.as_bytes()[..length].into()), EXT4, nfs), "{length}");
        }
        // Two lists that differ, and lists of other kinds, count.
        let differs = What::Acl { name: name(), a: Some(acl(&[])), b: Some(acl(&mode)) };
        assert!(!is_left_out(&differs, EXT4, nfs));
        let posix = RawText::from("system.posix_acl_access");
        assert!(!is_left_out(&What::Acl { name: posix, a: None, b: Some(acl(&mode)) }, EXT4, nfs));
    }
}
