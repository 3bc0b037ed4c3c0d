//! Changes of attributes on their way from a source to its target: other owners, and other permission bits.
//!
//! The words are those of rsync(1): `--chmod`, `--usermap`, `--groupmap`, `--chown`.

use haul_sys::fs::Kind;
use haul_sys::process::{group_name, user_name};

/// Permission bits with setuid, setgid and the sticky bit.
const ALL_BITS: u32 = 0o7777;

/// Setuid and setgid.
const SETID: u32 = 0o6000;

/// Entries that a change of permission bits is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entries {
    All,
    Directories,
    /// Everything else.
    Files,
}

/// Bits that a change sets or clears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bits {
    /// These, and search permission, or execute permission where a file had some.
    Given { plain: u32, where_executable: u32 },
    /// Those that another class has: the user (6), the group (3) or others (0), by the shift of its bits.
    OfClass { shift: u32, classes: u32 },
}

/// What a change does with its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Add,
    Remove,
    /// Only they stay, out of these.
    Only(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ModeChange {
    entries: Entries,
    operator: Operator,
    bits: Bits,
}

/// Changes of permission bits, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModeChanges(Vec<ModeChange>);

impl ModeChanges {
    /// Reads changes, separated by commas, and appends them. Returns `false`, and leaves what was read before, if one of
    /// them is not valid. Where a change names no class, bits of the umask are left out.
    pub fn read(&mut self, text: &[u8], umask: u32) -> bool {
        let changes: Option<Vec<_>> =
            text.split(|byte| *byte == b',').map(|item| ModeChange::read(item, umask)).collect();
        let is_valid = changes.is_some();
        self.0.extend(changes.unwrap_or_default());
        is_valid
    }

    /// Returns whether nothing changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the permission bits of an entry after all changes.
    pub(crate) fn of(&self, kind: Kind, mode: u32) -> u32 {
        if kind == Kind::Symlink {
            return mode;
        }
        let is_directory = kind == Kind::Directory;
        let may_run = is_directory || mode & 0o111 != 0;
        let applies = |change: &&ModeChange| match change.entries {
            Entries::All => true,
            Entries::Directories => is_directory,
            Entries::Files => !is_directory,
        };
        self.0.iter().filter(applies).fold(mode, |mode, change| {
            let bits = match change.bits {
                Bits::Given { plain, where_executable } if may_run => plain | where_executable,
                Bits::Given { plain, .. } => plain,
                Bits::OfClass { shift, classes } => ((mode >> shift) & 7) * classes,
            };
            match change.operator {
                Operator::Add => mode | bits,
                Operator::Remove => mode & !bits,
                Operator::Only(out_of) => (mode & !out_of) | bits,
            }
        })
    }
}

impl ModeChange {
    fn read(item: &[u8], umask: u32) -> Option<ModeChange> {
        let (entries, item) = match item {
            [b'D', rest @ ..] => (Entries::Directories, rest),
            [b'F', rest @ ..] => (Entries::Files, rest),
            _ => (Entries::All, item),
        };
        if item.first()?.is_ascii_digit() {
            let mode = u32::from_str_radix(std::str::from_utf8(item).ok()?, 8).ok()?;
            let bits = Bits::Given { plain: mode, where_executable: 0 };
            let is_valid = mode <= ALL_BITS && !item.starts_with(b"+");
            return is_valid.then_some(ModeChange {
                entries,
                operator: Operator::Only(ALL_BITS),
                bits,
            });
        }
        let at = item.iter().position(|byte| matches!(byte, b'+' | b'-' | b'='))?;
        let (classes, named) = classes(&item[..at])?;
        let letters = &item[at + 1..];
        let mask = if named { u32::MAX } else { !umask };
        // Where no class is named, `s` is setuid alone.
        let special_classes = if named { classes } else { 0o100 };
        let (bits, special) = match letters {
            [class @ (b'u' | b'g' | b'o')] => {
                let shift = match class {
                    b'u' => 6,
                    b'g' => 3,
                    _ => 0,
                };
                (Bits::OfClass { shift, classes }, specials(classes))
            }
            _ => (given(letters, (classes, mask), topmost(letters, special_classes))?, 0),
        };
        let operator = match item[at] {
            b'+' => Operator::Add,
            b'-' => Operator::Remove,
            _ => Operator::Only((classes * 7) | special | topmost(letters, special_classes)),
        };
        Some(ModeChange { entries, operator, bits })
    }
}

/// Returns one bit for each class, and whether they are named; all classes if none is.
fn classes(letters: &[u8]) -> Option<(u32, bool)> {
    let class = |letter: &u8| match letter {
        b'u' => Some(0o100),
        b'g' => Some(0o010),
        b'o' => Some(0o001),
        b'a' => Some(0o111),
        _ => None,
    };
    let named = letters.iter().try_fold(0, |classes, letter| Some(classes | class(letter)?))?;
    Some(if named == 0 { (0o111, false) } else { (named, true) })
}

/// Returns setuid, setgid and the sticky bit of classes.
const fn specials(classes: u32) -> u32 {
    let user = if classes & 0o100 == 0 { 0 } else { 0o4000 };
    let group = if classes & 0o010 == 0 { 0 } else { 0o2000 };
    let others = if classes & 0o001 == 0 { 0 } else { 0o1000 };
    user | group | others
}

/// Returns the bits above the permissions that the letters name.
fn topmost(letters: &[u8], classes: u32) -> u32 {
    let setid = if letters.contains(&b's') { specials(classes) & SETID } else { 0 };
    let sticky = if letters.contains(&b't') { 0o1000 } else { 0 };
    setid | sticky
}

fn given(letters: &[u8], (classes, mask): (u32, u32), topmost: u32) -> Option<Bits> {
    let (mut plain, mut where_executable) = (topmost, 0);
    for letter in letters {
        match letter {
            b'r' => plain |= (classes * 4) & mask,
            b'w' => plain |= (classes * 2) & mask,
            b'x' => plain |= classes & mask,
            b'X' => where_executable |= classes & mask,
            b's' | b't' => {}
            _ => return None,
        }
    }
    Some(Bits::Given { plain, where_executable })
}

/// Whose numbers are mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accounts {
    /// Owners.
    Users,
    /// Groups.
    Groups,
}

