//! `--color`: marks on a terminal and where they are asked for, and nowhere else.

use super::support::run::{Call, Done, haul};
use super::support::scratch::Scratch;
use super::support::{Outcome, has, ignored};

/// Commands whose text can have colors. The trees `a` and `b` differ.
const COMMANDS: &[&[&str]] = &[&["doctor"], &["compare", "a", "b"]];

fn differing() -> Outcome<Scratch> {
    let scratch = Scratch::new()?;
    scratch.write("a/file", "1")?;
    scratch.write("b/file", "22")?;
    Ok(scratch)
}

fn is_marked(done: &Done) -> bool {
    done.text().contains('\x1b')
}

#[test]
fn a_pipe_gets_colors_only_where_they_are_asked_for() -> Outcome {
    let scratch = differing()?;
    for command in COMMANDS {
        for (options, expected) in [
            (&[][..], false),
            (&["--color=auto"], false),
            (&["--color"], true),
            (&["--color=always"], true),
            (&["--color=always", "--color=never"], false),
            (&["--color=always", "--json"], false),
        ] {
            // The variable means the default, not what a command line asks for.
            let call = Call::of(haul()).words(*command).words(options).env("NO_COLOR", "1");
            let done = call.in_dir(scratch.path()).run()?;
            assert_eq!(is_marked(&done), expected, "{command:?} {options:?}: {done:?}");
        }
        let done = Call::of(haul()).words(*command).word("--color=red").run()?;
        assert!(done.errors().contains("--color"), "{done:?}");
    }
    Ok(())
}

#[test]
fn marks_change_nothing_but_how_a_text_looks() -> Outcome {
    let scratch = differing()?;
    let told = |option: &str| -> Outcome<String> {
        let call = Call::of(haul()).words(["compare", option, "a", "b"]);
        Ok(call.in_dir(scratch.path()).run()?.text())
    };
    let mut marked = told("--color")?;
    assert!(marked.starts_with("\x1b[1mfile: \x1b[m"), "{marked:?}");
    assert!(marked.ends_with(": \x1b[31m2 differences\x1b[m\n"), "{marked:?}");
    for mark in ["\x1b[1m", "\x1b[31m", "\x1b[m"] {
        marked = marked.replace(mark, "");
    }
    assert_eq!(marked, told("--color=never")?);
    Ok(())
}

#[test]
fn a_terminal_gets_colors_unless_it_cannot_show_them() -> Outcome {
    if !has("script")? {
        return ignored("script(1)");
    }
    let scratch = differing()?;
    for command in COMMANDS {
        let line = format!("'{}' {}; true", haul().display(), command.join(" "));
        for (term, unwanted, expected) in
            [("xterm", "", true), ("xterm", "1", false), ("dumb", "", false), ("", "", false)]
        {
            let call = Call::of("script").words(["-qfec", &line, "/dev/null"]);
            let call = call.env("TERM", term).env("NO_COLOR", unwanted).env("SHELL", "/bin/sh");
            let done = call.in_dir(scratch.path()).run()?;
            assert_eq!(is_marked(&done), expected, "{line} TERM={term} NO_COLOR={unwanted}");
        }
    }
    Ok(())
}
