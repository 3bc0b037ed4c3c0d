//! Profiles: `haul tune` writes one, `haul cp` applies it, and a bad one causes no error.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::support::run::{Call, Done, USER, cp, haul};
use super::support::scratch::Scratch;
use super::support::{Outcome, has, is_root};

/// A method that is never chosen automatically for files of this size.
const METHOD: &str = "sendfile";

struct Place {
    scratch: Scratch,
    folder: PathBuf,
    name: String,
    name_for_any: String,
}

/// Makes a source, and finds the name of this place's profile.
fn place() -> Outcome<Place> {
    let scratch = Scratch::public()?;
    scratch.write("s", vec![7; 200_000])?;
    let folder = scratch.at("config/haul/profiles");
    std::fs::create_dir_all(&folder)?;
    let storage = haul_bench::storage_of(scratch.path())?.ok_or("no file system")?;
    let name = haul_bench::profile_file_name(&storage, &storage);
    let any = storage.on_any_device();
    let name_for_any = haul_bench::profile_file_name(&any, &any);
    Ok(Place { scratch, folder, name, name_for_any })
}

/// Makes a profile that prefers a method that is never chosen automatically.
fn good() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!(
        "version = 2\ncores = {cores}\nhaul = \"{}\"\nkernel = \"{}\"\nmeasured = \"then\"\n\
         [[choice]]\nfile_bytes = 100000\nmethod = \"{METHOD}\"\n\
         method_order = [\"{METHOD}\", \"read-write\"]\njobs = 1\n",
        env!("CARGO_PKG_VERSION"),
        haul_bench::Environment::kernel_now(),
    )
}

impl Place {
    fn write(&self, text: &str) -> Outcome {
        Ok(std::fs::write(self.folder.join(&self.name), text)?)
    }

    fn copy(&self, words: &[&str]) -> Call {
        let config = self.scratch.at("config");
        let config = config.to_string_lossy().into_owned();
        cp(words).words(["s", "t"]).in_dir(self.scratch.path()).env("XDG_CONFIG_HOME", &config)
    }

    /// Copies, and asserts that the bytes arrived.
    fn copied(&self, call: &Call) -> Outcome<Done> {
        self.scratch.clear("t")?;
        let done = call.run()?;
        assert_eq!(done.code(), Some(0), "{done:?}");
        assert_eq!(std::fs::read(self.scratch.at("t"))?, vec![7; 200_000]);
        Ok(done)
    }
}

fn used_it(done: &Done) -> bool {
    done.text().contains(&format!("'s' -> 't': {METHOD}"))
}

#[test]
fn a_profile_chooses_the_method_and_is_shown() -> Outcome {
    let place = place()?;
    let explain = ["--explain", "--reflink=never"];
    let done = place.copied(&place.copy(&explain))?;
    assert!(!done.text().contains("profile:") && !used_it(&done), "without one: {done:?}");
    place.write(&good())?;
    let done = place.copied(&place.copy(&explain))?;
    assert!(used_it(&done), "{done:?}");
    assert!(done.text().contains(&format!("on {METHOD} first")), "{done:?}");
    assert!(done.text().contains("on 1 job"), "{done:?}");
    assert_eq!(done.errors(), "");
    let done = place.copied(&place.copy(&["--debug"]))?;
    assert!(done.text().contains("profile: "), "{done:?}");
    let done = place.copied(&place.copy(&[]))?;
    assert_eq!((done.text(), done.errors()), (String::new(), String::new()), "quiet by itself");
    Ok(())
}

#[test]
fn what_is_asked_for_wins() -> Outcome {
    let place = place()?;
    place.write(&good())?;
    for words in [
        &["--explain", "--reflink=never", "--profile=none"][..],
        &["--explain", "--reflink=never", "--method=read-write"],
    ] {
        let done = place.copied(&place.copy(words))?;
        assert!(!used_it(&done), "{words:?}: {done:?}");
    }
    let file = place.folder.join(&place.name).to_string_lossy().into_owned();
    let named = format!("--profile={file}");
    let call = place.copy(&["--explain", "--reflink=never", &named]);
    let done = place.copied(&call.env("XDG_CONFIG_HOME", "/nowhere"))?;
    assert!(used_it(&done), "{done:?}");
    let done = place.copied(&place.copy(&["--profile=/nowhere/file"]))?;
    assert!(done.errors().contains("cannot be read"), "an explicit profile is reported: {done:?}");
    Ok(())
}

