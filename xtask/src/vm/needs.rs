//! What the laboratory needs on the machine that runs QEMU, installed where that is possible.

use super::file_systems::{FileSystem, Need};
use crate::command::which;
use crate::error::{Error, Result};
use crate::tools;
use rustix::process::geteuid;

/// The programs that make and run a machine.
const MACHINE: &[Need] = &[
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("busybox", "busybox-static"),
    ("modprobe", "kmod"),
    ("xz", "xz-utils"),
    ("zstd", "zstd"),
    ("dpkg-deb", "dpkg"),
    ("mkfs.ext4", "e2fsprogs"),
    ("wipefs", "util-linux"),
    ("ip", "iproute2"),
    ("dmsetup", "dmsetup"),
];

/// Installs what the machines and these file systems need; fails with the reason if that is impossible.
pub(super) fn provide(systems: &[&FileSystem]) -> Result<()> {
    if !cfg!(target_arch = "x86_64") {
        return Err(Error::new("the kernels are for x86-64"));
    }
    if !geteuid().is_root() {
        return Err(Error::new("the machine reads all of this machine's root: run as root"));
    }
    let missing: Vec<_> = MACHINE
        .iter()
        .chain(systems.iter().flat_map(|system| system.needs))
        .filter(|(program, _)| which(program).is_none())
        .map(|(_, package)| *package)
        .collect();
    tools::install(&missing)
}
