//! Compiles programs in C with the library that cargo has built.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use haul_sys::process::{Ready, open_child, wait_until};

/// Longest time for a program of a test: many times what it needs, under valgrind and beside other programs.
const LIMIT: Duration = Duration::from_secs(300);

/// A folder with the library as it will be installed, and with programs.
pub(crate) struct Laboratory {
    folder: tempfile::TempDir,
}

impl Laboratory {
    /// Puts the library there; `None`, with a line about it, where there is no C compiler.
    pub(crate) fn new() -> Option<Laboratory> {
        if !has("cc") {
            ignored("a C compiler");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join("libhaul.so.0");
        fs::copy(built("libhaul_capi.so"), &name).unwrap();
        std::os::unix::fs::symlink("libhaul.so.0", folder.path().join("libhaul.so")).unwrap();
        Some(Laboratory { folder })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Installs what programs need below a prefix, as `cargo xtask dist library` packs it.
    pub(crate) fn install(&self, prefix: &Path) {
        let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let config = fs::read_to_string(crate_folder.join("haul.pc.in")).unwrap();
        let config = config.replace("@VERSION@", env!("CARGO_PKG_VERSION"));
        for folder in ["lib/pkgconfig", "include"] {
            fs::create_dir_all(prefix.join(folder)).unwrap();
        }
        fs::write(prefix.join("lib/pkgconfig/haul.pc"), config).unwrap();
        fs::copy(crate_folder.join("include/haul.h"), prefix.join("include/haul.h")).unwrap();
        fs::rename(self.path().join("libhaul.so.0"), prefix.join("lib/libhaul.so.0")).unwrap();
        fs::rename(self.path().join("libhaul.so"), prefix.join("lib/libhaul.so")).unwrap();
    }

    /// Compiles a program.
    pub(crate) fn compile(&self, name: &str, text: &str) -> PathBuf {
        let (source, program) = (self.path().join(format!("{name}.c")), self.path().join(name));
        fs::write(&source, text).unwrap();
        let compiled = Command::new("cc")
            .args(["-std=c11", "-D_GNU_SOURCE", "-g", "-Wall", "-Wextra", "-Werror", "-o"])
            .args([&program, &source])
            .arg(format!("-I{}/include", env!("CARGO_MANIFEST_DIR")))
            .arg(format!("-L{}", self.path().display()))
            .args(["-lhaul", "-pthread"])
            .output()
            .unwrap();
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        program
    }

    /// Runs a program, by itself or under another one.
    pub(crate) fn run(&self, words: &[&str]) -> Output {
        self.run_with(words, self.path())
    }

    /// Runs a program that finds the library in a folder.
    pub(crate) fn run_with(&self, words: &[&str], library: &Path) -> Output {
        let (program, words) = words.split_first().unwrap();
        let mut command = Command::new(program);
        command.args(words).current_dir(self.path()).env("LD_LIBRARY_PATH", library);
        run_within_limit(&mut command)
    }
}

/// Runs a program without input. One that has not ended after [`LIMIT`] is ended, and fails the test with the places where
/// its threads were.
pub(crate) fn run_within_limit(command: &mut Command) -> Output {
    let outputs = [(); 2].map(|()| tempfile::tempfile().unwrap());
    let [stdout, stderr] = outputs.each_ref().map(|file| file.try_clone().unwrap());
    let mut child = command.stdin(Stdio::null()).stdout(stdout).stderr(stderr).spawn().unwrap();
    let end = open_child(child.id()).unwrap();
    let has_ended = wait_until(&end, Ready::ToRead, Some(LIMIT)).unwrap();
    let places = if has_ended { String::new() } else { places(child.id()) };
    if !has_ended {
        child.kill().unwrap();
    }
    let status = child.wait().unwrap();
    let [stdout, stderr] = outputs.map(content);
    let done = Output { status, stdout, stderr };
    assert!(has_ended, "no end after {LIMIT:?}:\n{places}{done:?}");
    done
}

/// Returns what was written to a file.
fn content(mut file: File) -> Vec<u8> {
    let mut bytes = Vec::new();
    file.rewind().unwrap();
    file.read_to_end(&mut bytes).unwrap();
    bytes
}

/// Returns where the kernel has the threads of a process, a line for each answer.
fn places(process: u32) -> String {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let answers = tasks.flatten().flat_map(|task| {
        ["comm", "wchan", "syscall", "stack"].map(|name| {
            let path = task.path().join(name);
            let seen = fs::read_to_string(&path).unwrap_or_else(|error| error.to_string());
            format!("{}: {}\n", path.display(), seen.trim())
        })
    });
    answers.collect()
}

/// Returns the path of a file that cargo has built beside this program.
pub(crate) fn built(name: &str) -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().join(name)
}

/// Returns whether there is a program with this name.
pub(crate) fn has(name: impl AsRef<OsStr>) -> bool {
    Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Prints that a test does not run, and why.
pub(crate) fn ignored(needs: &str) {
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    let mut seen = std::io::stdout();
    writeln!(seen, "ignored: {name} needs {needs}").unwrap();
}

pub(crate) fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}