#[test]
fn another_users_profile_is_not_used_unless_it_is_named() -> Outcome {
    if !is_root()? {
        return Ok(());
    }
    let place = place()?;
    place.write(&good())?;
    let file = place.folder.join(&place.name);
    std::os::unix::fs::chown(&file, Some(USER), None)?;
    let explain = ["--explain", "--reflink=never"];
    let done = place.copied(&place.copy(&explain))?;
    assert!(!used_it(&done), "{done:?}");
    assert!(done.errors().contains("is not used: it belongs to user 12345"), "{done:?}");
    let named = format!("--profile={}", file.to_string_lossy());
    let done = place.copied(&place.copy(&explain).word(&named))?;
    assert!(used_it(&done), "{done:?}");
    Ok(())
}

#[test]
fn the_profile_for_the_devices_wins_over_that_for_any() -> Outcome {
    let place = place()?;
    let words = ["--explain", "--reflink=never"];
    let (own, any) = (place.folder.join(&place.name), place.folder.join(&place.name_for_any));
    assert_ne!(own, any);
    std::fs::write(&any, good())?;
    let done = place.copied(&place.copy(&words))?;
    assert!(used_it(&done), "{done:?}");
    assert!(done.text().contains(", for these file systems on any device"), "{done:?}");
    // One for these devices advises nothing, and wins.
    place.write(good().split("[[choice]]").next().unwrap_or_default())?;
    let done = place.copied(&place.copy(&words))?;
    assert!(!used_it(&done), "{done:?}");
    assert!(done.text().contains(", for these devices; nothing was shown"), "{done:?}");
    // It also wins if it cannot be used: the other one is not used in its place without a word.
    place.write("nonsense")?;
    let done = place.copied(&place.copy(&words))?;
    assert!(done.errors().contains("is invalid") && !used_it(&done), "{done:?}");
    // Those for other devices do not matter.
    std::fs::rename(&own, place.folder.join(format!("x{}", place.name)))?;
    std::fs::remove_file(&any)?;
    let done = place.copied(&place.copy(&words))?;
    assert!(!done.text().contains("profile:") && done.errors().is_empty(), "{done:?}");
    let call = Call::of(haul()).words(["doctor", "."]).in_dir(place.scratch.path());
    let config = place.scratch.at("config").to_string_lossy().into_owned();
    let told = call.env("XDG_CONFIG_HOME", &config).run()?.text();
    assert!(told.contains("none for this device"), "{told}");
    Ok(())
}

#[test]
fn a_profile_of_one_device_is_not_used_on_another_of_the_same_type() -> Outcome {
    if !is_root()? || !has("unshare")? {
        return Ok(());
    }
    let place = place()?;
    let folder = &place.folder;
    std::fs::write(folder.join("tmpfs@one--tmpfs@one.toml"), good())?;
    std::fs::write(
        folder.join("tmpfs@one--tmpfs@two.toml"),
        good().replace("jobs = 1", "jobs = 2"),
    )?;
    let script =
        "set -e; mkdir -p m1 m2; mount -t tmpfs one m1; mount -t tmpfs two m2; cp s m1; cp s m2
         for way in '1 1' '1 2' '2 1' '2 2'; do set -- $way
           echo \"$way: $(\"$0\" cp --debug m$1/s m$2/t | grep profile: || echo none)\"
         done; umount m1 m2";
    let call = Call::of("unshare").words(["-m", "--", "sh", "-c", script]);
    let config = place.scratch.at("config").to_string_lossy().into_owned();
    let call = call.word(haul()).in_dir(place.scratch.path()).env("XDG_CONFIG_HOME", &config);
    let text = call.succeed()?.text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4, "{text}");
    assert!(lines[0].contains("tmpfs@one--tmpfs@one.toml") && lines[0].contains("1 job"), "{text}");
    assert!(
        lines[1].contains("tmpfs@one--tmpfs@two.toml") && lines[1].contains("2 jobs"),
        "{text}"
    );
    assert_eq!(lines[2..], ["2 1: none", "2 2: none"], "{text}");
    Ok(())
}

