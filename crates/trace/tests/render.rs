//! The exact text of reports.

use haul_trace::render::{
    Detail, Labels, PictureOptions, TextOptions, comparison, json, picture, text,
};
use haul_trace::{
    Ending, Faults, FileUse, Grouping, Histogram, Observer, Report, Tallies, Tally, Unit,
};

/// Equal values: their number, and one of them.
fn histogram(values: &[(usize, u64)]) -> Histogram {
    let mut histogram = Histogram::default();
    for (times, value) in values {
        for _ in 0..*times {
            histogram.count(*value);
        }
    }
    histogram
}

fn tally(times: usize, size: u64, ns: u64) -> Tally {
    let count = times as u64;
    Tally {
        count,
        total_ns: count * ns,
        longest_ns: ns,
        bytes: count * size,
        latencies: histogram(&[(times, ns)]),
        sizes: histogram(&[(times, size)]),
        ..Tally::default()
    }
}

/// A command with a hostile name that read 100 × 4 KiB and failed to open two files.
fn sample() -> Report {
    let mut read = tally(100, 4096, 1_500);
    read.sizes.count(0);
    read.count += 1;
    let mut open = Tally { count: 3, total_ns: 9_000, longest_ns: 5_000, ..Tally::default() };
    open.errors = [(libc::ENOENT, 2)].into();
    open.latencies = histogram(&[(3, 3_000)]);
    let exit = Tally { unfinished: 1, ..Tally::default() };
    let mut nop = tally(2, 512, 800);
    nop.punted = 1;
    let tallies = Tallies {
        calls: [
            ("read".into(), read.clone()),
            ("openat".into(), open),
            ("exit_group".into(), exit),
        ]
        .into(),
        operations: [("read".into(), nop)].into(),
    };
    Report {
        title: "cat \u{1b}[31mred".into(),
        observer: Observer::Ebpf,
        ending: Ending::Exited(1),
        wall_ns: 1_234_567,
        user_us: 100,
        system_us: 900,
        units: vec![Unit {
            pid: 71,
            tid: 71,
            command: "cat".into(),
            start_ns: 5,
            cpu_ns: 1_000_000,
            faults: Faults { minor: 80, major: 1 },
            tallies,
        }],
        files: vec![FileUse { path: "/tmp/a\nb".into(), calls: [("read".into(), read)].into() }],
        stacks: Vec::new(),
        notices: vec!["a table was full".into()],
    }
}

#[test]
fn as_text() {
    let options = TextOptions { latency_histograms: 1, ..TextOptions::default() };
    let expected = "\
cat \\u{1b}[31mred: exit status 1
  by eBPF: wall 1.23 ms, user 100 µs, system 900 µs; processes 1, calls 104, page faults 81 (1 major)
  note: a table was full

cat (pid 71): cpu 1.00 ms, page faults 81 (1 major)
  count     time     mean  longest    bytes  call
    101   150 µs  1.50 µs  1.50 µs  400 KiB  read
      3  9.00 µs  3.00 µs  5.00 µs           openat  (2 ENOENT)
      0                                      exit_group  (1 unfinished)

  io_uring operations
  submitted  punted     time    mean  longest     bytes  operation
          2       1  1.60 µs  800 ns   800 ns  1.00 KiB  read
  read: size in bytes
       0  │▍ 1
       ⋮  │
    4 Ki  │████████████████████████████████████████ 100
  read: latency
    1.02 µs  │████████████████████████████████████████ 100
  io_uring read: size in bytes
    512  │████████████████████████████████████████ 2
  io_uring read: latency
    512 ns  │████████████████████████████████████████ 2

files
  calls  failed    bytes  usual size  path
    101          400 KiB        4 Ki  /tmp/a\\nb  read 101
";
    let found = text(&sample(), &options);
    assert_eq!(found, expected, "{found}");
}

#[test]
fn several_groups_have_a_total() {
    let mut report = sample();
    let mut other = report.units[0].clone();
    (other.pid, other.tid, other.start_ns) = (72, 72, 9);
    report.units.push(other);
    let found = text(&report, &TextOptions::default());
    let heads: Vec<&str> = found.lines().filter(|line| line.contains(": cpu")).collect();
    assert_eq!(
        heads,
        [
            "cat (pid 71): cpu 1.00 ms, page faults 81 (1 major)",
            "cat (pid 72): cpu 1.00 ms, page faults 81 (1 major)",
            "total: cpu 2.00 ms, page faults 162 (2 major)",
        ]
    );
}

