//! `tar -d`: compares members with the files of their names.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::process::ExitCode;
use std::sync::Arc;

use haul_archive::compare::{Comparer, Difference, Rules, What};
use haul_archive::extract::Names;
use haul_archive::format::{MemberKind, Reader};
use haul_sys::Errno;

use super::count::Count;
use super::list::{is_new, next, omit, report_missing, show};
use super::member_name::{Changed, stored_name};
use super::open;
use super::print::Columns;
use super::quoting::{listed, named};
use super::session::{Session, Stopped};
use super::settings::Settings;
use super::totals;

/// Compares an archive with files.
pub(super) fn compare(session: &Arc<Session>, settings: &mut Settings) -> ExitCode {
    let archive = settings.file.clone();
    let archive = archive.as_encoded_bytes();
    let (source, kept) = match open::open(session, settings) {
        Ok(opened) => opened,
        Err(stopped) => return session.stopped(archive, &stopped),
    };
    let source = settings.limits.cap(source, kept);
    let mut count = Count::new(settings.limits, "compared");
    let mut reader = Reader::new(source, settings.zeros).ending(kept.ending());
    let rules = Rules {
        follow: settings.creation.follow(),
        numeric_owner: settings.numeric_owner,
        what: What::All,
        names: Names::Absolute,
    };
    let mut comparers: HashMap<Option<usize>, Comparer> = HashMap::new();
    let mut columns = Columns::new();
    let mut members = || -> Result<(), Stopped> {
        while let Some(mut member) = next(session, &mut reader)? {
            let found =
                settings.names.select_directory(stored_name(&member.name), settings.occurrence);
            let Some(directory) = found.filter(|_| is_new(&member, settings)) else {
                omit(session, &member, settings);
                continue;
            };
            count.add(&member).map_err(Stopped::Fatal)?;
            session.member(&member);
            let changed = Changed::of(session, &member, settings);
            if settings.verbosity > 0 {
                let mut shown = member.clone();
                changed.prepare_to_show(&mut shown, settings);
                show(session, &shown, settings, settings.verbosity - 1, &mut columns);
            }
            let comparer = match comparers.entry(directory) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => {
                    let opened = open::directory(settings, directory)?;
                    entry.insert(Comparer::new(opened, rules))
                }
            };
            let Some(name) = changed.extracted(settings, None) else { continue };
            let link = changed.extracted_link(settings, None);
            if member.kind == MemberKind::Symlink {
                member.link.clone_from(&changed.link);
            }
            let mut tell = |difference| told(session, &name, &difference);
            comparer.member(&mut reader, &member, (&name, &link), &mut tell)?;
            if settings.names.are_all_found(settings.occurrence) {
                break;
            }
        }
        Ok(())
    };
    let ended = members();
    let read = reader.offset();
    let ended = ended.and_then(|()| Ok(reader.drain()?));
    let ended = ended.and_then(|()| open::leave_input(settings, kept, read));
    if let Err(stopped) = ended.map_err(|stopped| count.explained(archive, stopped)) {
        return session.stopped(archive, &stopped);
    }
    totals::read(session, settings, reader.offset());
    report_missing(session, settings);
    session.end()
}

/// Prints a difference: what differs on standard output, what cannot be compared on standard error.
fn told(session: &Session, name: &[u8], difference: &Difference) {
    let differs = |text: &str| session.differ_on_output(name, text);
    let failed = |name: &[u8], what: &str, error: haul_sys::CallError| {
        session.fail_call(name, &format!("Cannot {what}"), error);
    };
    let missing = |name: &[u8], what: &str, error: haul_sys::CallError| match error.errno {
        Errno::NOENT => {
            session.differ(&format!("{}: Warning: Cannot {what}: {}", named(name), error.text()));
        }
        _ => failed(name, what, error),
    };
    match difference {
        Difference::Kind
        | Difference::Mode
        | Difference::Owner
        | Difference::Group
        | Difference::Mtime
        | Difference::Size
        | Difference::Contents
        | Difference::NotAHole(_)
        | Difference::Ended(..)
        | Difference::NotLinked(_)
        | Difference::Symlink
        | Difference::Device => differs(&words(difference)),
        Difference::UnknownType(flag) => session.fail_at(
            name,
            &format!("Unknown file type '{}', diffed as normal file", listed(&[*flag])),
        ),
        Difference::Stat(name, error) => missing(name, "stat", *error),
        Difference::Readlink(error) => missing(name, "readlink", *error),
        Difference::Open(error) => failed(name, "open", *error),
        Difference::Read(at, bytes, error) => session.fail_at(
            name,
            &format!("Read error at byte {at}, while reading {bytes} bytes: {}", error.text()),
        ),
    }
}

/// Returns what a difference is, without the name.
pub(super) fn words(difference: &Difference) -> String {
    let text = match difference {
        Difference::Kind => "File type differs",
        Difference::Mode => "Mode differs",
        Difference::Owner => "Uid differs",
        Difference::Group => "Gid differs",
        Difference::Mtime => "Mod time differs",
        Difference::Size => "Size differs",
        Difference::Contents => "Contents differ",
        Difference::NotAHole(at) => return format!("File fragment at {at} is not a hole"),
        Difference::Ended(found, 1) => return format!("Could only read {found} of 1 byte"),
        Difference::Ended(found, bytes) => {
            return format!("Could only read {found} of {bytes} bytes");
        }
        Difference::NotLinked(link) => return format!("Not linked to {}", named(link)),
        Difference::Symlink => "Symlink differs",
        Difference::Device => "Device number differs",
        Difference::UnknownType(flag) => {
            return format!("Unknown file type '{}'", listed(&[*flag]));
        }
        Difference::Stat(_, error) => return format!("Cannot stat: {}", error.text()),
        Difference::Readlink(error) => return format!("Cannot readlink: {}", error.text()),
        Difference::Open(error) => return format!("Cannot open: {}", error.text()),
        Difference::Read(at, bytes, error) => {
            let text = error.text();
            return format!("Read error at byte {at}, while reading {bytes} bytes: {text}");
        }
    };
    text.to_owned()
}
