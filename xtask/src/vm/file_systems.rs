//! The file systems: how each is made and mounted, and what it cannot hold.

use crate::error::{Error, Result};

/// A program, and the package that has it.
pub(super) type Need = (&'static str, &'static str);

/// One file system of the laboratory.
pub(super) struct FileSystem {
    /// The name for `--on` and in the table.
    pub(super) name: &'static str,
    /// The kernel module without which the file system is absent; `None` if every kernel has it.
    pub(super) module: Option<&'static str>,
    pub(super) medium: Medium,
    /// What trees for it do not have. Everything is tried all the same, beside GNU's tools.
    pub(super) lacks: &'static [Lack],
    pub(super) needs: &'static [Need],
}

/// What a file system lies on.
pub(super) enum Medium {
    /// A disk.
    Disk(Format),
    Memory,
    /// Folders of ext4.
    Overlay,
    /// A server in the same machine that exports ext4, by the version of NFS.
    Nfs {
        version: &'static str,
    },
    /// A server of samba in the same machine that exports btrfs.
    Smb,
}

/// How a file system gets on a disk.
pub(super) struct Format {
    /// The command that formats the disk.
    pub(super) make: &'static [&'static str],
    /// The type for mount(8), and its options.
    pub(super) kind: &'static str,
    pub(super) options: &'static str,
    /// A command that changes an empty folder; none if it has no words.
    pub(super) folder: &'static [&'static str],
}

/// What a file system cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lack {
    SymbolicLinks,
    HardLinks,
    /// Named pipes.
    Pipes,
    Owners,
    Modes,
    Holes,
    /// Extended attributes of users.
    Attributes,
    Acls,
    /// Two names that differ only in case.
    Case,
    /// Names that are not UTF-8, or that have characters which DOS reserves.
    Names,
}

const EXFAT: &[Need] = &[("mkfs.exfat", "exfatprogs")];
const FAT: &[Need] = &[("mkfs.vfat", "dosfstools")];
const NFS: &[Need] =
    &[("rpc.nfsd", "nfs-kernel-server"), ("mount.nfs", "nfs-common"), ("rpcbind", "rpcbind")];
const SMB: &[Need] =
    &[("smbd", "samba"), ("mount.cifs", "cifs-utils"), ("mkfs.btrfs", "btrfs-progs")];

const fn disk(
    name: &'static str,
    kind: &'static str,
    format: &'static [&'static str],
    lacks: &'static [Lack],
    needs: &'static [Need],
) -> FileSystem {
    let medium = Medium::Disk(Format { make: format, kind, options: "defaults", folder: &[] });
    FileSystem { name, module: Some(kind), medium, lacks, needs }
}

const fn nfs(name: &'static str, version: &'static str, lacks: &'static [Lack]) -> FileSystem {
    let medium = Medium::Nfs { version };
    FileSystem { name, module: Some("nfsd"), medium, lacks, needs: NFS }
}

/// What Microsoft's file systems cannot hold, as Linux mounts them by default.
pub(super) const OF_FAT: &[Lack] = &[
    Lack::SymbolicLinks,
    Lack::HardLinks,
    Lack::Pipes,
    Lack::Owners,
    Lack::Modes,
    Lack::Holes,
    Lack::Attributes,
    Lack::Acls,
    Lack::Case,
    Lack::Names,
];

