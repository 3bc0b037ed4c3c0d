//! Writes members in order; one thread at a time has the turn (see `turns.rs`).

mod contents;
mod links;

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::sync::Arc;
use std::time::Instant;

use haul_io::digest::HOLES_MAX_BYTES;
use haul_sys::Errno;
use haul_sys::fs::{Follow, Kind, Stat, Time, file_handle, statat, statat_follow};
use haul_sys::process::{group_name, user_name};

use self::links::Links;
use super::archive_file::Output;
use super::entry::{Data, Described, Entry, Failure};
use super::found::Found;
use super::placing::{Large, Placed, Placing};
use super::plan::{Atime, Event, Monitor, Owner, Plan, Report};
use super::removal::Archived;
use super::sink::Sink;
use super::work::Item;
use crate::format::{
    BLOCK_BYTES, ExtraHeader, Layout, Member, MemberKind, Moment, OwnerNames, Style, Unwritable,
    WriteFormat, global_header, headers,
};
use crate::safe_name::safe_name;
use crate::transform::NameOf;

/// Where a member was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Written {
    Here,
    /// By a worker, which is not ready yet.
    Elsewhere,
    /// Nowhere, because the format cannot express it.
    No,
}

/// Writes members in order.
pub(super) struct Creator<'p, W> {
    plan: &'p Plan,
    monitor: &'p (dyn Monitor + Sync),
    sink: &'p mut Sink<W>,
    /// What moves large files by workers, if there may be any.
    placing: Option<&'p Placing>,
    /// Starts these workers, and returns whether there are any; `None` once they are started.
    start: Option<&'p (dyn Fn() -> bool + Sync)>,
    users: HashMap<u32, Vec<u8>>,
    groups: HashMap<u32, Vec<u8>>,
    /// The first names of files with several, as links name them, by device and inode.
    links: HashMap<(u64, u64), Links>,
    hasher: RandomState,
    /// The last name that could not be described, so that it is reported once.
    failed: Vec<u8>,
    /// The beginning of names below a directory that could not be archived.
    unwritten: Option<Vec<u8>>,
    /// Whether the bytes of the last member are those of a file that did not change.
    is_intact: bool,
    /// The digest of the bytes of the last member, if it is wanted.
    digest: Option<Vec<u8>>,
    /// Bytes of the members of one block that were written last.
    uncut_bytes: u64,
    /// When the last batch was written.
    idle_since: Instant,
}

