//! `haul bench` as its users see it: refusals, cleaning up, the report, Ctrl-C, wrong copies.

use std::path::Path;

use haul_manifest::wait_until;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::support::run::{Call, Running, haul};
use super::support::scratch::Scratch;
use super::support::{Outcome, ignored, is_root, schema};

/// A corpus that takes no time.
const SMALL: &str = "nested-small:files=20,dirs=2";

fn bench(scratch: &Scratch, words: &[&str]) -> Call {
    Call::of(haul()).word("bench").words(words).in_dir(scratch.path())
}

/// Starts a session in the current folder with tools of this test.
fn session<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let mut words = vec![SMALL, "--here", "--only=none", "--rounds=2", "--warm-up=0"];
    words.extend_from_slice(more);
    words
}

fn names(folder: &Path) -> Outcome<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

fn results(scratch: &Scratch) -> Outcome<Value> {
    schema::parsed("bench", &std::fs::read_to_string(scratch.at("out/results.json"))?)
}

#[test]
fn tools_are_measured_their_calls_counted_and_nothing_is_left() -> Outcome {
    let scratch = Scratch::new()?;
    let words = session(&["--tool=plain=cp -R {source} {target}", "--out=out"]);
    let done = bench(&scratch, &words).run()?;
    assert_eq!(done.code(), Some(0), "{done:?}");
    assert!(done.text().contains("plain, the only one that can be ranked, takes"), "{done:?}");
    assert!(done.errors().contains("1 of 1: nested-small, warm"), "{done:?}");
    assert!(done.errors().contains("are free"), "{done:?}");
    assert_eq!(names(scratch.path())?, ["out"], "only what was asked for is left");
    let made = names(&scratch.at("out"))?;
    for name in ["report.html", "results.json"] {
        assert!(made.iter().any(|made| made == name), "{name} in {made:?}");
    }
    assert!(made.iter().any(|name| name.ends_with(".svg")), "{made:?}");
    let calls = results(&scratch)?;
    let Some(total) = calls["cases"][0]["calls"][0][1]["total"].as_u64() else {
        return ignored("a way to trace");
    };
    // Each of 20 files takes two openat, a call that reads, two close: no cp uses fewer.
    assert!(total > 100, "{total}");
    Ok(())
}

#[test]
fn a_tool_that_copies_wrongly_is_flagged_and_never_ranked() -> Outcome {
    let scratch = Scratch::new()?;
    let words = session(&[
        "--tool=plain=cp -R {source} {target}",
        "--tool=lazy=mkdir {target}",
        "--tool=failing=false {target}",
        "--baseline=plain",
        "--out=out",
    ]);
    let done = bench(&scratch, &words).run()?;
    assert_eq!(done.code(), Some(0), "{done:?}");
    assert!(done.text().contains("lazy  FAILED: wrong result"), "{done:?}");
    assert!(done.text().contains("failing  FAILED: exit status 1"), "{done:?}");
    assert!(done.text().contains("plain, the only one that can be ranked"), "{done:?}");
    let results = results(&scratch)?;
    let faults = results["cases"][0]["faults"].as_array().map(Vec::len);
    assert_eq!(faults, Some(2));
    Ok(())
}

#[test]
fn a_folder_with_something_in_it_is_refused_and_left_alone() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("full/precious", "data")?;
    let done = bench(&scratch, &[SMALL, "--here=full", "--only=cp", "--rounds=1"]).run()?;
    assert_eq!(done.code(), Some(1), "{done:?}");
    assert!(done.errors().contains("is not empty"), "{done:?}");
    assert!(done.errors().contains("hint: name an empty folder"), "{done:?}");
    assert_eq!(names(&scratch.at("full"))?, ["precious"]);
    Ok(())
}

#[test]
fn what_makes_no_sense_is_refused_with_a_way_out() -> Outcome {
    let scratch = Scratch::new()?;
    for (words, message) in [
        (&["nonsense"][..], "known are nested-small"),
        (&["huge:size=much"], "huge:size=much"),
        (&[SMALL, "--here", "--fs=ext4"], "choose one"),
        (&[SMALL, "--disk=."], "add --fs"),
        (&[SMALL, "--to=."], "--disk or --here"),
        (&[SMALL, "--here", "--to=t"], "--here=DIR"),
        (&[SMALL, "--here=s", "--together=0"], "from 1 to"),
        (&["delete-flat", "--here=s", "--together=2"], "without that option"),
        (&["delete-flat", "--here=s", "--to=t"], "without that option"),
        (&[SMALL, "--fs=fat"], "known are ext4, xfs, btrfs, tmpfs"),
        (&[SMALL, "--here", "--only=nobody"], "haul bench --list"),
        (&[SMALL, "--here", "--baseline=nobody"], "no tool is called"),
        (&[SMALL, "--here", "--only=none"], "no tool is left"),
        (&[SMALL, "--here", "--tool=cp {target}"], "give a name"),
        (&[SMALL, "--here", "--tool=new=cp"], "does not say {target}"),
        (&[SMALL, "--here", "--tool=a=cp {target}", "--tool=a=cp {target}"], "two tools"),
        (&[SMALL, "--here", "--drop-caches"], "--cold"),
        (&[SMALL, "--rounds=0"], "from 1 to"),
        (&["compare", "one"], "two files"),
        (&["--haul=/nowhere", SMALL, "--here"], "there is no program"),
    ] {
        let done = bench(&scratch, words).run()?;
        assert_eq!(done.code(), Some(2), "{words:?}: {done:?}");
        assert!(done.errors().contains(message), "{words:?}: {done:?}");
    }
    assert_eq!(names(scratch.path())?, [""; 0]);
    Ok(())
}

