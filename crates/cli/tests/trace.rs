//! `haul trace`: the command behaves as without tracing, and the report has every format.

use std::path::Path;

use haul_manifest::wait_until;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;

use super::support::run::{Call, Done, haul};
use super::support::scratch::Scratch;
use super::support::{Outcome, has, ignored, is_root, state};

const BACKENDS: [&str; 2] = ["ebpf", "ptrace"];

fn trace(words: &[&str]) -> Call {
    Call::of(haul()).word("trace").words(words)
}

/// The same with one backend.
fn by(backend: &str, words: &[&str]) -> Call {
    trace(&["--backend", backend]).words(words)
}

/// Returns whether a run was possible here at all; otherwise the test is ignored.
fn could_run(done: &Done) -> Outcome<bool> {
    let refused = ["this way: ", "Operation not permitted"];
    let is_refused =
        done.code() == Some(125) && refused.iter().any(|reason| done.errors().contains(reason));
    if is_refused {
        ignored(done.errors().trim())?;
    }
    Ok(!is_refused)
}

/// Returns whether a backend can run here; otherwise the test is ignored.
fn can_run(backend: &str) -> Outcome<bool> {
    could_run(&by(backend, &["true"]).run()?)
}

/// Waits until a file exists.
fn wait_for(path: &Path) {
    wait_until(&format!("there is {}", path.display()), || path.exists());
}

fn json(path: impl AsRef<Path>) -> Outcome<Value> {
    super::support::schema::parsed("trace", &std::fs::read_to_string(path)?)
}

#[test]
fn streams_and_exit_status_pass_through() -> Outcome {
    let scratch = Scratch::new()?;
    for backend in BACKENDS {
        let script = "cat; echo told >&2; exit 3";
        let call = by(backend, &["--output", "report", "sh", "-c", script]);
        let done = call.input("through and through").in_dir(scratch.path()).run()?;
        if !could_run(&done)? {
            continue;
        }
        assert_eq!((done.code(), done.text().as_str()), (Some(3), "through and through"));
        assert_eq!(done.errors(), "told\n");
        let report = std::fs::read_to_string(scratch.at("report"))?;
        assert!(report.contains("exit status 3") && report.contains("execve"), "{report}");
        let killed = by(backend, &["sh", "-c", "kill -KILL $$"]).run()?;
        assert_eq!(killed.code(), Some(137));
        assert!(killed.errors().contains("killed by signal 9"));
    }
    Ok(())
}

#[test]
fn json_has_the_exact_counts() -> Outcome {
    let scratch = Scratch::new()?;
    let dd = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1k", "count=100", "status=none"];
    for backend in BACKENDS {
        let call = by(backend, &["--json", "figures", "--by", "command", "--"]).words(dd);
        let done = call.in_dir(scratch.path()).run()?;
        if !could_run(&done)? {
            continue;
        }
        let figures = json(scratch.at("figures"))?;
        let write = &figures["total"]["calls"]["write"];
        assert_eq!((&write["count"], &write["bytes"]), (&100.into(), &102_400.into()));
        assert_eq!(figures["groups"][0]["label"], "dd");
        assert_eq!(figures["ending"]["exited"], 0);
    }
    Ok(())
}

#[test]
fn a_filter_leaves_the_rest_out_and_dash_is_standard_output() -> Outcome {
    let done = trace(&["--filter", "write", "-o", "-", "--json=-", "echo", "hi"]).run()?;
    let text = done.text();
    let mut lines = text.lines();
    assert_eq!((done.code(), done.errors().as_str(), lines.next()), (Some(0), "", Some("hi")));
    let figures = super::support::schema::parsed("trace", lines.next().unwrap_or_default())?;
    let calls = figures["total"]["calls"].as_object().ok_or("no calls")?;
    assert_eq!(calls.keys().collect::<Vec<_>>(), ["write"]);
    assert_eq!(lines.next(), Some("echo hi: exit status 0"));
    Ok(())
}

