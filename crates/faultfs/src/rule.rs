//! Rules for fault injection, and their text form.
//!
//! `OPERATION[:NAME][@WHEN]=EFFECT`. NAME is a file's own name, and may begin or end with `*`. WHEN
//! is `3` (the third such request), `3+` (that one and all later ones), `offset=1M` (requests for
//! that byte), `in=1M-2M` (requests for any byte in this range) or `after=1M` (once that many bytes
//! have been moved). EFFECT is the name or number of an error, or `short:BYTES`, `flip`, `lose`,
//! `hole`, `data`, `size:BYTES`, `blocks:COUNT`, `grow:BYTES`, `wait:MILLISECONDS`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::Operation;

/// The requests to which a rule applies, of those that match it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Always.
    Always,
    /// Only this request; the first is 1.
    Nth(u64),
    /// This request and all that follow.
    From(u64),
    /// Requests for this byte of a file.
    Offset(u64),
    /// Requests for any byte from the first (included) to the second (excluded).
    Within(u64, u64),
    /// Requests after this many bytes have been moved; the request that crosses the limit is short.
    After(u64),
}

/// The fault that a rule injects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The request fails.
    Errno(i32),
    /// The request moves at most this many bytes.
    Short(usize),
    /// One bit of the first byte is wrong, without an error.
    Flip,
    /// The server reports success but does nothing: for a write, a sync or a reservation.
    Lose,
    /// `SEEK_DATA` finds nothing, as if the rest of the file were a hole.
    Hole,
    /// `SEEK_HOLE` finds nothing, as if there were none.
    Data,
    /// The server reports this file size.
    Size(u64),
    /// The server reports this many blocks of 512 bytes.
    Blocks(u64),
    /// A value or list of attributes is this many bytes longer than its reported length.
    Grow(usize),
    /// The request takes longer by this time.
    Wait(Duration),
}

/// A fault to inject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The kind of request.
    pub operation: Operation,
    /// The name of the file; `None` matches any.
    pub name: Option<String>,
    /// When.
    pub when: When,
    /// How.
    pub effect: Effect,
}

impl Rule {
    /// Returns a rule for every file.
    #[must_use]
    pub const fn new(operation: Operation, when: When, effect: Effect) -> Rule {
        Rule { operation, name: None, when, effect }
    }

    /// Returns whether the rule matches a file name.
    pub(crate) fn matches_name(&self, name: &[u8]) -> bool {
        let Some(wanted) = &self.name else { return true };
        if let Some(end) = wanted.strip_prefix('*') {
            return name.ends_with(end.as_bytes());
        }
        if let Some(start) = wanted.strip_suffix('*') {
            return name.starts_with(start.as_bytes());
        }
        name == wanted.as_bytes()
    }

    /// Returns whether the operation can have the effect.
    fn makes_sense(&self) -> bool {
        let data = self.operation.moves_data();
        let when = match self.when {
            When::Offset(_) | When::After(_) | When::Within(..) => data,
            _ => true,
        };
        let effect = match self.effect {
            Effect::Errno(_) | Effect::Wait(_) => true,
            Effect::Short(_) => data,
            Effect::Flip => matches!(self.operation, Operation::Read | Operation::Write),
            Effect::Lose => {
                matches!(self.operation, Operation::Write | Operation::Fsync | Operation::Fallocate)
            }
            Effect::Hole | Effect::Data => self.operation == Operation::Lseek,
            Effect::Size(_) | Effect::Blocks(_) => {
                matches!(self.operation, Operation::Lookup | Operation::Getattr)
            }
            Effect::Grow(_) => self.operation == Operation::Xattr,
        };
        when && effect
    }
}

/// A rule that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRule {
    text: String,
    why: &'static str,
}

impl fmt::Display for BadRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.text, self.why)
    }
}

impl std::error::Error for BadRule {}

impl FromStr for Rule {
    type Err = BadRule;

    fn from_str(text: &str) -> Result<Rule, BadRule> {
        let bad = |why| BadRule { text: text.to_owned(), why };
        let (what, effect) = text.rsplit_once('=').ok_or_else(|| bad("has no effect"))?;
        let (what, when) = match what.rsplit_once('@') {
            Some((what, when)) => (what, when_of(when).ok_or_else(|| bad("invalid WHEN"))?),
            None => (what, When::Always),
        };
        let (operation, name) = match what.split_once(':') {
            Some((operation, name)) => (operation, Some(name.to_owned())),
            None => (what, None),
        };
        let operation = Operation::of_name(operation).ok_or_else(|| bad("unknown operation"))?;
        let effect = effect_of(effect).ok_or_else(|| bad("unknown effect"))?;
        let rule = Rule { operation, name, when, effect };
        if rule.makes_sense() {
            Ok(rule)
        } else {
            Err(bad("this operation cannot have that effect"))
        }
    }
}

