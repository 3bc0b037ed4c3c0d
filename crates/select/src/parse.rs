//! Reads one filter rule: its sign or name, its modifiers, and what follows them.

use std::fmt;

/// The side of a copy that rules are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// What is copied (`H`, `S`, the modifier `s`).
    Sender,
    /// What is removed (`P`, `R`, the modifier `r`).
    Receiver,
}

/// Reason for which a rule is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The rule begins with no known sign or name.
    Unknown,
    /// The rule has a modifier that its kind does not have.
    Modifier(u8),
    /// The rule has no pattern, or no file.
    NoPattern,
    /// There is something behind `!`.
    Trailing,
    /// A rule for one side is in a merge file for one side.
    TwoSides,
    /// The rule is about what a command removes, and the command removes nothing.
    RemovesNothing,
    /// The rule is about what is copied, and the command copies nothing.
    CopiesNothing,
    /// The rule is about names of extended attributes, which are not selected.
    ExtendedAttribute,
    /// The modifier `p` would let a removal remove what the rule protects.
    Perishable,
    /// A merge file is read in a file that is read for a directory.
    MergeInside,
    /// Merge files are read in each other without an end.
    TooDeep,
    /// More kinds of merge files than are read for each directory.
    TooMany,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Refusal::Modifier(byte) = self {
            return write!(
                f,
                "it has the modifier '{}', which it cannot have",
                byte.escape_ascii()
            );
        }
        f.write_str(match self {
            Refusal::Modifier(_) | Refusal::Unknown => "it begins with no sign or name of a rule",
            Refusal::NoPattern => "it has no pattern",
            Refusal::Trailing => "nothing may follow '!'",
            Refusal::TwoSides => "its file is for one side already",
            Refusal::RemovesNothing => "it is about removed files, and this command protects none",
            Refusal::CopiesNothing => "it is about copied files, and this command copies none",
            Refusal::ExtendedAttribute => "extended attributes cannot be selected",
            Refusal::Perishable => "the modifier 'p' would remove what the rule protects",
            Refusal::MergeInside => "a file that is read for a directory cannot have '.'",
            Refusal::TooDeep => "the files read each other",
            Refusal::TooMany => "it is the 65th kind of file that is read for each directory",
        })
    }
}

/// A rule that is refused, and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// The rule as it was given.
    pub rule: Vec<u8>,
    /// The option or the file that has it.
    pub origin: Vec<u8>,
    /// Reason of the refusal.
    pub refusal: Refusal,
}

/// Whether rules have a sign or a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prefixes {
    /// `--filter` and merge files.
    Rules,
    /// `--exclude` and the like: a pattern, before which `+ ` or `- ` may be, or `!` alone.
    Patterns,
}

/// What a rule is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A pattern.
    Pattern,
    /// The rules before it are forgotten (`!`).
    Clear,
    /// A file of rules is read now (`.`).
    Merge,
    /// A file of rules is read in each directory (`:`).
    PerDirectory,
    /// The patterns that CVS ignores (`-C`).
    Cvs,
}

/// Properties of a rule, and of the rules in a merge file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags {
    pub(crate) includes: bool,
    pub(crate) is_absolute: bool,
    pub(crate) is_negated: bool,
    pub(crate) is_perishable: bool,
    pub(crate) sender: bool,
    pub(crate) receiver: bool,
    /// The lines of the file are patterns without a sign.
    pub(crate) has_patterns: bool,
    /// The file has words, not lines.
    pub(crate) has_words: bool,
    /// The rules do not apply in subdirectories.
    pub(crate) is_local: bool,
    pub(crate) is_cvs: bool,
    /// The merge file itself is excluded.
    pub(crate) excludes_itself: bool,
}

impl Flags {
    /// Returns whether the rule is about one side, and not the given one.
    pub(crate) const fn is_for_other_side(&self, side: Side) -> bool {
        match side {
            Side::Sender => self.receiver && !self.sender,
            Side::Receiver => self.sender && !self.receiver,
        }
    }

    const fn has_side(&self) -> bool {
        self.sender || self.receiver
    }
}

/// A rule that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parsed<'a> {
    pub(crate) kind: Kind,
    pub(crate) flags: Flags,
    pub(crate) pattern: &'a [u8],
}

fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

