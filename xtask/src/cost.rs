//! `cargo xtask cost`: what commands cost beside the originals, for trees, streams and archives of awkward shapes.
//!
//! A user who replaces a tool meets every shape, not only those that benchmarks have: thousands of tiny files, one
//! line of 32 MiB, a gzip file of ten thousand members. Seconds say little on a machine that is busy, so this
//! counts what work there is: processor time (user and kernel, the least of several interleaved runs), system calls (by
//! strace), and instructions in user mode (by perf, where the processor counts them). A row of the table is a shape and
//! a command line; a ratio above `WORSE` is marked.

use crate::command::{cargo, command, output, run, which};
use crate::error::{Context, Error, Result};
use crate::interrupt;
use crate::trial::{self, Ends};
use crate::workspace::Workspace;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// A ratio to the original that is marked: differences below a tenth are within the noise of one machine.
const WORSE: f64 = 1.1;

/// Runs of each command, and of those that end within `SHORT`, whose time is mostly that of a start.
const RUNS: u32 = 5;
const RUNS_OF_SHORT: u32 = 60;
const SHORT: Duration = Duration::from_millis(10);

/// Runs of which the one with the fewest instructions counts: threads wait for each other more or less often.
const COUNTED_RUNS: u32 = 3;

/// A command that takes longer than this has a cliff, and is reported as a failure.
const LIMIT: Duration = Duration::from_secs(120);

/// The shapes, as shell scripts that make them in the current directory; tools without a path are the system's.
const SHAPES: &[(&str, &str)] = &[
    ("one", "echo x > f; tar -cf f.tar f; echo x | gzip > f.gz; md5sum f > sums"),
    (
        "files",
        "for d in $(seq 40); do mkdir -p s/$d; for f in $(seq 100); do echo $d $f > s/$d/$f; done; done
         tar -cf s.tar s; tar -czf s.tgz s; find s -type f | sort > list; sed s/^s/x/ list > patterns
         head -n 500 patterns > some; find s -type f -exec md5sum {} + > sums",
    ),
    (
        "members",
        "for n in $(seq 200); do echo $n | gzip; done > some; for n in $(seq 50); do cat some; done > f.gz",
    ),
    ("short lines", "yes '' | head -c 8M > f"),
    ("text lines", "seq 1000000 > f"),
    ("long line", "head -c 32M /dev/zero | tr '\\0' x > f; gzip -1k f; printf 'x%.0s' $(seq 1000) > p"),
    ("bytes", "head -c 16M /dev/urandom > f; gzip -1k f"),
    (
        "hard links",
        "mkdir s; for f in $(seq 100); do echo $f > s/$f; for n in $(seq 40); do ln s/$f s/$f.$n; done; done
         tar -cf s.tar s",
    ),
    (
        "sparse",
        "truncate -s 1G f; for n in $(seq 0 511); do echo x | dd of=f bs=1 seek=$((n * 2097152)) \
         conv=notrunc status=none; done; tar -cSf f.tar f",
    ),
    (
        "deep",
        "d=s; for n in $(seq 400); do d=$d/dir; done; mkdir -p $d; echo x > $d/f; echo $d/f > list
         tar -cf s.tar s",
    ),
];

