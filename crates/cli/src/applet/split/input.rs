//! What split reads: a file or stream in order, or a file of known size.
//!
//! Cutting into a number of chunks wants the size. What has none is kept first, in a file without a name.
//! A description of a file is believed only as far as reading at the end that it tells finds nothing more:
//! files that are made up as they are read have bytes and a size of 0, and a server may tell an old size.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use haul_io::DataPolicy;
use haul_io::fully::write_whole;
use haul_io::new_file::{CLOSED_MODE, NewFile};
use haul_io::quirk::{self, ReportedSize};
use haul_io::retry::{again, when_ready};
use haul_io::split::Source;
use haul_io::trail::SourceTrail;
use haul_sys::data::{Advice, fadvise, pread, read, seek_set, seek_tell};
use haul_sys::fs::{Access, CWD, Follow, Kind, Stat, fstat, fstatfs, open_directory};
use haul_sys::process::Ready;
use haul_sys::{CallError, Errno};

use super::output::Fatal;
use crate::escape::{quote, quote_if_needed};
use crate::file_error::describe;

/// Bytes of one read, by default.
pub(super) const BUFFER_BYTES: usize = 256 << 10;

/// The file that is split.
pub(super) struct Input {
    pub(super) name: Vec<u8>,
    fd: OwnedFd,
    pub(super) stat: Stat,
}

/// A file of known size: what is to be split begins at `base`.
pub(super) struct Sized {
    fd: OwnedFd,
    pub(super) base: u64,
    pub(super) bytes: u64,
    /// What it was when it was opened; `None` of a file that was made for what came through a pipe.
    stat: Option<Stat>,
}

/// Where a file ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileEnd {
    /// This many bytes behind the base.
    At(u64),
    /// Bytes follow the end that the description tells: only reading shows how many.
    Unknown,
}

/// How often the description of a file that grows is asked for, until its last answer is the end.
const END_TRIES: u32 = 3;

impl Sized {
    /// Finds the end, which moves while another process writes the file. A failure of the description or of
    /// reading is one of the input, never an end.
    pub(super) fn find_end(&self) -> Result<FileEnd, CallError> {
        let mut end = self.described_end()?;
        for _ in 0..END_TRIES {
            if again(|| pread(&self.fd, &mut [0], self.base + end))? == 0 {
                return Ok(FileEnd::At(end));
            }
            let before = std::mem::replace(&mut end, self.described_end()?);
            if end <= before {
                return Ok(FileEnd::Unknown);
            }
        }
        // It grows: the rest came later.
        Ok(FileEnd::At(end))
    }

    /// Returns whether the file now ends before this many bytes behind the base.
    pub(super) fn has_shrunk(&self, bytes: u64) -> Result<bool, CallError> {
        Ok(self.described_end()? < bytes)
    }

    /// Returns where the file ends by its description.
    pub(super) fn described_end(&self) -> Result<u64, CallError> {
        Ok(fstat(&self.fd)?.size.saturating_sub(self.base))
    }

    /// Moves the descriptor, and each that shares its position, behind this many bytes.
    pub(super) fn move_to(&self, bytes: u64) -> Result<(), CallError> {
        seek_set(&self.fd, self.base + bytes).map(drop)
    }
}

impl Sized {
    /// Returns what keeps the pages of the file as a policy says. Makes no call that describes the file again.
    pub(super) fn trail(&self, policy: &DataPolicy) -> SourceTrail {
        self.stat.map_or_else(SourceTrail::default, |stat| {
            SourceTrail::described(self.as_fd(), &stat, policy)
        })
    }
}

impl AsFd for Sized {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Input {
    pub(super) fn open(name: &OsStr) -> Result<Input, Fatal> {
        let bytes = name.as_bytes();
        let opened = if bytes == b"-" {
            std::io::stdin().as_fd().try_clone_to_owned()
        } else {
            File::open(name).map(OwnedFd::from)
        };
        let fd = opened.map_err(|error| {
            let why = describe(&error);
            Fatal::new(format!("cannot open {} for reading: {why}", quote(bytes)))
        })?;
        // Refused on pipes, and then not needed.
        let _refused = fadvise(&fd, 0, 0, Advice::Sequential);
        let stat = fstat(&fd).map_err(|error| Fatal::of(bytes, &error.text()))?;
        Ok(Input { name: bytes.to_vec(), fd, stat })
    }