#[test]
fn a_report_is_short_unless_all_is_asked_for() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("file", vec![1; 300_000])?;
    let report = |words: &[&str]| -> Outcome<String> {
        let done = trace(words).words(["cat", "file"]).in_dir(scratch.path()).run()?;
        assert_eq!(done.code(), Some(0), "{done:?}");
        Ok(done.errors())
    };
    let short = report(&["--svg=short.svg"])?;
    let all = report(&["--all", "--svg=all.svg"])?;
    for part in ["calls with the most time", "number of calls by size in bytes", "see --all"] {
        assert!(short.contains(part) && !all.contains(part), "{part}: {short}{all}");
    }
    for part in ["cat (pid ", ": latency\n", "exit_group"] {
        assert!(!short.contains(part) && all.contains(part), "{part}: {short}{all}");
    }
    let pictures = ["short.svg", "all.svg"].map(|name| std::fs::read_to_string(scratch.at(name)));
    let [short, all] = pictures.map(Result::unwrap_or_default);
    assert!(all.len() > short.len() && short.contains(">number of calls</text>"), "{short}");
    // What is added up otherwise is short, too.
    let by_process = report(&["--by=process"])?;
    assert!(by_process.contains("cat (pid ") && by_process.contains("most time"), "{by_process}");
    Ok(())
}

#[test]
fn a_list_comes_before_its_totals() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("a", "bytes")?;
    for backend in BACKENDS {
        scratch.write("report", "an older and longer text that the list replaces".repeat(9000))?;
        let call = by(backend, &["--list", "-o", "report", "--", "cat", "a"]);
        let done = call.in_dir(scratch.path()).run()?;
        if !could_run(&done)? {
            continue;
        }
        assert_eq!((done.code(), done.text().as_str()), (Some(0), "bytes"));
        let report = std::fs::read_to_string(scratch.at("report"))?;
        let (list, totals) = report.split_once("cat a: exit status 0\n").ok_or(report.clone())?;
        assert!(
            totals.contains("calls with the most time") && !report.contains("older"),
            "{report}"
        );
        let path = scratch.at("a").canonicalize()?.display().to_string();
        let opened = list.lines().find(|line| line.contains(&path)).ok_or(report.clone())?;
        assert!(opened.contains(" openat(AT_FDCWD, \"") && opened.contains("O_RDONLY"), "{opened}");
        let read = list.lines().find(|line| line.contains(&format!("<{path}>, ")));
        assert!(
            read.is_some_and(|line| line.contains("= 5 ")
                || line.contains("fstat")
                || line.contains("fadvise64")),
            "{list}"
        );
        let first = list.lines().next().unwrap_or_default();
        assert!(first.contains(" 0.000000 execve(\"") && first.contains(") = 0  <"), "{first}");
        assert!(
            list.trim_end().lines().last().is_some_and(|line| line.contains("exit_group(0) = ?"))
        );
        assert_eq!(list.contains(", cpu "), backend == "ebpf", "{first}");
    }
    let refused = trace(&["--list", "--vs", "true", "true"]).run()?;
    assert_eq!(refused.code(), Some(125), "{refused:?}");
    assert!(refused.errors().contains("--list and --vs"), "{refused:?}");
    Ok(())
}

#[test]
fn kernel_stacks_are_lines_or_a_picture() -> Outcome {
    if !can_run("ebpf")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    let words = ["--stacks=s.svg", "--stacks=s.txt", "--json=j", "-o", "r", "sleep", "0.1"];
    by("ebpf", &words).in_dir(scratch.path()).succeed()?;
    let lines = std::fs::read_to_string(scratch.at("s.txt"))?;
    for line in lines.lines() {
        let (frames, time) = line.rsplit_once(' ').unwrap_or_default();
        assert!(frames.starts_with("sleep;") && time.parse::<u64>().is_ok(), "{line}");
    }
    let slept = lines.lines().find(|line| line.contains("nanosleep") && line.contains(";[waits] "));
    assert!(slept.is_some(), "{lines}");
    let picture = std::fs::read_to_string(scratch.at("s.svg"))?;
    assert!(picture.starts_with("<svg ") && picture.contains("[waits]: "), "{picture}");
    assert!(json(scratch.at("j"))?["stacks"].as_array().is_some_and(|stacks| !stacks.is_empty()));
    Ok(())
}

