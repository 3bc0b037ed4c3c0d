//! The line of a member in a listing, as GNU tar prints it.

use haul_archive::attributes::Direction;
use haul_archive::format::{Member, MemberKind, Moment};
use haul_sys::process::{Zone, local_time};

use super::quoting::listed;
use super::settings::Settings;

/// The widths of columns, which grow as longer values come.
pub(super) struct Columns {
    owner_and_size: usize,
    date: usize,
}

impl Columns {
    pub(super) fn new() -> Columns {
        Columns { owner_and_size: 19, date: 16 }
    }

    /// Returns the line of a member, without its end. `name` and `link` are shown.
    pub(super) fn line(&mut self, member: &Member, settings: &Settings) -> String {
        let owner = shown_owner(&member.user, member.uid, settings.numeric_owner);
        let group = shown_owner(&member.group, member.gid, settings.numeric_owner);
        let size = match member.kind {
            MemberKind::CharDevice | MemberKind::BlockDevice => {
                format!("{},{}", member.device.0, member.device.1)
            }
            _ => member.size.to_string(),
        };
        // GNU tar counts bytes here.
        let used = owner.len() + 1 + group.len() + 1 + size.len();
        self.owner_and_size = self.owner_and_size.max(used);
        let width = self.owner_and_size - used + size.len();
        let date = date(member.mtime, settings);
        self.date = self.date.max(date.len());
        format!(
            "{}{} {owner}/{group} {size:>width$} {date:<date_width$} {}{}",
            mode_text(member),
            mark(member, settings),
            listed(&member.name),
            behind_name(member),
            date_width = self.date,
        )
    }
}

/// Returns the attributes that are wanted beside the usual ones.
fn wanted_xattrs<'m>(
    member: &'m Member,
    settings: &'m Settings,
) -> impl Iterator<Item = &'m (Vec<u8>, Vec<u8>)> {
    let masks = settings.attributes.xattrs.as_ref();
    let is_wanted = move |name: &[u8]| masks.is_some_and(|m| m.wants(name, Direction::Restore));
    member.xattrs.iter().filter(move |(name, _)| is_wanted(name))
}

/// Returns the letter that tells of attributes beside the usual ones.
fn mark(member: &Member, settings: &Settings) -> &'static str {
    let wanted = &settings.attributes;
    if wanted.acls && member.acls.iter().any(Option::is_some) {
        "+"
    } else if wanted.contexts && member.context.is_some() {
        "."
    } else if wanted_xattrs(member, settings).next().is_some() {
        "*"
    } else if wanted.is_none() {
        ""
    } else {
        " "
    }
}

/// Returns lines with the attributes of a member beside the usual ones, each behind a line's end.
pub(super) fn details(member: &Member, settings: &Settings) -> String {
    let mut text = String::new();
    let wanted = &settings.attributes;
    if wanted.contexts
        && let Some(context) = &member.context
    {
        text.push_str(&format!("\n  s: {}", listed(context)));
    }
    if wanted.acls && member.acls.iter().any(Option::is_some) {
        let entries = |list: &Option<Vec<u8>>, before: &str| -> Vec<String> {
            let list = list.as_deref().unwrap_or_default();
            let parts = list.split(|byte| matches!(byte, b',' | b'\n'));
            let parts = parts.filter(|part| !part.is_empty());
            parts.map(|part| format!("{before}{}", listed(part))).collect()
        };
        let mut all = entries(&member.acls[0], "");
        all.extend(entries(&member.acls[1], "default:"));
        text.push_str(&format!("\n  a: {}", all.join(",")));
    }
    for (name, value) in wanted_xattrs(member, settings) {
        text.push_str(&format!("\n  x: {} {}", value.len(), listed(name)));
    }
    text
}

fn shown_owner(name: &[u8], number: u64, numeric: bool) -> String {
    if numeric || name.is_empty() {
        return number.to_string();
    }
    listed(name)
}

fn behind_name(member: &Member) -> String {
    match member.kind {
        MemberKind::Symlink => format!(" -> {}", listed(&member.link)),
        MemberKind::HardLink => format!(" link to {}", listed(&member.link)),
        MemberKind::VolumeLabel => "--Volume Header--".to_owned(),
        MemberKind::Continued => "--Continued from another volume--".to_owned(),
        MemberKind::Unknown(flag) => {
            format!(" unknown file type '{}'", listed(&[flag]))
        }
        _ => String::new(),
    }
}

/// Returns the kind and the permissions, as `ls` shows them.
fn mode_text(member: &Member) -> String {
    let kind = match member.kind {
        MemberKind::Regular => '-',
        MemberKind::Contiguous => 'C',
        MemberKind::HardLink => 'h',
        MemberKind::Symlink => 'l',
        MemberKind::CharDevice => 'c',
        MemberKind::BlockDevice => 'b',
        MemberKind::Directory | MemberKind::DumpDirectory => 'd',
        MemberKind::Fifo => 'p',
        MemberKind::VolumeLabel => 'V',
        MemberKind::Continued => 'M',
        MemberKind::Unknown(_) => '?',
    };
    format!("{kind}{}", permissions_text(member.mode))
}

/// Returns permissions as `ls` shows them.
pub(super) fn permissions_text(mode: u32) -> String {
    let mut text = String::new();
    for (shift, special, letter) in [(6, 0o4000, 's'), (3, 0o2000, 's'), (0, 0o1000, 't')] {
        let bits = mode >> shift;
        text.push(if bits & 4 != 0 { 'r' } else { '-' });
        text.push(if bits & 2 != 0 { 'w' } else { '-' });
        text.push(match (mode & special != 0, bits & 1 != 0) {
            (true, true) => letter,
            (true, false) => letter.to_ascii_uppercase(),
            (false, true) => 'x',
            (false, false) => '-',
        });
    }
    text
}

fn date(moment: Moment, settings: &Settings) -> String {
    date_text(moment, settings.zone, settings.shows_full_time)
}

/// Returns a time as listings show it, `full` with seconds and their fraction.
pub(super) fn date_text(moment: Moment, zone: Zone, full: bool) -> String {
    let Some(date) = local_time(moment.seconds, zone) else { return moment.seconds.to_string() };
    let day = format!("{:04}-{:02}-{:02}", date.year, date.month, date.day);
    if !full {
        return format!("{day} {:02}:{:02}", date.hour, date.minute);
    }
    let fraction = match moment.nanoseconds {
        0 => String::new(),
        nanoseconds => format!(".{nanoseconds:09}").trim_end_matches('0').to_owned(),
    };
    format!("{day} {:02}:{:02}:{:02}{fraction}", date.hour, date.minute, date.second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_show_what_was_asked_for() {
        let moment = Moment { seconds: 951_782_399, nanoseconds: 250_000_000 };
        assert_eq!(date_text(moment, Zone::Utc, false), "2000-02-28 23:59");
        assert_eq!(date_text(moment, Zone::Utc, true), "2000-02-28 23:59:59.25");
    }
}
