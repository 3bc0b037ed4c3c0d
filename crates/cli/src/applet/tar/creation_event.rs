//! What happens to files while they are archived, in GNU tar's words.

use haul_archive::create::{Event, TagScope};
use haul_archive::format::Unwritable;
use haul_sys::Errno;

use super::quoting::listed;
use super::warning::Warning;
use crate::escape::quote_word;

/// Returns whether an event is one that `--ignore-failed-read` is about.
pub(super) const fn is_failed_read(event: &Event) -> bool {
    matches!(
        event,
        Event::Stat(_)
            | Event::Open(_)
            | Event::Readlink(_)
            | Event::ReadDirectory(_)
            | Event::Read(..)
    )
}

/// Returns the keyword that turns the message of an event off.
pub(super) const fn keyword(event: &Event) -> Option<Warning> {
    Some(match event {
        Event::Changed => Warning::FileChanged,
        Event::Removed => Warning::FileRemoved,
        Event::Shrank(_) => Warning::FileShrank,
        Event::Socket | Event::UnknownKind => Warning::FileIgnored,
        Event::IsArchive | Event::IsOutput => Warning::IgnoreArchive,
        Event::Tagged(..) => Warning::Cachedir,
        Event::Unchanged => Warning::FileUnchanged,
        _ => return None,
    })
}

/// Returns the number of the error that an event is about.
pub(super) fn errno(event: &Event) -> Option<Errno> {
    match event {
        Event::Stat(error)
        | Event::Open(error)
        | Event::Readlink(error)
        | Event::ReadDirectory(error)
        | Event::Read(_, _, error)
        | Event::Attributes(error) => Some(error.errno),
        _ => None,
    }
}

/// Returns the text of an event, without the name.
pub(super) fn words(event: &Event) -> String {
    match event {
        Event::Stat(error) => format!("Cannot stat: {}", error.text()),
        Event::Open(error) => format!("Cannot open: {}", error.text()),
        Event::Readlink(error) => format!("Cannot readlink: {}", error.text()),
        Event::ReadDirectory(error) => format!("Cannot read directory: {}", error.text()),
        Event::Read(at, bytes, error) => {
            format!("Read error at byte {at}, while reading {bytes} bytes: {}", error.text())
        }
        Event::SetAside(hidden) => format!(
            "It is {} since a run that removed it was killed; 'haul clean' gives it its own name back",
            quote_word(hidden)
        ),
        Event::Removed => "File removed before we read it".to_owned(),
        Event::Changed => "file changed as we read it".to_owned(),
        Event::Shrank(1) => "File shrank by 1 byte; padding with zeros".to_owned(),
        Event::Shrank(bytes) => format!("File shrank by {bytes} bytes; padding with zeros"),
        Event::Socket => "socket ignored".to_owned(),
        Event::UnknownKind => "Unknown file type; file ignored".to_owned(),
        Event::IsArchive => "archive cannot contain itself; not dumped".to_owned(),
        Event::IsOutput => "file is written by this run; not dumped".to_owned(),
        Event::Unchanged => "file is unchanged; not dumped".to_owned(),
        Event::MissingLinks => "Missing links".to_owned(),
        Event::Attributes(error) => {
            format!("Warning: Cannot read attributes: {}", error.text())
        }
        Event::Tagged(tag, scope) => {
            let what = if *scope == TagScope::All { "directory" } else { "contents" };
            format!("contains a cache directory tag {}; {what} not dumped", listed(tag))
        }
        Event::HolesTooLarge => "its holes are too large to be hashed; not archived".to_owned(),
        Event::AttributesTooLarge => {
            "its attributes are too large for an extended header; not archived".to_owned()
        }
        Event::Unwritable(unwritable) => match unwritable {
            Unwritable::NameEmpty => "nothing is left of the name; not dumped".to_owned(),
            Unwritable::NameTooLong(most) => {
                format!("file name is too long (max {most}); not dumped")
            }
            Unwritable::NameUnsplittable => {
                "file name is too long (cannot be split); not dumped".to_owned()
            }
            Unwritable::LinkTooLong => "link name is too long; not dumped".to_owned(),
            Unwritable::NumberTooLarge(kind, value, most) => {
                format!("value {value} out of {} range 0..{most}", quote_word(kind.as_bytes()))
            }
            Unwritable::Kind => "Unknown file type; file ignored".to_owned(),
            Unwritable::LinkEmpty => "nothing is left of the link target; not dumped".to_owned(),
            Unwritable::HeaderTooLarge => {
                "its names and attributes are too large for an extended header; not dumped"
                    .to_owned()
            }
        },
    }
}
