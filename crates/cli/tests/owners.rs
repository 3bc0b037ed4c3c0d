//! Directories of other users in the place of those that a run of root has made: no file becomes one that
//! runs with the rights of the user who copies, and nothing outside is written.
//!
//! The run is stopped after each of its calls in turn, from the moment when the directory exists, and the
//! directory is exchanged for another one.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};

use haul_manifest::remove_tree;
use rustix::process::{Signal, kill_process};

use super::mv::{Two, mv};
use super::support::run::{Call, Done, USER, cp};
use super::support::scratch::Scratch;
use super::support::stepper::{self, is_usable};
use super::support::{Outcome, entries, has, hidden, ignored, is_root};

/// Calls after which nothing that the run knows of a directory can have become wrong.
const DULL: [libc::c_long; 8] = [
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mprotect,
    libc::SYS_brk,
    libc::SYS_futex,
    libc::SYS_close,
    libc::SYS_fcntl,
    libc::SYS_clock_gettime,
];

/// The files of the source, with their modes.
const FILES: [(&str, u32); 3] = [("prog", 0o4755), ("d/prog", 0o6755), ("d/e/data", 0o640)];

/// Finds the directory to exchange in the user's folder, if it exists.
type Find<'f> = dyn Fn(&Path) -> Outcome<Option<PathBuf>> + 'f;

/// What replaces a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Planted {
    /// An empty directory of the user.
    OfUser,
    /// A directory of root, which has a link to a file outside where the run makes a file.
    WithLink,
}

struct Place {
    two: Two,
}

impl Place {
    fn new() -> Outcome<Option<Place>> {
        if !is_root()? || !is_usable()? {
            return Ok(None);
        }
        Ok(Two::new()?.map(|two| Place { two }))
    }

    /// The same with a second file system in memory, and folders that every user may enter.
    fn public() -> Outcome<Option<Place>> {
        if !is_root()? || !is_usable()? {
            return Ok(None);
        }
        let two = Two { here: Scratch::public()?, there: Scratch::below(Path::new("/dev/shm"))? };
        if two.here.path().metadata()?.dev() == two.there.path().metadata()?.dev() {
            ignored("a second file system on /dev/shm")?;
            return Ok(None);
        }
        Ok(Some(Place { two }))
    }

    /// The user's folder.
    fn home(&self) -> PathBuf {
        self.two.there.at("home")
    }

    fn reset(&self) -> Outcome {
        let Two { here, there } = &self.two;
        here.clear_all()?;
        there.clear_all()?;
        for (name, mode) in FILES {
            let path = here.write(&format!("s/{name}"), name)?;
            give(&path)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(mode))?;
        }
        for name in ["s", "s/d", "s/d/e"] {
            give(&here.at(name))?;
        }
        there.write("victim", "victim")?;
        fs::create_dir(self.home())?;
        give(&self.home())
    }

    /// Exchanges a directory for another one.
    fn exchange(&self, path: &Path, planted: Planted) -> Outcome {
        fs::rename(path, self.home().join("moved"))?;
        fs::create_dir(path)?;
        match planted {
            Planted::OfUser => give(path),
            Planted::WithLink => Ok(symlink(self.two.there.at("victim"), path.join("prog"))?),
        }
    }

    /// Returns what is wrong after a run.
    fn objection(&self, done: &Done) -> Outcome<Option<String>> {
        let victim = self.two.there.at("victim");
        if fs::read(&victim)? != b"victim" || victim.metadata()?.uid() != 0 {
            return Ok(Some("a file outside was written".to_owned()));
        }
        for path in files(&self.home())? {
            let told = path.metadata()?;
            let (mode, owner) = (told.mode() & 0o7777, (told.uid(), told.gid()));
            // The run's own files: a journal that it kept.
            let is_hidden =
                path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".haul-"));
            let runs_as_another =
                (mode & 0o4000 != 0 && owner.0 != USER) || (mode & 0o2000 != 0 && owner.1 != USER);
            if runs_as_another || (done.code() == Some(0) && !is_hidden && owner != (USER, USER)) {
                let path = path.display();
                return Ok(Some(format!("{path} has mode {mode:o} and owner {owner:?}")));
            }
        }
        let kept = files(&self.two.here.at("s"))?.into_iter().chain(files(&self.home())?);
        let kept: Vec<Vec<u8>> = kept.map(fs::read).collect::<std::io::Result<_>>()?;
        let lost =
            FILES.iter().find(|(name, _)| !kept.iter().any(|bytes| bytes == name.as_bytes()));
        Ok(lost.map(|(name, _)| format!("{name} is lost")))
    }

    /// Exchanges a directory, found by `find`, after each call of a command. Returns the number of runs in
    /// which that was possible.
    fn step_through(&self, call: &Call, planted: Planted, find: &Find<'_>) -> Outcome<usize> {
        for moment in 1.. {
            self.reset()?;
            let mut seen = 0;
            let stepped = stepper::run(call, &["s"], &mut |stop| {
                let is_dull = DULL.iter().any(|dull| u64::try_from(*dull) == Ok(stop.call));
                if seen < moment
                    && !is_dull
                    && let Some(path) = find(&self.home())?
                {
                    seen += 1;
                    if seen == moment {
                        self.exchange(&path, planted)?;
                    }
                }
                Ok(())
            })?;
            assert!(!stepped.hung, "{planted:?} at {moment}: {:?}", stepped.done);
            let objection = self.objection(&stepped.done)?;
            assert_eq!(objection, None, "{planted:?} at {moment}: {:?}", stepped.done);
            if seen < moment {
                return Ok(moment - 1);
            }
        }
        Ok(0)
    }
}

