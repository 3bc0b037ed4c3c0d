//! Figures by file.

use haul_trace::{Command, Files};

use crate::support::{BACKENDS, by, run};

#[test]
fn files_are_recorded_by_path() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    std::fs::create_dir(root.join("sub")).unwrap();
    std::fs::write(root.join("sub/source"), [7; 3000]).unwrap();
    let script = "cd sub; cat source > ../target; cat < ../target >/dev/null; \
                  cat missing 2>/dev/null; rm ../target; exit 0";
    for backend in BACKENDS {
        let mut options = by(backend);
        options.files = Files::Observed;
        let command = Command::new("sh").arguments(["-c", script]).directory(&root);
        let Some(report) = run(&command, &options) else { continue };
        let file = |name: &str| {
            let path = root.join(name).to_string_lossy().into_owned();
            report.files.iter().find(|file| file.path == path)
        };
        let source = file("sub/source").unwrap();
        assert_eq!(source.calls["openat"].count, 1, "{backend:?}");
        assert_eq!(source.calls["close"].count, 1);
        let moved = |file: &haul_trace::FileUse| -> u64 {
            let transfers = ["read", "write", "copy_file_range", "splice", "sendfile"];
            transfers.iter().filter_map(|name| file.calls.get(*name)).map(|call| call.bytes).sum()
        };
        assert_eq!(moved(source), 3000);
        // Written through an inherited descriptor, and read through another.
        assert_eq!(moved(file("target").unwrap()), 6000);
        // The failed open is recorded by its argument and base directory; so is the removal, whose
        // argument contains `..`.
        assert_eq!(file("sub/missing").unwrap().errors(), 1);
        assert!(report.files.iter().any(|file| file.calls.contains_key("unlinkat")));
    }
}

#[test]
fn are_not_listed_unless_asked_for() {
    for backend in BACKENDS {
        let Some(report) = run(&Command::new("true"), &by(backend)) else { continue };
        assert_eq!(report.files, []);
    }
}
