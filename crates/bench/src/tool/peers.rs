//! The known tools, with a command of each for the same work.
//!
//! Each copies only contents and kinds, no attributes and no hard links, so that all tools do the
//! same work. A tool without such an option does more work; its row is not adjusted. GNU's `cp` and
//! `rm` come first: they are the baseline.

use super::types::Group;
use crate::scenario::Work;

/// A known tool.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    /// Its name in tables.
    pub name: &'static str,
    /// The program that must be on the search path.
    pub program: &'static str,
    /// The argument that prints its version.
    pub version: &'static str,
    /// The group of comparisons that includes it.
    pub group: Group,
    /// Template to copy a tree.
    pub tree: Option<&'static str>,
    /// Template to copy a file.
    pub file: Option<&'static str>,
    /// Template to delete a tree.
    pub delete: Option<&'static str>,
}

const NONE: Peer = Peer {
    name: "",
    program: "",
    version: "--version",
    group: Group::Usual,
    tree: None,
    file: None,
    delete: None,
};

/// The known tools, the baselines first.
pub const PEERS: &[Peer] = &[
    Peer {
        name: "cp",
        program: "cp",
        tree: Some("cp -R {source} {target}"),
        file: Some("cp {source} {target}"),
        ..NONE
    },
    Peer { name: "rm", program: "rm", delete: Some("rm -rf {target}"), ..NONE },
    Peer {
        name: "haul",
        program: "haul",
        tree: Some("haul cp -R {source} {target}"),
        file: Some("haul cp {source} {target}"),
        delete: Some("haul rm -rf {target}"),
        ..NONE
    },
    Peer {
        name: "cp-noreflink",
        program: "cp",
        group: Group::Extra,
        tree: Some("cp -R --reflink=never {source} {target}"),
        file: Some("cp --reflink=never {source} {target}"),
        ..NONE
    },
    Peer {
        name: "haul-noreflink",
        program: "haul",
        group: Group::Extra,
        tree: Some("haul cp -R --reflink=never {source} {target}"),
        file: Some("haul cp --reflink=never {source} {target}"),
        ..NONE
    },
    Peer {
        name: "uutils",
        program: "coreutils",
        tree: Some("coreutils cp -R {source} {target}"),
        file: Some("coreutils cp {source} {target}"),
        delete: Some("coreutils rm -rf {target}"),
        ..NONE
    },
    Peer {
        name: "xcp",
        program: "xcp",
        tree: Some("xcp --no-progress -r {source} {target}"),
        file: Some("xcp --no-progress {source} {target}"),
        ..NONE
    },
    Peer {
        name: "cpz",
        program: "cpz",
        tree: Some("cpz {source} {target}"),
        file: Some("cpz {source} {target}"),
        ..NONE
    },
    Peer { name: "rmz", program: "rmz", delete: Some("rmz {target}"), ..NONE },
    Peer { name: "find", program: "find", delete: Some("find {target} -delete"), ..NONE },
    Peer {
        name: "rsync",
        program: "rsync",
        tree: Some("rsync -rlW {source}/ {target}/"),
        file: Some("rsync -W {source} {target}"),
        ..NONE
    },
    Peer {
        name: "rclone",
        program: "rclone",
        version: "version",
        tree: Some("rclone copy --links {source} {target}"),
        file: Some("rclone copyto {source} {target}"),
        ..NONE
    },
    Peer {
        name: "tar-pipe",
        program: "tar",
        tree: Some("mkdir {target} && tar -C {source} -cf - . | tar -C {target} -xf -"),
        ..NONE
    },
    Peer { name: "cat", program: "cat", file: Some("cat {source} > {target}"), ..NONE },
    Peer {
        name: "dd",
        program: "dd",
        file: Some("dd if={source} of={target} bs=1M status=none"),
        ..NONE
    },
    Peer {
        name: "dd-direct",
        program: "dd",
        group: Group::Extra,
        file: Some("dd if={source} of={target} bs=1M iflag=direct oflag=direct status=none"),
        ..NONE
    },
];

/// The I/O sizes of the series that `dd` and haul are run with, in bytes: from a page to 8 MiB.
pub(super) const IO_SIZES: [u64; 7] =
    [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 8 << 20];

/// The numbers of jobs of the series that haul is run with.
pub(super) const HAUL_JOBS: [u64; 4] = [1, 2, 4, 8];

/// The requests in flight of the series that haul's queue is run with: one to show the benefit of a
/// queue, and up to twice haul's default.
pub(super) const HAUL_DEPTHS: [u64; 5] = [1, 4, 8, 16, 32];

/// The method whose requests have a size that the kernel does not choose.
pub(super) const SIZED_METHOD: &str = "read-write";

/// The method that has a queue.
pub(super) const QUEUED_METHOD: &str = "ring";

impl Peer {
    /// Returns the template for some work, if the tool can do it.
    #[must_use]
    pub fn template(&self, work: Work) -> Option<&'static str> {
        match work {
            Work::CopyTree => self.tree,
            Work::CopyFile => self.file,
            Work::Delete => self.delete,
        }
    }
}