fn give(path: &Path) -> Outcome {
    Ok(chown(path, Some(USER), Some(USER))?)
}

/// Lists the regular files below a folder.
fn files(dir: &Path) -> Outcome<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in entries(dir)? {
        let kind = entry.file_type()?;
        if kind.is_dir() {
            found.extend(files(&entry.path())?);
        } else if kind.is_file() {
            found.push(entry.path());
        }
    }
    Ok(found)
}

/// Returns a directory that has this name in the user's folder.
fn below(name: &'static str) -> impl Fn(&Path) -> Outcome<Option<PathBuf>> {
    move |home| {
        let path = home.join(name);
        Ok(path.symlink_metadata().is_ok_and(|told| told.is_dir()).then_some(path))
    }
}

fn copies(options: &[&str]) -> Outcome {
    let Some(place) = Place::new()? else { return Ok(()) };
    for planted in [Planted::OfUser, Planted::WithLink] {
        for name in ["t", "t/d"] {
            let call = cp(options).words(["--jobs=1", "-T", "s"]).word(place.home().join("t"));
            let call = call.in_dir(place.two.here.path());
            let exchanged = place.step_through(&call, planted, &below(name))?;
            assert!(exchanged > 3, "{options:?} {name}: {exchanged}");
        }
    }
    Ok(())
}

#[test]
fn a_copy_gives_no_rights_to_who_exchanges_its_directories() -> Outcome {
    copies(&["-a"])
}

#[test]
fn an_atomic_copy_gives_no_rights_to_who_exchanges_its_directories() -> Outcome {
    copies(&["-rp", "--atomic"])
}

#[test]
fn a_verified_copy_gives_no_rights_to_who_exchanges_its_directories() -> Outcome {
    copies(&["-a", "--verify"])
}

#[test]
fn a_resumable_copy_gives_no_rights_to_who_exchanges_its_directories() -> Outcome {
    copies(&["-a", "--resume"])
}