#[test]
fn two_commands_are_compared() -> Outcome {
    let scratch = Scratch::new()?;
    let second = "sh -c 'echo second; exit 5'";
    let words = ["--vs", second, "--json", "both", "--svg", "both.svg", "--"];
    let call = trace(&words).words(["sh", "-c", "echo first; exit 4"]);
    let done = call.in_dir(scratch.path()).run()?;
    assert_eq!((done.code(), done.text().as_str()), (Some(4), "first\nsecond\n"));
    let report = done.errors();
    for part in ["A: sh -c", "B: sh -c", "note on A: it ended with exit status 4", "B/A"] {
        assert!(report.contains(part), "{part} in {report}");
    }
    let both = json(scratch.at("both"))?;
    assert_eq!(both["first"]["ending"]["exited"], 4);
    assert_eq!(both["second"]["ending"]["exited"], 5);
    let picture = std::fs::read_to_string(scratch.at("both.svg"))?;
    assert_eq!(picture.matches("class=\"title\"").count(), 2);

    let done = trace(&["--vs", "/nonexistent", "--", "echo", "first"]).run()?;
    assert_eq!(done.code(), Some(127));
    assert!(done.errors().contains("echo first: exit status 0"), "{}", done.errors());
    Ok(())
}

#[test]
fn names_can_hurt_neither_terminal_nor_picture() -> Outcome {
    let scratch = Scratch::new()?;
    let name = "a\u{1b}[31m\n<b>&\"\u{202e}";
    scratch.write(name, "text")?;
    let call = trace(&["--files", "--svg", "picture.svg", "cat", name]);
    let done = call.in_dir(scratch.path()).run()?;
    assert_eq!((done.code(), done.text().as_str()), (Some(0), "text"));
    let picture = std::fs::read_to_string(scratch.at("picture.svg"))?;
    for text in [done.errors(), picture.clone()] {
        let harmless = |c: char| c == '\n' || !(c.is_control() || c == '\u{202e}');
        assert!(text.chars().all(harmless), "{text:?}");
        assert!(text.contains("\\u{1b}[31m\\n"), "{text:?}");
    }
    if has("python3")? {
        let parse = "import sys, xml.dom.minidom as dom; dom.parse(sys.argv[1])";
        Call::of("python3").words(["-c", parse, "picture.svg"]).in_dir(scratch.path()).succeed()?;
    }
    Ok(())
}

#[test]
fn a_process_that_runs_is_observed_and_left_alone() -> Outcome {
    let scratch = Scratch::new()?;
    for backend in BACKENDS {
        if !can_run(backend)? {
            continue;
        }
        let script = "touch ready; while test -e ready; do sleep 0.01; done; exit 6";
        let observed = Call::of("sh").words(["-c", script]).in_dir(scratch.path()).start()?;
        wait_for(&scratch.at("ready"));
        let pid = observed.pid().as_raw_nonzero().to_string();
        // Time for one of its steps, however busy the machine is.
        let done = by(backend, &["-p", &pid, "--for", "2s", "--by=total"]).run()?;
        // It does not end by itself, only by a signal.
        let endless = by(backend, &["-p", &pid]).start()?;
        let hears = || state::hears(endless.pid(), Signal::INT.as_raw());
        wait_until("the interruption would be heard", hears);
        kill_process(endless.pid(), Signal::INT)?;
        let endless = endless.wait()?;
        scratch.clear("ready")?;
        assert_eq!(observed.wait()?.code(), Some(6));
        if !could_run(&done)? {
            continue;
        }
        assert_eq!((done.code(), endless.code()), (Some(0), Some(0)), "{}", endless.errors());
        assert!(done.errors().contains("attached") && done.errors().contains("wait4"));
        assert!(endless.errors().contains("attached"));
    }
    Ok(())
}