/// A shape, what is made anew before each run, and a command line; `<` and `>` name its input and output.
struct Row(&'static str, &'static str, &'static str);

const NEW: &str = "rm -rf t; mkdir t";
const COPY: &str = "rm -rf t; cp -a s t";

const ROWS: &[Row] = &[
    Row("one", "rm -f t", "cp f t"),
    Row("one", "rm -f t", "cp -a f t"),
    Row("one", "cp f t", "mv t u"),
    Row("one", "cp f t", "rm t"),
    Row("one", "", "cat f"),
    Row("one", "", "dd if=f of=t status=none"),
    Row("one", "", "tee t <f"),
    Row("one", NEW, "split f t/"),
    Row("one", "", "md5sum f"),
    Row("one", "", "md5sum -c sums"),
    Row("one", "", "tar -cf t.tar f"),
    Row("one", "", "tar -tf f.tar"),
    Row("one", NEW, "tar -C t -xf f.tar"),
    Row("one", "", "gzip -c f"),
    Row("one", "", "gzip -dc f.gz"),
    Row("files", "rm -rf t", "cp -r s t"),
    Row("files", "rm -rf t", "cp -a s t"),
    Row("files", NEW, "cp --parents @list t"),
    Row("files", COPY, "cp -ru s/. t"),
    Row("files", COPY, "rm -r t"),
    Row("files", "rm -rf t u; cp -a s t", "mv t u"),
    Row("files", "rm -rf t OTHER/u; cp -a s t", "mv t OTHER/u"),
    Row("files", "", "tar -cf t.tar s"),
    Row("files", "", "tar -cf t.tar -T list"),
    Row("files", "", "tar -cf t.tar --exclude-from=some s"),
    Row("files", "", "tar -tf s.tar"),
    Row("files", "", "tar -tvf s.tar"),
    Row("files", "", "tar -tf s.tar -T list"),
    Row("files", "", "tar -df s.tar"),
    Row("files", "rm -f t.tar", "tar -cWf t.tar s"),
    Row("files", NEW, "tar -C t -xf s.tar"),
    Row("files", NEW, "tar -C t -xzf s.tgz"),
    Row("files", COPY, "tar -C t/.. -xf s.tar"),
    Row("files", COPY, "gzip -r t"),
    Row("files", "rm -rf t; cp -a s t; gzip -r t", "gunzip -r t"),
    Row("files", "", "md5sum @list"),
    Row("files", "", "md5sum -c --quiet sums"),
    Row("files", "", "cat @list"),
    Row("members", "", "gzip -dc f.gz"),
    Row("members", "", "gzip -l f.gz"),
    Row("short lines", "", "cat -n f"),
    Row("short lines", "", "cat -b f"),
    Row("short lines", "", "cat -s f"),
    Row("short lines", "", "cat -E f"),
    Row("short lines", NEW, "split -l 4096 f t/"),
    Row("short lines", NEW, "split -C 4096 f t/ -a 5"),
    Row("text lines", "", "cat f"),
    Row("text lines", "", "cat -n f"),
    Row("text lines", "", "cat -A f"),
    Row("text lines", "", "cat -v f"),
    Row("text lines", "", "cat -T f"),
    Row("text lines", NEW, "split -l 1000 f t/ -a 3"),
    Row("text lines", NEW, "split -n l/100 f t/ -a 3"),
    Row("text lines", NEW, "split -n r/100 f t/ -a 3"),
    Row("text lines", "", "gzip -c f"),
    Row("long line", "", "cat -n f"),
    Row("long line", "", "cat -A f"),
    Row("long line", NEW, "split -l 10 f t/"),
    Row("long line", NEW, "split -C 4096 f t/ -a 5"),
    Row("long line", "", "gzip -dc f.gz"),
    Row("bytes", "", "cat -A f"),
    Row("bytes", "", "cat -v f"),
    Row("bytes", "", "cat -n f"),
    Row("bytes", "", "dd if=f of=t bs=512 status=none"),
    Row("bytes", "", "dd if=f of=t ibs=512 obs=7k status=none"),
    Row("bytes", "", "dd if=f of=t bs=1 count=100k status=none"),
    Row("bytes", "", "dd if=f of=t conv=swab,ucase status=none"),
    Row("bytes", "", "dd if=f of=t conv=block cbs=80 status=none"),
    Row("bytes", "", "tee t t2 <f"),
    Row("bytes", "", "cksum f"),
    Row("bytes", "", "md5sum f"),
    Row("bytes", "", "sha1sum f"),
    Row("bytes", "", "sha256sum f"),
    Row("bytes", "", "sha512sum f"),
    Row("bytes", "", "b2sum f"),
    Row("bytes", "", "gzip -c f"),
    Row("bytes", "", "gzip -dc f.gz"),
    Row("hard links", "rm -rf t", "cp -a s t"),
    Row("hard links", COPY, "rm -r t"),
    Row("hard links", "", "tar -cf t.tar s"),
    Row("hard links", "", "tar -tf s.tar"),
    Row("hard links", "", "tar -df s.tar"),
    Row("hard links", NEW, "tar -C t -xf s.tar"),
    Row("sparse", "rm -f t", "cp f t"),
    Row("sparse", "", "cksum f"),
    Row("sparse", "", "tar -cSf t.tar f"),
    Row("sparse", NEW, "tar -C t -xf f.tar"),
    Row("sparse", "rm -f t", "dd if=f of=t bs=64k conv=sparse status=none"),
    Row("deep", "rm -rf t", "cp -a s t"),
    Row("deep", NEW, "cp --parents @list t"),
    Row("deep", COPY, "rm -r t"),
    Row("deep", "", "tar -cf t.tar s"),
    Row("deep", NEW, "tar -C t -xf s.tar"),
    Row("deep", "", "tar -df s.tar"),
];

/// What one program costs.
#[derive(Clone, Copy)]
struct Cost {
    cpu: Duration,
    calls: u64,
    /// `None` where nothing counts them, as in most virtual machines.
    instructions: Option<u64>,
}

impl Cost {
    fn milliseconds(self) -> f64 {
        self.cpu.as_secs_f64() * 1e3
    }
}

/// Where a table is made: the shapes' folder, another file system, and the two folders of programs.
struct Place {
    dir: PathBuf,
    other: PathBuf,
    haul: PathBuf,
}

impl Place {
    fn shell(&self, shape: &str, script: &str) -> Result<()> {
        let mut shell = command("sh");
        let script = script.replace("OTHER", &self.other.to_string_lossy());
        shell.args(["-ec", &script]).current_dir(self.dir.join(shape));
        output(&mut shell).map(|_| ())
    }

    /// Runs a row's command line once, after its preparation, as arguments of `wrapper`.
    fn run(&self, row: &Row, is_haul: bool, wrapper: &[&str]) -> Result<Duration> {
        let &Row(shape, before, line) = row;
        self.shell(shape, before)?;
        let dir = self.dir.join(shape);
        let mut words = line.split(' ');
        let tool = words.next().unwrap_or_default();
        let program = match which(tool) {
            _ if is_haul => self.haul.join(tool),
            Some(path) => path,
            None => return Err(Error::new(format!("there is no {tool}"))),
        };
        let mut all: Vec<_> = wrapper.iter().map(PathBuf::from).chain([program]).collect();
        let mut ends = Ends::default();
        for word in words {
            if let Some(list) = word.strip_prefix('@') {
                let names = std::fs::read_to_string(dir.join(list)).context("read", list)?;
                all.extend(names.lines().map(PathBuf::from));
            } else if let Some(input) = word.strip_prefix('<') {
                ends.input = Some(dir.join(input));
            } else {
                all.push(word.replace("OTHER", &self.other.to_string_lossy()).into());
            }
        }
        // A program that writes to /dev/null may find that out, and do nothing: tar does.
        ends.output = Some(self.dir.join("output"));
        let mut process = command(&all[0]);
        process.args(&all[1..]).current_dir(&dir).env("LC_ALL", "C");
        let trials = trial::run(vec![process], &ends, LIMIT)?;
        match trials.first() {
            Some(trial) if trial.status.is_success() => Ok(trial.cpu),
            trial => Err(Error::new(format!("{shape}: {line}: {trial:?}"))),
        }
    }

    /// Counts the calls of one run.
    fn calls(&self, row: &Row, is_haul: bool) -> Result<u64> {
        let log = self.dir.join("calls");
        let log_word = log.to_string_lossy();
        self.run(row, is_haul, &["strace", "-f", "-c", "-U", "calls,name", "-o", &log_word])?;
        let table = std::fs::read_to_string(&log).context("read", log.display())?;
        let total = table.lines().rev().find_map(|line| line.trim().strip_suffix(" total"));
        total
            .and_then(|count| count.trim().parse().ok())
            .ok_or_else(|| Error::new(format!("strace printed no total: {table:?}")))
    }

    /// Counts the instructions of a run in user mode, if the processor does.
    fn instructions(&self, row: &Row, is_haul: bool) -> Result<Option<u64>> {
        if which("perf").is_none() {
            return Ok(None);
        }
        let log = self.dir.join("instructions");
        let log_word = log.to_string_lossy();
        let mut least = None;
        for _ in 0..COUNTED_RUNS {
            let wrapper = ["perf", "stat", "-x,", "-e", "instructions:u", "-o", &log_word];
            self.run(row, is_haul, &wrapper)?;
            let text = std::fs::read_to_string(&log).context("read", log.display())?;
            let line = text.lines().find(|line| line.contains("instructions"));
            let count = line.and_then(|line| line.split(',').next()?.parse().ok());
            least = least.into_iter().chain(count).min();
        }
        Ok(least)
    }

    fn cost(&self, row: &Row, is_haul: bool, cpu: Duration) -> Result<Cost> {
        let (calls, instructions) = (self.calls(row, is_haul)?, self.instructions(row, is_haul)?);
        Ok(Cost { cpu, calls, instructions })
    }

    /// Measures haul and the original, in turns.
    fn measure(&self, row: &Row) -> Result<[Cost; 2]> {
        let mut least = [Duration::MAX; 2];
        let mut round = 0;
        while round < RUNS || (round < RUNS_OF_SHORT && least[1] < SHORT) {
            interrupt::check()?;
            for (side, least) in least.iter_mut().enumerate() {
                *least = (*least).min(self.run(row, side == 0, &[])?);
            }
            round += 1;
        }
        Ok([self.cost(row, true, least[0])?, self.cost(row, false, least[1])?])
    }
}

/// Returns a ratio, marked if haul costs more.
fn ratio(ours: f64, theirs: f64) -> String {
    let ratio = ours / theirs;
    format!("{ratio:6.2}{}", if ratio > WORSE { '!' } else { ' ' })
}

fn line(row: &Row, [ours, theirs]: [Cost; 2]) -> String {
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    let of_counts = |ours: u64, theirs: u64| ratio(ours as f64, theirs as f64);
    let of_instructions = match (ours.instructions, theirs.instructions) {
        (Some(ours), Some(theirs)) => of_counts(ours, theirs),
        _ => "     - ".to_owned(),
    };
    format!(
        "{:12} {:44} {:9.2} {:9.2} {} {:8} {:8} {} {of_instructions}",
        row.0,
        row.2,
        ours.milliseconds(),
        theirs.milliseconds(),
        ratio(ours.milliseconds(), theirs.milliseconds()),
        ours.calls,
        theirs.calls,
        of_counts(ours.calls, theirs.calls),
    )
}

/// Returns the first line that each original says of its version.
fn versions() -> String {
    let tools = ["cp", "tar", "gzip"];
    let say = |tool| output(command(tool).arg("--version")).unwrap_or_default();
    let first = |tool| say(tool).lines().next().unwrap_or_default().to_owned();
    tools.map(first).join(", ")
}

/// Makes the table of the rows that contain every word; `--binary HAUL` measures that one, as it is.
pub(crate) fn main(words: &[String]) -> Result<ExitCode> {
    interrupt::install()?;
    let (binary, words) = match words {
        [option, binary, words @ ..] if option == "--binary" => (PathBuf::from(binary), words),
        words => {
            run(&mut cargo(&["build", "--release", "-p", "haul"]))?;
            (Workspace::find()?.release_binary(), words)
        }
    };
    let binary = binary.canonicalize().context("find", binary.display())?;
    let name = format!("haul-cost-{}", std::process::id());
    // Memory is the fastest file system, so it shows most of what a program does itself.
    let dir = Path::new("/dev/shm").join(&name);
    let other = std::env::temp_dir().join(&name);
    let place = Place { haul: dir.join("bin"), dir, other };
    let outcome = table(&place, &binary, words);
    for folder in [&place.dir, &place.other] {
        std::fs::remove_dir_all(folder).context("remove", folder.display())?;
    }
    outcome.map(|()| ExitCode::SUCCESS)
}

fn table(place: &Place, binary: &Path, words: &[String]) -> Result<()> {
    for folder in [&place.dir, &place.haul, &place.other] {
        std::fs::create_dir_all(folder).context("create", folder.display())?;
    }
    println!("Originals: {}", versions());
    println!(
        "{:57} cpu ms: haul, original, ratio; calls: haul, original, ratio; instructions: ratio",
        ""
    );
    let mut made = "";
    for row in ROWS {
        let shown = format!("{} {}", row.0, row.2);
        if !words.iter().all(|word| shown.contains(word.as_str())) {
            continue;
        }
        if made != row.0 {
            std::fs::create_dir(place.dir.join(row.0)).context("create", row.0)?;
            let script = SHAPES.iter().find(|shape| shape.0 == row.0).map_or("exit 1", |s| s.1);
            place.shell(row.0, script)?;
            made = row.0;
        }
        let tool = row.2.split(' ').next().unwrap_or_default();
        let link = place.haul.join(tool);
        if !link.exists() {
            std::os::unix::fs::symlink(binary, &link).context("link", link.display())?;
        }
        println!("{}", line(row, place.measure(row)?));
    }
    Ok(())
}
