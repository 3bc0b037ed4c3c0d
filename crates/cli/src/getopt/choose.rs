//! Values of options, whole or abbreviated, as GNU's `argmatch` reads them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::Usage;

/// Finds the value that a word names, whole or abbreviated, among those that an option knows.
pub(crate) fn choose<V: Copy + PartialEq>(
    option: &str,
    word: &OsStr,
    values: &[(&str, V)],
) -> Result<V, Usage> {
    let bytes = word.as_bytes();
    if let Some((_, value)) = values.iter().find(|(name, _)| name.as_bytes() == bytes) {
        return Ok(*value);
    }
    let mut begins = values.iter().filter(|(name, _)| name.as_bytes().starts_with(bytes));
    let problem = match (begins.next(), begins.next()) {
        (Some((_, one)), None) => return Ok(*one),
        (Some((_, one)), Some((_, two))) if one == two && begins.all(|(_, other)| other == one) => {
            return Ok(*one);
        }
        (Some(_), Some(_)) => "ambiguous",
        _ => "invalid",
    };
    Err(refused(problem, option, bytes, values))
}

/// The same, but the word has to be whole.
pub(crate) fn choose_exactly<V: Copy + PartialEq>(
    option: &str,
    word: &OsStr,
    values: &[(&str, V)],
) -> Result<V, Usage> {
    let bytes = word.as_bytes();
    let exact = values.iter().find(|(name, _)| name.as_bytes() == bytes);
    exact.map(|(_, value)| *value).ok_or_else(|| refused("invalid", option, bytes, values))
}

fn refused<V: Copy + PartialEq>(
    problem: &str,
    option: &str,
    bytes: &[u8],
    values: &[(&str, V)],
) -> Usage {
    let quoted = crate::escape::quote_word;
    let mut text = format!(
        "{problem} argument {} for {}\nValid arguments are:",
        quoted(bytes),
        quoted(option.as_bytes())
    );
    let mut last = None;
    for (name, value) in values {
        // Names of one value stand on one line, as GNU's argmatch prints them.
        let separator = if last == Some(*value) { ", " } else { "\n  - " };
        text.push_str(separator);
        text.push_str(&quoted(name.as_bytes()));
        last = Some(*value);
    }
    Usage(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_may_be_abbreviated_unless_ambiguous() {
        let values = [("auto", 1), ("always", 2), ("never", 3)];
        let find = |word: &str| choose("--reflink", OsStr::new(word), &values);
        assert_eq!(find("al"), Ok(2));
        assert_eq!(find("auto"), Ok(1));
        assert!(find("a").unwrap_err().0.starts_with("ambiguous argument"));
        assert!(find("x").unwrap_err().0.contains("Valid arguments are:\n  - "));
    }
}
