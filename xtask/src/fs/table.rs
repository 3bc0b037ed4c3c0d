//! The table of test file systems.

/// One file system to mount.
pub(crate) struct FileSystem {
    /// The name in `HAUL_TEST_FS`, and of the folder that it is mounted on.
    pub(crate) name: &'static str,
    pub(crate) medium: Medium,
}

/// The storage of a test file system.
pub(crate) enum Medium {
    /// A sparse image file behind a loop device, with the command that formats it.
    Image { format: &'static [&'static str], sector: Sector },
    /// Memory, with mount options.
    Memory { options: &'static str },
    /// Stacked folders of another file system of this table.
    Overlay { on: &'static str },
}

/// The sector size of the loop device, which is the unit of direct I/O.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sector {
    Usual,
    Bytes4096,
}

/// The size of an image. XFS needs at least 300 MB; the files are sparse, so this costs little.
pub(crate) const IMAGE_BYTES: u64 = 1 << 30;

/// The file systems in the order of mounting: an overlay follows the file system it lies on.
///
/// The ext4 images have four times the usual inodes, because the trees of tests are many small files.
pub(crate) const FILE_SYSTEMS: &[FileSystem] = &[
    FileSystem {
        name: "ext4",
        medium: Medium::Image {
            format: &["mkfs.ext4", "-q", "-F", "-N", "262144"],
            sector: Sector::Usual,
        },
    },
    FileSystem {
        name: "ext4-4k",
        medium: Medium::Image {
            format: &["mkfs.ext4", "-q", "-F", "-b", "4096", "-N", "262144"],
            sector: Sector::Bytes4096,
        },
    },
    FileSystem {
        name: "xfs",
        medium: Medium::Image {
            format: &["mkfs.xfs", "-q", "-f", "-m", "reflink=1"],
            sector: Sector::Usual,
        },
    },
    FileSystem {
        name: "xfs-noreflink",
        medium: Medium::Image {
            format: &["mkfs.xfs", "-q", "-f", "-m", "reflink=0"],
            sector: Sector::Usual,
        },
    },
    FileSystem {
        name: "btrfs",
        medium: Medium::Image { format: &["mkfs.btrfs", "-q", "-f"], sector: Sector::Usual },
    },
    FileSystem { name: "tmpfs", medium: Medium::Memory { options: "size=1g,mode=755" } },
    FileSystem { name: "overlayfs", medium: Medium::Overlay { on: "ext4" } },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_an_overlay_lies_on_an_earlier_line() {
        for (index, one) in FILE_SYSTEMS.iter().enumerate() {
            let earlier = |name| FILE_SYSTEMS[..index].iter().any(|other| other.name == name);
            assert!(!earlier(one.name), "{}", one.name);
            if let Medium::Overlay { on } = one.medium {
                assert!(earlier(on), "{}", one.name);
            }
        }
    }
}