#[test]
fn a_report_that_cannot_be_written_is_refused_before_anything_is_measured() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("out", "a file")?;
    let words = session(&["--tool=plain=cp -R {source} {target}", "--out=out"]);
    let done = bench(&scratch, &words).run()?;
    assert_eq!(done.code(), Some(1), "{done:?}");
    assert!(done.errors().contains("cannot create"), "{done:?}");
    assert!(!done.errors().contains("1 of 1"), "{done:?}");
    Ok(())
}

/// Waits until a file exists.
fn wait_for(path: &Path) -> Outcome {
    wait_until(&format!("there is {}", path.display()), || path.exists());
    Ok(())
}

/// Starts a session whose tool reports that it runs, and then never ends by itself.
fn stuck(scratch: &Scratch) -> Outcome<Running> {
    let mark = scratch.at("runs");
    let tool = format!("--tool=stuck=echo $$ >'{}'; exec sleep 600; : {{target}}", mark.display());
    let running = bench(scratch, &session(&[&tool])).start()?;
    wait_for(&mark)?;
    Ok(running)
}

/// Ends the tool whose session was killed.
fn end_orphan(scratch: &Scratch) -> Outcome {
    let text = std::fs::read_to_string(scratch.at("runs"))?;
    let pid = Pid::from_raw(text.trim().parse()?).ok_or("no process number")?;
    Ok(kill_process(pid, Signal::KILL)?)
}

#[test]
fn ctrl_c_ends_the_tool_tidies_up_and_ends_by_the_signal() -> Outcome {
    let scratch = Scratch::new()?;
    let running = stuck(&scratch)?;
    kill_process(running.pid(), Signal::INT)?;
    let done = running.wait()?;
    assert_eq!(done.signal(), Some(Signal::INT.as_raw()), "{done:?}");
    assert!(done.text().contains("Interrupted"), "{done:?}");
    assert_eq!(names(scratch.path())?, ["runs"]);
    Ok(())
}

#[test]
fn what_a_killed_session_left_is_removed_by_the_next_one() -> Outcome {
    let scratch = Scratch::new()?;
    let running = stuck(&scratch)?;
    kill_process(running.pid(), Signal::KILL)?;
    let done = running.wait()?;
    end_orphan(&scratch)?;
    assert_eq!(done.signal(), Some(Signal::KILL.as_raw()), "{done:?}");
    assert!(names(scratch.path())?.iter().any(|name| name.starts_with("haul-bench-")));
    let words = session(&["--tool=plain=cp -R {source} {target}"]);
    let done = bench(&scratch, &words).run()?;
    assert!(done.errors().contains("removed what an earlier run left"), "{done:?}");
    assert_eq!(names(scratch.path())?, ["runs"]);
    Ok(())
}

#[test]
fn what_is_put_into_the_folder_of_a_killed_session_stays() -> Outcome {
    // An existing folder, and one that the session made.
    for was_there in [true, false] {
        let scratch = Scratch::new()?;
        let folder = scratch.at("work");
        if was_there {
            std::fs::create_dir(&folder)?;
        }
        let mark = scratch.at("runs");
        let tool =
            format!("--tool=stuck=echo $$ >'{}'; exec sleep 600; : {{target}}", mark.display());
        let stuck = [SMALL, "--here=work", "--only=none", "--rounds=2", &tool];
        let running = bench(&scratch, &stuck).start()?;
        wait_for(&mark)?;
        kill_process(running.pid(), Signal::KILL)?;
        running.wait()?;
        end_orphan(&scratch)?;
        scratch.write("work/thesis/chapter", "years of work")?;
        let left = names(&folder)?;
        assert_eq!(left.len(), if was_there { 2 } else { 4 }, "{left:?}");
        let plain = "--tool=plain=cp -R {source} {target}";
        let next = [SMALL, "--here=work", "--only=none", "--rounds=1", "--warm-up=0", plain];
        let done = bench(&scratch, &next).run()?;
        assert_eq!(done.code(), Some(1), "{done:?}");
        assert!(done.errors().contains("is not empty: \"thesis\""), "{done:?}");
        assert!(done.errors().contains("or move away what is in it"), "{done:?}");
        assert_eq!(std::fs::read(folder.join("thesis/chapter"))?, b"years of work");
        // The remedy that the message names works.
        std::fs::rename(folder.join("thesis"), scratch.at("thesis"))?;
        let done = bench(&scratch, &next).run()?;
        assert_eq!(done.code(), Some(0), "{done:?}");
        let kept: &[&str] =
            if was_there { &["runs", "thesis", "work"] } else { &["runs", "thesis"] };
        assert_eq!(names(scratch.path())?, kept);
    }
    Ok(())
}