fn when_of(text: &str) -> Option<When> {
    if let Some(bytes) = text.strip_prefix("offset=") {
        return bytes_of(bytes).map(When::Offset);
    }
    if let Some(range) = text.strip_prefix("in=") {
        let (from, to) = range.split_once('-')?;
        let (from, to) = (bytes_of(from)?, bytes_of(to)?);
        return (from < to).then_some(When::Within(from, to));
    }
    if let Some(bytes) = text.strip_prefix("after=") {
        return bytes_of(bytes).map(When::After);
    }
    if let Some(count) = text.strip_suffix('+') {
        return count.parse().ok().filter(|count| *count > 0).map(When::From);
    }
    text.parse().ok().filter(|count| *count > 0).map(When::Nth)
}

fn effect_of(text: &str) -> Option<Effect> {
    match text {
        "flip" => return Some(Effect::Flip),
        "lose" => return Some(Effect::Lose),
        "hole" => return Some(Effect::Hole),
        "data" => return Some(Effect::Data),
        _ => {}
    }
    if let Some(bytes) = text.strip_prefix("short:") {
        return usize::try_from(bytes_of(bytes)?).ok().map(Effect::Short);
    }
    if let Some(bytes) = text.strip_prefix("size:") {
        return bytes_of(bytes).map(Effect::Size);
    }
    if let Some(count) = text.strip_prefix("blocks:") {
        return count.parse().ok().map(Effect::Blocks);
    }
    if let Some(bytes) = text.strip_prefix("grow:") {
        return usize::try_from(bytes_of(bytes)?).ok().map(Effect::Grow);
    }
    if let Some(time) = text.strip_prefix("wait:") {
        return time.parse().ok().map(|time| Effect::Wait(Duration::from_millis(time)));
    }
    crate::errno::of_name(text).map(Effect::Errno)
}

/// Parses a number of bytes with an optional K, M or G.
fn bytes_of(text: &str) -> Option<u64> {
    let (digits, unit) = match text.strip_suffix(['K', 'M', 'G']) {
        Some(digits) => (digits, text.as_bytes().last().copied()),
        None => (text, None),
    };
    let shift = match unit {
        Some(b'K') => 10,
        Some(b'M') => 20,
        Some(b'G') => 30,
        _ => 0,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> Rule {
        text.parse().unwrap()
    }

    #[test]
    fn rules_are_read() {
        assert_eq!(
            rule("write@3=ENOSPC"),
            Rule::new(Operation::Write, When::Nth(3), Effect::Errno(28))
        );
        assert_eq!(
            rule("read:big*@offset=1M=EIO"),
            Rule {
                name: Some("big*".to_owned()),
                ..Rule::new(Operation::Read, When::Offset(1 << 20), Effect::Errno(5))
            }
        );
        assert_eq!(
            rule("write@2+=short:4K"),
            Rule::new(Operation::Write, When::From(2), Effect::Short(4096))
        );
        assert_eq!(rule("lseek=hole"), Rule::new(Operation::Lseek, When::Always, Effect::Hole));
        assert_eq!(rule("write@in=1M-2M=EIO").when, When::Within(1 << 20, 2 << 20));
        assert_eq!(rule("getattr:a=size:10").effect, Effect::Size(10));
        assert_eq!(rule("lookup=blocks:0").effect, Effect::Blocks(0));
        assert_eq!(rule("xattr@2+=grow:1K").effect, Effect::Grow(1024));
        assert_eq!(rule("setxattr=EDQUOT").operation, Operation::Setxattr);
        assert_eq!(rule("flush=116").effect, Effect::Errno(116));
        assert_eq!(
            rule("fsync@after=1=lose".replace("@after=1", "").as_str()).effect,
            Effect::Lose
        );
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "write",
            "write@0=EIO",
            "write@in=2M-1M=EIO",
            "fly=EIO",
            "read=EWHAT",
            "read=size:1",
            "setxattr=grow:1",
            "lookup=flip",
            "open@after=1M=EIO",
        ] {
            assert!(text.parse::<Rule>().is_err(), "{text}");
        }
    }

    #[test]
    fn names_match_whole_or_by_an_end() {
        assert!(rule("read:a.db=EIO").matches_name(b"a.db"));
        assert!(!rule("read:a.db=EIO").matches_name(b"aa.db"));
        assert!(rule("read:*.db=EIO").matches_name(b"aa.db"));
        assert!(rule("read:a*=EIO").matches_name(b"aa.db"));
        assert!(rule("read=EIO").matches_name(b"\xff"));
    }
}
