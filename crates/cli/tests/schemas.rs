//! Every line of JSON that a command prints is as `docs/schema/` describes it. Other modules check the
//! lines that they read; here are the commands whose lines no other test reads.

use std::os::unix::ffi::OsStrExt as _;

use serde_json::{Value, json};

use super::support::run::{Call, haul};
use super::support::scratch::Scratch;
use super::support::{Outcome, schema};

fn call(words: &[&str], scratch: &Scratch) -> Call {
    Call::of(haul()).words(words).in_dir(scratch.path())
}

/// Makes files of which one has a name that is not UTF-8.
fn tree() -> Outcome<Scratch> {
    let scratch = Scratch::new()?;
    std::fs::create_dir(scratch.at("s"))?;
    scratch.write("s/a", *b"one")?;
    std::fs::write(scratch.at("s").join(std::ffi::OsStr::from_bytes(b"b\xff")), "two")?;
    Ok(scratch)
}

/// Returns the events of lines, sorted and once each.
fn events(lines: &[Value]) -> Vec<&str> {
    let mut events: Vec<&str> = lines.iter().filter_map(|line| line["event"].as_str()).collect();
    events.sort_unstable();
    events.dedup();
    events
}

#[test]
fn runs_lists_and_comparisons_are_as_described() -> Outcome {
    let scratch = tree()?;
    let text =
        |words: &[&str]| Ok::<_, Box<dyn std::error::Error>>(call(words, &scratch).run()?.text());
    let copied =
        text(&["cp", "-a", "--json", "--explain", "--errors=list", "s", "absent", "t", "-t", "."])?;
    let copied = schema::lines("run", &copied)?;
    assert!(events(&copied).contains(&"failure"), "{copied:?}");
    let list = schema::lines("errors", &std::fs::read_to_string(scratch.at("list"))?)?;
    assert_eq!(events(&list), ["end", "failure", "run"]);
    call(&["cp", "-a", "--json", "s", "t"], &scratch).succeed()?;
    let equal = schema::lines("compare", &text(&["compare", "--json", "s", "t"])?)?;
    assert_eq!(events(&equal), ["summary"], "{equal:?}");
    scratch.write("t/a", *b"four")?;
    scratch.write("t/c", *b"")?;
    let different = schema::lines("compare", &text(&["compare", "--json", "s", "t"])?)?;
    assert_eq!(events(&different), ["difference", "summary"], "{different:?}");
    let sums = text(&["sha256sum", "s/a"])?;
    scratch.write("sums", sums.replace("s/a", "a"))?;
    let verified = schema::lines(
        "verify",
        &text(&["verify", "--algorithm=sha256", "--against=sums", "--json", "t"])?,
    )?;
    assert_eq!(events(&verified), ["finding", "summary"], "{verified:?}");
    let moved = schema::lines("run", &text(&["mv", "--json", "t", "absent", "u", "-t", "."])?)?;
    assert_eq!(events(&moved).last(), Some(&"summary"));
    let moved = schema::lines("run", &text(&["mv", "--json", "t", "v"])?)?;
    assert_eq!(events(&moved), ["entry", "summary"], "{moved:?}");
    let removed = schema::lines("run", &text(&["rm", "-r", "--json", "v", "absent"])?)?;
    assert_eq!(events(&removed), ["entry", "failure", "summary"], "{removed:?}");
    Ok(())
}

/// The validator refuses what a schema does not allow: without this the other tests show nothing.
#[test]
fn the_validator_refuses_what_is_not_described() {
    let good = json!({
        "schema": 1, "event": "progress", "accepted_bytes": 1, "stored_bytes": 0,
        "waits_for_storage": false, "entries": 0, "total_bytes": null, "total_entries": 3,
        "waited": null, "devices": []
    });
    assert!(schema::check("run", &good).is_ok());
    for (name, value) in [
        ("accepted_bytes", json!("1")),
        ("stored_bytes", json!(-1)),
        ("total_bytes", json!(1.5)),
        ("waits_for_storage", json!(null)),
        ("event", json!("regress")),
        ("schema", json!(2)),
        ("surprise", json!(0)),
    ] {
        let mut bad = good.clone();
        bad[name] = value;
        assert!(schema::check("run", &bad).is_err(), "{bad}");
    }
    let mut short = good;
    if let Some(object) = short.as_object_mut() {
        object.remove("entries");
    }
    assert!(schema::check("run", &short).is_err());
}

/// A file that is large enough to find out whether one worker or two are faster.
#[test]
fn what_was_found_out_about_the_workers_of_a_large_file_is_reported_and_its_bytes_are_right()
-> Outcome {
    let scratch = Scratch::new()?;
    let block: Vec<u8> = (0..=u8::MAX).cycle().take((1 << 20) - 1).collect();
    let bytes = block.repeat(260);
    scratch.write("s", &bytes)?;
    let words = ["cp", "--json", "--explain", "--jobs=2", "--reflink=never", "s", "t"];
    let report = schema::lines("run", &call(&words, &scratch).run()?.text())?;
    assert!(std::fs::read(scratch.at("t"))? == bytes, "the copy differs");
    let moved =
        report.iter().find(|line| line["event"] == "transferred").ok_or("no report of the file")?;
    let compared = &moved["explanation"]["compared"];
    // Without a free processor, the second worker may come too late.
    assert!(
        compared.is_null() || compared["two_workers"]["bytes"].as_u64() >= Some(32 << 20),
        "{moved}"
    );
    Ok(())
}
