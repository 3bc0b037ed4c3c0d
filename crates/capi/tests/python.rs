//! The module for Python does what its own tests demand: beside the library, and installed from a wheel.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::{built, has, ignored, run_within_limit, text};

/// Versions of Python that the wheel is for, as programs are called.
const PYTHONS: [&str; 6] =
    ["python3.9", "python3.10", "python3.11", "python3.12", "python3.13", "python3.14"];

/// Returns the versions of Python that are there: those of the system, and those of pyenv, which puts a program for each
/// version into the search path that runs only a chosen one.
fn pythons() -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".pyenv"));
    let root = std::env::var_os("PYENV_ROOT").map(PathBuf::from).or(home);
    let versions = root.and_then(|root| fs::read_dir(root.join("versions")).ok());
    let folders: Vec<_> = versions.into_iter().flatten().flatten().map(|it| it.path()).collect();
    let of_pyenv = |name: &str| {
        let mut found = folders.iter().map(|folder| folder.join("bin").join(name));
        found.find(|path| has(path))
    };
    let find = |name: &str| if has(name) { Some(PathBuf::from(name)) } else { of_pyenv(name) };
    PYTHONS.into_iter().filter_map(find).collect()
}

fn folder_of_module() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("python")
}

fn run(command: &mut Command) -> Output {
    let done = run_within_limit(command);
    assert!(done.status.success(), "{}{}", text(&done.stdout), text(&done.stderr));
    done
}

/// Runs the module's tests.
fn judge(python: &Path, module: Option<&Path>) {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python.py");
    let mut command = Command::new(python);
    command.arg("-B").arg(tests);
    if let Some(module) = module {
        command.env("PYTHONPATH", module);
    }
    let done = run(&mut command);
    let seen = text(&done.stderr);
    assert!(seen.contains("\nOK"), "{seen}");
    if let Some((_, skipped)) = seen.split_once("\nOK (") {
        ignored(skipped);
    }
}

/// Runs CPython's tests of shutil, where they are installed.
fn judge_by_tests_of_shutil(python: &Path) {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/test_shutil.py");
    let scratch = tempfile::tempdir().unwrap();
    let mut command = Command::new(python);
    let done = run_within_limit(command.arg("-B").arg(tests).current_dir(scratch.path()));
    match done.status.code() {
        Some(77) => ignored("the tests of Python's standard library (libpython3-testsuite)"),
        code => assert_eq!(code, Some(0), "{}", text(&done.stderr)),
    }
}

/// Puts the module and the library into a folder of a folder.
pub(crate) fn put_module(into: &Path) {
    let module = into.join("haul");
    fs::create_dir(&module).unwrap();
    for name in ["__init__.py", "_archives.py"] {
        fs::copy(folder_of_module().join("haul").join(name), module.join(name)).unwrap();
    }
    fs::copy(built("libhaul_capi.so"), module.join("libhaul.so.0")).unwrap();
}

#[test]
fn the_module_does_what_shutil_does() {
    if !has("python3") {
        return ignored("python3");
    }
    let scratch = tempfile::tempdir().unwrap();
    put_module(scratch.path());
    judge(Path::new("python3"), Some(scratch.path()));
}

#[test]
fn the_program_of_the_guide_copies_moves_and_removes() {
    if !has("python3") {
        return ignored("python3");
    }
    let scratch = tempfile::tempdir().unwrap();
    put_module(scratch.path());
    let folder = scratch.path().join("work");
    fs::create_dir_all(folder.join("photos/below")).unwrap();
    fs::write(folder.join("photos/below/file"), "bytes").unwrap();
    let program = crate::documents::program("../../docs/library.md", "```python", "```");
    assert!(program.lines().count() <= 10, "it has to be short");
    let mut command = Command::new("python3");
    command.args(["-B", "-c", &program]).current_dir(&folder);
    let done = run(command.env("PYTHONPATH", scratch.path()));
    assert!(text(&done.stdout).contains("1 files\r"), "{done:?}");
    let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left, ["photos"]);
}

#[test]
#[ignore = "makes an environment for each version of Python"]
fn a_wheel_is_installed_in_a_fresh_environment() {
    let can_make = |python: &PathBuf| {
        Command::new(python)
            .args(["-m", "ensurepip", "--version"])
            .output()
            .unwrap()
            .status
            .success()
    };
    let pythons: Vec<_> = pythons().into_iter().filter(can_make).collect();
    if pythons.is_empty() || !has("readelf") {
        return ignored(
            "Python 3.9 or newer with ensurepip (python3-venv), and readelf (binutils)",
        );
    }
    let scratch = tempfile::tempdir().unwrap();
    // target/debug/deps/libhaul_capi.so → target/debug/haul
    let library = built("libhaul_capi.so");
    let program = library.parent().and_then(Path::parent).unwrap().join("haul");
    let made = run(Command::new("python3")
        .arg(folder_of_module().join("wheel.py"))
        .args([&library, &program])
        .args([env!("CARGO_PKG_VERSION"), "1000000000"])
        .arg(scratch.path()));
    for (number, python) in pythons.iter().enumerate() {
        let environment = scratch.path().join(number.to_string());
        run(Command::new(python).args(["-m", "venv"]).arg(&environment));
        let python = environment.join("bin/python");
        let pip = ["-m", "pip", "install", "--no-index", "--no-deps", "--no-cache-dir"];
        run(Command::new(&python).args(pip).arg(text(&made.stdout).trim()));
        judge(&python, None);
        judge_by_tests_of_shutil(&python);
        let version = run(Command::new(environment.join("bin/haul")).arg("--version"));
        assert!(text(&version.stdout).contains(env!("CARGO_PKG_VERSION")), "{version:?}");
    }
}
