//! Whether standard output is for something else than what is shown.

use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};

use haul_sys::fs::fstat;

use super::settings::Settings;
use super::task::Mode;

/// The device number of `/dev/null`, 1:3, as makedev(3) writes it; see null(4).
pub(super) const NULL: u64 = 0x103;

impl Settings {
    /// Returns whether an archive is written to standard output, under whatever name, or files are.
    pub(super) fn takes_output(&self) -> bool {
        match self.mode {
            Mode::Extract => self.extraction.to_stdout,
            Mode::Create | Mode::Append if !self.own.is_dry => {
                self.file.as_encoded_bytes() == b"-" || self.is_output().unwrap_or(false)
            }
            Mode::Create | Mode::Append | Mode::List | Mode::Compare => false,
        }
    }

    /// Returns whether the name of the archive leads to what standard output is, as `/dev/stdout` does.
    fn is_output(&self) -> io::Result<bool> {
        let named = std::fs::metadata(&self.file)?;
        let output = fstat(io::stdout()).map_err(|error| io::Error::from(error.errno))?;
        if named.file_type().is_char_device() {
            // One device may have several names. What is written to that of nothing disturbs nothing.
            return Ok(named.rdev() == output.rdev && output.rdev != NULL);
        }
        Ok((named.dev(), named.ino()) == (output.dev, output.ino))
    }
}