#[test]
fn side_by_side() {
    let first = sample();
    let mut second = sample();
    second.title = "dd".into();
    second.wall_ns = 2_469_134;
    second.notices.clear();
    let tallies = &mut second.units[0].tallies;
    tallies.operations.clear();
    tallies.calls.insert("read".into(), tally(50, 8192, 2_000));
    let expected = "\
A: cat \\u{1b}[31mred
B: dd
note on A: a table was full

        A        B   B/A
  1.23 ms  2.47 ms  2.00  wall
   100 µs   100 µs  1.00  user CPU
   900 µs   900 µs  1.00  system CPU
      104       53  0.51  system calls
   159 µs   109 µs  0.69  time in system calls
  1.53 µs  2.06 µs  1.35  time per call
       80       80  1.00  minor page faults
        1        1  1.00  major page faults

  count A   B   time A        B   mean A        B   bytes A        B  call
      101  50   150 µs   100 µs  1.50 µs  2.00 µs   400 KiB  400 KiB  read
        2   0  1.60 µs     0 ns   800 ns     0 ns  1.00 KiB      0 B  io_uring read
        3   3  9.00 µs  9.00 µs  3.00 µs  3.00 µs       0 B      0 B  openat
        0   0     0 ns     0 ns     0 ns     0 ns       0 B      0 B  exit_group

  read: size in bytes
            A                          B
       0    1  │▎                         │
       ⋮       │                          │
    4 Ki  100  │████████████████████      │
    8 Ki       │                      50  │████████████████████

  io_uring read: size in bytes
         A                         B
    512  2  │████████████████████     │
";
    let found = comparison(&first, &second, &Labels::default(), Detail::All);
    assert_eq!(found, expected, "{found}");
}

#[test]
fn as_json() {
    let document: serde_json::Value =
        serde_json::from_str(&json(&sample(), Grouping::Command)).unwrap();
    assert_eq!(document["version"], 1);
    assert_eq!(document["title"], "cat \u{1b}[31mred");
    assert_eq!(document["observer"], "ebpf");
    assert_eq!(document["ending"]["exited"], 1);
    let read = &document["total"]["calls"]["read"];
    assert_eq!(read["count"], 101);
    assert_eq!(read["sizes"][1]["from"], 4096);
    assert_eq!(read["sizes"][1]["count"], 100);
    assert_eq!(document["total"]["calls"]["openat"]["errors"]["2"], 2);
    assert_eq!(document["groups"][0]["label"], "cat");
    assert_eq!(document["units"][0]["pid"], 71);
    assert_eq!(document["files"][0]["path"], "/tmp/a\nb");
}

/// Adds calls of a program's start: many kinds, made once or twice.
fn with_start(mut report: Report) -> Report {
    for (index, name) in
        ["brk", "mmap", "close", "fstat", "access", "ioctl", "futex", "lseek", "dup"]
            .into_iter()
            .enumerate()
    {
        let times = if name == "dup" { 9 } else { 2 };
        let ns = if name == "dup" { 1 } else { 100 * index as u64 + 50 };
        report.units[0].tallies.calls.insert(name.into(), tally(times, 4096, ns));
    }
    report
}

#[test]
fn in_short() {
    let expected = "\
cat \\u{1b}[31mred: exit status 1
  by eBPF: wall 1.23 ms, user 100 µs, system 900 µs; processes 1, calls 129, page faults 81 (1 major)
  note: a table was full

  calls with the most time
     time        count           mean     bytes  usual size  call
   150 µs  91 %    101  78 %  1.50 µs   400 KiB        4 Ki  read
  9.00 µs   5 %      3   2 %  3.00 µs                        openat  (2 ENOENT)
  1.60 µs            2         800 ns  1.00 KiB         512  io_uring read
  1.50 µs   1 %      2   2 %   750 ns  8.00 KiB        4 Ki  lseek
  1.30 µs   1 %      2   2 %   650 ns  8.00 KiB        4 Ki  futex
  1.10 µs   1 %      2   2 %   550 ns  8.00 KiB        4 Ki  ioctl
   900 ns   1 %      2   2 %   450 ns  8.00 KiB        4 Ki  access
   700 ns  <1 %      2   2 %   350 ns  8.00 KiB        4 Ki  fstat

  calls made most often
     time        count           mean     bytes  usual size  call
   150 µs  91 %    101  78 %  1.50 µs   400 KiB        4 Ki  read
     9 ns  <1 %      9   7 %     1 ns  36.0 KiB        4 Ki  dup
  9.00 µs   5 %      3   2 %  3.00 µs                        openat  (2 ENOENT)
   900 ns   1 %      2   2 %   450 ns  8.00 KiB        4 Ki  access
   100 ns  <1 %      2   2 %    50 ns  8.00 KiB        4 Ki  brk
  and 3 other kinds, 4 calls in 800 ns: see --all

  read: number of calls by size in bytes
       0  │▍ 1
       ⋮  │
    4 Ki  │████████████████████████████████████████ 100

files
  calls  failed    bytes  usual size  path
    101          400 KiB        4 Ki  /tmp/a\\nb  read 101
";
    let options =
        TextOptions { detail: Detail::Short, grouping: Grouping::Total, ..TextOptions::default() };
    let found = text(&with_start(sample()), &options);
    assert_eq!(found, expected, "{found}");
    // Few calls make one list, and nothing is left to see.
    let found = text(&sample(), &options);
    assert!(found.contains("most time") && !found.contains("most often"), "{found}");
    assert!(!found.contains("--all"), "{found}");
    // Each group has its lists and the head that names it.
    let by_process = TextOptions { grouping: Grouping::Process, ..options };
    let found = text(&sample(), &by_process);
    assert!(found.contains("\ncat (pid 71): cpu 1.00 ms"), "{found}");
}

