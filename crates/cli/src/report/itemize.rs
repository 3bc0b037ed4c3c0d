//! The lines of a synchronisation, in rsync's form: a name, or what changes and a name.
//!
//! People and programs read these lines (`-i`), so each letter has its place and its meaning from rsync(1),
//! `--itemize-changes`. They are made of what the engine reports; one text serves a run and its rehearsal.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use haul_engine::rehearse::{Intent, Step};
use haul_engine::request::{Changes, TimeChange};
use haul_sys::fs::Kind;

use super::fact::{Entry, Outcome, Paths};
use super::how::{EntryLines, Lists};
use super::item_format::{ItemFormat, Shown};
use crate::escape::{Piece, charset, pieces};

/// What is done with an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    /// The bytes of a file are copied.
    Transfer,
    /// The entry is made, or its content is replaced, without any bytes of a file.
    Make,
    /// The entry becomes another name of a file.
    Link,
    /// Its attributes are set.
    Adjust,
    /// It stays as it is.
    Keep,
    Delete,
}

/// An entry, and what is done with it.
#[derive(Clone, Copy, Debug)]
struct Item<'a> {
    action: Action,
    kind: Kind,
    changes: Changes,
    source: &'a [u8],
    target: &'a [u8],
    /// The file of which it becomes another name.
    linked_to: Option<&'a [u8]>,
}

/// Returns the line for an entry of a run, if it is listed; and adds it to the log.
pub(super) fn entry(entry: &Entry<'_>, lines: &EntryLines) -> Option<String> {
    of_item(&item_of_entry(entry)?, lines)
}

/// Returns the line for a step of a rehearsal, if it is listed; and adds it to the log.
pub(super) fn step(step: &Step, lines: &EntryLines) -> Option<String> {
    of_item(&item_of_step(step)?, lines)
}

fn of_item(item: &Item<'_>, lines: &EntryLines) -> Option<String> {
    if let Some(log) = &lines.log
        && line(item, Lists::Items, lines).is_some()
    {
        log.add(&formatted(item, &log.format, lines));
    }
    let usual = line(item, lines.lists, lines)?;
    let is_unchanged = item.action == Action::Keep && lines.lists == Lists::AllNames;
    Some(match &lines.format {
        Some(format) if !is_unchanged => formatted(item, format, lines),
        _ => usual,
    })
}

/// Returns the line of an item in a form that the user has given.
fn formatted(item: &Item<'_>, format: &ItemFormat, lines: &EntryLines) -> String {
    let name = shown(&name(item, &lines.target));
    let is_removed = item.action == Action::Delete;
    if is_removed && !format.tells_removals() {
        return format!("deleting {name}");
    }
    format.line(Shown {
        changes: &code(item),
        name: &name,
        link_text: &text(item, lines),
        source: item.source,
        is_removed,
    })
}

/// Returns what changes of an entry; nothing outside of a synchronisation.
pub(super) fn changes_of_entry(entry: &Entry<'_>) -> Option<String> {
    // Of an entry that is complete, it was said when it was begun.
    entry.changes.and_then(|_| item_of_entry(entry)).map(|item| code(&item).trim_end().to_owned())
}

/// The same of a step.
pub(super) fn changes_of_step(step: &Step) -> Option<String> {
    step.changes.and_then(|_| item_of_step(step)).map(|item| code(&item).trim_end().to_owned())
}

fn item_of_entry<'a>(entry: &Entry<'a>) -> Option<Item<'a>> {
    let kind = entry.kind.unwrap_or(Kind::Unknown);
    let changes = entry.changes.unwrap_or_default();
    let action = match entry.outcome {
        Outcome::Begun => begun(kind, changes),
        Outcome::Linked => Action::Link,
        Outcome::Adjusted => Action::Adjust,
        // What another option keeps has no changes to tell.
        Outcome::Skipped => entry.changes.map(|_| Action::Keep)?,
        Outcome::Removed => Action::Delete,
        Outcome::Copied
        | Outcome::Exchanged
        | Outcome::Parent
        | Outcome::Renamed
        | Outcome::WouldRemove => return None,
    };
    let (source, target) = match entry.paths {
        Paths::Pair(source, target) => (source, target.unwrap_or(source)),
        Paths::One(path) => (path, path),
    };
    Some(Item { action, kind, changes, source, target, linked_to: entry.linked_to })
}

