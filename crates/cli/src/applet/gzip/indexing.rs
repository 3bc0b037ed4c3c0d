//! Opens the index that `--index` names, to be used or to be written, and completes it at the end.

use std::fs::File;
use std::io::BufReader;
use std::os::unix::ffi::OsStrExt as _;

use haul_codec::{IndexError, IndexPoints, Summary, read_index};
use haul_io::stream::{AtomicFile, Durable, Onto};
use haul_sys::fs::{Follow, Kind, Stat, duplicate, fchmod, fstat};
use haul_sys::process::umask;
use haul_sys::{Errno, errno_text};

use super::file::{Files, Step};
use super::identity::of_file;
use super::index::{Index, Known, Positioned, Writing, text};
use super::input::{Named, Opened};
use super::messages::Said;
use super::settings::Task;

impl Files<'_> {
    /// Opens the index of a run, if there is to be one: for an input, or for standard input.
    pub(super) fn open_index(
        &self,
        opened: &Opened,
        named: Option<&Named>,
        said: &mut Said,
    ) -> Step<()> {
        let settings = self.settings();
        let Some(path) = &settings.index else { return Ok(()) };
        let shown = path.as_bytes().to_vec();
        let fail = |text: &str, said: &mut Said| {
            said.error(&shown, &format!(": {text}"));
            Err(())
        };
        if settings.decompresses() && (named.is_none() || opened.size().is_none()) {
            return fail("an index is for a regular file that is named, not for a stream", said);
        }
        let place = match Named::operand(path) {
            Ok(place) => place,
            Err(error) => return fail(&error.text(), said),
        };
        let existing = match place.open(Follow::Yes) {
            Ok(existing) => Some(existing),
            Err(error) if error.errno == Errno::NOENT => None,
            Err(error) => return fail(&error.text(), said),
        };
        let is_used = settings.decompresses() && existing.is_some();
        let index = match &existing {
            Some(index) if index.stat.same_file(&opened.stat) => {
                Err("this is the input itself, not its index".to_owned())
            }
            Some(index) if index.stat.kind() != Kind::Regular => {
                Err("is not a regular file".to_owned())
            }
            Some(index) if is_used => known(index, opened, &shown).map(Box::new).map(Index::Use),
            _ => self.begin_index(&place, existing.as_ref(), (opened, named)),
        };
        match index {
            Ok(index) => {
                *self.index.borrow_mut() = index;
                Ok(())
            }
            Err(text) => fail(&text, said),
        }
    }

    fn begin_index(
        &self,
        place: &Named,
        existing: Option<&Opened>,
        (opened, named): (&Opened, Option<&Named>),
    ) -> Result<Index, String> {
        let onto = match existing {
            None => Onto::Free,
            // Nothing but an index gives way to one.
            Some(index) if !is_index(index) => {
                return Err("not an index of a gzip file; not overwritten".to_owned());
            }
            Some(_) if self.settings().force == 0 => {
                return Err("the index exists; use -f to replace it".to_owned());
            }
            Some(_) => Onto::Taken,
        };
        let begin = || {
            let directory = duplicate(&*place.directory)?;
            let file = AtomicFile::begin_closed(directory, place.name.clone())?;
            let mode = match named {
                Some(_) => mode(&opened.stat, &fstat(&**file.file())?),
                None => 0o666 & !umask(),
            };
            fchmod(&**file.file(), mode)?;
            let written = File::from(duplicate(&**file.file())?);
            Ok((file, written))
        };
        let (file, written) = begin().map_err(|error: haul_sys::CallError| error.text())?;
        let size = opened.size().filter(|_| self.settings().decompresses());
        let writing = Writing::begin((file, written), onto, &place.shown, size);
        writing.map(|writing| Index::Write(Box::new(writing))).map_err(|error| text(&error))
    }

    /// Refuses an output with the name of the index.
    pub(super) fn is_index_name(&self, output: &Named) -> bool {
        let Some(path) = &self.settings().index else { return false };
        let Ok(place) = Named::operand(path) else { return false };
        let directories = (fstat(&*place.directory), fstat(&*output.directory));
        let (Ok(one), Ok(other)) = directories else { return false };
        place.name == output.name && one.same_file(&other)
    }

    /// Completes the index when the data are verified: gives a new one its name, and compares what a
    /// known one says.
    pub(super) fn end_index(&self, summary: &Summary, said: &mut Said) {
        let mut index = std::mem::take(&mut *self.index.borrow_mut());
        index.take_points();
        match index {
            Index::Unwanted => {}
            Index::Use(known) => {
                let facts = &known.facts;
                let agrees = facts.original_bytes == summary.bytes_out
                    && (facts.members, facts.last_bytes) == (summary.members, summary.last_bytes)
                    && Some(facts.last_check) == summary.check;
                if !agrees && self.settings().task != Task::List {
                    let text = ": the index is wrong, the data are not; remove it";
                    said.warn(self.settings(), &known.shown, text);
                }
            }
            Index::Write(writing) => {
                let durable = self.settings().synchronous.is_on();
                let durable = if durable { Durable::Yes } else { Durable::No };
                let shown = writing.shown().to_vec();
                if let Err(text) = writing.publish(summary, durable) {
                    said.error(&shown, &format!(": {text}"));
                }
            }
        }
    }
}

/// Returns the mode of an index, which contains parts of the data: only those may read it who may read
/// the input.
fn mode(input: &Stat, index: &Stat) -> u32 {
    if (input.uid, input.gid) == (index.uid, index.gid) {
        0o600 | input.permissions() & 0o666
    } else {
        0o600
    }
}

fn is_index(index: &Opened) -> bool {
    let file = duplicate(&**index.file()).map(File::from);
    let head = file.map(|file| IndexPoints::new(Positioned::new(file)).is_index());
    head.unwrap_or(false)
}

/// Reads an index and compares it with the compressed file.
fn known(index: &Opened, opened: &Opened, shown: &[u8]) -> Result<Known, String> {
    const WAY_OUT: &str = "remove it, or leave --index away";
    let size = opened.size().ok_or_else(|| errno_text(Errno::INVAL))?;
    let file = duplicate(&**index.file()).map_err(|error| error.text())?;
    let copy = duplicate(&file).map(File::from).map_err(|error| error.text())?;
    let facts = read_index(BufReader::new(Positioned::new(copy)));
    let facts = facts.map_err(|error| match error {
        IndexError::Input(error) => text(&error),
        error => format!("{error}; {WAY_OUT}"),
    })?;
    let (identity, last) = of_file(opened.file(), size).map_err(|error| error.text())?;
    if facts.archive_bytes != size || facts.identity != identity {
        return Err(format!("the index is of another or an older file; {WAY_OUT}"));
    }
    Ok(Known { file, shown: shown.to_vec(), facts, last })
}
