//! Options whose value is a file: a forgotten value creates no file with the name of another option.

use super::support::run::{Call, haul};
use super::support::scratch::Scratch;
use super::support::{Outcome, entries};

/// Command lines without a file where one is needed, and the option that needs it.
const FORGOTTEN: &[(&[&str], &str)] = &[
    (&["trace", "--svg", "--", "true"], "--svg"),
    (&["trace", "--json", "--", "true"], "--json"),
    (&["trace", "-o", "--", "true"], "--output"),
    (&["trace", "--svg=", "true"], "--svg"),
    (&["cp", "--sum-file=-", "s", "t"], "--sum-file"),
    (&["cp", "--sum-file", "--", "s", "t"], "--sum-file"),
    (&["cp", "--sum-file=", "s", "t"], "--sum-file"),
    (&["cp", "--errors=-", "s", "t"], "--errors"),
    (&["cp", "--errors", "--", "s", "t"], "--errors"),
    (&["cp", "--journal=-", "s", "t"], "--journal"),
    (&["cp", "--journal", "--", "s", "t"], "--journal"),
    (&["cp", "--retry-failed=-"], "--retry-failed"),
    (&["cp", "--profile=-", "s", "t"], "--profile"),
    (&["rm", "--errors", "--", "s"], "--errors"),
    (&["rm", "--errors=-", "s"], "--errors"),
    (&["verify", "--against=-", "."], "--against"),
    (&["gzip", "--index=-", "s"], "--index"),
    (&["gzip", "--index", "--", "s"], "--index"),
    (&["bench", "--here=--"], "--here"),
    (&["bench", "--out=-", "--here"], "--out"),
];

#[test]
fn a_value_that_is_no_file_name_is_refused() -> Outcome {
    for (words, option) in FORGOTTEN {
        let scratch = Scratch::new()?;
        scratch.write("s", "bytes")?;
        let done = Call::of(haul()).words(*words).in_dir(scratch.path()).run()?;
        assert!(done.code().is_some_and(|code| code != 0), "{words:?}: {done:?}");
        let errors = done.errors();
        assert!(errors.contains(&format!("option '{option}' ")), "{words:?}: {errors}");
        assert!(errors.contains("./-"), "{words:?}: {errors}");
        assert_eq!(entries(scratch.path())?.len(), 1, "{words:?}: nothing was made");
    }
    Ok(())
}

#[test]
fn files_of_these_names_can_be_named() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("s", "bytes")?;
    Call::of(haul()).words(["cp", "--sum-file=./-", "s", "t"]).in_dir(scratch.path()).succeed()?;
    Call::of(haul()).words(["cp", "--errors=./--", "s", "t"]).in_dir(scratch.path()).succeed()?;
    assert!(scratch.at("-").is_file() && scratch.at("--").is_file());
    let call = Call::of(haul()).words(["cp", "--sum-file=/dev/stdout", "--hash=md5", "s", "u"]);
    let done = call.in_dir(scratch.path()).succeed()?;
    assert_eq!(done.text(), "4b3a6218bb3e3a7303e8a171a60fcf92  u\n");
    Ok(())
}
