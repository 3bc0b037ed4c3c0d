//! `tar -t`: reads the headers and prints the names.

use std::process::ExitCode;
use std::sync::Arc;

use haul_archive::format::{BLOCK_BYTES, Member, MemberKind, Next, ReadError, Reader};
use haul_archive::source::Source;

use super::count::Count;
use super::kept::Kept;
use super::member_name::{Changed, stored_name};
use super::names::without_slashes;
use super::open::{leave_input, open};
use super::print::{Columns, details};
use super::quoting::{listed, named};
use super::session::{Session, Stopped};
use super::settings::Settings;
use super::totals;
use super::warning::Warning;

/// Lists an archive.
pub(super) fn list(session: &Arc<Session>, settings: &mut Settings) -> ExitCode {
    let archive = settings.file.clone();
    let archive = archive.as_encoded_bytes();
    let (source, kept) = match open(session, settings) {
        Ok(opened) => opened,
        Err(stopped) => return session.stopped(archive, &stopped),
    };
    let source = settings.limits.cap(source, kept);
    let mut count = Count::new(settings.limits, "listed");
    let mut reader = Reader::new(source, settings.zeros).ending(kept.ending());
    let mut columns = Columns::new();
    loop {
        match next(session, &mut reader) {
            Err(error) => return unreadable(session, archive, error, &count),
            Ok(None) => break,
            Ok(Some(mut member)) => {
                let is_selected =
                    settings.names.select(stored_name(&member.name), settings.occurrence);
                if is_selected && is_new(&member, settings) {
                    if let Err(text) = count.add(&member) {
                        return session.fatal(&text);
                    }
                    let changed = Changed::of(session, &member, settings);
                    changed.prepare_to_show(&mut member, settings);
                    session.member(&member);
                    show(session, &member, settings, settings.verbosity, &mut columns);
                    if settings.names.are_all_found(settings.occurrence) {
                        totals::read(session, settings, reader.offset());
                        let read = reader.offset();
                        return ended(session, settings, kept, read);
                    }
                } else {
                    omit(session, &member, settings);
                }
            }
        }
    }
    let (end, read) = (reader.end(), reader.offset());
    totals::read(session, settings, reader.offset());
    if let Err(error) = reader.drain() {
        return unreadable(session, archive, error, &count);
    }
    if settings.shows_blocks {
        let what = if end.zeros { "** Block of NULs **" } else { "** End of File **" };
        session.show(&format!("block {}: {what}", end.offset / BLOCK_BYTES as u64), false);
    }
    ended(session, settings, kept, read)
}

/// Ends a run that has read so many bytes of its archive.
fn ended(session: &Session, settings: &Settings, kept: Kept, read: u64) -> ExitCode {
    if let Err(stopped) = leave_input(settings, kept, read) {
        return session.stopped(settings.file.as_encoded_bytes(), &stopped);
    }
    report_missing(session, settings);
    session.end()
}

/// Ends a run whose archive could not be read, or was longer than allowed.
fn unreadable(session: &Session, archive: &[u8], error: ReadError, count: &Count) -> ExitCode {
    session.stopped(archive, &count.explained(archive, Stopped::Read(error)))
}

/// Shows a member. With -O standard output is for the files.
pub(super) fn show(
    session: &Session,
    member: &Member,
    settings: &Settings,
    verbosity: u32,
    columns: &mut Columns,
) {
    let on_error = settings.extraction.to_stdout;
    show_on(session, member, settings, (verbosity, on_error), columns);
}

/// Shows a member, on standard error where standard output is for something else.
pub(super) fn show_on(
    session: &Session,
    member: &Member,
    settings: &Settings,
    (verbosity, on_error): (u32, bool),
    columns: &mut Columns,
) {
    // Programs were told.
    if session.is_json() {
        return;
    }
    let mut text = String::new();
    if settings.shows_blocks {
        text = format!("block {}: ", member.header_offset / BLOCK_BYTES as u64);
    }
    if verbosity > 0 {
        text.push_str(&columns.line(member, settings));
    } else {
        text.push_str(&listed(&member.name));
    }
    if verbosity > 1 {
        text.push_str(&details(member, settings));
    }
    session.show(&text, on_error);
}

/// Returns whether a member is new enough to be selected.
pub(super) fn is_new(member: &Member, settings: &Settings) -> bool {
    let is_old = |newer: haul_archive::create::Newer| member.mtime < newer.since;
    !settings.creation.newer().is_some_and(is_old)
}

/// Names a directory that is not selected, if that is asked for.
pub(super) fn omit(session: &Session, member: &Member, settings: &Settings) {
    if settings.shows_omitted && member.kind == MemberKind::Directory {
        session.warn(&format!("{}: Omitting", named(without_slashes(&member.name))));
    }
}

/// Returns the next member, and prints what is wrong before it.
pub(super) fn next<S: Source>(
    session: &Session,
    reader: &mut Reader<S>,
) -> Result<Option<Box<Member>>, ReadError> {
    loop {
        match reader.advance()? {
            Next::Member(member) => return Ok(Some(member)),
            Next::End => return Ok(None),
            Next::Refused(name, refusal) => {
                session.fail_at(&name, &format!("refused: {refusal}"));
            }
            Next::Lost => session.fail("the rest of the archive is not read"),
            Next::Flawed(name, flaw) => session.warn(&format!("{}: {flaw}", named(&name))),
            Next::Invalid if reader.offset() <= BLOCK_BYTES as u64 => {
                session.fail("This does not look like a tar archive");
                session.fail("Skipping to next header");
            }
            Next::NoZeros => session.fail(
                "the compressed archive ends without blocks of zeros; members may be missing",
            ),
            Next::TooShort => session.fail("This does not look like a tar archive"),
            Next::Invalid => session.fail("Skipping to next header"),
            Next::LoneZero(block) => {
                let text = format!("A lone zero block at {block}");
                session.warn_of(Warning::AloneZeroBlock, &text);
            }
            Next::UnknownKeyword(keyword) => {
                let text =
                    format!("Ignoring unknown extended header keyword '{}'", listed(&keyword));
                session.warn_of(Warning::UnknownKeyword, &text);
            }
        }
    }
}

/// Names what was asked for and is not in the archive.
pub(super) fn report_missing(session: &Session, settings: &Settings) {
    let wanted = settings.occurrence.unwrap_or(1);
    // It is forgotten when a member has that name.
    if let Some(start) = &settings.names.starting {
        session.fail_at(start, "Not found in archive");
    }
    for name in settings.names.names.iter().filter(|name| name.found < wanted) {
        if name.has_wildcards {
            session.warn("Pattern matching characters used in file names");
            session.warn(
                "Use --wildcards to enable pattern matching, or --no-wildcards to suppress this \
                 warning",
            );
        }
        let text = match settings.occurrence {
            Some(_) => "Required occurrence not found in archive",
            None => "Not found in archive",
        };
        session.fail_at(&name.text, text);
    }
}