/// Runs a shell script, sends a signal once it has made the file `ready`, and returns the result.
fn signalled(
    backend: &str,
    script: &str,
    send: impl FnOnce(Pid, &Scratch) -> Outcome,
) -> Outcome<Done> {
    let scratch = Scratch::new()?;
    let call = by(backend, &["--by=total", "sh", "-c", script]);
    let running = call.in_dir(scratch.path()).start()?;
    wait_for(&scratch.at("ready"));
    send(running.pid(), &scratch)?;
    running.wait()
}

/// At a terminal too: only a key's signal reaches the whole group, and haul passes on one from `kill`.
#[test]
fn a_signal_sent_to_us_alone_reaches_the_command_at_a_terminal() -> Outcome {
    if !has("script")? {
        return Ok(());
    }
    let scratch = Scratch::new()?;
    let script = "trap 'touch heard; exit 7' INT; echo $PPID >pid; mv pid ready; \
                  while :; do sleep 0.01; done";
    let line = format!(
        "{} trace --backend=ptrace --by=total --output=report sh -c \"{}\"",
        haul().display(),
        script.replace('$', "\\$")
    );
    let words = ["-q", "-e", "-c", &line, "/dev/null"];
    let running = Call::of("script").words(words).in_dir(scratch.path()).start()?;
    wait_for(&scratch.at("ready"));
    let pid = std::fs::read_to_string(scratch.at("ready"))?.trim().parse()?;
    kill_process(Pid::from_raw(pid).ok_or("no process number")?, Signal::INT)?;
    let done = running.wait()?;
    assert!(scratch.at("heard").exists(), "{done:?}");
    assert_eq!(done.code(), Some(7), "{done:?}");
    assert!(std::fs::read_to_string(scratch.at("report"))?.contains("exit status 7"));
    Ok(())
}

#[test]
fn an_interrupted_command_ends_as_it_likes_and_is_reported() -> Outcome {
    // As from a terminal: to the whole group.
    let interrupt = |pid, _: &Scratch| Ok(kill_process_group(pid, Signal::INT)?);
    for backend in BACKENDS {
        if !can_run(backend)? {
            continue;
        }
        let script = "trap 'echo heard; exit 7' INT; touch ready; while :; do sleep 0.01; done";
        let done = signalled(backend, script, interrupt)?;
        assert_eq!(done.code(), Some(7), "{}", done.errors());
        assert!(done.text().starts_with("heard\n"));
        assert!(done.errors().contains("exit status 7"), "{}", done.errors());

        let done = signalled(backend, "touch ready; exec sleep 30", interrupt)?;
        // The parent sees the command's real exit status.
        assert_eq!(done.signal(), Some(Signal::INT.as_raw()), "{}", done.errors());
        assert!(done.errors().contains("killed by signal 2"), "{}", done.errors());
    }
    Ok(())
}

#[test]
fn a_signal_to_us_alone_is_passed_on_each_time() -> Outcome {
    for backend in BACKENDS {
        if !can_run(backend)? {
            continue;
        }
        let script = "trap 'echo heard; test -e once && exit 8; touch once' TERM; touch ready; \
                      while :; do sleep 0.01; done";
        let twice = |pid, scratch: &Scratch| {
            kill_process(pid, Signal::TERM)?;
            // One that comes while the handler runs is another one.
            wait_for(&scratch.at("once"));
            Ok(kill_process(pid, Signal::TERM)?)
        };
        let done = signalled(backend, script, twice)?;
        assert_eq!((done.code(), done.text().as_str()), (Some(8), "heard\nheard\n"));
        assert!(done.errors().contains("exit status 8"), "{}", done.errors());
    }
    Ok(())
}

#[test]
fn what_a_command_leaves_behind_is_reported_too() -> Outcome {
    let scratch = Scratch::new()?;
    let script = "(sleep 0.3; touch late) & exit 4";
    for backend in BACKENDS {
        scratch.clear("late")?;
        let words = ["--by=process", "sh", "-c", script];
        let done = by(backend, &words).in_dir(scratch.path()).run()?;
        if could_run(&done)? {
            assert_eq!((done.code(), scratch.at("late").exists()), (Some(4), true));
            assert!(done.errors().contains("touch (pid "), "{}", done.errors());
        }
    }
    Ok(())
}

