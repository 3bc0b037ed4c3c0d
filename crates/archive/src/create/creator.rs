//! The thread that writes members in order.

use std::collections::HashMap;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use haul_io::fully::read_fully;
use haul_sys::Errno;
use haul_sys::fs::{Kind, Stat, Time, TimePair, fstat, futimens};
use haul_sys::process::{group_name, user_name};

use super::entry::{Data, Described, Entry, Failure, describe};
use super::line::Line;
use super::plan::{Atime, Event, Monitor, Operand, Owner, Plan};
use super::removal::Archived;
use super::sink::Sink;
use super::tag::TagScope;
use super::walk::{Filter, Found, Step, Walk};
use crate::format::{
    Layout, Member, MemberKind, Moment, OwnerNames, Region, Style, Unwritable, WriteFormat,
    global_header, headers,
};
use crate::safe_name::safe_name;
use crate::transform::NameOf;

/// Bytes of a large file that are in memory at a time.
const PIECE_BYTES: usize = 1 << 20;

/// The same where nothing is read ahead: a record of the archive.
const RECORD_BYTES: usize = 20 * 512;

/// What comes along the line in order.
enum Item {
    Entry(Box<Described>),
    Unreadable(Vec<u8>, haul_sys::CallError, bool),
    Changed(Vec<u8>),
    Tagged(Vec<u8>, Vec<u8>, TagScope),
}

/// What a worker is given.
enum Work {
    Describe(Found),
    Pass(Item),
}

struct Excluding<'m>(&'m (dyn Monitor + Sync), usize);

impl Filter for Excluding<'_> {
    fn is_excluded(&self, name: &[u8]) -> bool {
        self.0.is_excluded(name, self.1)
    }
}

/// Writes members for all operands. Blocks. Fails if the archive cannot be written; what is wrong with
/// single names, the monitor is told.
pub fn create<W: Write>(
    operands: Vec<Operand>,
    plan: &Plan,
    monitor: &(dyn Monitor + Sync),
    sink: &mut Sink<W>,
) -> std::io::Result<()> {
    let line: Line<Work, Item> = Line::new();
    std::thread::scope(|scope| {
        let line = &line;
        let walker = move || {
            walk(operands, plan, monitor, line);
            line.close();
        };
        std::thread::Builder::new().spawn_scoped(scope, walker).map_err(no_thread)?;
        let workers = if plan.reads_ahead { plan.workers.max(1) } else { 1 };
        for number in 0..workers {
            let worker = move || {
                while let Some((number, work)) = line.take() {
                    let item = match work {
                        Work::Describe(found) => Item::Entry(Box::new(describe(found, plan))),
                        Work::Pass(item) => item,
                    };
                    line.finish(number, item);
                }
            };
            // Fewer workers do the same, but not none.
            if let Err(error) = std::thread::Builder::new().spawn_scoped(scope, worker) {
                if number == 0 {
                    line.abandon();
                    return Err(no_thread(error));
                }
                break;
            }
        }
        let mut creator = Creator {
            plan,
            monitor,
            sink,
            users: HashMap::new(),
            groups: HashMap::new(),
            links: HashMap::new(),
            failed: Vec::new(),
            unwritten: None,
            is_intact: true,
        };
        if let Err(error) = creator.global() {
            line.abandon();
            return Err(error);
        }
        while let Some(item) = line.next() {
            if let Err(error) = creator.item(item) {
                line.abandon();
                return Err(error);
            }
        }
        creator.check_links();
        Ok(())
    })
}

/// Tells the error of a thread from that of a write.
#[expect(clippy::needless_pass_by_value, reason = "what `map_err` gives")]
fn no_thread(error: std::io::Error) -> std::io::Error {
    std::io::Error::other(format!("cannot start a thread: {error}"))
}

fn walk(
    operands: Vec<Operand>,
    plan: &Plan,
    monitor: &(dyn Monitor + Sync),
    line: &Line<Work, Item>,
) {
    for operand in operands {
        let filter = Excluding(monitor, operand.scope);
        let Ok(leaf) = std::ffi::CString::new(operand.name.clone()) else { continue };
        let found = Found {
            root: Arc::clone(&operand.directory),
            parent: operand.directory,
            leaf,
            name: operand.name,
            is_operand: true,
        };
        let rules = (plan.sort, plan.follow, &plan.tags[..]);
        let mut walk = Walk::new(&filter, rules, &found, operand.recurses, plan.stays_on_device);
        while let Some(step) = walk.advance() {
            let work = match step {
                Step::Entry(found) => Work::Describe(found),
                Step::Unreadable(name, error, is_operand) => {
                    Work::Pass(Item::Unreadable(name, error, is_operand))
                }
                Step::Changed(name) => Work::Pass(Item::Changed(name)),
                Step::Tagged(name, tag, scope) => {
                    Work::Pass(Item::Tagged(name, tag.into_bytes(), scope))
                }
            };
            if !line.put(work) {
                return;
            }
        }
    }
}