#[test]
fn mounts_that_a_killed_session_left_are_gone_and_its_folders_removed() -> Outcome {
    if !is_root()? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    let mark = scratch.at("runs");
    let tool = format!("--tool=stuck=echo $$ >'{}'; exec sleep 600; : {{target}}", mark.display());
    let words = [SMALL, "--fs=tmpfs", "--only=none", "--rounds=1", &tool];
    let running = bench(&scratch, &words).start()?;
    wait_for(&mark)?;
    let ours = format!("haul-bench-{}-", running.pid().as_raw_nonzero());
    let left = || -> Outcome<Vec<String>> {
        let all = names(Path::new("/dev/shm"))?;
        Ok(all.into_iter().filter(|name| name.starts_with(&ours)).collect())
    };
    assert!(!left()?.is_empty());
    kill_process(running.pid(), Signal::KILL)?;
    running.wait()?;
    end_orphan(&scratch)?;
    let plain = "--tool=plain=cp -R {source} {target}";
    let next = [SMALL, "--fs=tmpfs", "--only=none", "--rounds=1", "--warm-up=0", plain];
    let done = bench(&scratch, &next).run()?;
    assert_eq!(done.code(), Some(0), "{done:?}");
    // The mounts ended with their namespace; this run has removed the remaining folders.
    assert_eq!(left()?, [""; 0]);
    Ok(())
}

#[test]
fn results_are_compared_before_and_after() -> Outcome {
    let scratch = Scratch::new()?;
    let words = session(&["--tool=plain=cp -R {source} {target}", "--out=out"]);
    bench(&scratch, &words).run()?;
    let same = ["compare", "out/results.json", "out/results.json"];
    let done = bench(&scratch, &same).run()?;
    assert_eq!(done.code(), Some(0), "{done:?}");
    assert!(done.text().contains("plain"), "{done:?}");
    let other = SMALL.replace("files=20", "files=21");
    let words = ["--here", "--only=none", "--rounds=1", "--warm-up=0", "--out=unrelated"];
    let tool = "--tool=plain=cp -R {source} {target}";
    bench(&scratch, &[&[other.as_str(), tool], &words[..]].concat()).run()?;
    let unrelated = ["compare", "out/results.json", "unrelated/results.json"];
    let done = bench(&scratch, &unrelated).run()?;
    assert_eq!(done.code(), Some(2), "{done:?}");
    assert!(done.errors().contains("in common"), "{done:?}");
    assert!(done.errors().contains("note: nested-small"), "{done:?}");
    scratch.write("other", "{}")?;
    let done = bench(&scratch, &["compare", "out/results.json", "other"]).run()?;
    assert_eq!(done.code(), Some(1), "{done:?}");
    assert!(done.errors().contains("is no results.json"), "{done:?}");
    // Results of other data have no case in common with these.
    let other = std::fs::read_to_string(scratch.at("out/results.json"))?;
    let mut other: Value = serde_json::from_str(&other)?;
    other["cases"] = Value::Array(Vec::new());
    scratch.write("nothing.json", other.to_string())?;
    for words in [["out/results.json", "nothing.json"], ["nothing.json", "out/results.json"]] {
        let done = bench(&scratch, &["compare"]).words(words).run()?;
        assert_eq!(done.code(), Some(2), "{words:?}: {done:?}");
        assert!(done.errors().contains("in common"), "{words:?}: {done:?}");
    }
    Ok(())
}

#[test]
fn the_list_names_scenarios_and_series() -> Outcome {
    let scratch = Scratch::new()?;
    let done = bench(&scratch, &["--list"]).succeed()?;
    for part in ["nested-small", "delete-flat", "haul-read-write", "haul-q8", "series io-sizes"] {
        assert!(done.text().contains(part), "{part} in {done:?}");
    }
    Ok(())
}
