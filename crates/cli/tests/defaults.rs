//! Defaults of configuration files and `HAUL_OPTIONS`: for haul's own options, shown, and overridden.

use std::path::Path;

use super::support::run::{Call, Done, haul};
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