/// A file whose further names become links.
struct Links {
    /// The first name, as links name it.
    target: Vec<u8>,
    /// The first name, as the user knows it.
    name: Vec<u8>,
    /// Number of names that are not archived.
    missing: u64,
    /// Position among the files with several names.
    number: usize,
}

struct Creator<'p, W> {
    plan: &'p Plan,
    monitor: &'p (dyn Monitor + Sync),
    sink: &'p mut Sink<W>,
    users: HashMap<u32, Vec<u8>>,
    groups: HashMap<u32, Vec<u8>>,
    /// The first names of files with several, as links name them, by device and inode.
    links: HashMap<(u64, u64), Links>,
    /// The last name that could not be described, so that it is reported once.
    failed: Vec<u8>,
    /// The beginning of names below a directory that could not be archived.
    unwritten: Option<Vec<u8>>,
    /// Whether the bytes of the last member are those of a file that did not change.
    is_intact: bool,
}

impl<W: Write> Creator<'_, W> {
    fn item(&mut self, item: Item) -> std::io::Result<()> {
        let name = match &item {
            Item::Entry(described) => &described.found.name,
            Item::Unreadable(name, ..) | Item::Changed(name) | Item::Tagged(name, ..) => name,
        };
        if self.unwritten.as_ref().is_some_and(|above| name.starts_with(above)) {
            return Ok(());
        }
        match item {
            Item::Entry(described) => return self.described(*described),
            Item::Changed(name) => self.monitor.event(&name, &Event::Changed),
            Item::Tagged(name, tag, scope) => {
                self.monitor.event(&shown_name(&name, true), &Event::Tagged(tag, scope));
            }
            Item::Unreadable(name, ..) if name == self.failed => {}
            Item::Unreadable(name, error, is_operand) => {
                let is_gone = error.errno == Errno::NOENT && !is_operand;
                let event = if is_gone { Event::Removed } else { Event::ReadDirectory(error) };
                self.monitor.event(&name, &event);
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
                self.monitor.event(&found.name, &event);
                self.failed = found.name;
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
            self.monitor.event(&links.name, &Event::MissingLinks);
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
        let Entry { stat, data, attributes } = entry;
        if self.is_old(&stat) {
            self.monitor.event(&found.name, &Event::Unchanged);
            return Ok(());
        }
        if self.plan.archive == Some((stat.dev, stat.ino)) {
            self.monitor.event(&found.name, &Event::IsArchive);
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
                self.monitor.event(&found.name, &Event::Socket);
                return Ok(());
            }
            Kind::Unknown => {
                self.monitor.event(&found.name, &Event::UnknownKind);
                return Ok(());
            }
        };
        let mut member = self.member(found, &stat, kind);
        match attributes {
            Ok(attributes) => {
                member.xattrs = attributes.xattrs;
                member.acls = attributes.acls;
                member.context = attributes.context;
            }
            Err(error) => self.monitor.event(&found.name, &Event::Attributes(error)),
        }
        if let Data::Sparse(_, regions) = &data {
            member.stored_bytes = regions.iter().map(|region| region.bytes).sum();
            member.regions = Some(regions.clone());
        }
        if let Data::Link(text) = &data {
            member.link = self.monitor.renamed(text, NameOf::Symlink);
        }
        let has_names =
            (stat.nlink > 1 || self.plan.names_may_repeat) && kind != MemberKind::Directory;
        let key = (stat.dev, stat.ino);
        let is_counted = has_names && !self.plan.copies_hard_links;
        if is_counted && let Some(links) = self.links.get_mut(&key) {
            member.kind = MemberKind::HardLink;
            let first = links.target.clone();
            links.missing = links.missing.saturating_sub(1);
            member.link = self.safe(&first, true);
            (member.size, member.stored_bytes, member.regions) = (0, 0, None);
            (member.xattrs, member.acls, member.context) = Default::default();
            let is_written = self.write(found, &member, Data::None, &stat)?;
            self.archived(found, &stat, is_written);
            return Ok(());
        }
        let is_written = self.write(found, &member, data, &stat)?;
        self.archived(found, &stat, is_written);
        if is_counted && is_written {
            let safe = self.safe(&found.name, true);
            let links = Links {
                target: self.monitor.renamed(&safe, NameOf::HardLink),
                name: found.name.clone(),
                missing: stat.nlink - 1,
                number: self.links.len(),
            };
            self.links.insert(key, links);
        }
        Ok(())
    }

    fn archived(&self, found: &Found, stat: &Stat, is_written: bool) {
        if is_written && self.is_intact {
            let (root, name) = (Arc::clone(&found.root), found.name.clone());
            self.monitor.archived(Archived { root, name, stat: *stat });
        }
    }

    fn safe(&self, name: &[u8], of_link: bool) -> Vec<u8> {
        if self.plan.absolute_names {
            return name.to_vec();
        }
        let safe = safe_name(name);
        if !safe.removed.is_empty() {
            self.monitor.removed(&safe.removed, of_link);
        }
        safe.rest
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
        let name = self.safe(&shown_name(&found.name, is_directory), false);
        let name = self.monitor.renamed(without_slashes(&name), NameOf::Member);
        Member {
            layout: Layout::Ustar,
            is_extended: false,
            kind,
            name: if name.is_empty() { name } else { shown_name(&name, is_directory) },
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

    /// Writes a member. Returns `false` if the format cannot express it.
    fn write(
        &mut self,
        found: &Found,
        member: &Member,
        data: Data,
        stat: &Stat,
    ) -> std::io::Result<bool> {
        let owners = if self.plan.numeric_owner { OwnerNames::Leave } else { OwnerNames::Write };
        let style = Style {
            format: self.plan.format,
            owners,
            extended_mtime: self.plan.mtime.map(|time| time.seconds),
            sparse: self.plan.sparse.unwrap_or_default(),
            link_kind: stat.mode & 0o170_000,
            pax: &self.plan.pax,
        };
        let is_directory = member.kind == MemberKind::Directory;
        let original =
            if self.plan.absolute_names { found.name.clone() } else { safe_name(&found.name).rest };
        let header = match headers(member, &original, style) {
            Ok(header) => header,
            Err(unwritable @ Unwritable::LinkTooLong) => {
                self.monitor.event(&member.link, &Event::Unwritable(unwritable));
                return Ok(false);
            }
            Err(unwritable) => {
                let shown = shown_name(&found.name, is_directory);
                self.monitor.event(&shown, &Event::Unwritable(unwritable));
                // What is below would be extracted into a directory that is not in the archive.
                self.unwritten = is_directory.then_some(shown).or(self.unwritten.take());
                return Ok(false);
            }
        };
        self.monitor.member(member, &shown_name(&found.name, is_directory));
        self.is_intact = true;
        self.sink.put(&header)?;
        match data {
            Data::None | Data::Link(_) => return Ok(true),
            Data::Bytes(bytes, after) => {
                let missing = stat.size - bytes.len() as u64;
                self.sink.put(&bytes)?;
                self.shrank(found, missing)?;
                self.compare(found, stat, &after, missing);
            }
            Data::File(file) => {
                let whole = [Region { offset: 0, bytes: stat.size }];
                self.large(found, &file, stat, &whole)?;
            }
            Data::Sparse(file, regions) => self.large(found, &file, stat, &regions)?,
        }
        self.sink.pad()?;
        Ok(true)
    }

    fn shrank(&mut self, found: &Found, missing: u64) -> std::io::Result<()> {
        if missing > 0 {
            self.is_intact = false;
            self.monitor.event(&found.name, &Event::Shrank(missing));
        }
        self.sink.zeros(missing)
    }

    fn compare(&mut self, found: &Found, before: &Stat, after: &Stat, missing: u64) {
        if missing == 0 && (after.ctime != before.ctime || after.size > before.size) {
            self.is_intact = false;
            self.monitor.event(&found.name, &Event::Changed);
        }
    }

    /// Writes the regions of a file that have data.
    fn large(
        &mut self,
        found: &Found,
        file: &OwnedFd,
        stat: &Stat,
        regions: &[Region],
    ) -> std::io::Result<()> {
        let piece_bytes = if self.plan.reads_ahead { PIECE_BYTES } else { RECORD_BYTES };
        let mut piece = vec![0; piece_bytes];
        let mut left: u64 = regions.iter().map(|region| region.bytes).sum();
        for region in regions {
            let (mut at, end) = (region.offset, region.offset + region.bytes);
            while at < end {
                let want = usize::try_from(end - at).unwrap_or(usize::MAX).min(piece_bytes);
                let room = piece.get_mut(..want).unwrap_or_default();
                match read_fully(file, room, at) {
                    Ok(0) => {
                        self.is_intact = false;
                        // A sparse file may have ended in a hole before.
                        let end = fstat(file).map_or(at, |now| now.size.min(at));
                        let event = Event::Shrank(stat.size - end);
                        self.monitor.event(&found.name, &event);
                        return self.sink.zeros(left);
                    }
                    Ok(count) => {
                        self.sink.put(room.get(..count).unwrap_or_default())?;
                        at += count as u64;
                        left -= count as u64;
                    }
                    Err(error) => {
                        self.is_intact = false;
                        self.monitor.event(&found.name, &Event::Read(at, want as u64, error));
                        return self.sink.zeros(left);
                    }
                }
            }
        }
        let after = fstat(file);
        if self.plan.atime == Atime::Replace {
            let times = TimePair { atime: stat.atime, mtime: Time::OMIT };
            // As GNU tar, which says nothing if the time cannot be set.
            let _unset = futimens(file, times);
        }
        match after {
            Ok(after) => self.compare(found, stat, &after, 0),
            Err(error) => {
                self.is_intact = false;
                self.monitor.event(&found.name, &Event::Stat(error));
            }
        }
        Ok(())
    }
}

/// Returns a name with a slash at its end if it is that of a directory.
fn shown_name(name: &[u8], is_directory: bool) -> Vec<u8> {
    let mut name = name.to_vec();
    if is_directory && !name.ends_with(b"/") {
        name.push(b'/');
    }
    name
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
