//! The kernel fields that the eBPF program reads, and the features that the available ones allow.

use super::btf::Btf;

/// Structure and field, in the order of `enum offset` in `bpf/kernel.h`.
pub(super) const FIELDS: [(&str, &str); 30] = [
    ("task_struct", "pid"),
    ("task_struct", "tgid"),
    ("task_struct", "min_flt"),
    ("task_struct", "maj_flt"),
    ("task_struct", "se.sum_exec_runtime"),
    ("task_struct", "pending.signal"),
    ("task_struct", "signal"),
    ("signal_struct", "live"),
    ("signal_struct", "group_exit_code"),
    ("io_kiocb", "opcode"),
    ("task_struct", "files"),
    ("task_struct", "fs"),
    ("files_struct", "fdt"),
    ("fdtable", "max_fds"),
    ("fdtable", "fd"),
    ("file", "f_path"),
    ("fs_struct", "pwd"),
    ("path", "mnt"),
    ("path", "dentry"),
    ("dentry", "d_name.name"),
    ("dentry", "d_parent"),
    ("dentry", "d_inode"),
    ("inode", "i_ino"),
    ("inode", "i_mode"),
    ("inode", "i_sb"),
    ("super_block", "s_dev"),
    ("vfsmount", "mnt_root"),
    ("mount", "mnt"),
    ("mount", "mnt_parent"),
    ("mount", "mnt_mountpoint"),
];

/// The fields for following threads to their children: all are required.
const NEEDED: std::ops::Range<usize> = 0..2;
const USAGE: std::ops::Range<usize> = 2..5;
const KILLED: std::ops::Range<usize> = 5..9;
const OPCODE: std::ops::Range<usize> = 9..10;
const FILES: std::ops::Range<usize> = 10..30;

/// Bits of `enum feature` in `bpf/kernel.h`.
pub(super) const FEATURE_FILES: u32 = 1;
const FEATURE_USAGE: u32 = 2;
const FEATURE_KILLED: u32 = 4;
const FEATURE_CQE_POINTER: u32 = 8;
pub(super) const FEATURE_OPCODE: u32 = 16;

/// The field offsets of the running kernel, and the resulting features.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) offsets: [u32; FIELDS.len()],
    pub(super) features: u32,
}

/// The tracepoint whose arguments show how completions are passed.
const COMPLETION: &str = "io_uring_complete";

/// Parses the kernel's BTF for [`layout`].
pub(super) fn parse(bytes: &[u8]) -> Option<Btf<'_>> {
    let mut wanted: Vec<&str> = FIELDS.iter().map(|(structure, _)| *structure).collect();
    wanted.dedup();
    wanted.push("btf_trace_io_uring_complete");
    Btf::parse(bytes, &wanted)
}

/// Looks up the fields; the error is text for the user.
pub(super) fn layout(btf: &Btf<'_>) -> Result<Layout, String> {
    let found = FIELDS.map(|(structure, field)| btf.offset(structure, field));
    let all = |range: std::ops::Range<usize>| {
        found.get(range).is_some_and(|fields| fields.iter().all(Option::is_some))
    };
    if !all(NEEDED) {
        return Err("the kernel's type information (BTF) does not describe its tasks".into());
    }
    let mut features = 0;
    for (range, feature) in [
        (FILES, FEATURE_FILES),
        (USAGE, FEATURE_USAGE),
        (KILLED, FEATURE_KILLED),
        (OPCODE, FEATURE_OPCODE),
    ] {
        if all(range) {
            features |= feature;
        }
    }
    // Since Linux 6.10 the tracepoint passes the completion by address; before, by its parts.
    if btf.tracepoint_argument(COMPLETION, 2) == Some(b"io_uring_cqe") {
        features |= FEATURE_CQE_POINTER;
    }
    Ok(Layout { offsets: found.map(Option::unwrap_or_default), features })
}

/// Offsets in `struct pt_regs` of the six arguments of a call; eight words, for the mask in the
/// program.
#[cfg(target_arch = "x86_64")]
pub(super) const ARGUMENTS: [u32; 8] = [112, 104, 96, 56, 72, 64, 0, 0];
/// Offset of the number of the call, which the call does not overwrite.
#[cfg(target_arch = "x86_64")]
pub(super) const CALL_NUMBER: u32 = 120;

/// As above: `regs[0..6]`, of which the first is overwritten by the result only at the very end.
#[cfg(target_arch = "aarch64")]
pub(super) const ARGUMENTS: [u32; 8] = [0, 8, 16, 24, 32, 40, 0, 0];
/// As above: `syscallno`.
#[cfg(target_arch = "aarch64")]
pub(super) const CALL_NUMBER: u32 = 280;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_lists_as_many_fields() {
        let header = include_str!("../../bpf/kernel.h");
        let list = header.split("enum offset {").nth(1).unwrap().split("OFFSET_COUNT").next();
        assert_eq!(list.unwrap().matches(',').count(), FIELDS.len());
    }

    #[test]
    fn this_kernel_has_every_field() {
        let Ok(bytes) = std::fs::read("/sys/kernel/btf/vmlinux") else {
            eprintln!("ignored: this kernel has no BTF");
            return;
        };
        let layout = layout(&parse(&bytes).unwrap()).unwrap();
        for feature in [FEATURE_FILES, FEATURE_USAGE, FEATURE_KILLED, FEATURE_OPCODE] {
            assert_eq!(layout.features & feature, feature);
        }
    }
}