fn item_of_step(step: &Step) -> Option<Item<'_>> {
    let changes = step.changes.unwrap_or_default();
    let action = match step.intent {
        Intent::Create
        | Intent::Overwrite
        | Intent::Replace
        | Intent::BackUp
        | Intent::Merge
        | Intent::Ask => begun(step.kind, changes),
        Intent::Link => Action::Link,
        Intent::Adjust => Action::Adjust,
        Intent::Remove => Action::Delete,
        Intent::Skip(_) => step.changes.map(|_| Action::Keep)?,
    };
    let Step { kind, source, target, .. } = step;
    let linked_to = step.linked_to.as_deref();
    Some(Item { action, kind: *kind, changes, source, target, linked_to })
}

/// Returns what is done with an entry that is being made.
fn begun(kind: Kind, changes: Changes) -> Action {
    match kind {
        Kind::Regular if changes.is_based => Action::Make,
        Kind::Regular => Action::Transfer,
        Kind::Directory if changes.is_new || changes.is_based => Action::Make,
        Kind::Directory if changes.are_none() => Action::Keep,
        Kind::Directory => Action::Adjust,
        _ => Action::Make,
    }
}

/// Returns the line of an item, if it is listed.
fn line(item: &Item<'_>, lists: Lists, lines: &EntryLines) -> Option<String> {
    let name = || shown(&name(item, &lines.target));
    let is_directory = item.kind == Kind::Directory;
    // What another directory has in the same form is as what the target has.
    let is_there = item.changes.is_based && item.changes.are_none();
    match (lists, item.action) {
        (Lists::Nothing, _) => None,
        (Lists::Names | Lists::Items, _) if is_there => None,
        (Lists::AllNames, _) if is_there => Some(format!("{} is uptodate", name())),
        (Lists::Names | Lists::Items, Action::Keep) => None,
        (Lists::AllNames, Action::Keep) if is_directory => None,
        (Lists::AllNames, Action::Keep) => Some(format!("{} is uptodate", name())),
        // rsync lists these directories, and no other entries of which only attributes change.
        (Lists::Names | Lists::AllNames, Action::Adjust) if !is_directory => None,
        (Lists::Names | Lists::AllNames, Action::Delete) => Some(format!("deleting {}", name())),
        (Lists::Names | Lists::AllNames, _) => Some(format!("{}{}", name(), text(item, lines))),
        (Lists::Items | Lists::AllItems, _) => {
            Some(format!("{} {}{}", code(item), name(), text(item, lines)))
        }
    }
}

/// Returns the letters that say what changes: `>f.st......`.
fn code(item: &Item<'_>) -> String {
    let Item { action, kind, changes, .. } = item;
    let first = match action {
        Action::Delete => return "*deleting  ".to_owned(),
        Action::Transfer => '>',
        Action::Make => 'c',
        Action::Link => 'h',
        Action::Adjust | Action::Keep => '.',
    };
    let second = match kind {
        Kind::Directory => 'd',
        Kind::Symlink => 'L',
        Kind::BlockDevice | Kind::CharDevice => 'D',
        Kind::Fifo | Kind::Socket => 'S',
        Kind::Regular | Kind::Unknown => 'f',
    };
    let letter = |changes: bool, letter: char| if changes { letter } else { '.' };
    let letters = [
        letter(changes.content, 'c'),
        letter(changes.size, 's'),
        match changes.time {
            TimeChange::Same => '.',
            TimeChange::Kept => 't',
            TimeChange::Now => 'T',
        },
        letter(changes.mode, 'p'),
        letter(changes.owner, 'o'),
        letter(changes.group, 'g'),
        // Access times and times of creation are never listed.
        '.',
        letter(changes.acl, 'a'),
        letter(changes.xattr, 'x'),
    ];
    let are_none = letters.iter().all(|letter| *letter == '.');
    let rest: String = if changes.is_new {
        letters.map(|_| '+').iter().collect()
    } else if are_none && *action != Action::Transfer {
        letters.map(|_| ' ').iter().collect()
    } else {
        letters.iter().collect()
    };
    format!("{first}{second}{rest}")
}

