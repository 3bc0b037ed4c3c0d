//! JSON output on a terminal: a name in it cannot be obeyed or hidden, and is still the same name.

use std::fs;

use serde_json::Value;

use super::support::Outcome;
use super::support::run::{Call, Done, haul};
use super::support::scratch::Scratch;

/// DEL, a C1 control (CSI), a line separator, a mark that turns text around, one that has no width, a tag.
const NAME: &str = "a\u{7f}\u{9b}31m\u{85}\u{2028}\u{202e}\u{200b}\u{e0041}é";

/// Returns whether a JSON value has the name in a string.
fn names_it(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(NAME),
        Value::Array(values) => values.iter().any(names_it),
        Value::Object(map) => map.iter().any(|(key, value)| key.contains(NAME) || names_it(value)),
        _ => false,
    }
}

/// Asserts that a text of JSON lines shows what it has, and that it has the name.
fn demand(text: &str, context: &str) -> Outcome {
    let hidden = text.chars().find(|c| *c != '\n' && !haul_manifest::is_shown(*c));
    assert_eq!(hidden, None, "{context}: {}", text.escape_default());
    let values: Vec<Value> = text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    assert!(values.iter().any(names_it), "{context}: {text}");
    Ok(())
}

#[test]
fn no_line_of_json_has_what_a_terminal_obeys() -> Outcome {
    let scratch = Scratch::new()?;
    let run = |words: &[&str]| -> Outcome<Done> {
        Call::of(haul()).words(words).in_dir(scratch.path()).run()
    };
    scratch.write(NAME, "x")?;
    let missing = format!("{NAME}/missing");
    for words in [
        &["cp", "--json", NAME, "copy"][..],
        &["cp", "--json", "--dry-run", NAME, "copy"],
        &["cp", "--json", &missing, "copy"],
        &["tar", "-cf", "a.tar", "--json", NAME],
        &["tar", "-tf", "a.tar", "--json"],
        &["tar", "-xf", "a.tar", "--json"],
        &["doctor", "--json", NAME],
    ] {
        demand(&run(words)?.text(), &format!("{words:?}"))?;
    }
    fs::create_dir(scratch.at("one"))?;
    fs::create_dir(scratch.at("two"))?;
    scratch.write(&format!("one/{NAME}"), "x")?;
    demand(&run(&["compare", "--json", "one", "two"])?.text(), "compare")?;
    run(&["cp", "--errors=list", &missing, "copy"])?;
    demand(&fs::read_to_string(scratch.at("list"))?, "--errors")?;
    demand(&run(&["rm", "--json", NAME])?.text(), "rm")
}

#[cfg(feature = "trace")]
#[test]
fn a_trace_shows_names_and_does_not_obey_them() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write(NAME, "x")?;
    let words = ["trace", "--backend=ptrace", "--all", "--json=out", "--", "cat", NAME];
    let done = Call::of(haul()).words(words).in_dir(scratch.path()).run()?;
    if done.code() != Some(0) {
        return super::support::ignored("ptrace");
    }
    let hidden = done.errors().chars().find(|c| *c != '\n' && !haul_manifest::is_shown(*c));
    assert_eq!(hidden, None, "{}", done.errors().escape_default());
    demand(&fs::read_to_string(scratch.at("out"))?, "trace")
}
