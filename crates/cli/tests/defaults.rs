//! Defaults of configuration files and `HAUL_OPTIONS`: for haul's own options, shown, and overridden.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::support::run::{Call, Done, USER, haul};
use super::support::scratch::Scratch;
use super::support::{Outcome, is_root};

struct Place {
    scratch: Scratch,
}

impl Place {
    fn new(config: &str) -> Outcome<Place> {
        let scratch = Scratch::new()?;
        scratch.write("s", *b"x")?;
        std::fs::create_dir_all(scratch.at("config/haul"))?;
        scratch.write("config/haul/config.toml", config)?;
        Ok(Place { scratch })
    }

    fn call(&self, program: impl AsRef<Path>, words: &[&str]) -> Call {
        let config = self.scratch.at("config").to_string_lossy().into_owned();
        let call = Call::of(program.as_ref()).words(words).in_dir(self.scratch.path());
        call.env("XDG_CONFIG_HOME", &config).env("HAUL_OPTIONS", "")
    }

    fn run(&self, words: &[&str]) -> Outcome<Done> {
        self.call(haul(), words).run()
    }

    fn file(&self) -> String {
        self.scratch.at("config/haul/config.toml").to_string_lossy().into_owned()
    }
}

/// The summary that `--stats` prints is what the tests look for.
fn has_stats(done: &Done) -> bool {
    done.errors().contains("workers: ")
}

#[test]
fn a_default_applies_to_haul_and_not_to_a_link() -> Outcome {
    let place = Place::new("[defaults]\nstats = true\n")?;
    assert!(has_stats(&place.run(&["cp", "s", "t"])?));
    assert!(has_stats(&place.run(&["mv", "t", "u"])?) || place.scratch.at("u").exists());
    assert!(!has_stats(&place.run(&["cp", "--no-config", "s", "t"])?));
    assert!(!has_stats(&place.run(&["cp", "--no-conf", "s", "t"])?), "also abbreviated");
    let link = place.scratch.at("cp");
    std::os::unix::fs::symlink(haul(), &link)?;
    assert!(!has_stats(&place.call(&link, &["s", "t"]).run()?), "scripts get what GNU's does");
    assert!(has_stats(&place.call(&link, &["--config", "s", "t"]).run()?), "unless they ask");
    let environment = place.call(&link, &["s", "t"]).env("HAUL_OPTIONS", "--stats").run()?;
    assert!(!has_stats(&environment));
    // What looks like the option is the value of another one, or an operand.
    place.scratch.write("--no-config", *b"y")?;
    assert!(has_stats(&place.run(&["cp", "-S", "--no-config", "s", "t"])?));
    assert!(has_stats(&place.run(&["cp", "--", "--no-config", "t"])?));
    Ok(())
}

#[test]
fn the_environment_and_the_command_line_override_and_debug_shows() -> Outcome {
    let place = Place::new("[defaults]\njobs = 1\n\n[defaults.cp]\nstats = true\n")?;
    let done = place.run(&["cp", "--debug", "s", "t"])?;
    let file = place.file();
    for line in [
        format!("default: --jobs=1 from '{file}', line 2\n"),
        format!("default: --stats from '{file}', line 5\n"),
    ] {
        assert!(done.text().contains(&line), "{line} {done:?}");
    }
    let call = place.call(haul(), &["cp", "--debug", "s", "t"]).env("HAUL_OPTIONS", "--jobs=2");
    let done = call.run()?;
    assert!(done.text().contains("default: --jobs=2 from HAUL_OPTIONS\n"), "{done:?}");
    assert!(!done.text().contains("--jobs=1"), "{done:?}");
    assert!(!place.run(&["rm", "t"])?.errors().contains("workers"), "that is for cp");
    Ok(())
}

#[test]
fn what_is_wrong_names_file_and_line_and_nothing_is_done() -> Outcome {
    for (config, words, message) in [
        ("[defaults]\n\nforce = true\n", "", ", line 3: '--force' is an option of GNU cp"),
        ("[defaults]\njbos = 3\n", "", ", line 2: there is no option '--jbos'"),
        ("[defaults]\njobs = 0\n", "", ", line 2\n"),
        ("[defaults\n", "", ", line 1: "),
        ("", "-f", "HAUL_OPTIONS: '-f' is no long option"),
        ("", "--recursive", "HAUL_OPTIONS: '--recursive' is an option of GNU cp"),
    ] {
        let place = Place::new(config)?;
        let done = place.call(haul(), &["cp", "s", "t"]).env("HAUL_OPTIONS", words).run()?;
        assert_eq!(done.code(), Some(1), "{config} {words} {done:?}");
        let errors = done.errors();
        assert!(errors.contains(message), "{config} {words} {errors}");
        assert!(config.is_empty() || errors.contains(&place.file()), "{errors}");
        assert!(!place.scratch.at("t").exists());
        assert_eq!(place.run(&["cp", "--no-config", "s", "t"])?.code(), Some(0));
    }
    Ok(())
}

