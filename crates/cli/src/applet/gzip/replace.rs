//! The output file of one input: made without a name, given the attributes of the input, then its
//! name, and then the input is removed.

use std::os::fd::AsFd as _;

use haul_io::inherit::{GivenOtherwise, Lost, Predecessor, take_over, take_over_flags};
use haul_io::last_check::Stays;
use haul_io::stored::flush_dense;
use haul_io::stream::{AtomicFile, Durable, Onto, Place};
use haul_sys::fs::{
    Follow, Kind, Stat, Time, TimePair, duplicate, fstat, futimens, statat, statat_follow,
};
use haul_sys::{Errno, errno_text};

use super::file::{Created, Files, Step};
use super::input::{Named, Opened};
use super::messages::{PROGRAM, Said};
use super::names::{base, shortened};
use super::settings::Task;
use super::sink::Sink;
use super::stream::{Failed, stream_failed};
use crate::answer::is_yes;
use crate::escape::quote;
use crate::file_error::not_given_back;

impl Files<'_> {
    /// Makes the output file, without its name and with the flags of the input. Returns whether the name had to be
    /// shortened.
    pub(super) fn create(
        &self,
        (named, opened): (&Named, &Opened),
        output: Vec<u8>,
        said: &mut Said,
    ) -> Step<(Created, bool)> {
        let settings = self.settings();
        let (mut output, mut is_shortened) = (named.beside(output), false);
        let onto = loop {
            match statat(&*output.directory, &output.name) {
                Err(error) if error.errno == Errno::NOENT => break Onto::Free,
                Err(error) if error.errno == Errno::NAMETOOLONG => {
                    let shorter = if settings.task == Task::Compress {
                        shortened(&output.shown, &settings.suffix)
                    } else {
                        let length = output.shown.len().saturating_sub(1);
                        output.shown.get(..length).map(<[u8]>::to_vec)
                    };
                    let Some(shorter) = shorter.filter(|shorter| !base(shorter).is_empty()) else {
                        said.break_off(&output.shown, &format!(": {}", error.text()));
                        return Err(());
                    };
                    (output, is_shortened) = (named.beside(shorter), true);
                }
                Err(error) => {
                    said.break_off(&output.shown, &format!(": {}", error.text()));
                    return Err(());
                }
                Ok(stat) => {
                    self.may_replace(&output.shown, said)?;
                    if stat.kind() == Kind::Directory {
                        said.error(&output.shown, &format!(": {}", errno_text(Errno::ISDIR)));
                        return Err(());
                    }
                    break Onto::Taken;
                }
            }
        };
        if self.is_index_name(&output) {
            said.error(&output.shown, ": the output and the index cannot have the same name");
            return Err(());
        }
        // A header may name the file that it is in; the output would replace its own input.
        if output.name == named.name {
            said.error(&output.shown, ": its header has its own name; use -c, or leave out -N");
            return Err(());
        }
        let file = duplicate(&*output.directory)
            .and_then(|directory| AtomicFile::begin_closed(directory, output.name.clone()));
        match file {
            Ok(file) => {
                let (fd, input) = (file.file().as_fd(), opened.file().as_fd());
                take_over_flags(fd, output.directory.as_fd(), input, &mut |_, errno| {
                    self.lost_attribute(&output.shown, errno, said);
                });
                Ok((Created { file, named: output, onto }, is_shortened))
            }
            Err(error) => {
                said.break_off(&output.shown, &format!(": {}", error.text()));
                Err(())
            }
        }
    }

    fn lost_attribute(&self, shown: &[u8], errno: Errno, said: &mut Said) {
        if !self.settings().is_quiet() {
            let text = format!(": warning: an attribute was lost: {}", errno_text(errno));
            said.note(shown, &text);
        }
    }

    /// Asks whether an output may be replaced, where it is not certain.
    pub(super) fn may_replace(&self, shown: &[u8], said: &mut Said) -> Step<()> {
        if self.settings().force > 0 {
            return Ok(());
        }
        let mut question = format!("{PROGRAM}: ").into_bytes();
        question.extend_from_slice(shown);
        question.extend_from_slice(b" already exists;");
        said.raw(&question);
        let mut answer = false;
        if self.may_ask.is_on() {
            said.raw(b" do you wish to overwrite (y or n)? ");
            let text = std::mem::take(&mut said.text);
            // The progress line would be drawn over the question.
            answer = self.progress.aside(|| {
                self.output.flush();
                self.output.raw_error_bytes(&text);
                is_yes()
            });
        }
        if answer {
            return Ok(());
        }
        said.raw(b"\tnot overwritten\n");
        said.caution();
        Err(())
    }

    /// Runs a stream into the output file.
    pub(super) fn fill<T>(
        &self,
        created: &Created,
        named: &Named,
        said: &mut Said,
        stream: impl FnOnce(&mut Sink) -> Result<T, Failed>,
    ) -> Step<T> {
        let policy = &self.settings().policy;
        let run = || {
            let mut sink = Sink::file(created.file.file(), Place::Offsets, policy, self.means.stop)
                .map_err(|error| Failed::Output(error.text(), false))?;
            let answer = stream(&mut sink)?;
            sink.finish(Durable::No).map_err(stream_failed)?;
            Ok(answer)
        };
        run().map_err(|failed| self.failed((&named.shown, &created.named.shown), failed, said))
    }

    /// Gives the complete output its attributes and its name, and removes the input, of which so many bytes
    /// were read, if that is known.
    pub(super) fn replace(
        &self,
        (named, opened, read_bytes): (&Named, &Opened, Option<u64>),
        created: Created,
        stored: Option<Time>,
        said: &mut Said,
    ) -> Step<()> {
        let settings = self.settings();
        let shown = created.named.shown.clone();
        if let Err(errno) = self.attributes(named, opened, &created, stored, said) {
            said.error(&shown, &format!(": {}", errno_text(errno)));
            created.file.abandon();
            return Err(());
        }
        let durable = if settings.synchronous.is_on() { Durable::Yes } else { Durable::No };
        // A flush alone is no evidence, and the input is removed then.
        let stored = match durable {
            Durable::Yes => flush_dense(&**created.file.file()),
            Durable::No => Ok(()),
        };
        match stored.and_then(|()| created.file.publish_as(created.onto, durable)) {
            Ok(()) => {}
            Err(error) if error.errno == Errno::EXIST => {
                // Another process has taken the name meanwhile.
                let mut line = format!("{PROGRAM}: ").into_bytes();
                line.extend_from_slice(&shown);
                line.extend_from_slice(b" already exists;\tnot overwritten\n");
                said.raw(&line);
                said.caution();
                return Err(());
            }
            Err(error) => {
                said.break_off(&shown, &format!(": {}", error.text()));
                return Err(());
            }
        }
        if settings.keep.is_on() {
            return Ok(());
        }
        let removed =
            self.check_as_read(named, opened, read_bytes).and_then(|()| self.remove(named, opened));
        if let Err(text) = removed {
            said.warn(settings, &named.shown, &format!(": {text}"));
        }
        Ok(())
    }

    /// Removes an input, unless another file has its name by now. With -f it may be a link to the file that is
    /// removed.
    fn remove(&self, named: &Named, opened: &Opened) -> Result<(), String> {
        let follow = if self.settings().force > 0 { Follow::Yes } else { Follow::No };
        let place = (named.directory.as_fd(), &*named.name);
        self.last_names.remove_unchanged(place, &opened.stat, follow).map_err(|stays| match stays {
            Stays::Changed => errno_text(Errno::STALE),
            Stays::Beside(other) => {
                let why = not_given_back(other.why.errno);
                format!("it changed, and {why}; it is {}", quote(other.name.to_bytes()))
            }
            Stays::Failed(error) => error.text(),
        })
    }

    /// Fails with the reason why an input must stay: it has bytes that were not read, or was changed, or its name
    /// is another file's.
    fn check_as_read(
        &self,
        named: &Named,
        opened: &Opened,
        read_bytes: Option<u64>,
    ) -> Result<(), String> {
        let settings = self.settings();
        let zipping = if settings.task == Task::Compress { "zipping" } else { "unzipping" };
        if read_bytes.is_some_and(|bytes| bytes != opened.stat.size) {
            return Err(format!("file size changed while {zipping}; not removed"));
        }
        let open = fstat(&**opened.file()).map_err(|error| error.text())?;
        let mut now = statat(&*named.directory, &named.name).map_err(|error| error.text())?;
        if now.kind() == Kind::Symlink && settings.force > 0 {
            // With -f it is the link that is removed, and the file stays.
            now = statat_follow(&*named.directory, &named.name).map_err(|error| error.text())?;
        }
        if !now.same_file(&opened.stat) {
            return Err(errno_text(Errno::STALE));
        }
        if !is_as_read(&opened.stat, &open) || !is_as_read(&opened.stat, &now) {
            return Err(format!("file changed while {zipping}; not removed"));
        }
        Ok(())
    }

    /// Gives the output owner, attributes, lists, bits and times of the input.
    pub(super) fn attributes(
        &self,
        named: &Named,
        opened: &Opened,
        created: &Created,
        stored: Option<Time>,
        said: &mut Said,
    ) -> Result<(), Errno> {
        let settings = self.settings();
        let old = Predecessor {
            directory: named.directory.as_fd(),
            name: &named.name,
            seen: &opened.stat,
        };
        let file = created.file.file();
        let mut lost = Vec::new();
        let read = duplicate(&**opened.file());
        take_over(file.as_fd(), &old, read, GivenOtherwise::default(), &mut |what, errno| {
            lost.push((what, errno));
        })
        .map_err(|(_, errno)| errno)?;
        for (what, errno) in lost {
            // gzip says nothing about an owner that it may not set.
            if what != Lost::Owner {
                self.lost_attribute(&created.named.shown, errno, said);
            }
        }
        let mtime = stored.unwrap_or(opened.stat.mtime);
        match futimens(file, TimePair { atime: opened.stat.atime, mtime }) {
            Ok(()) if stored.is_some_and(|stored| stored != opened.stat.mtime) => {
                if settings.verbose > 1 {
                    said.raw(&[created.named.shown.as_slice(), b": timestamp restored\n"].concat());
                }
            }
            Ok(()) => {}
            Err(error) => {
                said.warn(settings, &created.named.shown, &format!(": {}", error.text()));
            }
        }
        Ok(())
    }
}

/// Compares a file with what it was when it was opened. Another name of a file that is removed, perhaps by this
/// run, changes the time of its attributes.
fn is_as_read(before: &Stat, now: &Stat) -> bool {
    let is_same = (before.size, before.mtime) == (now.size, now.mtime);
    is_same && (before.nlink > 1 || before.ctime == now.ctime)
}
