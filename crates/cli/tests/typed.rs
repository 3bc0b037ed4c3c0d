//! What people type: ways to ask for help, mistyped names, abbreviations, and what is proposed then.

use std::os::unix::fs::symlink;

use super::support::Outcome;
use super::support::run::{Call, Done, haul};
use super::support::scratch::Scratch;

fn run(words: &[&str]) -> Outcome<Done> {
    Call::of(haul()).words(words).run()
}

/// Calls haul by a link of this name.
fn by_link(name: &str, words: &[&str]) -> Outcome<Done> {
    let scratch = Scratch::new()?;
    symlink(haul(), scratch.at(name))?;
    Call::of(scratch.at(name)).words(words).run()
}

/// Returns the names of all commands, as the overview lists them.
fn commands() -> Outcome<Vec<String>> {
    let overview = run(&["--help"])?.text();
    let listed = overview.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = listed.take_while(|line| line.starts_with("  "));
    Ok(names.filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect())
}

#[test]
fn help_is_the_same_however_it_is_asked_for() -> Outcome {
    let commands = commands()?;
    assert!(commands.len() > 20, "{commands:?}");
    for name in &commands {
        let help = run(&[name, "--help"])?;
        assert_eq!(help.code(), Some(0), "{name}");
        assert!(help.text().starts_with("Usage: "), "{name}");
        assert!(help.text().contains("\nThe exit status is "), "{name}: {}", help.text());
        assert_eq!(run(&["help", name])?.text(), help.text(), "{name}");
        // Where a program has a -h of its own, that stays.
        if !["gzip", "gunzip", "zcat", "tar"].contains(&name.as_str()) {
            let short = run(&[name, "-h"])?;
            if ["cp", "mv", "rm", "sync"].contains(&name.as_str()) {
                assert_eq!(
                    (short.code(), short.text().lines().count() <= 24),
                    (Some(0), true),
                    "{name}"
                );
                assert!(short.text().starts_with("Usage: ") && short.text().contains("Examples:"));
            } else {
                assert_eq!(short.text(), help.text(), "{name}");
            }
        }
    }
    Ok(())
}

#[test]
fn a_drop_in_name_refuses_h_as_gnu_does() -> Outcome {
    for name in ["cp", "mv", "rm", "cat", "dd"] {
        let refused = by_link(name, &["-h"])?;
        let expected =
            format!("{name}: invalid option -- 'h'\nTry '{name} --help' for more information.\n");
        assert_eq!((refused.code(), refused.errors()), (Some(1), expected), "{name}");
    }
    Ok(())
}

#[test]
fn the_line_about_help_names_the_command_that_was_called() -> Outcome {
    for name in ["cp", "rm", "md5sum"] {
        let through_haul = run(&[name, "--telepathy"])?.errors();
        let expected = |called: &str| {
            format!(
                "{name}: unrecognized option '--telepathy'\nTry '{called} --help' for more \
                 information.\n"
            )
        };
        assert_eq!(through_haul, expected(&format!("haul {name}")));
        assert_eq!(by_link(name, &["--telepathy"])?.errors(), expected(name));
    }
    assert!(run(&["compare"])?.errors().contains("Try 'haul compare --help'"));
    // GNU's gzip and tar have lines of their own.
    for (name, line) in
        [("gzip", "Try `gzip --help' for more"), ("tar", "Try 'tar --help' or 'tar --usage' for")]
    {
        let through_haul = run(&[name, "--telepathy"])?.errors();
        let ours = format!("\nTry 'haul {name} --help' for more information.\n");
        assert!(through_haul.ends_with(&ours), "{through_haul}");
        let by_link = by_link(name, &["--telepathy"])?.errors();
        assert!(by_link.contains(line), "{by_link}");
    }
    Ok(())
}

#[test]
fn mistyped_names_are_proposed_behind_the_usual_message() -> Outcome {
    let told = run(&["cp", "--jbos=3", "a", "b"])?;
    assert_eq!(told.code(), Some(1));
    assert_eq!(
        told.errors(),
        "cp: unrecognized option '--jbos=3'\nDid you mean '--jobs'?\nTry 'haul cp --help' for more \
         information.\n"
    );
    let told = run(&["cpp"])?;
    assert_eq!(told.code(), Some(2));
    assert_eq!(
        told.errors(),
        "haul: there is no command 'cpp'\nDid you mean 'haul cp'?\nTry 'haul --help' for the list of \
         commands.\n"
    );
    assert_eq!(run(&["help", "cpp"])?.errors(), told.errors());
    let told = run(&["--jobs=3"])?.errors();
    assert!(told.starts_with("haul: there is no option '--jobs=3'\n"), "{told}");
    assert!(!run(&["telepathy"])?.errors().contains("Did you mean"));
    Ok(())
}

#[test]
fn our_long_options_may_be_abbreviated() -> Outcome {
    let whole = run(&["cp", "--list-methods"])?;
    let short = run(&["cp", "--list"])?;
    assert_eq!((short.code(), short.text()), (Some(0), whole.text()));
    // GNU's come first, whatever ours begin with: --pre is --preserve, never --preflight.
    let scratch = Scratch::new()?;
    scratch.write("a", "a")?;
    let done =
        Call::of(haul()).words(["cp", "--pre=mode", "a", "b"]).in_dir(scratch.path()).run()?;
    assert_eq!((done.code(), done.errors().as_str()), (Some(0), ""));
    let told = run(&["cp", "--retry", "a", "b"])?.errors();
    assert!(
        told.starts_with(
            "cp: option '--retry' is ambiguous; possibilities: '--retry-failed' '--retry-changed'\n"
        ),
        "{told}"
    );
    Ok(())
}

#[test]
fn links_that_cannot_be_made_are_one_error() -> Outcome {
    let scratch = Scratch::new()?;
    let told = Call::of(haul()).words(["install-links", "no"]).in_dir(scratch.path()).run()?;
    assert_eq!(
        (told.code(), told.errors().as_str()),
        (Some(1), "haul install-links: cannot create links in 'no': No such file or directory\n")
    );
    // Taken names are reported one by one, and the other links are made.
    scratch.write("cp", "mine")?;
    let told = Call::of(haul()).words(["install-links", "."]).in_dir(scratch.path()).run()?;
    assert_eq!(told.code(), Some(1));
    assert_eq!(told.errors().lines().count(), 1, "{}", told.errors());
    assert!(scratch.at("rm").is_symlink());
    Ok(())
}