impl<'p, W: Output> Creator<'p, W> {
    pub(super) fn new(
        plan: &'p Plan,
        monitor: &'p (dyn Monitor + Sync),
        sink: &'p mut Sink<W>,
        (placing, start): (Option<&'p Placing>, Option<&'p (dyn Fn() -> bool + Sync)>),
    ) -> Creator<'p, W> {
        Creator {
            plan,
            monitor,
            sink,
            placing,
            start,
            users: HashMap::new(),
            groups: HashMap::new(),
            links: HashMap::new(),
            hasher: RandomState::new(),
            failed: Vec::new(),
            unwritten: None,
            is_intact: true,
            digest: None,
            uncut_bytes: 0,
            idle_since: Instant::now(),
        }
    }

    /// Writes what comes before all members.
    pub(super) fn begin(&mut self) -> std::io::Result<()> {
        self.idle_since = Instant::now();
        self.global()
    }

    /// Writes a batch of members.
    pub(super) fn batch(&mut self, batch: Vec<Item>) -> std::io::Result<()> {
        self.monitor.report(Report::Waited(self.idle_since.elapsed()));
        for item in batch {
            self.item(item)?;
        }
        self.idle_since = Instant::now();
        Ok(())
    }

    /// Waits for the large files.
    pub(super) fn end(&mut self) -> std::io::Result<()> {
        if let Some(placing) = self.placing {
            placing.line.close();
            while let Some(placed) = self.waiting(|| placing.line.next()) {
                self.placed(placed)?;
            }
        }
        self.check_links();
        Ok(())
    }

    fn tell(&self, name: &[u8], event: &Event) {
        self.monitor.report(Report::Event(name, event));
    }

    fn damaged(&self, file: (u64, u64)) {
        self.monitor.report(Report::Damaged(file));
    }

    /// Tells how long a call waited.
    fn waiting<T>(&self, call: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let answer = call();
        self.monitor.report(Report::Waited(begun.elapsed()));
        answer
    }

    /// Tells what became of a large file.
    fn placed(&mut self, placed: Placed) -> std::io::Result<()> {
        let Placed { found, stat, event, digest, failed } = placed;
        if let Some(error) = failed {
            return Err(error.errno.into());
        }
        self.is_intact = event.is_none();
        self.digest = digest;
        if let Some(event) = event {
            self.tell(found.name(), &event);
            self.damaged((stat.dev, stat.ino));
        }
        self.archived(&found, &stat, true);
        Ok(())
    }

    /// Gives a large file to a worker.
    fn place(&mut self, placing: &Placing, large: Large) -> std::io::Result<()> {
        let line = &placing.line;
        while line.is_full()
            && let Some(placed) = line.next()
        {
            self.placed(placed)?;
        }
        line.put(Box::new(large));
        while let Some(placed) = line.try_next() {
            self.placed(placed)?;
        }
        Ok(())
    }

    fn item(&mut self, item: Item) -> std::io::Result<()> {
        let name = match &item {
            Item::Entry(described) => described.found.name(),
            Item::Unreadable(name, ..) | Item::Changed(name) | Item::Tagged(name, ..) => name,
        };
        if self.unwritten.as_ref().is_some_and(|above| name.starts_with(above)) {
            return Ok(());
        }
        match item {
            Item::Entry(described) => return self.described(described),
            Item::Changed(name) => self.tell(&name, &Event::Changed),
            Item::Tagged(name, tag, scope) => {
                self.tell(&shown_name(&name, true), &Event::Tagged(tag, scope));
            }
            Item::Unreadable(name, ..) if name == self.failed => {}
            Item::Unreadable(name, error, is_operand) => {
                let is_gone = error.errno == Errno::NOENT && !is_operand;
                let event = if is_gone { Event::Removed } else { Event::ReadDirectory(error) };
                self.tell(&name, &event);
            }
        }
        Ok(())
    }

    fn described(&mut self, described: Described) -> std::io::Result<()> {
        let Described { found, answer } = described;
        match answer {
            Ok(entry) => self.entry(&found, entry),
            Err(failure) => {
                let event = match failure {
                    Failure::Stat(error) | Failure::Open(error) | Failure::Readlink(error)
                        if error.errno == Errno::NOENT && !found.is_operand =>
                    {
                        Event::Removed
                    }
                    Failure::Stat(error) => Event::Stat(error),
                    Failure::Open(error) => Event::Open(error),
                    Failure::Readlink(error) => Event::Readlink(error),
                    Failure::Read(bytes, error) => Event::Read(0, bytes, error),
                };
                self.tell(found.name(), &event);
                if matches!(event, Event::Stat(error) if error.errno == Errno::NOENT) {
                    for hidden in found.left() {
                        self.tell(found.name(), &Event::SetAside(hidden));
                    }
                }
                self.failed = found.name().to_vec();
                Ok(())
            }
        }
    }

    /// Writes the header of the whole archive, if it needs one.
    fn global(&mut self) -> std::io::Result<()> {
        if self.plan.format == WriteFormat::Posix && self.sink.written() == 0 {
            self.sink.put(&global_header(&self.plan.pax))?;
        }
        Ok(())
    }

    /// Names the files that have further names.
    fn check_links(&self) {
        let mut all: Vec<&Links> = self.links.values().filter(|links| links.missing > 0).collect();
        all.sort_by_key(|links| links.number);
        for links in all.iter().filter(|_| self.plan.checks_links) {
            self.tell(links.name.as_deref().unwrap_or_default(), &Event::MissingLinks);
        }
    }

    /// Returns whether a file is too old to be archived.
    fn is_old(&self, stat: &Stat) -> bool {
        self.plan.newer.is_some_and(|newer| {
            stat.kind() != Kind::Directory
                && moment(stat.mtime) < newer.since
                && (!newer.by_change || moment(stat.ctime) < newer.since)
        })
    }

    fn entry(&mut self, found: &Found, entry: Entry) -> std::io::Result<()> {
        let Entry { stat, data, digest, attributes } = entry;
        if self.is_old(&stat) {
            self.tell(found.name(), &Event::Unchanged);
            return Ok(());
        }
        if self.plan.archive.contains(&(stat.dev, stat.ino)) {
            self.tell(found.name(), &Event::IsArchive);
            return Ok(());
        }
        if self.plan.outputs.contains(&(stat.dev, stat.ino)) {
            self.tell(found.name(), &Event::IsOutput);
            return Ok(());
        }
        let kind = match stat.kind() {
            Kind::Regular => MemberKind::Regular,
            Kind::Directory => MemberKind::Directory,
            Kind::Symlink => MemberKind::Symlink,
            Kind::Fifo => MemberKind::Fifo,
            Kind::CharDevice => MemberKind::CharDevice,
            Kind::BlockDevice => MemberKind::BlockDevice,
            Kind::Socket => {
                self.tell(found.name(), &Event::Socket);
                return Ok(());
            }
            Kind::Unknown => {
                self.tell(found.name(), &Event::UnknownKind);
                return Ok(());
            }
        };
        if found.is_leaf && kind == MemberKind::Directory {
            // It took the place of something else, and what is in it is not archived.
            self.tell(found.name(), &Event::Changed);
            self.damaged((stat.dev, stat.ino));
        }
        let mut member = self.member(found, &stat, kind);
        match attributes {
            Ok(attributes) => {
                member.xattrs = attributes.xattrs;
                member.acls = attributes.acls;
                member.context = attributes.context;
            }
            Err(error) => {
                self.tell(found.name(), &Event::Attributes(error));
                self.damaged((stat.dev, stat.ino));
            }
        }
        if let Data::Sparse(_, regions) = &data {
            member.stored_bytes = regions.iter().map(|region| region.bytes).sum();
            member.regions = Some(regions.clone());
            let holes = stat.size.saturating_sub(member.stored_bytes);
            if self.plan.hashes.is_some() && holes > HOLES_MAX_BYTES {
                self.tell(found.name(), &Event::HolesTooLarge);
                self.damaged((stat.dev, stat.ino));
                return Ok(());
            }
        }
        if let Data::Link(text) = &data {
            member.link = self.monitor.renamed(text, NameOf::Symlink).into_owned();
        }
        let has_names =
            (stat.nlink > 1 || self.plan.names_may_repeat) && kind != MemberKind::Directory;
        let key = (stat.dev, stat.ino);
        let is_counted = has_names && !self.plan.copies_hard_links;
        let handle = || self.handle(found);
        let is_same = |first: &Links| first.has_bytes_of(&stat, self.plan.atime, handle);
        if is_counted && self.links.get(&key).is_some_and(is_same) {
            return self.further_name(found, member, &stat);
        }
        self.digest = digest;
        let written = self.write(found, member, data, &stat)?;
        self.archived(found, &stat, written == Written::Here);
        if written == Written::Here && !self.is_intact {
            self.damaged(key);
        }
        if is_counted && written != Written::No {
            let links = self.first_of_links(found, &stat);
            self.links.insert(key, links);
        }
        Ok(())
    }

    /// Returns a hash of what identifies a file also when its inode number is used again; 0 if that is not known.
    fn handle(&self, found: &Found) -> u64 {
        let handle = file_handle(&*found.parent, found.leaf(), self.plan.follow);
        handle.map_or(0, |handle| self.hasher.hash_one(handle) | 1)
    }

    /// Does the same for a file that was described, unless the name may be another file's by now.
    fn handle_of(&self, found: &Found, stat: &Stat) -> u64 {
        let handle = self.handle(found);
        let now = match self.plan.follow {
            Follow::No => statat(&*found.parent, found.leaf()),
            Follow::Yes => statat_follow(&*found.parent, found.leaf()),
        };
        let is_it = now.is_ok_and(|now| now.same_file(stat) && now.ctime == stat.ctime);
        if is_it { handle } else { 0 }
    }

    /// Describes a file that was archived under the first of several names.
    fn first_of_links(&self, found: &Found, stat: &Stat) -> Links {
        let safe = self.safe(found.name().into(), true);
        let may_change = stat.nlink > 1 && self.plan.atime == Atime::Keep;
        Links {
            target: self.monitor.renamed(&safe, NameOf::HardLink).into_owned().into(),
            name: self.plan.checks_links.then(|| found.name().into()),
            missing: u32::try_from(stat.nlink.saturating_sub(1)).unwrap_or(u32::MAX),
            size: stat.size,
            mtime: stat.mtime,
            ctime: stat.ctime,
            handle: if may_change { self.handle_of(found, stat) } else { 0 },
            number: u32::try_from(self.links.len()).unwrap_or(u32::MAX),
        }
    }

    /// Writes a further name of a file.
    fn further_name(
        &mut self,
        found: &Found,
        mut member: Member,
        stat: &Stat,
    ) -> std::io::Result<()> {
        let file = (stat.dev, stat.ino);
        let Some(links) = self.links.get_mut(&file) else { return Ok(()) };
        member.kind = MemberKind::HardLink;
        let first = links.target.to_vec();
        links.missing = links.missing.saturating_sub(1);
        member.link = self.safe(first.into(), true).into_owned();
        (member.size, member.stored_bytes, member.regions) = (0, 0, None);
        member.drop_attributes();
        self.digest = None;
        if self.write(found, member, Data::None, stat)? != Written::Here {
            return Ok(());
        }
        self.archived(found, stat, true);
        Ok(())
    }

    fn archived(&self, found: &Found, stat: &Stat, is_written: bool) {
        if is_written && self.is_intact {
            if let Some(digest) = &self.digest {
                self.monitor.report(Report::Hashed { name: found.name(), digest });
            }
            self.monitor.report(Report::Archived(&|| Archived {
                root: Arc::clone(&found.root),
                name: found.name().to_vec(),
                operand_bytes: found.operand.name_bytes,
                stat: *stat,
            }));
        }
    }

    fn safe<'n>(&self, name: Cow<'n, [u8]>, of_link: bool) -> Cow<'n, [u8]> {
        if self.plan.absolute_names {
            return name;
        }
        let safe = safe_name(&name);
        if !safe.removed.is_empty() {
            self.monitor.report(Report::Removed { beginning: safe.removed, of_link });
        }
        if safe.rest == &*name { name } else { safe.rest.to_vec().into() }
    }

    fn member(&mut self, found: &Found, stat: &Stat, kind: MemberKind) -> Member {
        let is_directory = kind == MemberKind::Directory;
        let plan = self.plan;
        let numeric = plan.numeric_owner;
        let owner = plan.owner_map.get(&stat.uid).or(plan.owner.as_ref());
        let group = plan.group_map.get(&stat.gid).or(plan.group.as_ref());
        let (uid, user) = owned(owner, stat.uid, numeric, &mut self.users, user_name);
        let (gid, group) = owned(group, stat.gid, numeric, &mut self.groups, group_name);
        let mode = stat.permissions();
        let size = if kind == MemberKind::Regular { stat.size } else { 0 };
        let mtime = moment(stat.mtime);
        let name = self.safe(shown_name(found.name(), is_directory), false);
        let name = self.monitor.renamed(without_slashes(&name), NameOf::Member);
        Member {
            layout: Layout::Ustar,
            is_extended: false,
            kind,
            // A file whose name ends in a slash would be read as a directory.
            name: match is_directory && !name.is_empty() {
                true => shown_name(&name, true).into_owned(),
                false => without_slashes(&name).to_vec(),
            },
            link: Vec::new(),
            mode: plan.mode.as_ref().map_or(mode, |change| change.apply(mode, is_directory)),
            uid,
            gid,
            user,
            group,
            size,
            mtime: match plan.mtime {
                Some(time) if !plan.clamps_mtime || mtime > time => time,
                _ => mtime,
            },
            atime: Some(moment(stat.atime)),
            ctime: Some(moment(stat.ctime)),
            device: crate::device::parts(stat.rdev),
            regions: None,
            xattrs: Vec::new(),
            acls: [None, None],
            context: None,
            header_offset: self.sink.written(),
            data_offset: 0,
            stored_bytes: size,
        }
    }

    /// Returns the headers of a member, one more than it needs if too many members before had a single block.
    fn headers(
        &mut self,
        member: &Member,
        original: &[u8],
        style: Style<'_>,
    ) -> Result<Vec<u8>, Unwritable> {
        let header = headers(member, original, style)?;
        if member.stored_bytes > 0 || header.len() > BLOCK_BYTES {
            self.uncut_bytes = 0;
            return Ok(header);
        }
        if self.plan.uncut_max_bytes.is_none_or(|most| self.uncut_bytes < most) {
            self.uncut_bytes += BLOCK_BYTES as u64;
            return Ok(header);
        }
        self.uncut_bytes = 0;
        headers(member, original, Style { extra: ExtraHeader::Write, ..style })
    }

    /// Writes a member.
    fn write(
        &mut self,
        found: &Found,
        mut member: Member,
        data: Data,
        stat: &Stat,
    ) -> std::io::Result<Written> {
        let owners = if self.plan.numeric_owner { OwnerNames::Leave } else { OwnerNames::Write };
        let style = Style {
            format: self.plan.format,
            owners,
            extended_mtime: self.plan.mtime.map(|time| time.seconds),
            sparse: self.plan.sparse.unwrap_or_default(),
            link_kind: stat.mode & 0o170_000,
            pax: &self.plan.pax,
            boundary: self.plan.boundary(member.stored_bytes, self.sink.written()),
            extra: ExtraHeader::Omit,
        };
        let is_directory = member.kind == MemberKind::Directory;
        let original = match self.plan.absolute_names {
            true => found.name(),
            false => safe_name(found.name()).rest,
        };
        let header = match self.headers(&member, original, style) {
            Ok(header) => header,
            Err(Unwritable::HeaderTooLarge) if member.has_attributes() => {
                self.tell(found.name(), &Event::AttributesTooLarge);
                self.damaged((stat.dev, stat.ino));
                member.drop_attributes();
                return self.write(found, member, data, stat);
            }
            Err(unwritable @ Unwritable::LinkTooLong) => {
                self.tell(&member.link, &Event::Unwritable(unwritable));
                return Ok(Written::No);
            }
            Err(unwritable) => {
                let shown = shown_name(found.name(), is_directory);
                self.tell(&shown, &Event::Unwritable(unwritable));
                // What is below would be extracted into a directory that is not in the archive.
                let above = is_directory.then(|| shown.into_owned());
                self.unwritten = above.or(self.unwritten.take());
                return Ok(Written::No);
            }
        };
        member.data_offset = self.sink.written() + header.len() as u64;
        let original = &*shown_name(found.name(), is_directory);
        let operand = found.operand.number;
        self.monitor.report(Report::Member { member: &member, original, operand });
        self.is_intact = true;
        let (header, data) = match self.give(found, header, data, stat)? {
            Some(kept) => kept,
            None => {
                self.sink.pad()?;
                return Ok(Written::Elsewhere);
            }
        };
        self.sink.put(&header)?;
        match data {
            Data::None | Data::Link(_) => return Ok(Written::Here),
            Data::Bytes(bytes, after) => {
                let missing = stat.size - bytes.len() as u64;
                self.sink.put(&bytes)?;
                self.shrank(found, missing)?;
                self.compare(found, stat, &after, missing);
            }
            Data::File(_) => {}
            Data::Unread => self.sink.skip(stat.size),
            Data::Sparse(_, regions) if self.plan.skips_data => {
                self.sink.skip(regions.iter().map(|region| region.bytes).sum());
            }
            Data::Sparse(file, regions) => self.large(found, &file, stat, &regions)?,
        }
        self.sink.pad()?;
        Ok(Written::Here)
    }
}

/// Returns a name with a slash at its end if it is that of a directory.
fn shown_name(name: &[u8], is_directory: bool) -> Cow<'_, [u8]> {
    match is_directory && !name.ends_with(b"/") {
        true => [name, b"/"].concat().into(),
        false => name.into(),
    }
}

fn without_slashes(name: &[u8]) -> &[u8] {
    let mut name = name;
    while let [rest @ .., b'/'] = name
        && !rest.is_empty()
    {
        name = rest;
    }
    name
}

fn moment(time: Time) -> Moment {
    Moment { seconds: time.seconds, nanoseconds: time.nanoseconds }
}

/// Returns the number and the name of an owner, each name looked up once.
fn owned(
    forced: Option<&Owner>,
    id: u32,
    numeric: bool,
    known: &mut HashMap<u32, Vec<u8>>,
    look_up: fn(u32) -> Option<Vec<u8>>,
) -> (u64, Vec<u8>) {
    let number = forced.and_then(|owner| owner.id).unwrap_or(u64::from(id));
    if numeric {
        return (number, Vec::new());
    }
    if let Some(owner) = forced {
        return (number, owner.name.clone());
    }
    let name = known.entry(id).or_insert_with(|| look_up(id).unwrap_or_default());
    (number, name.clone())
}