/// Returns the name of an entry in the transfer: its path relative to the target, or the last component of its source
/// if it is the target itself.
fn name(item: &Item<'_>, target: &[u8]) -> Vec<u8> {
    let below = item.target.strip_prefix(target).filter(|rest| matches!(rest, [] | [b'/', ..]));
    let mut name = match below.map(without_dots) {
        Some([]) if item.kind == Kind::Directory => b".".to_vec(),
        Some([]) => {
            let last = item.source.rsplit(|byte| *byte == b'/').next();
            last.unwrap_or(item.source).to_vec()
        }
        Some(rest) => rest.to_vec(),
        None => item.target.to_vec(),
    };
    while name.last() == Some(&b'/') {
        name.pop();
    }
    if item.kind == Kind::Directory {
        name.push(b'/');
    }
    name
}

/// Returns a path without the slashes and the components `.` at its beginning: the entries of `SOURCE/` are in
/// `TARGET/.`.
fn without_dots(path: &[u8]) -> &[u8] {
    match path {
        [b'/', rest @ ..] | [b'.', b'/', rest @ ..] => without_dots(rest),
        [b'.'] => &[],
        _ => path,
    }
}

/// Returns what a symbolic link leads to, or the first name of a file, as it stands behind its name.
fn text(item: &Item<'_>, lines: &EntryLines) -> String {
    if let Some(first) = item.linked_to.filter(|_| item.action == Action::Link) {
        let first = Item { target: first, kind: Kind::Regular, ..*item };
        return format!(" => {}", shown(&name(&first, &lines.target)));
    }
    if item.kind != Kind::Symlink || item.action == Action::Delete {
        return String::new();
    }
    // Read again for the line: a link that has just changed is listed with its new text.
    match std::fs::read_link(OsStr::from_bytes(item.source)) {
        Ok(text) => format!(" -> {}", shown(text.as_os_str().as_bytes())),
        Err(_) => String::new(),
    }
}

/// Returns a name as rsync prints it: bytes that cannot be shown become `\#ooo`.
fn shown(name: &[u8]) -> String {
    let (mut text, mut at) = (String::with_capacity(name.len()), 0);
    for piece in pieces(name, charset()) {
        let rest = &name[at..];
        match piece {
            Piece::Text("\\") if looks_escaped(rest) => text.push_str("\\#134"),
            Piece::Text(part) => text.push_str(part),
            Piece::Byte(b'\t') => text.push('\t'),
            Piece::Byte(byte) => text.push_str(&format!("\\#{byte:03o}")),
        }
        at += match piece {
            Piece::Text(part) => part.len(),
            Piece::Byte(_) => 1,
        };
    }
    text
}

