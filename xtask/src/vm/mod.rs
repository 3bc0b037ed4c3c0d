//! `cargo xtask vm`: haul beside GNU's tools on other kernels and file systems, in machines of QEMU.
//!
//! The tests of this repository run on one kernel. A stock kernel of a Debian release boots here without
//! hardware support, with this machine's own root as its root (9p, read-only, under an overlay in memory), so
//! that haul, GNU's tools and the servers are all there without an image. The machine runs this
//! program again (`guest`), which sends a line for each check over a second serial port.

mod cli;
mod cpio;
mod expected;
mod extent;
mod file_systems;
mod guest;
mod initramfs;
mod kernels;
mod laboratory;
mod lock;
mod machine;
mod needs;
mod outcome;
mod page;
mod spent;

pub(crate) use cli::main;
pub(crate) use guest::main as guest;
