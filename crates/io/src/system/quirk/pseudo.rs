//! File systems whose files are made up as they are read: the size is 0 (`/proc`) or a page
//! (`/sys`), `copy_file_range` returns 0 for them since Linux 5.3 and splicing may cut them short.

use super::{Chattr, LOCAL, Quirk, ReportedSize};

pub(super) static PROC: Quirk = Quirk { name: "proc", magic: &[0x9fa0], ..MADE_UP };

pub(super) static SYSFS: Quirk = Quirk { name: "sysfs", magic: &[0x6265_6572], ..MADE_UP };

/// cgroup, cgroup2, debugfs, tracefs, securityfs, selinuxfs, configfs, efivarfs, bpf.
pub(super) static OTHERS: Quirk = Quirk {
    name: "kernel files",
    magic: &[
        0x0027_e0eb,
        0x6367_7270,
        0x6462_6720,
        0x7472_6163,
        0x7363_6673,
        0xf97c_ff8c,
        0x6265_6570,
        0xde5e_81e4,
        0xcafe_4a11,
    ],
    ..MADE_UP
};

const MADE_UP: Quirk =
    Quirk { reported_size: ReportedSize::Guessed, chattr: Chattr::Nothing, ..LOCAL };
