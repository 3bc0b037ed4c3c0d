//! `haul_unpack`: the members of an archive become files below a directory, as `haul tar -x` makes them.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use haul_archive::extract::{
    Appearance, Devices, Event, Existing, Extractor, Monitor, Names, Owners, Permissions, Policy,
    Times,
};
use haul_archive::filter::{MAGIC_BYTES, Memory, decoder, of_magic};
use haul_archive::format::{BLOCK_BYTES, Ending, Member, Next, Reader, Zeros};
use haul_archive::safe_name::{has_parent, safe_name};
use haul_archive::source::{FileSource, Source, SourceError, StreamSource};
use haul_archive::trailed::TrailedReader;
use haul_engine::error::What;
use haul_io::DataPolicy;
use haul_io::fully::read_fully;
use haul_sys::fs::{
    CWD, Follow, Kind, OpenHow, current_umask, fstat, mkdirat, open_directory, openat,
};
use haul_sys::memory::room_bytes;
use haul_sys::process::{identity, restrict_writes};
use haul_sys::{CallError, Errno};

use crate::carry::{Carry, Tell};
use crate::options::{
    ATOMIC, DURABLE, KEEP_MODE, KEEP_OWNER, Options, REFUSE_EXISTING, SKIP_EXISTING,
};
use crate::report::Totals;
use crate::tally::Tally;
use crate::trouble::Trouble;

/// Mode of the target directory, less the umask.
const NEW_DIRECTORY_MODE: u32 = 0o777;

/// A call of `haul_unpack`.
pub(crate) struct Unpacking {
    archive: CString,
    target: CString,
    options: Options,
    stop: &'static AtomicBool,
    tally: Tally,
}

/// What workers tell of a member, by its name.
type Told = (Vec<u8>, Event);

/// Passes what workers tell to the thread that reads.
struct Telling(Sender<Told>);

impl Monitor for Telling {
    fn event(&self, name: &[u8], event: &Event) {
        // The other side is gone only if it has panicked, which ends the call anyway.
        let _unheard = self.0.send((name.to_vec(), event.clone()));
    }

    fn hashed(&self, _name: &[u8], _digest: &[u8]) {}
}

/// The bytes of an archive until the call is cancelled.
struct Stoppable {
    source: Box<dyn Source + Send>,
    stop: &'static AtomicBool,
}

impl Stoppable {
    fn goes_on(&self) -> Result<(), SourceError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(SourceError::Decode("cancelled".to_owned()));
        }
        Ok(())
    }
}

impl Source for Stoppable {
    fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, SourceError> {
        self.goes_on()?;
        self.source.fill(buffer)
    }

    fn skip(&mut self, bytes: u64) -> Result<u64, SourceError> {
        self.goes_on()?;
        self.source.skip(bytes)
    }

    fn at_hand(&self) -> usize {
        self.source.at_hand()
    }

    fn file(&self) -> Option<(Arc<OwnedFd>, u64)> {
        self.source.file()
    }
}

/// An open archive.
struct Opened {
    reader: Reader<Stoppable>,
    identity: (u64, u64),
}

impl Unpacking {
    /// Prepares a call.
    pub(crate) fn new(
        (archive, target): (&CStr, &CStr),
        options: &Options,
        stop: &'static AtomicBool,
    ) -> Unpacking {
        let (archive, target) = (archive.to_owned(), target.to_owned());
        Unpacking { archive, target, options: options.clone(), stop, tally: Tally::default() }
    }

    fn open(&self) -> Result<Opened, Trouble> {
        let failed = |error| Trouble::of_call(What::OpenSource, error);
        let how = OpenHow::READ.following(Follow::Yes);
        let file = openat(CWD, &self.archive, how).map_err(failed)?;
        let stat = fstat(&file).map_err(failed)?;
        match stat.kind() {
            Kind::Regular | Kind::BlockDevice => {}
            Kind::Directory => {
                return Err(failed(CallError::new(haul_sys::Call::Read, Errno::ISDIR)));
            }
            _ => return Err(Trouble::of(What::UnknownKind)),
        }
        let mut begin = [0; MAGIC_BYTES];
        let count = read_fully(file.as_fd(), &mut begin, 0)
            .map_err(|error| Trouble::of_call(What::Read, error))?;
        let data = DataPolicy::of_run();
        let (source, ending): (Box<dyn Source + Send>, _) = match of_magic(&begin[..count]) {
            Some(filter) => {
                let file = TrailedReader::new(file, &data);
                let usual = Memory::default();
                let in_flight_bytes = usual.in_flight_bytes.min(room_bytes() / 8);
                let memory = Memory { in_flight_bytes, ..usual };
                let decoded = decoder(filter, file, self.options.workers(), memory);
                (Box::new(StreamSource::new(decoded)), Ending::Zeros)
            }
            None => {
                let source = FileSource::new(Arc::new(file), 0, stat.size).caching(&data);
                (Box::new(source), Ending::NotEmpty)
            }
        };
        let source = Stoppable { source, stop: self.stop };
        let reader = Reader::new(source, Zeros::End).ending(ending);
        Ok(Opened { reader, identity: (stat.dev, stat.ino) })
    }

    /// Opens the target directory, which is made if there is none.
    fn target(&self) -> Result<OwnedFd, Trouble> {
        match mkdirat(CWD, &self.target, NEW_DIRECTORY_MODE) {
            Err(error) if error.errno != Errno::EXIST => {
                return Err(Trouble::of_call(What::CreateDirectory, error));
            }
            _ => {}
        }
        open_directory(CWD, &self.target, Follow::Yes)
            .map_err(|error| Trouble::of_call(What::OpenDirectory, error))
    }