/// The numbers that a rule is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdSet {
    /// All of them.
    All,
    /// From the first one to the last one.
    Range(u32, u32),
    /// Those of accounts with such a name: `*` stands for any text, `?` for any byte. An empty pattern is for numbers
    /// that have no account.
    Named(Vec<u8>),
}

/// Numbers of accounts, and the number that stands for them in the target. The first rule that matches counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdMap {
    /// Whose numbers these are.
    pub accounts: Accounts,
    /// The rules in their order.
    pub rules: Vec<(IdSet, u32)>,
}

impl IdMap {
    /// Returns the number that stands for another one. May ask for its name, which blocks as long as that takes.
    pub(crate) fn of(&self, id: u32, has_names: bool) -> u32 {
        let mut name: Option<Vec<u8>> = None;
        let mut is_named = |pattern: &[u8]| {
            let name = name.get_or_insert_with(|| {
                let found = match self.accounts {
                    _ if !has_names => None,
                    Accounts::Users => user_name(id),
                    Accounts::Groups => group_name(id),
                };
                found.unwrap_or_default()
            });
            matches(pattern, name)
        };
        let rule = self.rules.iter().find(|(from, _)| match from {
            IdSet::All => true,
            IdSet::Range(first, last) => (*first..=*last).contains(&id),
            IdSet::Named(pattern) => is_named(pattern),
        });
        rule.map_or(id, |(_, to)| *to)
    }
}

/// Returns whether a name matches a pattern of `*`, `?` and plain bytes.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern, name) {
        ([], []) => true,
        ([b'*', rest @ ..], _) => (0..=name.len()).any(|at| matches(rest, &name[at..])),
        ([b'?', rest @ ..], [_, tail @ ..]) => matches(rest, tail),
        ([first, rest @ ..], [byte, tail @ ..]) => first == byte && matches(rest, tail),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_apply_in_order_to_their_kinds() {
        for (text, kind, mode, expected) in [
            ("600", Kind::Regular, 0o755, 0o600),
            ("D2775,F664", Kind::Regular, 0o755, 0o664),
            ("D2775,F664", Kind::Directory, 0o755, 0o2775),
            ("u+w,go-rwx", Kind::Regular, 0o555, 0o700),
            ("g=u", Kind::Regular, 0o2740, 0o770),
            ("o-g", Kind::Regular, 0o757, 0o752),
            ("a+X", Kind::Regular, 0o644, 0o644),
            ("a+X", Kind::Regular, 0o744, 0o755),
            ("a+X", Kind::Directory, 0o600, 0o711),
            ("+w", Kind::Regular, 0o444, 0o644),
            ("=rw", Kind::Regular, 0o777, 0o644),
            ("Dg+s,Fo-w,+X", Kind::Directory, 0o700, 0o2711),
            ("u+s", Kind::Regular, 0o755, 0o4755),
            ("+s", Kind::Regular, 0o755, 0o4755),
            ("a+s", Kind::Regular, 0o755, 0o6755),
            ("o+t", Kind::Directory, 0o777, 0o1777),
            ("go=", Kind::Symlink, 0o777, 0o777),
        ] {
            let mut changes = ModeChanges::default();
            assert!(changes.read(text.as_bytes(), 0o022), "{text}");
            assert_eq!(changes.of(kind, mode), expected, "{text}: {:o}", changes.of(kind, mode));
        }
        for text in ["", "x", "u", "q+r", "u+q", "u+gx", "8", "77777", "u+w,", "+"] {
            let mut changes = ModeChanges::default();
            assert_eq!(changes.read(text.as_bytes(), 0o022), text == "+", "{text}");
        }
    }

    #[test]
    fn the_first_rule_that_matches_counts() {
        let named = |pattern: &str| IdSet::Named(pattern.as_bytes().to_vec());
        let rules = vec![(named("roo?"), 7), (IdSet::Range(5, 9), 8), (named(""), 6)];
        let map = IdMap { accounts: Accounts::Users, rules };
        assert_eq!((map.of(0, true), map.of(9, true), map.of(987_654, true)), (7, 8, 6));
        assert_eq!((map.of(0, false), map.of(5, false)), (6, 8));
        let all = IdMap { accounts: Accounts::Groups, rules: vec![(IdSet::All, 3)] };
        assert_eq!(all.of(0, true), 3);
        assert!(matches(b"a*c?", b"abcbcd") && !matches(b"a*", b"ba") && matches(b"*", b""));
    }
}