    pub(super) fn failed(&self, error: CallError) -> Fatal {
        Fatal::of(&self.name, &error.text())
    }

    /// Returns it as a file of known size if it is one.
    pub(super) fn sized(&self) -> Result<Option<Sized>, Fatal> {
        let honest = fstatfs(&self.fd).is_ok_and(|file_system| {
            quirk::of_magic(file_system.magic).reported_size != ReportedSize::Guessed
        });
        if self.stat.kind() != Kind::Regular || !honest {
            return Ok(None);
        }
        // Without a second descriptor, or a position, it is read in order.
        let Ok(fd) = self.fd.try_clone() else { return Ok(None) };
        // A descriptor that was read from before continues at its offset.
        let Ok(base) = seek_tell(&fd) else { return Ok(None) };
        let sized = Sized { fd, base, bytes: 0, stat: Some(self.stat) };
        Ok(match sized.find_end().map_err(|error| self.failed(error))? {
            FileEnd::At(bytes) => Some(Sized { bytes, ..sized }),
            FileEnd::Unknown => None,
        })
    }

    /// Returns it as a file of known size, and makes one if it is none.
    pub(super) fn into_sized(self) -> Result<Sized, Fatal> {
        if let Some(sized) = self.sized()? {
            return Ok(sized);
        }
        let undetermined = |error: CallError| {
            let name = quote_if_needed(&self.name);
            Fatal::new(format!("{name}: cannot determine file size: {}", error.text()))
        };
        let directory = std::env::var_os("TMPDIR").filter(|value| !value.is_empty());
        let directory = directory.unwrap_or_else(|| "/tmp".into());
        let directory = CString::new(directory.into_vec())
            .map_err(|_| undetermined(CallError::new(haul_sys::Call::Openat, Errno::INVAL)))?;
        let kept = open_directory(CWD, &directory, Follow::Yes)
            .and_then(|directory| open_without_name(&directory))
            .map_err(undetermined)?;
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut bytes = 0;
        loop {
            let filled = read_some(&self.fd, &mut buffer).map_err(undetermined)?;
            if filled == 0 {
                return Ok(Sized { fd: kept, base: 0, bytes, stat: None });
            }
            let filled = &buffer[..filled];
            write_whole(&kept, filled).map_err(undetermined)?;
            bytes += filled.len() as u64;
        }
    }

    /// Returns it as bytes in order, so many at once.
    pub(super) fn in_order(self, buffer_bytes: usize, policy: &DataPolicy) -> InOrder {
        let trail = SourceTrail::new(self.fd.as_fd(), policy);
        InOrder { trail, input: self, buffer: vec![0; buffer_bytes.max(1)] }
    }
}

/// Opens a file that no name leads to. Where the file system has none (NFS, FUSE, older overlayfs), it
/// is made under a hidden name, which is removed at once.
fn open_without_name(directory: &OwnedFd) -> Result<OwnedFd, CallError> {
    let new = NewFile::for_writing(directory.as_fd(), CLOSED_MODE);
    let made = NewFile { access: Access::ReadWrite, ..new }.make(|call| call())?;
    made.name.discard(directory.as_fd())?;
    Ok(made.file)
}

/// Bytes in order.
pub(super) struct InOrder {
    input: Input,
    trail: SourceTrail,
    buffer: Vec<u8>,
}

impl Source<Fatal> for InOrder {
    fn next(&mut self) -> Result<&[u8], Fatal> {
        match read_some(&self.input.fd, &mut self.buffer) {
            Ok(filled) => {
                let fd = self.input.fd.as_fd();
                match filled {
                    0 => self.trail.finish(fd),
                    _ => self.trail.after_read_here(fd, filled as u64),
                }
                Ok(&self.buffer[..filled])
            }
            Err(error) => Err(self.input.failed(error)),
        }
    }
}

/// Reads what is available; waits where another process has made the descriptor non-blocking.
fn read_some(fd: impl AsFd, buffer: &mut [u8]) -> Result<usize, CallError> {
    when_ready(&fd, Ready::ToRead, || read(&fd, buffer))
}

/// Writes to standard output; the message of an error is GNU's.
pub(super) fn print(bytes: &[u8]) -> Result<(), Fatal> {
    write_whole(std::io::stdout(), bytes)
        .map_err(|error| Fatal::new(format!("write error: {}", error.text())))
}
