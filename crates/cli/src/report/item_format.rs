//! `--out-format` and `--log-file-format`: what is printed of each entry, with rsync's letters behind `%`.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;

use haul_sys::process::{Zone, local_time};

/// A part of a format.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Field(Field),
}

/// What a letter stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    /// `%i`: what changes.
    Changes,
    /// `%n`: the name in the transfer.
    Name,
    /// `%L`: what a link leads to.
    LinkText,
    /// `%f`: the path of the source.
    Path,
    /// `%l`: the size in bytes.
    Size,
    /// `%B`: the permission bits.
    Permissions,
    /// `%M`: the modification time.
    Modified,
    /// `%o`: what is done.
    Operation,
    /// `%U`, `%G`: owner and group.
    User,
    Group,
    /// `%p`: the number of the process.
    Process,
    /// `%t`: the present time.
    Now,
}

/// The format of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ItemFormat(Vec<Part>);

/// What a line may show of an entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown<'a> {
    pub(super) changes: &'a str,
    pub(super) name: &'a str,
    pub(super) link_text: &'a str,
    pub(super) source: &'a [u8],
    pub(super) is_removed: bool,
}

impl ItemFormat {
    /// Reads a format. Fails with the letter that has no meaning here.
    pub(crate) fn read(text: &str) -> Result<ItemFormat, String> {
        let (mut parts, mut plain) = (Vec::new(), String::new());
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            match (letter, if letter == '%' { letters.next() } else { None }) {
                ('%', Some(letter)) if letter != '%' => {
                    let field = Field::of(letter).ok_or_else(|| format!("%{letter}"))?;
                    parts.push(Part::Text(std::mem::take(&mut plain)));
                    parts.push(Part::Field(field));
                }
                // A second sign stands for the first one.
                (letter, _) => plain.push(letter),
            }
        }
        parts.push(Part::Text(plain));
        Ok(ItemFormat(parts))
    }

    /// Returns the format of `-i`.
    pub(crate) fn itemized() -> ItemFormat {
        let space = Part::Text(" ".to_owned());
        let field = Part::Field;
        ItemFormat(vec![field(Field::Changes), space, field(Field::Name), field(Field::LinkText)])
    }

    /// Returns whether the lines say what changes.
    pub(crate) fn has_changes(&self) -> bool {
        self.0.contains(&Part::Field(Field::Changes))
    }

    /// Returns whether the lines say that an entry is removed.
    pub(super) fn tells_removals(&self) -> bool {
        self.has_changes() || self.0.contains(&Part::Field(Field::Operation))
    }

    /// Returns the line of an entry.
    pub(super) fn line(&self, shown: Shown<'_>) -> String {
        let stat = if shown.is_removed { None } else { described(shown.source) };
        let mut line = String::new();
        for part in &self.0 {
            match part {
                Part::Text(text) => line.push_str(text),
                Part::Field(field) => line.push_str(&field.text(shown, stat.as_ref())),
            }
        }
        line
    }
}

/// Describes a source again, itself.
fn described(source: &[u8]) -> Option<Metadata> {
    std::fs::symlink_metadata(OsStr::from_bytes(source)).ok()
}

impl Field {
    const fn of(letter: char) -> Option<Field> {
        Some(match letter {
            'i' => Field::Changes,
            'n' => Field::Name,
            'L' => Field::LinkText,
            'f' => Field::Path,
            'l' => Field::Size,
            'B' => Field::Permissions,
            'M' => Field::Modified,
            'o' => Field::Operation,
            'U' => Field::User,
            'G' => Field::Group,
            'p' => Field::Process,
            't' => Field::Now,
            _ => return None,
        })
    }

    fn text(self, shown: Shown<'_>, stat: Option<&Metadata>) -> String {
        let number = |of: fn(&Metadata) -> u64| stat.map_or(0, of).to_string();
        match self {
            Field::Changes => shown.changes.to_owned(),
            Field::Name => shown.name.to_owned(),
            Field::LinkText => shown.link_text.to_owned(),
            Field::Path if shown.is_removed => shown.name.to_owned(),
            Field::Path => path(shown.source),
            Field::Size => number(Metadata::len),
            Field::Permissions => stat.map_or("---------".to_owned(), |it| permissions(it.mode())),
            Field::Modified => moment(stat.map_or(0, Metadata::mtime), '-'),
            Field::Operation => if shown.is_removed { "del." } else { "send" }.to_owned(),
            Field::User => number(|stat| u64::from(stat.uid())),
            Field::Group => number(|stat| u64::from(stat.gid())),
            Field::Process => std::process::id().to_string(),
            Field::Now => now(),
        }
    }
}

/// Returns the path of a source without slashes at its beginning; of the entries of a directory with a dot.
fn path(source: &[u8]) -> String {
    let dot: &[u8] = if source.ends_with(b"/") { b"." } else { b"" };
    let path = [source, dot].concat();
    let start = path.iter().position(|byte| *byte != b'/').unwrap_or(path.len());
    String::from_utf8_lossy(&path[start..]).into_owned()
}

/// Returns permission bits as nine letters.
fn permissions(mode: u32) -> String {
    let special = [(0o4000, 6, 's', 'S'), (0o2000, 3, 's', 'S'), (0o1000, 0, 't', 'T')];
    let mut text = String::with_capacity(9);
    for (bit, shift, with, without) in special {
        let class = mode >> shift;
        text.push(if class & 4 == 0 { '-' } else { 'r' });
        text.push(if class & 2 == 0 { '-' } else { 'w' });
        text.push(match (mode & bit != 0, class & 1 != 0) {
            (true, true) => with,
            (true, false) => without,
            (false, true) => 'x',
            (false, false) => '-',
        });
    }
    text
}

/// Returns the present time, as `%t` and each line of a log show it.
pub(super) fn now() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    moment(since.map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX)), ' ')
}

fn moment(seconds: i64, between: char) -> String {
    let Some(date) = local_time(seconds, Zone::Local) else { return seconds.to_string() };
    format!(
        "{:04}/{:02}/{:02}{between}{:02}:{:02}:{:02}",
        date.year, date.month, date.day, date.hour, date.minute, date.second
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHOWN: Shown<'static> = Shown {
        changes: ">f+++++++++",
        name: "d/f",
        link_text: "",
        source: b"/s/d/",
        is_removed: true,
    };

    #[test]
    fn letters_stand_for_what_they_do_in_rsync() {
        for (format, expected) in [
            ("%i %n%L", ">f+++++++++ d/f"),
            ("[%o] 100%% %f", "[del.] 100% d/f"),
            ("%l %B %U %G", "0 --------- 0 0"),
            ("%%n%%", "%n%"),
            ("", ""),
        ] {
            let read = ItemFormat::read(format).unwrap();
            assert_eq!(read.line(SHOWN), expected, "{format}");
        }
        assert_eq!(ItemFormat::read("%b"), Err("%b".to_owned()));
        assert_eq!(ItemFormat::read("%n%").unwrap().line(SHOWN), "d/f%");
        assert!(ItemFormat::read("%i").unwrap().has_changes());
        assert!(!ItemFormat::read("%n").unwrap().tells_removals());
    }

    #[test]
    fn bits_are_nine_letters() {
        assert_eq!(permissions(0o755), "rwxr-xr-x");
        assert_eq!(permissions(0o7644), "rwSr-Sr-T");
        assert_eq!(permissions(0o7755), "rwsr-sr-t");
        assert_eq!(path(b"/s/d/"), "s/d/.");
    }
}
