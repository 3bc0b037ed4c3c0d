//! The programs that tests call, and their Debian packages.
//!
//! As root on a Debian machine, this installs what is missing, so that CI needs no set-up.

use crate::command::{command, output, stream, which};
use crate::error::{Error, Result};
use crate::interrupt;
use rustix::process::geteuid;

/// A program, its package, and what goes untested without it.
struct Tool {
    program: &'static str,
    package: &'static str,
    without: &'static str,
}

/// A program that is missing: which tests cannot run and why.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Untested {
    /// The machine's package sources have it, so it must be installed in CI.
    Packaged(String),
    /// No source of apt has the package.
    NoPackage(String),
}

const TOOLS: &[Tool] = &[
    Tool { program: "mkfs.ext4", package: "e2fsprogs", without: "tests on ext4" },
    Tool { program: "mkfs.xfs", package: "xfsprogs", without: "tests on XFS" },
    Tool { program: "mkfs.btrfs", package: "btrfs-progs", without: "tests on btrfs" },
    Tool { program: "setfattr", package: "attr", without: "comparisons of xattrs" },
    Tool { program: "setfacl", package: "acl", without: "comparisons of ACLs" },
    Tool { program: "setcap", package: "libcap2-bin", without: "tests of capabilities" },
    Tool { program: "fusermount3", package: "fuse3", without: "tests on FUSE" },
    Tool { program: "bindfs", package: "bindfs", without: "a file system that works by paths" },
    Tool { program: "mksquashfs", package: "squashfs-tools", without: "images of squashfs" },
    Tool { program: "mkfs.erofs", package: "erofs-utils", without: "images of EROFS" },
    Tool { program: "strace", package: "strace", without: "fault injection" },
    Tool { program: "clang", package: "clang", without: "the check of the eBPF object" },
    Tool { program: "pigz", package: "pigz", without: "a pipe with pigz" },
    Tool { program: "zstd", package: "zstd", without: "a pipe with zstd" },
    Tool { program: "lz4", package: "lz4", without: "a pipe with lz4" },
    Tool { program: "xz", package: "xz-utils", without: "a pipe with xz" },
    Tool { program: "bsdtar", package: "libarchive-tools", without: "a pipe with bsdtar" },
    Tool { program: "pv", package: "pv", without: "a pipe with pv" },
    Tool { program: "mbuffer", package: "mbuffer", without: "a pipe with mbuffer" },
    Tool { program: "b3sum", package: "b3sum", without: "comparisons with b3sum" },
    Tool { program: "xxhsum", package: "xxhash", without: "comparisons with xxhsum" },
    Tool { program: "rsync", package: "rsync", without: "comparisons with rsync" },
    Tool { program: "zsh", package: "zsh", without: "completions in zsh" },
    Tool { program: "fish", package: "fish", without: "completions in fish" },
    Tool { program: "mandoc", package: "mandoc", without: "the check of the manual pages" },
    Tool { program: "mpirun", package: "openmpi-bin", without: "jobs of haul-mpi" },
    Tool { program: "ip", package: "iproute2", without: "jobs of haul-mpi on several hosts" },
    Tool { program: "hostname", package: "hostname", without: "jobs of haul-mpi on several hosts" },
    Tool { program: "mpicc", package: "libopenmpi-dev", without: "the build of haul-mpi" },
    Tool { program: "cc", package: "gcc", without: "programs in C with libhaul" },
    Tool { program: "readelf", package: "binutils", without: "the wheel for Python" },
    Tool { program: "pkg-config", package: "pkgconf", without: "a program's use of libhaul" },
    Tool { program: "valgrind", package: "valgrind", without: "the memory of libhaul" },
    Tool {
        program: "python3",
        package: "python3",
        without: "GNU's suite and some helpers of tests",
    },
];

/// Programs that only some releases of Debian have a package of.
const RECENT: [&str; 2] = ["b3sum", "xxhash"];

/// Installs what is missing, as root; returns one entry for each thing that goes untested.
pub(crate) fn provide() -> Result<Vec<Untested>> {
    let missing = || TOOLS.iter().filter(|tool| which(tool.program).is_none());
    let packages: Vec<_> = missing().map(|tool| tool.package).collect();
    let outcome = match install(&packages) {
        // A package that cannot be installed does not prevent the installation of the others.
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
    Ok(missing().map(|tool| untested(tool, &cause, is_packaged)).collect())
}

fn untested(tool: &Tool, cause: &str, is_packaged: fn(&str) -> bool) -> Untested {
    let Tool { program, package, without } = tool;
    if RECENT.contains(package) && !is_packaged(package) {
        let cause = format!("no package source of this machine has {package}");
        return Untested::NoPackage(format!("{without}: {program} is missing, {cause}"));
    }
    Untested::Packaged(format!("{without}: {program} is missing, {cause}"))
}

/// Whether one of apt's sources has the package.
fn is_packaged(package: &str) -> bool {
    output(command("apt-cache").args(["show", package])).is_ok()
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
    // The package lists may be missing or old, as in a new container; usually they are not.
    if apt(&install)? || (apt(&["update"])? && apt(&install)?) {
        return Ok(());
    }
    Err(Error::new(format!("apt-get cannot install {}", packages.join(" "))).hint(wish))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_recent_program_without_a_package_is_excused() {
        let of = |program| TOOLS.iter().find(|tool| tool.program == program).unwrap();
        let line = "comparisons with b3sum: b3sum is missing, ";
        assert_eq!(
            untested(of("b3sum"), "why", |_| false),
            Untested::NoPackage(format!("{line}no package source of this machine has b3sum"))
        );
        assert_eq!(
            untested(of("b3sum"), "why", |_| true),
            Untested::Packaged(format!("{line}why"))
        );
        for tool in TOOLS.iter().filter(|tool| !RECENT.contains(&tool.package)) {
            assert!(matches!(untested(tool, "why", |_| false), Untested::Packaged(_)));
        }
    }
}