#[test]
fn a_bad_profile_is_told_once_and_breaks_no_copy() -> Outcome {
    let place = place()?;
    place.scratch.write("more/a", "a")?;
    place.scratch.write("more/b", "b")?;
    let long = "#".repeat(1 << 20);
    for (text, why) in [
        ("", "is invalid"),
        ("version = \"one\"", "is invalid"),
        ("\u{0}\u{1b}[31m", "is invalid"),
        (&long, "is invalid"),
        (&good().replace("version = 2", "version = 9"), "has version 9"),
        (&good().replace("haul = \"", "haul = \"0.0.0-"), "is of haul 0.0.0-"),
        (&good().replace("kernel = \"Linux ", "kernel = \"Linux 1."), "is of kernel"),
        (&good().replace(METHOD, "telepathy"), "telepathy"),
    ] {
        place.write(text)?;
        let done = place.copied(&place.copy(&["--explain"]))?;
        let errors = done.errors();
        assert!(errors.contains(why), "{why}: {done:?}");
        assert_eq!(errors.lines().count(), 1, "{done:?}");
        assert!(!errors.contains('\u{1b}'), "{done:?}");
        assert!(errors.contains("copying as without a profile"), "{done:?}");
        assert!(!used_it(&done), "{done:?}");
    }
    let call = cp(["-r", "more", "copy"]).in_dir(place.scratch.path());
    let config = place.scratch.at("config").to_string_lossy().into_owned();
    let done = call.env("XDG_CONFIG_HOME", &config).run()?;
    assert_eq!((done.code(), done.errors().lines().count()), (Some(0), 1), "{done:?}");
    Ok(())
}

#[test]
fn a_profile_that_is_no_file_neither_hangs_nor_breaks_a_copy() -> Outcome {
    let place = place()?;
    let path = place.folder.join(&place.name);
    mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0)?;
    let done = place.copied(&place.copy(&[]))?;
    assert!(done.errors().contains("no regular file"), "{done:?}");
    std::fs::remove_file(&path)?;
    std::fs::create_dir(&path)?;
    let done = place.copied(&place.copy(&[]))?;
    assert!(done.errors().contains("no regular file"), "{done:?}");
    Ok(())
}

#[test]
fn the_folder_may_be_missing_relative_or_unset() -> Outcome {
    let place = place()?;
    place.write(&good())?;
    let explain = ["--explain", "--reflink=never"];
    for config in ["", "config", "/nowhere"] {
        let call = place.copy(&explain).env("XDG_CONFIG_HOME", config).env("HOME", "/nowhere");
        let done = place.copied(&call)?;
        assert_eq!(done.errors(), "", "{config:?}: {done:?}");
        assert!(!used_it(&done), "{config:?}: a relative path is no path: {done:?}");
    }
    // It is found in the home folder if the other variable is not set.
    let home = place.scratch.at("home");
    std::fs::create_dir_all(home.join(".config"))?;
    std::fs::rename(place.scratch.at("config/haul"), home.join(".config/haul"))?;
    let home = home.to_string_lossy().into_owned();
    let call = place.copy(&explain).env("XDG_CONFIG_HOME", "").env("HOME", &home);
    assert!(used_it(&place.copied(&call)?));
    Ok(())
}