    fn policy(&self, archive: (u64, u64)) -> Policy {
        let has = |flag| self.options.has(flag);
        let existing = if has(SKIP_EXISTING) {
            Existing::Skip
        } else if has(REFUSE_EXISTING) {
            Existing::Keep
        } else {
            Existing::Replace
        };
        let appearance = if has(DURABLE) {
            Appearance::Durable
        } else if has(ATOMIC) {
            Appearance::Whole
        } else {
            Appearance::Gradual
        };
        Policy {
            existing,
            permissions: if has(KEEP_MODE) { Permissions::Exact } else { Permissions::Masked },
            owners: if has(KEEP_OWNER) { Owners::Named } else { Owners::Own },
            names: Names::Beneath,
            devices: Devices::Refuse,
            times: Times::Archive,
            keeps_links_to_directories: false,
            removes_trees: false,
            archive: Some(archive),
            appearance,
            resumes: false,
            data: DataPolicy::of_run(),
            user: identity().uid,
            umask: current_umask(),
            workers: self.options.workers(),
            waiting_workers: self.options.waiting_workers(),
        }
    }

    fn unpack(&self, tell: Tell<'_>) -> Result<(), Trouble> {
        let Opened { mut reader, identity } = self.open()?;
        // An archive that is none must not leave a directory behind.
        let first = reader.advance();
        if matches!(first, Ok(Next::Invalid | Next::TooShort)) {
            return Err(Trouble::new("NotArchive", "it is not a tar archive"));
        }
        let (sender, told) = channel();
        let (target, policy) = (self.target()?, self.policy(identity));
        // A second guard, where the kernel has it: this thread and its workers can write nowhere else.
        let _unguarded = restrict_writes(&[&target]);
        let file = reader.source().file();
        let extractor = Extractor::new(target, policy, Arc::new(Telling(sender)), file)
            .map_err(|error| Trouble::of_call(What::Stat, error))?;
        let mut extractor = extractor.stopping(self.stop);
        let mut next = first;
        let read = loop {
            let more = match next {
                Ok(next) => self.next(next, (&mut reader, &mut extractor), tell),
                Err(error) => Err(Trouble::of_read(&error)),
            };
            self.hear(&told, tell);
            match more {
                Ok(true) if !self.stop.load(Ordering::Relaxed) => next = reader.advance(),
                Ok(_) => break Ok(()),
                Err(trouble) => break Err(trouble),
            }
        };
        extractor.finish();
        self.hear(&told, tell);
        if self.stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        // The sums behind the data.
        read.and_then(|()| reader.drain().map_err(|error| Trouble::of_read(&error)))
    }

    /// Deals with what is next in the archive. Returns whether there may be more.
    fn next(
        &self,
        next: Next,
        (reader, extractor): (&mut Reader<Stoppable>, &mut Extractor),
        tell: Tell<'_>,
    ) -> Result<bool, Trouble> {
        match next {
            Next::Member(member) => self.member(member, (reader, extractor), tell)?,
            Next::End => return Ok(false),
            Next::Refused(name, refusal) => {
                self.tell(tell, Trouble::new("RefusedMember", refusal.to_string()), &name);
            }
            Next::Flawed(name, flaw) => {
                let trouble = Trouble::new("FlawedMember", flaw.to_string());
                self.tell(tell, trouble.warning(), &name);
            }
            Next::Lost => {
                return Err(Trouble::new("BadArchive", "the rest of the archive is not read"));
            }
            Next::Invalid | Next::TooShort => {
                let at = reader.offset().saturating_sub(BLOCK_BYTES as u64);
                let text = format!("there is no header at byte {at}");
                self.tell(tell, Trouble::new("BadArchive", text), b"");
            }
            Next::NoZeros => {
                return Err(Trouble::new("BadArchive", "members may be missing at its end"));
            }
            Next::LoneZero(_) | Next::UnknownKeyword(_) => {}
        }
        Ok(true)
    }

    fn member(
        &self,
        member: Box<Member>,
        (reader, extractor): (&mut Reader<Stoppable>, &mut Extractor),
        tell: Tell<'_>,
    ) -> Result<(), Trouble> {
        if has_parent(&member.name) {
            let name = member.name.clone();
            let out = Trouble::of_extraction(&Event::LeadsOut);
            out.into_iter().for_each(|trouble| self.tell(tell, trouble, &name));
            return Ok(());
        }
        self.tally.member(&member);
        let mut name = member.name.clone();
        while name.len() > 1 && name.ends_with(b"/") {
            name.pop();
        }
        let name = safe_name(&name).rest.to_vec();
        let link = safe_name(&member.link).rest.to_vec();
        let done = extractor.member(reader, member, &name, &link);
        done.map_err(|error| Trouble::of_read(&error))
    }

    /// Reports what workers have told.
    fn hear(&self, told: &Receiver<Told>, tell: Tell<'_>) {
        for (name, event) in told.try_iter() {
            if matches!(event, Event::Skipped) {
                self.tally.skip();
            }
            if let Some(trouble) = Trouble::of_extraction(&event) {
                self.tell(tell, trouble, &name);
            }
        }
    }

    /// Reports what is wrong with a member, or with the archive if there is no name.
    fn tell(&self, tell: Tell<'_>, trouble: Trouble, name: &[u8]) {
        self.tally.count(&trouble);
        tell(match name {
            [] => trouble.item(self.archive.to_bytes(), b""),
            name => trouble.item(name, &[self.target.to_bytes(), b"/", name].concat()),
        });
    }
}

impl Carry for Unpacking {
    fn carry_out(&self, tell: Tell<'_>) {
        if let Err(trouble) = self.unpack(tell) {
            self.tell(tell, trouble, b"");
        }
    }

    fn totals(&self) -> Totals {
        self.tally.totals()
    }
}
