//! `tar -r`: adds members at the end of an archive in a regular file.

use std::fs::File;
use std::io::{self, BufWriter};
use std::os::fd::OwnedFd;
use std::process::ExitCode;
use std::sync::Arc;

use haul_archive::filter::{MAGIC_BYTES, of_magic};
use haul_archive::format::{
    BLOCK_BYTES, Layout, Member, Next, ReadError, Reader, WriteFormat, Zeros,
};
use haul_archive::source::FileSource;
use haul_io::fully::read_fully;
use haul_sys::fs::{Kind, fstat};
use haul_sys::process::hear_stop;

use super::appending::{Appending, BUFFER_BYTES, END_BYTES};
use super::create::{Output, operands, write};
use super::quoting::named;
use super::session::Session;
use super::settings::Settings;
use super::target::Target;
use super::unfinished::die_if_asked;
use crate::file_error::describe;

/// Adds members to an archive.
pub(super) fn append(session: &Arc<Session>, settings: &Settings) -> ExitCode {
    let archive = settings.file.as_encoded_bytes();
    if archive == b"-" {
        return session.fatal("-r needs the name of a file; standard output cannot be appended to");
    }
    let operands = match operands(session, settings) {
        Ok(operands) => operands,
        Err(text) => return session.fatal(&text),
    };
    match open(settings) {
        Ok(mut output) => {
            output.stop = Some(hear_stop());
            let ended = write(session, settings, operands, output);
            // Once the old archive is restored, or the new one complete.
            die_if_asked();
            ended
        }
        Err(Refused::Call(error)) => {
            session.fatal(&format!("{}: Cannot open: {}", named(archive), describe(&error)))
        }
        Err(Refused::Read(error)) => session.unreadable(archive, &error),
        Err(Refused::Archive(text)) => session.fatal(&format!("{}: {text}", named(archive))),
        Err(Refused::Compressed) => session.fatal("Cannot update compressed archives"),
    }
}

/// Why nothing can be appended.
enum Refused {
    Call(io::Error),
    Read(ReadError),
    Archive(String),
    Compressed,
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Refused {
        Refused::Call(error)
    }
}

impl From<haul_sys::CallError> for Refused {
    fn from(error: haul_sys::CallError) -> Refused {
        Refused::Call(error.errno.into())
    }
}

/// Opens an archive, or makes an empty one, and finds its end.
fn open(settings: &Settings) -> Result<Output, Refused> {
    let file =
        File::options().read(true).write(true).create(true).truncate(false).open(&settings.file)?;
    let stat = fstat(&file)?;
    if stat.kind() != Kind::Regular {
        return Err(Refused::Archive("haul appends to regular files only".to_owned()));
    }
    let mut begin = [0; MAGIC_BYTES];
    let count = read_fully(&file, &mut begin, 0)?;
    if of_magic(&begin[..count]).is_some() {
        return Err(Refused::Compressed);
    }
    let (start, format) = end(&file, stat.size, settings.zeros)?;
    let identity = vec![(stat.dev, stat.ino)];
    let opened = Arc::new(OwnedFd::from(file.try_clone()?));
    let appending = Appending::new(file, start, stat.size);
    let target = Target::Appended(BufWriter::with_capacity(BUFFER_BYTES, appending));
    Ok(Output {
        target,
        identity,
        start,
        format,
        borders: None,
        unpublished: None,
        unfinished: None,
        file: Some(opened),
        stop: None,
    })
}

/// Returns where the archive ends, and the format of its last member.
fn end(file: &File, bytes: u64, zeros: Zeros) -> Result<(u64, Option<WriteFormat>), Refused> {
    let source = FileSource::new(Arc::new(OwnedFd::from(file.try_clone()?)), 0, bytes);
    let mut reader = Reader::new(source, zeros);
    let mut format = None;
    let mut behind_last = 0;
    loop {
        match reader.advance().map_err(Refused::Read)? {
            Next::Member(member) => {
                format = Some(format_of(&member));
                reader.finish_member().map_err(Refused::Read)?;
                behind_last = reader.offset();
            }
            Next::UnknownKeyword(_) | Next::Flawed(..) | Next::LoneZero(_) => {}
            Next::End | Next::Lost => break,
            Next::Refused(name, refusal) => {
                return Err(Refused::Archive(format!("{}: refused: {refusal}", named(&name))));
            }
            Next::Invalid | Next::TooShort | Next::NoZeros => {
                return Err(Refused::Archive("This does not look like a tar archive".to_owned()));
            }
        }
    }
    let end = first_zeros(file, behind_last, reader.end().offset)?;
    let mut piece = vec![0; BUFFER_BYTES];
    let mut at = end;
    while at < bytes {
        let count = read_fully(file, &mut piece, at)?;
        let found = &piece[..count];
        if count == 0 || found.iter().any(|byte| *byte != 0) {
            return Err(Refused::Archive(format!(
                "there are data behind the end of the archive at byte {end}, as a killed -r leaves them; \
                 they would be lost. 'truncate -s {}' with the archive's name removes them",
                end + END_BYTES as u64
            )));
        }
        at += count as u64;
    }
    Ok((end, format))
}

/// Returns where the blocks of zeros begin that end at `end`. A reader that skips zeros (`--ignore-zeros`)
/// does not stop at the first one, and behind it other readers would not see new members.
fn first_zeros(file: &File, behind_last: u64, end: u64) -> Result<u64, Refused> {
    let mut at = end;
    let mut block = [0; BLOCK_BYTES];
    while let Some(before) = at.checked_sub(BLOCK_BYTES as u64).filter(|at| *at >= behind_last) {
        read_fully(file, &mut block, before)?;
        if block.iter().any(|byte| *byte != 0) {
            break;
        }
        at = before;
    }
    Ok(at)
}

const fn format_of(member: &Member) -> WriteFormat {
    match member.layout {
        Layout::V7 => WriteFormat::V7,
        Layout::Gnu => WriteFormat::Gnu,
        Layout::OldGnu => WriteFormat::OldGnu,
        Layout::Ustar if member.is_extended => WriteFormat::Posix,
        Layout::Ustar => WriteFormat::Ustar,
    }
}
