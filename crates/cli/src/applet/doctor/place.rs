//! What the file system of a path offers.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;

use haul_io::Device;
use haul_io::quirk::DirectIo;
use haul_sys::data::{
    Allocate, copy_file_range, fallocate, ficlone, pread_uncached, pwrite_uncached,
};
use haul_sys::fs::{DirectAlign, FileSystem, direct_align, fstatfs, is_rotational};
use haul_sys::{Call, CallError, Errno};

use super::finding::Finding;
use super::scratch;
use super::usage::{self, Usage};
use crate::file_error::describe;
use crate::sizes;

/// Bytes of the files on which single calls are tried: a multiple of every block size.
const TRIED_BYTES: usize = 64 << 10;

/// A path and what its file system offers.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) path: OsString,
    pub(super) device: Device,
    pub(super) system: FileSystem,
    pub(super) is_rotational: bool,
    pub(super) findings: Vec<Finding>,
    pub(super) usage: Usage,
}

impl Place {
    /// Returns the name of the file system, as far as haul knows it.
    pub(super) fn name(&self) -> &'static str {
        self.device.quirk.name
    }

    /// Returns whether requests go to a server.
    pub(super) fn is_remote(&self) -> bool {
        self.device.quirk.is_remote()
    }
}

/// Examines the file system of a path; fails with a text if the path cannot be opened.
pub(super) fn examine(path: &OsStr) -> Result<Place, String> {
    let looked = std::fs::metadata(path).map_err(|error| describe(&error))?;
    let directory: &Path = if looked.is_dir() { Path::new(path) } else { parent(Path::new(path)) };
    let directory: OwnedFd = File::open(directory).map_err(|error| describe(&error))?.into();
    let device = Device::of(&directory).map_err(|error| error.to_string())?;
    let system = fstatfs(&directory).map_err(|error| error.to_string())?;
    let findings = match scratch::filled(&directory, TRIED_BYTES) {
        Ok(source) => tried(&directory, &source, device),
        Err(why) => untried(&why),
    };
    Ok(Place {
        path: path.to_owned(),
        device,
        system,
        is_rotational: is_rotational(device.dev),
        findings,
        usage: usage::of(&directory, device, Path::new(path)),
    })
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// What each finding is called, and what haul does with it and without it.
const TRIED: [(&str, &str, &str); 6] = [
    (
        "unnamed-files",
        "--atomic files and those of 'mv' have no name until they are complete",
        "files have a hidden name until they are complete",
    ),
    (
        "direct-io",
        "--cache=direct, and large reads and writes of 'haul read' and 'haul write'",
        "--cache=direct reads and writes through the page cache, with a warning",
    ),
    (
        "reflink",
        "a copy within this file system shares blocks",
        "a copy within this file system moves bytes",
    ),
    (
        "copy-file-range",
        "servers may copy by themselves; local copies use other calls",
        "other calls move the bytes",
    ),
    (
        "uncached-io",
        "--cache=drop leaves no pages behind while it copies",
        "--cache=drop removes pages after they were written",
    ),
    ("preallocation", "streams reserve space ahead", "streams reserve no space ahead"),
];

fn tried(directory: &OwnedFd, source: &OwnedFd, device: Device) -> Vec<Finding> {
    let target = || scratch::in_directory(directory);
    let found = [
        Finding::present("unnamed-files", "O_TMPFILE"),
        direct(source, device),
        Finding::of("reflink", target().and_then(|to| ficlone(source, &to)), |()| {
            "FICLONE".to_owned()
        }),
        Finding::of(
            "copy-file-range",
            target().and_then(|to| copy_file_range(source, 0, &to, 0, TRIED_BYTES)),
            |bytes| format!("{} in one call", sizes::bytes(bytes as u64)),
        ),
        Finding::of("uncached-io", target().and_then(|to| uncached(source, &to)), |()| {
            "RWF_DONTCACHE".to_owned()
        }),
        Finding::of(
            "preallocation",
            target().and_then(|to| fallocate(&to, 0, TRIED_BYTES as u64, Allocate::KeepSize)),
            |()| "fallocate".to_owned(),
        ),
    ];
    found
        .into_iter()
        .zip(TRIED)
        .map(|(finding, (_, with, without))| finding.means(with, without))
        .collect()
}

/// Without a file to try things on, nothing is claimed.
fn untried(why: &str) -> Vec<Finding> {
    let mut findings: Vec<Finding> = TRIED
        .iter()
        .map(|(name, ..)| {
            Finding::unknown(name, "no file without a name can be made here to try it")
        })
        .collect();
    if let Some(first) = findings.first_mut() {
        let (_, with, without) = TRIED[0];
        *first = Finding::missing("unnamed-files", why).means(with, without);
    }
    findings
}

fn direct(file: &OwnedFd, device: Device) -> Finding {
    if device.quirk.direct_io == DirectIo::Pretended {
        return Finding::missing(
            "direct-io",
            "accepted by the file system, which has only the page cache",
        );
    }
    match direct_align(file.as_fd()) {
        Ok(DirectAlign::Bytes { memory, offset }) => Finding::present(
            "direct-io",
            format!("offsets in multiples of {offset} bytes, memory of {memory}"),
        ),
        Ok(DirectAlign::Refused) => Finding::missing("direct-io", "the file system refuses it"),
        Ok(DirectAlign::Unknown) => {
            // The kernel or the file system does not tell, so that only trying remains.
            let answer = haul_sys::data::set_way(file, haul_sys::data::Way::Direct);
            Finding::of("direct-io", answer, |()| "alignment is not reported".to_owned())
        }
        Err(error) => Finding::unknown("direct-io", error.to_string()),
    }
}

fn uncached(source: &OwnedFd, target: &OwnedFd) -> haul_sys::Result<()> {
    let mut buffer = [0_u8; 4096];
    let filled = pread_uncached(source, &mut buffer, 0)?;
    let bytes = buffer.get(..filled).filter(|bytes| !bytes.is_empty());
    let bytes = bytes.ok_or(CallError::new(Call::Preadv2, Errno::IO))?;
    pwrite_uncached(target, bytes, 0).map(|_| ())
}
