//! The old style of tar's command line: `tar tvf FILE`, letters without a dash.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

use super::option_table::TABLES;
use super::unsupported::UNSUPPORTED;
use crate::getopt::{Takes, Usage};

/// Returns the arguments with the letters of the first word as options. Each letter that needs an
/// argument takes the next of the words behind.
pub(super) fn with_dashes(arguments: &[OsString]) -> Result<Vec<OsString>, Usage> {
    let Some((first, rest)) = arguments.split_first() else { return Ok(Vec::new()) };
    if first.is_empty() || first.as_bytes().starts_with(b"-") {
        return Ok(arguments.to_vec());
    }
    let mut rest = rest.iter();
    let mut words = Vec::new();
    for letter in first.as_bytes() {
        words.push(OsStr::from_bytes(&[b'-', *letter]).to_owned());
        if takes_value(*letter) {
            let value = rest.next().ok_or_else(|| {
                let shown = String::from_utf8_lossy(std::slice::from_ref(letter)).into_owned();
                Usage(format!("Old option '{shown}' requires an argument."))
            })?;
            words.push(value.clone());
        }
    }
    words.extend(rest.cloned());
    Ok(words)
}

fn takes_value(letter: u8) -> bool {
    let needs = |short: &str, takes: Takes| {
        short.as_bytes().contains(&letter) && matches!(takes, Takes::Required(_))
    };
    let all = TABLES.into_iter().flatten().chain(UNSUPPORTED);
    let mut found = all.filter(|option| option.long != "help");
    found.any(|option| needs(option.short, option.takes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn letters_take_the_words_behind_in_order() {
        let read = |text: &str| with_dashes(&words(text)).unwrap();
        assert_eq!(read("tvf a b"), words("-t -v -f a b"));
        assert_eq!(read("tfb a 20 c"), words("-t -f a -b 20 c"));
        assert_eq!(read("-tf a"), words("-tf a"));
        assert!(with_dashes(&words("tf")).is_err());
        assert_eq!(with_dashes(&[]).unwrap(), Vec::<OsString>::new());
    }
}