/// Reads the first rule of a text, and returns it with the rest of the text; `None` at the end. The file
/// that has the text has given `template` to its rules.
pub(crate) fn parse<'a>(
    text: &'a [u8],
    template: &Flags,
    prefixes: Prefixes,
) -> Result<Option<(Parsed<'a>, &'a [u8])>, Refusal> {
    let text = if template.has_words { text.trim_ascii_start() } else { text };
    if text.is_empty() {
        return Ok(None);
    }
    let mut flags = Flags {
        includes: template.includes,
        is_absolute: template.is_absolute,
        is_perishable: template.is_perishable,
        ..Flags::default()
    };
    let mut may_clear = false;
    let (kind, rest) = if template.has_patterns {
        may_clear = template.is_cvs && text.starts_with(b"!");
        (Kind::Pattern, text)
    } else if prefixes == Prefixes::Patterns {
        may_clear = text.starts_with(b"!");
        let signed = text.strip_prefix(b"- ").map(|rest| (false, rest));
        let signed = signed.or_else(|| text.strip_prefix(b"+ ").map(|rest| (true, rest)));
        let (includes, rest) = signed.unwrap_or((flags.includes, text));
        flags.includes = includes;
        (Kind::Pattern, rest)
    } else {
        signed(text, template, &mut flags)?
    };
    if template.has_side() {
        if flags.has_side() {
            return Err(Refusal::TwoSides);
        }
        (flags.sender, flags.receiver) = (template.sender, template.receiver);
    }
    let length = match template.has_words {
        true => rest.iter().position(|byte| is_space(*byte)).unwrap_or(rest.len()),
        false => rest.len(),
    };
    let (pattern, rest) = rest.split_at(length);
    let kind = match kind {
        Kind::Clear if !pattern.is_empty() => return Err(Refusal::Trailing),
        Kind::Pattern if may_clear && pattern.len() == 1 => Kind::Clear,
        Kind::Clear | Kind::Cvs => kind,
        _ if pattern.is_empty() && !flags.is_cvs => return Err(Refusal::NoPattern),
        _ => kind,
    };
    Ok(Some((Parsed { kind, flags, pattern }, rest)))
}

/// Long names of rules.
const NAMES: &[(&[u8], u8)] = &[
    (b"clear", b'!'),
    (b"dir-merge", b':'),
    (b"exclude", b'-'),
    (b"hide", b'H'),
    (b"include", b'+'),
    (b"merge", b'.'),
    (b"protect", b'P'),
    (b"risk", b'R'),
    (b"show", b'S'),
];

/// Reads the sign or name of a rule and its modifiers. Returns the rest of the text.
fn signed<'a>(
    text: &'a [u8],
    template: &Flags,
    flags: &mut Flags,
) -> Result<(Kind, &'a [u8]), Refusal> {
    let named = NAMES.iter().find_map(|(name, sign)| {
        let rest = text.strip_prefix(*name)?;
        let ends = rest.first().is_none_or(|byte| is_space(*byte) || b"_,".contains(byte));
        ends.then_some((*sign, rest))
    });
    let (sign, rest) = match named {
        Some(found) => found,
        None => text.split_first().map(|(sign, rest)| (*sign, rest)).ok_or(Refusal::Unknown)?,
    };
    let mut kind = Kind::Pattern;
    match sign {
        b'-' => flags.includes = false,
        b'+' => flags.includes = true,
        b'H' => flags.sender = true,
        b'S' => (flags.sender, flags.includes) = (true, true),
        b'P' => flags.receiver = true,
        b'R' => (flags.receiver, flags.includes) = (true, true),
        b'.' => kind = Kind::Merge,
        b':' => kind = Kind::PerDirectory,
        b'!' => return Ok((Kind::Clear, rest)),
        _ => return Err(Refusal::Unknown),
    }
    let mut rest = rest.strip_prefix(b",").unwrap_or(rest);
    while let Some((byte, after)) = rest.split_first() {
        if matches!(byte, b' ' | b'_') {
            rest = after;
            break;
        }
        if template.has_words && is_space(*byte) {
            break;
        }
        modify((kind, sign), *byte, flags)?;
        rest = after;
    }
    if flags.is_cvs && kind == Kind::Pattern {
        kind = Kind::Cvs;
    }
    Ok((kind, rest))
}

/// Applies a modifier.
fn modify((kind, sign): (Kind, u8), byte: u8, flags: &mut Flags) -> Result<(), Refusal> {
    let is_merge = kind != Kind::Pattern;
    let specifies_side = b"HSPR".contains(&sign);
    let is_valid = match byte {
        b'-' | b'+' => is_merge && !flags.has_patterns,
        b'!' => !is_merge,
        b'C' => !flags.has_patterns && !specifies_side,
        b'e' | b'n' | b'w' => is_merge,
        b'r' | b's' => !specifies_side,
        b'/' | b'p' | b'x' => true,
        _ => false,
    };
    if !is_valid {
        return Err(Refusal::Modifier(byte));
    }
    match byte {
        b'-' => flags.has_patterns = true,
        b'+' => (flags.has_patterns, flags.includes) = (true, true),
        b'/' => flags.is_absolute = true,
        b'!' => flags.is_negated = true,
        b'C' => {
            (flags.has_patterns, flags.has_words) = (true, true);
            (flags.is_local, flags.is_cvs) = (true, true);
        }
        b'e' => flags.excludes_itself = true,
        b'n' => flags.is_local = true,
        b'p' => flags.is_perishable = true,
        b'r' => flags.receiver = true,
        b's' => flags.sender = true,
        b'w' => flags.has_words = true,
        _ => return Err(Refusal::ExtendedAttribute),
    }
    Ok(())
}