#[test]
fn side_by_side_in_short() {
    let (first, mut second) = (with_start(sample()), sample());
    second.units[0].tallies.calls.insert("read".into(), tally(50, 8192, 2_000));
    let found = comparison(&first, &second, &Labels::default(), Detail::Short);
    assert!(found.lines().all(|line| line.chars().count() <= 80), "{found}");
    assert!(found.contains("  count A   B   time A       B   bytes A        B  call\n"), "{found}");
    assert!(found.contains("  and 3 other kinds of calls: see --all\n"), "{found}");
    assert!(found.contains("  read: size in bytes\n"), "{found}");
    // The sizes of mappings are not requests, and those of 1 KiB in total do not matter.
    assert!(!found.contains("mmap: size") && !found.contains("io_uring read: size"), "{found}");
    let long = comparison(&first, &second, &Labels::default(), Detail::All);
    assert!(long.contains("mmap: size in bytes") && !long.contains("--all"), "{long}");
}

const SHORT: PictureOptions = PictureOptions { detail: Detail::Short, grouping: Grouping::Total };

#[test]
fn as_a_picture() {
    let found = picture(&[&with_start(sample())], &SHORT);
    assert!(found.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox="));
    assert!(found.ends_with("</svg>\n"));
    assert!(!found.chars().any(|character| character.is_control() && character != '\n'));
    for text in [
        "<title>System calls of cat \\u{1b}[31mred</title>",
        ">cat \\u{1b}[31mred</text>",
        ">1.23 ms elapsed, 165 µs in 129 system calls, 1 process; measured by eBPF</text>",
        ">Where the time goes</text>",
        ">call</text>",
        ">time of all calls of one name, added up</text>",
        ">150 µs in 101 calls</text>",
        ">How large the requests are</text>",
        ">read: 400 KiB</text>",
        ">bytes, from</text>",
        ">number of calls</text>",
        ">How long the calls take</text>",
        ">time, from</text>",
        "@media(prefers-color-scheme:dark)",
    ] {
        assert!(found.contains(text), "{text}: {found}");
    }
    // Programs that convert pictures know no custom properties.
    assert!(!found.contains("var("));
    assert!(!found.contains(">dup</text>") && !found.contains(">mmap: "), "{found}");
    let all = PictureOptions { detail: Detail::All, grouping: Grouping::Process };
    let found = picture(&[&with_start(sample())], &all);
    for text in [">cat (pid 71)</text>", ">dup</text>", ">mmap: 8.00 KiB</text>"] {
        assert!(found.contains(text), "{text}: {found}");
    }
}

/// Returns the width of each bar of a class.
fn widths(picture: &str, class: &str) -> Vec<f64> {
    let bars = picture.lines().filter(|line| line.starts_with(&format!("<rect class=\"{class}\"")));
    let width = |line: &str| line.split("width=\"").nth(1)?.split('"').next()?.parse().ok();
    bars.filter_map(width).collect()
}

#[test]
fn two_commands_are_drawn_on_one_scale() {
    let first = sample();
    let mut second = sample();
    second.title = "dd <x>".into();
    second.units[0].tallies.calls.insert("read".into(), tally(50, 8192, 1_500));
    let found = picture(&[&first, &second], &SHORT);
    assert_eq!((found.matches("<svg").count(), found.matches("class=\"title\"").count()), (1, 2));
    for text in [
        ">A: cat ",
        ">B: dd &lt;x&gt;</text>",
        ">read: A 400 KiB, B 400 KiB</text>",
        ">read: A 150 µs, B 75.0 µs</text>",
    ] {
        assert!(found.contains(text), "{text}: {found}");
    }
    // The first bar of each is the legend; the second is the time of all reads, twice as long in A.
    let (a, b) = (widths(&found, "a"), widths(&found, "b"));
    assert_eq!((a[0], b[0]), (12.0, 12.0));
    assert!((a[1] - 2.0 * b[1]).abs() < 0.2, "{a:?} {b:?}");
    // A call of one command only has one bar, and is not left out.
    second.units[0].tallies.calls.clear();
    let found = picture(&[&first, &second], &SHORT);
    assert!(found.contains(">read: A 400 KiB, B none</text>"), "{found}");
    // Nothing at all is drawn as nothing.
    let empty = Report { units: Vec::new(), files: Vec::new(), ..first };
    assert!(!picture(&[&empty], &SHORT).contains("number of calls"));
}

#[test]
fn the_callers_questions_have_short_answers() {
    let total = sample().total();
    assert_eq!(total.count("read"), 101);
    assert_eq!(total.bytes("read"), 409_600);
    assert_eq!(total.count("nonesuch"), 0);
    assert_eq!(total.errors(), 2);
    assert_eq!(total.operation("read").unwrap().count, 2);
    assert_eq!(total.call("openat").unwrap().failed(), 2);
}