/// The file of the whole machine, in a mount namespace of its own; the user's file overrides it.
#[test]
fn the_machines_file_comes_first() -> Outcome {
    if !is_root()? {
        return Ok(());
    }
    let place = Place::new("[defaults]\njobs = 3\n")?;
    place.scratch.write("etc", "[defaults]\njobs = 1\nstats = true\n")?;
    let haul = haul().to_string_lossy().into_owned();
    let script =
        "mount -t tmpfs none /etc && cat etc > /etc/haul.toml && exec \"$0\" cp --debug s t";
    let done = place.call("unshare", &["-m", "sh", "-c", script, &haul]).run()?;
    assert_eq!(done.code(), Some(0), "{done:?}");
    assert!(done.text().contains("default: --stats from '/etc/haul.toml', line 3\n"), "{done:?}");
    assert!(done.text().contains("default: --jobs=3 from "), "{done:?}");
    assert!(!done.text().contains("--jobs=1"), "{done:?}");
    Ok(())
}

#[test]
fn what_is_for_one_run_is_no_default() -> Outcome {
    // With --dry-run as a default, 'haul cp a b && haul rm a' would lose a.
    for (config, words, message) in [
        ("[defaults]\ndry-run = true\n", "", ", line 2: '--dry-run' is for the run that it is"),
        ("[defaults.cp]\nerrors = \"t\"\n", "", ", line 2: '--errors' is for the run that it is"),
        ("[defaults]\nsum-file = \"t\"\n", "", ", line 2: '--sum-file' is for the run that it"),
        ("[defaults]\nmetrics = \"t\"\n", "", ", line 2: '--metrics' is for the run that it is"),
        ("[defaults]\nlist-methods = true\n", "", "'--list-methods' is for the run that it is"),
        ("", "--dry-run", "HAUL_OPTIONS: '--dry-run' is for the run that it is given to"),
        ("", "--journal=t", "HAUL_OPTIONS: '--journal' is for the run that it is given to"),
    ] {
        let place = Place::new(config)?;
        let done = place.call(haul(), &["cp", "s", "t"]).env("HAUL_OPTIONS", words).run()?;
        assert_eq!(done.code(), Some(1), "{config} {words} {done:?}");
        assert!(done.errors().contains(message), "{config} {words} {done:?}");
        assert!(!place.scratch.at("t").exists(), "{config} {words}");
    }
    Ok(())
}

/// `HOME` may be that of another user: sudo, su and cron keep it or set it so.
#[test]
fn a_file_that_another_user_can_have_written_is_ignored() -> Outcome {
    if !is_root()? {
        return Ok(());
    }
    let place = Place::new("[defaults]\nstats = true\n")?;
    let file = place.file();
    let bits = |mode| std::fs::set_permissions(&file, Permissions::from_mode(mode));
    let said = |why: &str| format!("cp: warning: ignoring the defaults in '{file}': {why}");
    for (owner, group, mode, why) in [
        (USER, USER, 0o644, "it belongs to user 12345, not to user 0 or root"),
        (0, USER, 0o664, "other users may write to it"),
        (0, 0, 0o646, "other users may write to it"),
    ] {
        chown(&file, Some(owner), Some(group))?;
        bits(mode)?;
        let done = place.run(&["cp", "s", "t"])?;
        assert_eq!(done.code(), Some(0), "{done:?}");
        assert!(!has_stats(&done) && done.errors().starts_with(&said(why)), "{done:?}");
        assert_eq!(place.run(&["cp", "--no-config", "s", "t"])?.errors(), "");
        assert_eq!(place.run(&["cat", "s"])?.errors(), "", "takes no defaults");
    }
    chown(&file, Some(0), Some(0))?;
    for mode in [0o644, 0o664] {
        bits(mode)?;
        assert!(has_stats(&place.run(&["cp", "s", "t"])?), "its own file, with its own group");
    }
    // Also a link to another user's file, and a FIFO does not block.
    std::fs::rename(&file, place.scratch.at("elsewhere"))?;
    chown(place.scratch.at("elsewhere"), Some(USER), None)?;
    symlink(place.scratch.at("elsewhere"), &file)?;
    assert!(!has_stats(&place.run(&["cp", "s", "t"])?));
    std::fs::remove_file(&file)?;
    mknodat(CWD, &file, FileType::Fifo, Mode::RWXU, 0)?;
    let done = place.run(&["cp", "s", "t"])?;
    assert!(done.errors().contains("it is no regular file"), "{done:?}");
    Ok(())
}