#[test]
fn a_move_gives_no_rights_to_who_exchanges_its_directories() -> Outcome {
    let Some(place) = Place::new()? else { return Ok(()) };
    let waiting = |home: &Path| Ok(hidden(home)?.into_iter().find(|path| path.is_dir()));
    let inside = |home: &Path| {
        let inside = waiting(home)?.map(|path: PathBuf| path.join("d"));
        Ok(inside.filter(|path| path.is_dir()))
    };
    for planted in [Planted::OfUser, Planted::WithLink] {
        let call = mv(["--jobs=1", "-T", "s"]).word(place.home().join("t"));
        let call = call.in_dir(place.two.here.path());
        let finds: [&Find<'_>; 2] = [&waiting, &inside];
        for find in finds {
            let exchanged = place.step_through(&call, planted, find)?;
            assert!(exchanged > 3, "{exchanged}");
        }
    }
    Ok(())
}

/// Runs a move until its copy has a hidden name in a folder, and ends it. Returns the name.
fn waiting_name(call: &Call, dir: &Path) -> Outcome<PathBuf> {
    let mut found = None;
    stepper::run(call, &["s"], &mut |stop| {
        if let Some(name) = hidden(dir)?.into_iter().next() {
            kill_process(stop.pid, Signal::KILL)?;
            found = Some(name);
        }
        Ok(())
    })?;
    Ok(found.ok_or("the move had no hidden name")?)
}

/// The hidden name of a move follows from what everybody can see of its source, so other users can take it.
#[test]
fn a_hidden_name_that_another_user_has_taken_does_not_keep_a_move_from_its_work() -> Outcome {
    let Some(place) = Place::public()? else { return Ok(()) };
    let far = place.two.there.at("far");
    for (source, is_user) in [("s", false), ("s", true), ("s/prog", false), ("s/prog", true)] {
        place.reset()?;
        give(place.two.here.path())?;
        fs::create_dir(&far)?;
        fs::set_permissions(&far, fs::Permissions::from_mode(0o1777))?;
        let call = mv(["--jobs=1", source]).word(&far).in_dir(place.two.here.path());
        let call = if is_user { call.by_user() } else { call };
        let waiting = waiting_name(&call, &far)?;
        remove_tree(&waiting).map_err(|failure| failure.to_string())?;
        let owner = if is_user { 0 } else { USER };
        if source == "s" {
            fs::create_dir(&waiting)?;
            symlink(place.two.there.at("victim"), waiting.join("prog"))?;
        } else {
            fs::write(&waiting, "planted")?;
        }
        chown(&waiting, Some(owner), Some(owner))?;
        let done = call.run()?;
        assert_eq!((done.code(), done.errors()), (Some(0), String::new()), "{source} {is_user}");
        let moved = far.join(if source == "s" { "s/d/prog" } else { "prog" });
        let told = moved.metadata()?;
        assert_eq!((told.uid(), told.mode() & 0o4000), (USER, 0o4000), "{source} {is_user}");
        assert!(place.two.here.at(source).symlink_metadata().is_err(), "{source} {is_user}");
        assert_eq!(waiting.symlink_metadata()?.uid(), owner, "{source} {is_user}");
        assert_eq!(hidden(&far)?, [waiting], "{source} {is_user}");
        assert_eq!(fs::read(place.two.there.at("victim"))?, b"victim");
    }
    Ok(())
}

/// So can the name of the note that says that only the removal of a directory remains.
#[test]
fn a_note_that_another_user_has_planted_does_not_keep_a_move_from_its_work() -> Outcome {
    let Some(place) = Place::public()? else { return Ok(()) };
    place.reset()?;
    give(place.two.here.path())?;
    let far = place.two.there.at("far");
    fs::create_dir(&far)?;
    fs::set_permissions(&far, fs::Permissions::from_mode(0o1777))?;
    let call = mv(["--jobs=1", "s"]).word(&far).in_dir(place.two.here.path()).by_user();
    let waiting = waiting_name(&call, &far)?;
    remove_tree(&waiting).map_err(|failure| failure.to_string())?;
    let note = PathBuf::from(format!("{}.done", waiting.display()));
    fs::write(&note, "planted")?;
    let done = call.run()?;
    assert_eq!((done.code(), done.errors()), (Some(0), String::new()));
    assert!(far.join("s/d/prog").exists() && !place.two.here.at("s").exists());
    assert_eq!(fs::read(&note)?, b"planted");
    assert_eq!(hidden(&far)?, [note]);
    Ok(())
}

/// Another user can rename a directory of root to the waiting name of a move, but may not remove what is in it.
#[test]
fn a_directory_that_another_user_renamed_is_not_taken_for_a_copy() -> Outcome {
    let Some(place) = Place::public()? else { return Ok(()) };
    place.reset()?;
    let far = place.two.there.at("far");
    fs::create_dir(&far)?;
    fs::set_permissions(&far, fs::Permissions::from_mode(0o777))?;
    let call = mv(["--jobs=1", "s"]).word(&far).in_dir(place.two.here.path());
    let waiting = waiting_name(&call, &far)?;
    remove_tree(&waiting).map_err(|failure| failure.to_string())?;
    fs::create_dir(&waiting)?;
    fs::write(waiting.join("precious"), "precious")?;
    call.succeed()?;
    assert_eq!(fs::read(waiting.join("precious"))?, b"precious");
    assert_eq!(hidden(&far)?, [waiting]);
    assert!(far.join("s/d/prog").exists() && !place.two.here.at("s").exists());
    Ok(())
}

#[test]
fn a_move_is_resumed_where_other_users_can_rename_entries() -> Outcome {
    let Some(place) = Place::public()? else { return Ok(()) };
    let Two { here, there } = &place.two;
    for folder in [here, there] {
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777))?;
    }
    let far = there.path().display().to_string();
    for file in ["s/one", "s/two"] {
        here.write(file, file)?;
    }
    for name in ["s", "s/one", "s/two"] {
        chown(here.at(name), Some(USER), Some(USER))?;
    }
    fs::set_permissions(here.at("s"), fs::Permissions::from_mode(0o755))?;
    let call = mv(["--jobs=1", "-v", "s", &far]).in_dir(here.path()).by_user();
    let mut is_killed = false;
    stepper::run(&call, &["s"], &mut |stop| {
        // The first file of the copy is complete.
        let is_begun = hidden(there.path())?
            .iter()
            .any(|copy| fs::read_dir(copy).is_ok_and(|names| names.count() == 2));
        if is_begun && !is_killed {
            kill_process(stop.pid, Signal::KILL)?;
            is_killed = true;
        }
        Ok(())
    })?;
    assert!(is_killed && hidden(there.path())?.len() == 1);
    call.succeed()?;
    assert_eq!(hidden(there.path())?, [""; 0].map(PathBuf::from));
    let told = there.at("s").metadata()?;
    assert_eq!((told.mode() & 0o777, told.uid()), (0o755, USER));
    if has("getfattr")? {
        let listed = Call::of("getfattr").words(["-d", "s"]).in_dir(there.path()).run()?;
        assert_eq!(listed.stdout, b"");
    }
    Ok(())
}
