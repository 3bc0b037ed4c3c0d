//! The command of `--vs`: one argument, split as a shell splits words.
//!
//! No shell runs it, so that its calls are the command's own and not those of a shell around it:
//! the other command has none around it either. What only a shell could do is refused instead of
//! meaning something else than it looks like.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::getopt::Usage;

/// Characters that are special to a shell wherever they are unquoted.
const SHELLS_OWN: &[u8] = b"|&;<>()$`*?[\n";
/// Characters that are special to a shell even between double quotes.
const SHELLS_OWN_QUOTED: &[u8] = b"$`";
/// Characters that are special to a shell at the start of a word.
const SHELLS_OWN_FIRST: &[u8] = b"~#";

/// Splits a command line at its blanks, with the quotes and backslashes of a shell.
pub(super) fn split(line: &OsStr) -> Result<Vec<OsString>, Usage> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut rest = line.as_bytes().iter().copied();
    while let Some(byte) = rest.next() {
        match byte {
            b' ' | b'\t' => words.extend(word.take().map(OsString::from_vec)),
            b'\'' => single_quoted(&mut rest, word.get_or_insert_default())?,
            b'"' => double_quoted(&mut rest, word.get_or_insert_default())?,
            b'\\' => match rest.next() {
                // A continued line.
                Some(b'\n') => {}
                Some(next) => word.get_or_insert_default().push(next),
                None => return Err(unfinished("a backslash")),
            },
            _ if SHELLS_OWN.contains(&byte) => return Err(needs_shell(byte)),
            _ if word.is_none() && SHELLS_OWN_FIRST.contains(&byte) => {
                return Err(needs_shell(byte));
            }
            _ => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word.map(OsString::from_vec));
    if words.is_empty() {
        return Err(Usage("--vs needs a command".to_owned()));
    }
    Ok(words)
}

fn single_quoted(rest: &mut impl Iterator<Item = u8>, word: &mut Vec<u8>) -> Result<(), Usage> {
    loop {
        match rest.next() {
            Some(b'\'') => return Ok(()),
            Some(byte) => word.push(byte),
            None => return Err(unfinished("a quote")),
        }
    }
}

fn double_quoted(rest: &mut impl Iterator<Item = u8>, word: &mut Vec<u8>) -> Result<(), Usage> {
    loop {
        match rest.next() {
            Some(b'"') => return Ok(()),
            Some(b'\\') => match rest.next() {
                Some(b'\n') => {}
                Some(next) if b"$`\"\\".contains(&next) => word.push(next),
                Some(next) => word.extend([b'\\', next]),
                None => return Err(unfinished("a quote")),
            },
            Some(byte) if SHELLS_OWN_QUOTED.contains(&byte) => return Err(needs_shell(byte)),
            Some(byte) => word.push(byte),
            None => return Err(unfinished("a quote")),
        }
    }
}

fn unfinished(what: &str) -> Usage {
    Usage(format!("the command of --vs ends within {what}"))
}

fn needs_shell(byte: u8) -> Usage {
    let shown = crate::escape::quote_word(&[byte]);
    Usage(format!(
        "the command of --vs contains {shown}, but no shell reads it: quote it, or write\n  \
         --vs 'sh -c \"COMMAND LINE\"'"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Result<Vec<String>, String> {
        let words = split(OsStr::new(line)).map_err(|usage| usage.0)?;
        Ok(words.into_iter().map(|word| word.into_string().unwrap()).collect())
    }

    #[test]
    fn words_are_those_that_a_shell_makes() {
        for (line, expected) in [
            ("dd bs=8k if=/dev/zero", &["dd", "bs=8k", "if=/dev/zero"][..]),
            ("  a \t b  ", &["a", "b"]),
            ("a 'b  c' \"d  e\" f\\ g", &["a", "b  c", "d  e", "f g"]),
            ("a'b'\"c\"d", &["abcd"]),
            ("a '' \"\"", &["a", "", ""]),
            (r#"a "\$x \"y\" \\ \n" '\'"#, &["a", r#"$x "y" \ \n"#, r"\"]),
            ("sh -c 'a | b > \"$c\"; d *'", &["sh", "-c", "a | b > \"$c\"; d *"]),
            ("a b\\\nc \"d\\\ne\"", &["a", "bc", "de"]),
            ("a b~ c#d é", &["a", "b~", "c#d", "é"]),
        ] {
            assert_eq!(words(line).unwrap(), expected, "{line}");
        }
    }

    #[test]
    fn what_only_a_shell_could_do_is_refused() {
        for line in ["a | b", "a > b", "a; b", "a $b", "a \"$b\"", "a *", "a ~", "a #", "a\nb"] {
            assert!(words(line).unwrap_err().contains("no shell"), "{line}");
        }
        for line in ["a 'b", "a \"b", "a \"b\\", "a \\"] {
            assert!(words(line).unwrap_err().contains("ends within"), "{line}");
        }
        for line in ["", "  "] {
            assert!(words(line).unwrap_err().contains("needs a command"));
        }
    }

    proptest::proptest! {
        #[test]
        fn quoted_words_come_back(given: Vec<String>) {
            let line: Vec<String> =
                given.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
            let read = words(&line.join(" "));
            proptest::prop_assert_eq!(read.unwrap_or_default(), given);
        }
    }
}