/// All file systems, in the order of the table.
pub(super) const FILE_SYSTEMS: &[FileSystem] = &[
    disk("ext4", "ext4", &["mkfs.ext4", "-q", "-F"], &[], &[]),
    disk("xfs", "xfs", &["mkfs.xfs", "-q", "-f"], &[], &[("mkfs.xfs", "xfsprogs")]),
    disk("btrfs", "btrfs", &["mkfs.btrfs", "-q", "-f"], &[], &[("mkfs.btrfs", "btrfs-progs")]),
    FileSystem {
        name: "tmpfs",
        module: None,
        medium: Medium::Memory,
        // Since Linux 6.6 it has attributes of users.
        lacks: &[Lack::Attributes],
        needs: &[],
    },
    FileSystem {
        name: "overlayfs",
        module: Some("overlay"),
        medium: Medium::Overlay,
        lacks: &[],
        needs: &[],
    },
    disk("f2fs", "f2fs", &["mkfs.f2fs", "-q", "-f"], &[], &[("mkfs.f2fs", "f2fs-tools")]),
    disk("jfs", "jfs", &["mkfs.jfs", "-q"], &[Lack::Holes], &[("mkfs.jfs", "jfsutils")]),
    disk(
        "nilfs2",
        "nilfs2",
        &["mkfs.nilfs2", "-q", "-f"],
        &[Lack::Attributes, Lack::Acls],
        &[("mkfs.nilfs2", "nilfs-tools")],
    ),
    disk("ext2", "ext4", &["mkfs.ext2", "-q", "-F"], &[], &[]),
    // Inodes without room for nanoseconds, as mke2fs made them before 2008.
    disk("ext2-128", "ext4", &["mkfs.ext2", "-q", "-F", "-I", "128"], &[], &[]),
    FileSystem {
        name: "ext4-casefold",
        module: Some("ext4"),
        medium: Medium::Disk(Format {
            make: &["mkfs.ext4", "-q", "-F", "-O", "casefold", "-E", "encoding=utf8"],
            kind: "ext4",
            options: "defaults",
            folder: &["chattr", "+F"],
        }),
        lacks: &[Lack::Case],
        needs: &[("chattr", "e2fsprogs")],
    },
    disk(
        "udf",
        "udf",
        &["mkudffs", "--utf8", "--media-type=hd", "--blocksize=512"],
        &[Lack::Attributes, Lack::Acls, Lack::Names],
        &[("mkudffs", "udftools")],
    ),
    disk("exfat", "exfat", &["mkfs.exfat"], OF_FAT, EXFAT),
    FileSystem {
        name: "vfat",
        module: Some("vfat"),
        medium: Medium::Disk(Format {
            make: &["mkfs.vfat", "-F", "32"],
            kind: "vfat",
            options: "utf8",
            folder: &[],
        }),
        lacks: OF_FAT,
        needs: FAT,
    },
    disk(
        "ntfs3",
        "ntfs3",
        &["mkfs.ntfs", "-q", "-F", "-Q"],
        &[Lack::Acls, Lack::Names, Lack::Pipes],
        &[("mkfs.ntfs", "ntfs-3g")],
    ),
    nfs("nfs-4.2", "4.2", &[Lack::Acls]),
    nfs("nfs-4.0", "4.0", &[Lack::Acls, Lack::Attributes, Lack::Holes]),
    nfs("nfs-3", "3", &[Lack::Attributes, Lack::Holes]),
    FileSystem {
        name: "smb-3.1.1",
        module: Some("cifs"),
        medium: Medium::Smb,
        lacks: OF_FAT,
        needs: SMB,
    },
];

/// File systems that come back after a power cut as the kernel promises, and not as a check of the whole disk
/// decides.
const JOURNALED: &[&str] = &["ext4", "xfs"];

impl FileSystem {
    /// Returns how the disk of a journaled file system is made.
    pub(super) fn journaled(&self) -> Option<&Format> {
        match &self.medium {
            Medium::Disk(format) if JOURNALED.contains(&self.name) => Some(format),
            _ => None,
        }
    }

    /// Returns the row of a name.
    pub(super) fn of_name(name: &str) -> Result<&'static Self> {
        FILE_SYSTEMS.iter().find(|system| system.name == name).ok_or_else(|| {
            let names: Vec<_> = FILE_SYSTEMS.iter().map(|system| system.name).collect();
            Error::new(format!("there is no file system {name:?}"))
                .hint(format!("there are {}", names.join(", ")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        for (index, system) in FILE_SYSTEMS.iter().enumerate() {
            let first = FILE_SYSTEMS.iter().position(|other| other.name == system.name);
            assert_eq!(first, Some(index), "{}", system.name);
            assert!(FileSystem::of_name(system.name).is_ok_and(|one| one.name == system.name));
        }
        assert!(FileSystem::of_name("ext5").is_err());
    }

    #[test]
    fn journaled_file_systems_lie_on_disks() {
        for name in JOURNALED {
            assert!(FileSystem::of_name(name).is_ok_and(|one| one.journaled().is_some()), "{name}");
        }
        assert!(FileSystem::of_name("nfs-3").is_ok_and(|one| one.journaled().is_none()));
    }
}
