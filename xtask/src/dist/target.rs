//! The machines that packages are made for.

use crate::error::{Error, Result};

/// One kind of machine, with its names in the worlds of Rust, Debian and RPM.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) triple: &'static str,
    /// Name of the architecture in the tarball's name, and in RPM's.
    pub(super) machine: &'static str,
    pub(super) deb: &'static str,
    /// Compiler of the C libraries.
    pub(super) compiler: &'static str,
    /// Debian package of the compiler.
    pub(super) package: &'static str,
    /// Program that runs the binary on a machine of another kind.
    pub(super) emulator: &'static str,
    /// Who makes the static program one that the kernel can load at any address.
    pub(super) pie: Pie,
}

/// What links a static program that is independent of its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pie {
    /// rustc, for targets that it knows this of.
    Compiler,
    /// A script in place of the linker: see `linker.rs`.
    Script,
}

pub(super) const TARGETS: [Target; 2] = [
    Target {
        triple: "x86_64-unknown-linux-musl",
        machine: "x86_64",
        deb: "amd64",
        compiler: "musl-gcc",
        package: "musl-tools",
        emulator: "qemu-x86_64-static",
        pie: Pie::Compiler,
    },
    Target {
        triple: "aarch64-unknown-linux-musl",
        machine: "aarch64",
        deb: "arm64",
        compiler: "aarch64-linux-gnu-gcc",
        package: "gcc-aarch64-linux-gnu",
        emulator: "qemu-aarch64-static",
        pie: Pie::Script,
    },
];

impl Target {
    /// Finds a target by its triple or its machine.
    pub(super) fn named(name: &str) -> Result<&'static Target> {
        TARGETS.iter().find(|target| target.triple == name || target.machine == name).ok_or_else(
            || {
                let names: Vec<_> = TARGETS.iter().map(|target| target.machine).collect();
                Error::new(format!("there is no target {name:?}"))
                    .hint(format!("the targets are {}", names.join(" and ")))
            },
        )
    }

    /// Whether this machine runs the target's programs by itself.
    pub(super) fn is_here(&self) -> bool {
        self.machine == std::env::consts::ARCH
    }
}