#[test]
fn a_profile_that_may_not_be_read_is_told_but_not_anothers_folder() -> Outcome {
    if !is_root()? {
        return Ok(());
    }
    let place = place()?;
    place.write(&good())?;
    let closed =
        |path: PathBuf| std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o000));
    let copied = |name: &str| -> Outcome<String> {
        place.scratch.clear(name)?;
        std::fs::create_dir(place.scratch.at(name))?;
        std::fs::set_permissions(place.scratch.at(name), std::fs::Permissions::from_mode(0o777))?;
        let config = place.scratch.at("config").to_string_lossy().into_owned();
        let call = cp(["s", name]).in_dir(place.scratch.path()).env("XDG_CONFIG_HOME", &config);
        let done = call.by_user().run()?;
        assert_eq!(done.code(), Some(0), "{done:?}");
        Ok(done.errors())
    };
    closed(place.folder.join(&place.name))?;
    let errors = copied("one")?;
    assert!(errors.contains("cannot be read: Permission denied"), "{errors}");
    // As after `sudo -u` or `su` that keeps the HOME of another user.
    closed(place.scratch.at("config"))?;
    assert_eq!(copied("two")?, "");
    Ok(())
}

#[test]
fn tune_refuses_what_makes_no_sense() -> Outcome {
    let scratch = Scratch::new()?;
    for (words, message) in [
        (&["nowhere"][..], "is no folder"),
        (&["--rounds=2"], "from 5 to"),
        (&["--fs=fat"], "known are ext4"),
        (&["a", "b"], "extra operand"),
    ] {
        let done = Call::of(haul()).word("tune").words(words).in_dir(scratch.path()).run()?;
        assert_eq!(done.code(), Some(2), "{words:?}: {done:?}");
        assert!(done.errors().contains(message), "{words:?}: {done:?}");
    }
    let call = Call::of(haul()).word("tune").in_dir(scratch.path());
    let done = call.env("XDG_CONFIG_HOME", "relative").env("HOME", "").run()?;
    assert_eq!(done.code(), Some(2), "{done:?}");
    assert!(done.errors().contains("no place for profiles"), "{done:?}");
    Ok(())
}

#[test]
fn what_tune_measured_is_what_cp_uses_from_then_on() -> Outcome {
    let place = place()?;
    let config = place.scratch.at("config").to_string_lossy().into_owned();
    let tune = |words: &[&str]| {
        let call = Call::of(haul()).word("tune").words(words).in_dir(place.scratch.path());
        call.env("XDG_CONFIG_HOME", &config).run()
    };
    let small = "--scenario=nested-small:files=10,dirs=1";
    let done = tune(&[small, "--rounds=5"])?;
    assert_eq!(done.code(), Some(0), "{done:?}");
    assert!(done.text().contains("The profile is "), "{done:?}");
    let path = place.folder.join(&place.name);
    let profile = std::fs::read_to_string(&path)?;
    assert_eq!(profile.matches("[[choice]]").count(), 1, "{profile}");
    assert!(profile.contains("rounds = 5"), "the evidence: {profile}");
    let order = profile.lines().find(|line| line.starts_with("method_order = [")).unwrap_or("");
    for method in ["copy-range", "sendfile", "splice", "read-write"] {
        assert!(order.contains(method), "{method} was measured: {profile}");
    }
    let copied = place.copied(&place.copy(&["--debug"]))?;
    assert!(copied.text().contains("profile: "), "{copied:?}");
    assert_eq!(copied.errors(), "");
    // With printing, no profile is written; and neither run leaves a file.
    std::fs::remove_file(&path)?;
    let done = tune(&[small, "--rounds=5", "--print"])?;
    assert!(done.text().contains("[[choice]]") && !path.exists(), "{done:?}");
    let mut left = Vec::new();
    for entry in std::fs::read_dir(place.scratch.path())? {
        left.push(entry?.file_name());
    }
    left.sort();
    assert_eq!(left, ["config", "s", "t"]);
    for (word, why) in [("delete-flat", "copies nothing"), ("nonsense", "known are")] {
        let done = tune(&["--scenario", word])?;
        assert_eq!(done.code(), Some(2), "{done:?}");
        assert!(done.errors().contains(why), "{done:?}");
    }
    Ok(())
}