/// Returns whether a name goes on with what stands for a byte.
fn looks_escaped(rest: &[u8]) -> bool {
    matches!(rest, [b'\\', b'#', digits @ ..] if digits.len() >= 3
        && digits.iter().take(3).all(u8::is_ascii_digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: fn() -> Changes = || {
        let mut changes = Changes::default();
        changes.is_new = true;
        changes
    };

    fn item(action: Action, kind: Kind, changes: Changes) -> Item<'static> {
        Item { action, kind, changes, source: b"s/d/f", target: b"t/d/f", linked_to: None }
    }

    fn with(set: impl FnOnce(&mut Changes)) -> Changes {
        let mut changes = Changes::default();
        set(&mut changes);
        changes
    }

    fn lines(lists: Lists) -> EntryLines {
        EntryLines { lists, target: b"t".to_vec(), format: None, log: None }
    }

    #[test]
    fn letters_have_rsyncs_places() {
        let time = |changes: &mut Changes| changes.time = TimeChange::Kept;
        let size_and_time = with(|changes| {
            changes.size = true;
            changes.time = TimeChange::Kept;
        });
        let all = with(|changes| {
            (changes.content, changes.size, changes.time) = (true, true, TimeChange::Now);
            (changes.mode, changes.owner, changes.group) = (true, true, true);
            (changes.acl, changes.xattr) = (true, true);
        });
        let none = Changes::default();
        for (action, kind, changes, expected) in [
            (Action::Transfer, Kind::Regular, NEW(), ">f+++++++++"),
            (Action::Make, Kind::Directory, NEW(), "cd+++++++++"),
            (Action::Make, Kind::Symlink, NEW(), "cL+++++++++"),
            (Action::Make, Kind::Fifo, NEW(), "cS+++++++++"),
            (Action::Make, Kind::BlockDevice, NEW(), "cD+++++++++"),
            (Action::Link, Kind::Regular, NEW(), "hf+++++++++"),
            (Action::Link, Kind::Regular, none, "hf         "),
            (Action::Adjust, Kind::Directory, with(time), ".d..t......"),
            (Action::Transfer, Kind::Regular, size_and_time, ">f.st......"),
            (Action::Transfer, Kind::Regular, with(|it| it.content = true), ">fc........"),
            (Action::Transfer, Kind::Regular, none, ">f........."),
            (Action::Keep, Kind::Regular, none, ".f         "),
            (Action::Adjust, Kind::Regular, all, ".fcsTpog.ax"),
            (Action::Delete, Kind::Directory, none, "*deleting  "),
        ] {
            assert_eq!(code(&item(action, kind, changes)), expected);
        }
    }

    #[test]
    fn names_are_relative_to_the_transfer() {
        let named = |source: &'static [u8], target: &'static [u8], kind, operand: &[u8]| {
            let item = Item { source, target, ..item(Action::Transfer, kind, NEW()) };
            String::from_utf8(name(&item, operand)).unwrap()
        };
        for (source, target, kind, operand, expected) in [
            (&b"s/d/f"[..], &b"t/d/f"[..], Kind::Regular, &b"t"[..], "d/f"),
            (b"s/d", b"t/d", Kind::Directory, b"t", "d/"),
            (b"s/", b"t", Kind::Directory, b"t", "./"),
            (b"s/", b"t/", Kind::Directory, b"t", "./"),
            (b"a/f", b"new", Kind::Regular, b"new", "f"),
            (b"s/f", b"/f", Kind::Regular, b"", "f"),
            (b"s/f", b"./f", Kind::Regular, b".", "f"),
            (b"s/./d/f", b"t/./d/f", Kind::Regular, b"t", "d/f"),
            (b"s/.f", b"t/./.f", Kind::Regular, b"t", ".f"),
            (b"s/.", b"t/.", Kind::Directory, b"t", "./"),
            (b"s/f", b"tt/f", Kind::Regular, b"t", "tt/f"),
        ] {
            assert_eq!(named(source, target, kind, operand), expected);
        }
    }

    #[test]
    fn v_lists_what_rsync_lists() {
        let adjusted = with(|changes| changes.mode = true);
        let (names, items) = (lines(Lists::Names), lines(Lists::Items));
        let (all_names, all_items) = (lines(Lists::AllNames), lines(Lists::AllItems));
        for (action, kind, name, all, itemized) in [
            (Action::Transfer, Kind::Regular, Some("d/f"), Some("d/f"), true),
            (Action::Adjust, Kind::Regular, None, None, true),
            (Action::Adjust, Kind::Directory, Some("d/f/"), Some("d/f/"), true),
            (Action::Keep, Kind::Regular, None, Some("d/f is uptodate"), false),
            (Action::Keep, Kind::Directory, None, None, false),
            (Action::Delete, Kind::Directory, Some("deleting d/f/"), Some("deleting d/f/"), true),
        ] {
            let item = item(action, kind, adjusted);
            assert_eq!(of_item(&item, &names).as_deref(), name);
            assert_eq!(of_item(&item, &all_names).as_deref(), all);
            assert_eq!(of_item(&item, &items).is_some(), itemized);
            assert!(of_item(&item, &all_items).is_some());
        }
        let deleted = item(Action::Delete, Kind::Regular, adjusted);
        assert_eq!(of_item(&deleted, &items).as_deref(), Some("*deleting   d/f"));
    }

    #[test]
    fn bytes_that_cannot_be_shown_are_octal() {
        assert_eq!(shown(b"a\nb\x01"), "a\\#012b\\#001");
        assert_eq!(shown(b"a\tb \\ \\#"), "a\tb \\ \\#");
        assert_eq!(shown(b"\\#012"), "\\#134#012");
        assert_eq!(shown(b"\xff"), "\\#377");
    }
}
