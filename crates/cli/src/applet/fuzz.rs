//! Random words: the code that reads the command line, sizes, names and lists never panics.
//!
//! The generator has a fixed seed, so that what fails once fails again, and on every machine.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::{cp, rm};
use crate::escape::{quote, quote_if_needed, quote_word};

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        rng_seed: RngSeed::Fixed(102),
        failure_persistence: None,
        ..ProptestConfig::with_cases(cases)
    }
}

/// Words that look like options, their values, or anything at all.
fn word() -> impl Strategy<Value = OsString> {
    let long: Vec<String> = (cp::APPLET.page)()
        .all_options()
        .filter(|option| !option.long.is_empty())
        .map(|option| option.long.to_owned())
        .collect();
    let named = (proptest::sample::select(long), 0_usize..24, "(=[a-z0-9KMGiB,.-]{0,8})?");
    prop_oneof![
        4 => named.prop_map(|(name, length, value)| {
            let length = name.char_indices().map(|(at, _)| at).nth(length).unwrap_or(name.len());
            format!("--{}{value}", name.get(..length).unwrap_or(&name)).into()
        }),
        2 => "-[a-zA-Z]{1,5}".prop_map(OsString::from),
        1 => Just(OsString::from("--")),
        2 => "[0-9]{0,25}[a-zA-Z]{0,3}".prop_map(OsString::from),
        1 => proptest::collection::vec(any::<u8>(), 0..12).prop_map(OsString::from_vec),
    ]
}

proptest! {
    #![proptest_config(config(3000))]

    #[test]
    fn command_lines_are_read_or_refused(words in proptest::collection::vec(word(), 0..6)) {
        for refusal in [cp::refusal(&words), rm::refusal(&words)].into_iter().flatten() {
            prop_assert!(!refusal.is_empty());
        }
    }

    #[test]
    fn a_terminal_only_sees_text(name in proptest::collection::vec(any::<u8>(), 0..40)) {
        for shown in [quote(&name), quote_if_needed(&name), quote_word(&name)] {
            prop_assert!(!shown.chars().any(char::is_control), "{shown:?}");
        }
    }
}
