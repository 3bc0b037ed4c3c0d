//! What programs are compiled with: a name that is missing, or a number that is another one, breaks them.
//!
//! `interface.txt` lists everything that a program in C or Python can name. A change that adds lines adds them there;
//! one that alters or removes a line needs another soname (`build.rs`).

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use crate::python::put_module;
use crate::support::{Laboratory, built, has, ignored, text};

/// Prints the names of the module, with arguments and defaults.
const PYTHON: &str = r#"
import inspect, re, haul
for name in sorted(haul.__all__):
    it = getattr(haul, name)
    if inspect.isfunction(it) and it.__module__ == "haul":
        print(name + re.sub("<function (.*?) at .*?>", r"\1", str(inspect.signature(it))))
    elif hasattr(it, "_fields"):
        print("%s: %s" % (name, " ".join(it._fields)))
    else:
        print(name)
"#;

/// Returns the declarations of the header: one a line, without comments and without the frame.
fn declarations(header: &str) -> String {
    let mut code = String::new();
    let mut rest = header;
    while let Some((before, after)) = rest.split_once("/*") {
        code += before;
        rest = after.split_once("*/").unwrap().1;
    }
    code += rest;
    let code = code.replace("\\\n", " ");
    let mut found = String::new();
    let mut statement = String::new();
    for line in code.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(constant) = line.strip_prefix("#define ") {
            writeln!(found, "{}", constant.split_whitespace().collect::<Vec<_>>().join(" "))
                .unwrap();
        } else if !line.starts_with('#') && line != "extern \"C\" {" && line != "}" {
            statement += line;
            statement.push(' ');
            let is_whole = line.ends_with(';')
                && statement.matches('{').count() == statement.matches('}').count();
            if is_whole {
                writeln!(found, "{}", statement.trim_end()).unwrap();
                statement.clear();
            }
        }
    }
    found
}

/// Returns the functions that a program finds in the library.
fn symbols() -> Option<Vec<String>> {
    if !has("nm") {
        ignored("nm (binutils)");
        return None;
    }
    let done = Command::new("nm")
        .args(["--dynamic", "--defined-only", "--format=posix"])
        .arg(built("libhaul_capi.so"))
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
    let names = text(&done.stdout).lines().filter_map(|line| line.split_whitespace().next());
    Some(names.map(str::to_owned).collect())
}

#[test]
fn the_interface_is_the_one_that_programs_were_compiled_with() {
    if !has("python3") {
        return ignored("python3");
    }
    let scratch = tempfile::tempdir().unwrap();
    put_module(scratch.path());
    let done = Command::new("python3")
        .args(["-B", "-c", PYTHON])
        .env("PYTHONPATH", scratch.path())
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
    let found = declarations(include_str!("../include/haul.h"));
    let found = format!("C\n{found}\nPython\n{}", text(&done.stdout));
    assert_eq!(found, include_str!("interface.txt"), "see the first lines of this test");
}

#[test]
fn the_library_has_the_functions_of_the_header_and_no_others() {
    let Some(found) = symbols() else { return };
    let header = declarations(include_str!("../include/haul.h"));
    let mut declared: Vec<_> = header
        .lines()
        .filter_map(|line| line.split_once('(')?.0.split([' ', '*']).next_back())
        .filter(|name| name.starts_with("haul_"))
        .map(str::to_owned)
        .collect();
    declared.sort();
    assert_eq!(found, declared);
}

#[test]
fn a_program_is_compiled_with_what_pkg_config_says() {
    let Some(laboratory) = Laboratory::new() else { return };
    if !has("pkg-config") || !has("readelf") {
        return ignored("pkg-config, and readelf (binutils)");
    }
    let prefix = laboratory.path().join("usr");
    laboratory.install(&prefix);
    let program = "#include <haul.h>\nint main(void) { return haul_version() == 0; }\n";
    std::fs::write(laboratory.path().join("version.c"), program).unwrap();
    let script = "export PKG_CONFIG_PATH=usr/lib/pkgconfig
        cc -o version version.c $(pkg-config --cflags --libs haul) && ./version &&
        pkg-config --modversion haul && readelf --dynamic version";
    let library = prefix.join("lib");
    let done = laboratory.run_with(&["sh", "-ec", script], &library);
    assert!(done.status.success(), "{done:?}");
    let found = text(&done.stdout);
    assert!(found.starts_with(env!("CARGO_PKG_VERSION")), "{found}");
    // The name that the program keeps is that of the interface, and not that of the file.
    assert!(found.contains("NEEDED") && found.contains("[libhaul.so.0]"), "{found}");
    assert!(Path::new(&library).join("libhaul.so").is_symlink());
}
