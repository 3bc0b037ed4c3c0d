//! The programs that tests call, and the Debian packages that have them.
//!
//! Root on a Debian machine gets what is missing installed, so that CI needs no set-up of its own.

use crate::command::{command, stream, which};
use crate::error::{Error, Result};
use crate::interrupt;
use rustix::process::geteuid;

/// A program, its package, and what goes untested without it.
struct Tool {
    program: &'static str,
    package: &'static str,
    without: &'static str,
}

const TOOLS: &[Tool] = &[
    Tool { program: "mkfs.ext4", package: "e2fsprogs", without: "tests on ext4" },
    Tool { program: "mkfs.xfs", package: "xfsprogs", without: "tests on XFS" },
    Tool { program: "mkfs.btrfs", package: "btrfs-progs", without: "tests on btrfs" },
    Tool { program: "setfattr", package: "attr", without: "comparisons of xattrs" },
    Tool { program: "setfacl", package: "acl", without: "comparisons of ACLs" },
    Tool { program: "setcap", package: "libcap2-bin", without: "tests of capabilities" },
    Tool { program: "fusermount3", package: "fuse3", without: "tests on FUSE" },
    Tool { program: "strace", package: "strace", without: "fault injection" },
    Tool { program: "clang", package: "clang", without: "the check of the eBPF object" },
    Tool { program: "pigz", package: "pigz", without: "a pipe with pigz" },
    Tool { program: "zstd", package: "zstd", without: "a pipe with zstd" },
    Tool { program: "lz4", package: "lz4", without: "a pipe with lz4" },
    Tool { program: "xz", package: "xz-utils", without: "a pipe with xz" },
    Tool { program: "bsdtar", package: "libarchive-tools", without: "a pipe with bsdtar" },
    Tool { program: "pv", package: "pv", without: "a pipe with pv" },
    Tool { program: "mbuffer", package: "mbuffer", without: "a pipe with mbuffer" },
];

/// Installs what is missing, as root; returns one line for each thing that goes untested.
pub(super) fn provide() -> Result<Vec<String>> {
    let missing = || TOOLS.iter().filter(|tool| which(tool.program).is_none());
    let packages: Vec<_> = missing().map(|tool| tool.package).collect();
    let outcome = match install(&packages) {
        // One that is not to be had keeps nobody from the others.
        Err(_) if packages.len() > 1 && geteuid().is_root() => {
            packages.iter().map(|package| install(&[package])).fold(Ok(()), Result::and)
        }
        outcome => outcome,
    };
    interrupt::check()?;
    let cause = outcome.err().map_or_else(
        || "it is not in its package".to_owned(),
        |error| error.to_string().replace("\n  ", "; "),
    );
    Ok(missing()
        .map(|tool| format!("{}: {} is missing, {cause}", tool.without, tool.program))
        .collect())
}

/// Installs Debian packages, if any.
pub(crate) fn install(packages: &[&str]) -> Result<()> {
    if packages.is_empty() {
        return Ok(());
    }
    let wish = format!("as root: apt-get install {}", packages.join(" "));
    if which("apt-get").is_none() {
        return Err(Error::new("this machine has no apt-get").hint(wish));
    }
    if !geteuid().is_root() {
        return Err(Error::new("only root may install packages").hint(wish));
    }
    println!("installing {}", packages.join(" "));
    let apt = |arguments: &[&str]| -> Result<bool> {
        let mut apt = command("apt-get");
        apt.env("DEBIAN_FRONTEND", "noninteractive").args(["-qq", "-y"]).args(arguments);
        stream(&mut apt, |_| {}).map(|status| status.success())
    };
    let install = [&["install", "--no-install-recommends"], packages].concat();
    // The lists may be missing or old, as in a fresh container; most often they are not.
    if apt(&install)? || (apt(&["update"])? && apt(&install)?) {
        return Ok(());
    }
    Err(Error::new(format!("apt-get cannot install {}", packages.join(" "))).hint(wish))
}
