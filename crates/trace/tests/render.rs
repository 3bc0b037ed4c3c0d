//! The exact text of reports.

use haul_trace::render::{Labels, TextOptions, comparison, json, svg, text};
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
       1       │                          │
       2       │                          │
       4       │                          │
       8       │                          │
      16       │                          │
      32       │                          │
      64       │                          │
     128       │                          │
     256       │                          │
     512       │                          │
    1 Ki       │                          │
    2 Ki       │                          │
    4 Ki  100  │████████████████████      │
    8 Ki       │                      50  │████████████████████

  io_uring read: size in bytes
         A                         B
    512  2  │████████████████████     │
";
    let found = comparison(&first, &second, &Labels::default());
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

#[test]
fn as_a_picture() {
    let picture = svg(&[&sample()], Grouping::Process);
    assert!(picture.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox="));
    assert!(picture.ends_with("</svg>\n"));
    assert!(picture.contains(">cat \\u{1b}[31mred</text>"));
    let longest = "<rect class=\"bar\" x=\"80\" y=\"302\" width=\"270.0\" height=\"12\"/>";
    assert!(picture.contains(longest), "{picture}");
    assert!(!picture.chars().any(|character| character.is_control() && character != '\n'));
    let pair = svg(&[&sample(), &sample()], Grouping::Process);
    assert_eq!(pair.matches("class=\"title\"").count(), 2);
    assert_eq!(pair.matches("<svg").count(), 1);
    assert!(pair.contains(longest), "the first stays where it was");
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