#[test]
fn what_cannot_be_run_is_said_as_env_says_it() -> Outcome {
    let scratch = Scratch::new()?;
    scratch.write("plain", "text")?;
    for (words, code, message) in [
        (&["no\u{1b}such"][..], 127, "cannot run 'no'$'\\033''such': No such file or directory\n"),
        (&["a | b"], 127, "haul trace -- sh -c 'LINE'"),
        (&["./plain"], 126, "cannot run './plain': Permission denied\n"),
        (&["--filter", "raed", "true"], 125, "no system call is named 'raed'"),
        (&["--json", "missing/figures", "true"], 125, "cannot write 'missing/figures'"),
        (&["--output", "/dev/full", "true"], 125, "cannot write '/dev/full': No space left"),
        (&["-p", "2147483647"], 125, "cannot attach to process 2147483647: No such process\n"),
        (&[], 125, "there is no command to trace"),
        (&["-p", "1", "true"], 125, "exclude each other"),
        (&["--vs", "a | b", "true"], 125, "no shell reads it"),
        (&["--for", "soon", "true"], 125, "invalid duration 'soon'"),
        (&["--bye", "true"], 125, "Try 'haul trace --help'"),
    ] {
        // A directory on PATH that may not be searched would make it EACCES, as with env.
        let call = trace(words).in_dir(scratch.path()).env("PATH", "/usr/bin:/bin");
        let done = call.run()?;
        assert_eq!(done.code(), Some(code), "{words:?}: {}", done.errors());
        assert!(done.errors().contains(message), "{words:?}: {}", done.errors());
    }
    Ok(())
}

#[test]
fn a_report_replaces_a_file_only_if_there_is_one() -> Outcome {
    let scratch = Scratch::new()?;
    let old = "x".repeat(1 << 16);
    for option in ["--output", "--json", "--svg"] {
        scratch.write("old", &old)?;
        let done = trace(&[option, "old", "./missing"]).in_dir(scratch.path()).run()?;
        assert_eq!(done.code(), Some(127), "{option}: {}", done.errors());
        assert_eq!(std::fs::read_to_string(scratch.path().join("old"))?, old, "{option}");
        let done = trace(&[option, "old", "true"]).in_dir(scratch.path()).run()?;
        if !could_run(&done)? {
            return Ok(());
        }
        let report = std::fs::read_to_string(scratch.path().join("old"))?;
        assert!(!report.is_empty() && !report.contains("xxxxxxxx"), "{option}: {report}");
    }
    // The output of the command stays where the report comes behind it.
    let script = format!("exec '{}' trace -o /dev/stdout sh -c 'seq 9999' > log", haul().display());
    Call::of("sh").words(["-c", &script]).in_dir(scratch.path()).succeed()?;
    let log = std::fs::read_to_string(scratch.path().join("log"))?;
    assert!(log.starts_with("1\n2\n") && log.contains("\n9999\n"), "{log}");
    assert!(log.len() > 48_894, "there is no report: {log}");
    Ok(())
}

#[test]
fn the_options_of_the_command_are_its_own() -> Outcome {
    let done = trace(&["-o/dev/null", "echo", "--by", "--", "-p"]).succeed()?;
    assert_eq!(done.text(), "--by -- -p\n");
    assert!(trace(&["--help"]).succeed()?.text().contains("sh -c"));
    assert!(trace(&["--version"]).succeed()?.text().starts_with("haul trace (haul) "));
    Ok(())
}

#[test]
fn a_user_without_privileges_gets_a_report_that_says_so() -> Outcome {
    if !is_root()? || !has("setpriv")? {
        return Ok(());
    }
    let scratch = Scratch::public()?;
    scratch.program("haul")?;
    let call = Call::of(scratch.at("haul")).words(["trace", "--by=total", "echo", "hi"]);
    let done = call.by_user().run()?;
    assert_eq!((done.code(), done.text().as_str()), (Some(0), "hi\n"), "{}", done.errors());
    assert!(done.errors().contains("traced by ptrace, since eBPF cannot be used"));
    Ok(())
}
