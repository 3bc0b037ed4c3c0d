//! Possible results of each call, injected by strace: the outcome is right bytes, or an error.

use std::process::Command;

use haul_io::{Cache, Choice, DataPolicy, MethodId, Reflink, Tell};

use super::support::{Workers, assert_equal, copy, make, places};

const SIZE: u64 = (9 << 20) + 513;

/// The outcome of a traced copy.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    /// The bytes are right, and this method moved them.
    Right(String),
    /// It failed.
    Error(String),
}

/// Copies in a child under strace with a fault.
fn copy_under(injection: &str, calls: &str, policy: &str, folder: &str) -> Said {
    copy_logged(injection, calls, policy, folder, "/dev/null")
}

/// Copies as [`copy_under`] does; strace writes what it shows to `log`.
fn copy_logged(injection: &str, calls: &str, policy: &str, folder: &str, log: &str) -> Said {
    let own = std::env::current_exe().unwrap();
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-o", log, "-e", &format!("trace={calls}"), "-e", injection]);
    if !calls.starts_with("io_uring") && calls != "pipe2" {
        // Only calls on the two files, not those of the loader and of the test's own comparison.
        strace.args(["-P", &format!("{folder}/source"), "-P", &format!("{folder}/target")]);
    }
    let output = strace
        .arg(own)
        .args(["--exact", "data::faults::child", "--nocapture", "--ignored"])
        .env("HAUL_TEST_CHILD", format!("{folder}|{policy}"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find_map(|line| line.split_once("CHILD ").map(|(_, said)| said));
    let Some(line) = line else {
        panic!(
            "{injection}: the child said nothing: {text}{}",
            String::from_utf8_lossy(&output.stderr)
        )
    };
    match line.split_once(' ') {
        Some(("right", method)) => {
            let folder = std::path::Path::new(folder);
            assert_equal(injection, &folder.join("source"), &folder.join("target"));
            Said::Right(method.to_owned())
        }
        _ => Said::Error(line.to_owned()),
    }
}

fn has_strace() -> bool {
    let has = Command::new("strace").args(["-o", "/dev/null", "true"]).status();
    let has = has.is_ok_and(|status| status.success());
    if !has {
        println!("ignored: strace does not work here");
    }
    has
}

/// The child of the other tests: copies one file as the environment says, and prints the outcome.
#[test]
#[ignore = "is started by the other tests, under strace"]
fn child() {
    let Ok(told) = std::env::var("HAUL_TEST_CHILD") else { return };
    let (folder, words) = told.split_once('|').unwrap();
    let mut policy =
        DataPolicy { reflink: Reflink::Never, tell: Tell::Everything, ..DataPolicy::PLAIN };
    let mut workers = Workers::One;
    for word in words.split(',') {
        match word {
            "direct" => policy.cache = Cache::Direct,
            "drop" => policy.cache = Cache::Drop,
            "share" => policy.reflink = Reflink::Auto,
            "several" => workers = Workers::Several,
            "bytes" => {}
            name => policy.choice = Choice::Only(MethodId::of_name(name).unwrap()),
        }
    }
    let folder = std::path::Path::new(folder);
    let (source, target) = (folder.join("source"), folder.join("target"));
    match copy(&policy, workers, &source, &target) {
        Ok(moved) => {
            println!("CHILD right {}", moved.method_name());
        }
        Err(error) => println!("CHILD error {error:?}"),
    }
}

#[test]
fn a_ring_that_is_refused_is_replaced_by_threads() {
    if !has_strace() {
        return;
    }
    for place in places() {
        make(&place.path.join("source"), SIZE, std::slice::from_ref(&(0..SIZE)));
        let folder = place.path.to_str().unwrap();
        for errno in ["EPERM", "ENOSYS", "ENOMEM", "EACCES"] {
            for call in ["io_uring_setup", "io_uring_register"] {
                if call == "io_uring_register" && errno == "EACCES" {
                    continue;
                }
                let injection = format!("inject={call}:error={errno}");
                let said = copy_under(&injection, call, "direct", folder);
                let what = format!("{call} {errno}, {}: {said:?}", place.name);
                assert!(matches!(&said, Said::Right(method) if method != "ring"), "{what}");
            }
        }
        // A ring was requested and there is none: that is an error with a reason.
        let injection = "inject=io_uring_setup:error=EPERM";
        let said = copy_under(injection, "io_uring_setup", "ring", folder);
        assert!(matches!(&said, Said::Error(text) if text.contains("Refused")), "{said:?}");
    }
}

/// The call, the policies that lead to it, the errnos after which the bytes must be right, and those
/// after which there may be an error, but never wrong bytes.
type Row = (&'static str, &'static [&'static str], Errnos, Errnos);

type Errnos = &'static [&'static str];

#[test]
fn each_errno_of_each_call_gives_right_bytes_or_an_error() {
    if !has_strace() {
        return;
    }
    let table: &[Row] = &[
        ("pread64", &["read-write", "direct,direct", "several"], &["EINTR"], &["EIO", "ESTALE"]),
        ("pread64", &["drop"], &["EINTR"], &[]),
        (
            "pwrite64",
            &["read-write", "direct,direct", "several"],
            &["EINTR", "ENOSPC", "EDQUOT"],
            &["EIO"],
        ),
        ("pread64", &["direct,direct"], &["EINVAL"], &[]),
        ("pwrite64", &["direct,direct"], &["EINVAL"], &[]),
        ("sendfile", &["sendfile"], &["EINTR", "ENOSPC"], &["EIO", "EINVAL"]),
        ("splice", &["splice", "bytes"], &["EINTR"], &["EIO", "ENOSPC"]),
        ("splice", &["splice"], &[], &["EINVAL"]),
        ("splice", &["bytes"], &["EINVAL", "EOPNOTSUPP", "EPERM", "ENOSYS"], &[]),
        ("splice,sendfile", &["bytes"], &["EINVAL", "EOPNOTSUPP", "EPERM", "ENOSYS"], &[]),
        ("pipe2", &["bytes"], &["EMFILE", "ENFILE"], &[]),
        (
            "fallocate",
            &["bytes", "several", "direct"],
            &["EINTR", "EOPNOTSUPP", "ENOSYS", "ENOSPC"],
            &[],
        ),
        ("ftruncate", &["direct"], &["EINTR"], &["EIO", "ENOSPC"]),
        ("fcntl", &["direct", "direct,several"], &["EINVAL"], &[]),
        ("io_uring_enter", &["direct"], &["EINTR"], &[]),
        ("statx", &["direct"], &["ENOSYS", "EINVAL"], &[]),
        (
            "ioctl",
            &["share"],
            &["EOPNOTSUPP", "EXDEV", "EINVAL", "ENOTTY", "EPERM", "ENOSPC", "EDQUOT"],
            &[],
        ),
        (
            "ioctl,copy_file_range",
            &["share"],
            &["EXDEV", "ENOSYS", "EINVAL", "EPERM", "EOPNOTSUPP"],
            &[],
        ),
    ];
    let places = places();
    let place = places.iter().find(|place| place.name == "xfs").unwrap_or(&places[0]);
    make(&place.path.join("source"), SIZE, std::slice::from_ref(&(0..SIZE)));
    let folder = place.path.to_str().unwrap();
    for (call, policies, right, wrong) in table {
        for policy in *policies {
            let all = right.iter().map(|it| (it, true)).chain(wrong.iter().map(|it| (it, false)));
            for (errno, must_be_right) in all {
                for when in ["1", "2", "1+2"] {
                    // There may be no second call, for a single fault and for one in every second call.
                    let injection = format!("inject={call}:error={errno}:when={when}");
                    let said = copy_under(&injection, call, policy, folder);
                    let what = format!("{call} {errno} when={when}, {policy}: {said:?}");
                    if must_be_right {
                        assert!(matches!(said, Said::Right(_)), "{what}");
                    }
                    // A method that is refused at its first call is replaced.
                    let is_refusal = !matches!(*errno, "EINTR" | "ENOSPC" | "EDQUOT");
                    if must_be_right && is_refusal && when == "1" {
                        assert!(!matches!(&said, Said::Right(by) if call.contains(by)), "{what}");
                    }
                    println!("{what}");
                }
            }
        }
    }
}

#[test]
fn a_file_system_that_stays_full_is_flushed_three_times() {
    if !has_strace() {
        return;
    }
    let places = places();
    let place = &places[0];
    make(&place.path.join("source"), SIZE, std::slice::from_ref(&(0..SIZE)));
    let folder = place.path.to_str().unwrap();
    for (call, policy, fails) in [
        ("pwrite64", "read-write", "1+"),
        ("pwrite64", "several", "3+"),
        ("sendfile", "sendfile", "1+"),
    ] {
        // strace counts the calls of each thread.
        let log = format!("{folder}/log");
        let injection = format!("inject={call}:error=ENOSPC:when={fails}");
        let said = copy_logged(&injection, &format!("{call},syncfs"), policy, folder, &log);
        let Said::Error(error) = said else { panic!("{call}: {said:?}") };
        assert!(error.contains("No space left"), "{call}: {error}");
        let flushes = std::fs::read_to_string(&log).unwrap().matches("syncfs(").count();
        assert_eq!(flushes, 3, "{call}, {policy}");
    }
}

#[test]
fn short_answers_are_gone_on_from() {
    if !has_strace() {
        return;
    }
    // strace cannot really shorten a transfer, but the kernel can: with a pipe of one page, and with a
    // file size limit that ends a write in the middle.
    let places = places();
    let place = &places[0];
    make(&place.path.join("source"), SIZE, std::slice::from_ref(&(0..SIZE)));
    for method in ["read-write", "splice", "mmap-write"] {
        let own = std::env::current_exe().unwrap();
        let output = Command::new("prlimit")
            .args(["--fsize=5000001", "--"])
            .arg("env")
            .args(["--ignore-signal=XFSZ"])
            .arg(own)
            .args(["--exact", "data::faults::child", "--nocapture", "--ignored"])
            .env("HAUL_TEST_CHILD", format!("{}|{method}", place.path.display()))
            .output();
        let Ok(output) = output else {
            println!("ignored: there is no prlimit");
            return;
        };
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("CHILD error"), "{method}: {text}");
        assert!(text.contains("File too large"), "{method}: {text}");
    }
}
