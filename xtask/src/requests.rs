//! `cargo xtask requests`: the sizes of the requests with which today's tools move one file.
//!
//! The question is as old as the tools (512 bytes, 8 KiB, a block?), and its answer changes with their versions, so
//! one command makes the table: `haul trace` runs each tool that is installed on one file, and the row shows the
//! calls that moved most bytes. Sizes are counts of calls, which a busy machine does not change.

use crate::command::{cargo, command, output, run, which};
use crate::error::{Context, Error, Result};
use crate::interrupt;
use crate::workspace::Workspace;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The page that `--record` writes.
const PAGE: &str = "docs/request-sizes.md";

/// Bytes of the file: 64 MiB, many requests of the largest size that any of the tools makes.
const FILE_BYTES: usize = 64 << 20;

/// Calls that read from a file or a pipe, and calls that write; those that do both move bytes within the kernel.
const READS: &[&str] = &["read", "pread64", "readv", "preadv", "preadv2", "splice"];
const WRITES: &[&str] = &["write", "pwrite64", "writev", "pwritev", "pwritev2"];
const BOTH: &[&str] = &["copy_file_range", "sendfile"];

/// A tool: the program that must be installed, the words that print its version, and the command line. `{haul}` is
/// the binary of this repository. A command with a redirection is run by a shell that executes it in its place.
struct Row {
    program: &'static str,
    version: &'static [&'static str],
    line: &'static str,
}

const fn row(program: &'static str, line: &'static str) -> Row {
    Row { program, version: &["--version"], line }
}

const fn busybox(line: &'static str) -> Row {
    Row { program: "busybox", version: &[], line }
}

const ROWS: &[Row] = &[
    row("cp", "cp in out"),
    row("cp", "cp --reflink=never --sparse=always in out"),
    row("cat", "cat in > out"),
    row("dd", "dd if=in of=out status=none"),
    row("dd", "dd if=in of=out bs=8M status=none"),
    row("split", "split -b 16M in out."),
    row("tee", "tee out < in > /dev/null"),
    row("md5sum", "md5sum in"),
    row("tar", "tar -cf out in"),
    row("tar", "tar -cf out -b 2048 in"),
    row("gzip", "gzip -1c in > out"),
    row("sort", "sort -S 16M -o out in"),
    busybox("busybox cp in out"),
    busybox("busybox cat in > out"),
    busybox("busybox dd if=in of=out"),
    busybox("busybox tar -cf out in"),
    busybox("busybox gzip -c in > out"),
    busybox("busybox md5sum in"),
    row("bsdtar", "bsdtar -cf out in"),
    row("zstd", "zstd -q -f -1 in -o out"),
    row("xz", "xz -0 -c in > out"),
    row("pigz", "pigz -1c in > out"),
    row("pv", "pv -q in > out"),
    row("rsync", "rsync in out"),
    row("xcp", "xcp in out"),
    row("cpz", "cpz in out"),
    row("coreutils", "coreutils cp in out"),
    row("{haul}", "{haul} cp in out"),
    row("{haul}", "{haul} cp --reflink=never in out"),
    row("{haul}", "{haul} cat in > out"),
    row("{haul}", "{haul} dd if=in of=out status=none"),
    row("{haul}", "{haul} split -b 16M in out."),
    row("{haul}", "{haul} md5sum in"),
    row("{haul}", "{haul} tar -cf out in"),
    row("{haul}", "{haul} gzip -1c in > out"),
    row("{haul}", "{haul} read in > out"),
    row("{haul}", "{haul} write out < in"),
];

/// What a command line asks for.
struct Wanted {
    binary: Option<PathBuf>,
    records: bool,
}

pub(crate) fn main(arguments: &[String]) -> Result<ExitCode> {
    let mut wanted = Wanted { binary: None, records: false };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--binary" => {
                let path = words.next().ok_or_else(|| Error::new("--binary needs a file"))?;
                wanted.binary = Some(PathBuf::from(path).canonicalize().context("find", path)?);
            }
            "--record" => wanted.records = true,
            other => return Err(Error::new(format!("requests takes no {other:?}"))),
        }
    }
    interrupt::install()?;
    let workspace = Workspace::find()?;
    let binary = match wanted.binary {
        Some(binary) => binary,
        None => {
            run(&mut cargo(&["build", "--release", "-p", "haul", "--bin", "haul"]))?;
            workspace.target.join("release/haul")
        }
    };
    let dir = workspace.target.join("requests");
    let made = make_file(&dir).and_then(|()| table(&binary, &dir));
    let removed = fs::remove_dir_all(&dir).context("remove", dir.display());
    let (text, missing) = made?;
    removed?;
    print!("{text}");
    for program in missing {
        eprintln!("not installed, and not in the table: {program}");
    }
    if wanted.records {
        let page = workspace.root.join(PAGE);
        fs::write(&page, page_of(&text)).context("write", page.display())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Makes the file: lines of text that no tool takes for holes, and that compress by a third or so.
fn make_file(dir: &Path) -> Result<()> {
    if dir.exists() {
        fs::remove_dir_all(dir).context("remove", dir.display())?;
    }
    fs::create_dir_all(dir).context("create", dir.display())?;
    let mut bytes = Vec::with_capacity(FILE_BYTES + 64);
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    while bytes.len() < FILE_BYTES {
        // The generator of Marsaglia's "Xorshift RNGs".
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(format!("{state:016x} {}\n", bytes.len()).as_bytes());
    }
    bytes.truncate(FILE_BYTES);
    let file = dir.join("in");
    fs::write(&file, bytes).context("write", file.display())
}

/// Returns the table, and the programs that are not installed.
fn table(binary: &Path, dir: &Path) -> Result<(String, Vec<String>)> {
    let mut text =
        String::from("| command | reads | writes | all calls |\n| --- | --- | --- | ---: |\n");
    let (mut missing, mut versions): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for row in ROWS {
        interrupt::check()?;
        if row.program != "{haul}" && which(row.program).is_none() {
            if !missing.iter().any(|known| known == row.program) {
                missing.push(row.program.to_owned());
            }
            continue;
        }
        let version = version(row, binary)?;
        if !versions.contains(&version) {
            versions.push(version);
        }
        text.push_str(&traced(row, binary, dir)?);
    }
    text.push_str(&format!("\n{}\n", versions.join(" · ")));
    Ok((text, missing))
}

/// Returns the first line in which a tool tells its version.
fn version(row: &Row, binary: &Path) -> Result<String> {
    let haul = binary.to_string_lossy();
    let program = row.program.replace("{haul}", &haul);
    // busybox tells its version in its help, and some tools on standard error.
    let words = row.version.join(" ");
    let line = format!("'{program}' {words} 2>&1 | head -n 1");
    let told = output(command("sh").args(["-c", &line]))?;
    let told = told.trim().trim_matches(['*', ' ']).replace(&*haul, "haul");
    Ok(told.split(" - Copyright").next().unwrap_or(&told).to_owned())
}

/// Traces one command, and returns its line of the table.
fn traced(row: &Row, binary: &Path, dir: &Path) -> Result<String> {
    let haul = binary.to_string_lossy();
    let mut trace = command(binary);
    trace
        .current_dir(dir)
        .args(["trace", "--json", "figures", "--by", "total", "-o", "report", "--"]);
    if row.line.contains(['>', '<']) {
        let line = row.line.replace("{haul}", &format!("'{haul}'"));
        trace.args(["sh", "-c", &format!("exec {line}")]);
    } else {
        trace.args(row.line.split(' ').map(|word| word.replace("{haul}", &haul)));
    }
    let _its_own = output(&mut trace)?;
    let figures = dir.join("figures");
    let document = fs::read_to_string(&figures).context("read", figures.display())?;
    let document: Value = serde_json::from_str(&document).context("read", figures.display())?;
    for entry in fs::read_dir(dir).context("list", dir.display())? {
        let path = entry.context("list", dir.display())?.path();
        if path.file_name().is_some_and(|name| name != "in") {
            fs::remove_file(&path).context("remove", path.display())?;
        }
    }
    let calls = document["total"]["calls"]
        .as_object()
        .ok_or_else(|| Error::new(format!("haul trace counted no calls of {}", row.line)))?;
    let all: u64 = calls.values().filter_map(|tally| tally["count"].as_u64()).sum();
    let shown = row.line.replace("{haul}", "haul").replace('|', "\\|");
    let operations = document["total"]["operations"].as_object();
    let (reads, writes) = shown_requests(calls, operations);
    Ok(format!("| `{shown}` | {reads} | {writes} | {all} |\n"))
}

/// Tallies by the name of a call or of an operation of io_uring.
type Tallies = serde_json::Map<String, Value>;

/// Returns how a file was read and written.
fn shown_requests(calls: &Tallies, operations: Option<&Tallies>) -> (String, String) {
    // Less than a part of the file is not how it is moved.
    let bytes = |tally: &Value| tally["bytes"].as_u64().filter(|it| *it >= FILE_BYTES as u64 / 16);
    let most = |names: &[&str], operation: &str| {
        let of_calls =
            names.iter().filter_map(|name| Some(((*name).to_owned(), calls.get(*name)?)));
        let of_rings = operations.into_iter().flatten();
        let of_rings = of_rings.filter(|(name, _)| name.starts_with(operation));
        let of_rings = of_rings.map(|(name, tally)| (format!("io_uring {name}"), tally));
        let moved = of_calls.chain(of_rings).filter_map(|it| Some((bytes(it.1)?, it)));
        moved
            .max_by_key(|(bytes, _)| *bytes)
            .map(|(_, (name, tally))| (request(&name, tally), name))
    };
    let same = || "by the same call".to_owned();
    match (most(READS, "read"), most(WRITES, "write"), most(BOTH, "splice")) {
        (None, None, Some((both, _))) => (both, same()),
        (Some((reads, name)), None, _) if name == "splice" => (reads, same()),
        (reads, writes, _) => {
            let is_mapped = calls.get("mmap").and_then(bytes).is_some();
            let reads = reads.map(|(shown, _)| shown);
            let reads = reads.unwrap_or_else(|| if is_mapped { "mapped" } else { "" }.to_owned());
            (reads, writes.map(|(shown, _)| shown).unwrap_or_default())
        }
    }
}

/// Returns how a call was made: its name, how often, and the size that moved most bytes.
fn request(name: &str, tally: &Value) -> String {
    let buckets = tally["sizes"].as_array().map(Vec::as_slice).unwrap_or_default();
    let figure = |bucket: &Value, key: &str| bucket[key].as_u64().unwrap_or(0);
    let weight = |bucket: &&Value| figure(bucket, "from").saturating_mul(figure(bucket, "count"));
    let size = buckets.iter().max_by_key(weight).map_or(0, |bucket| figure(bucket, "from"));
    let count = tally["count"].as_u64().unwrap_or(0);
    format!("{count} × `{name}` of {}", binary_size(size))
}

/// Formats the lower edge of a bucket: a power of two.
fn binary_size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    }
}

/// Returns the page around a table.
fn page_of(table: &str) -> String {
    format!(
        "# Request sizes of today's tools\n\n\
         How large are the requests with which a tool moves a file of 64 MiB, and how many calls does it make in all? Each\n\
         line is one run under `haul trace`; a size is the power of two below that of the requests that moved most bytes.\n\
         Where there is a redirection, the calls of the shell that makes it are counted, too (some sixty). What is not\n\
         installed is left out. Made by `cargo xtask requests --record`.\n\n{table}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_request_is_the_size_that_moves_most_bytes() {
        let sizes = json!([
            { "from": 0, "count": 9 },
            { "from": 512, "count": 1000 },
            { "from": 131_072, "count": 512 },
        ]);
        let tally = json!({ "count": 1521, "bytes": 67_108_864, "sizes": sizes });
        assert_eq!(request("read", &tally), "1521 × `read` of 128 KiB");
        assert_eq!([0, 512, 4096, 8 << 20].map(binary_size), ["0 B", "512 B", "4 KiB", "8 MiB"]);
    }

    #[test]
    fn rings_mappings_and_splices_are_told_apart() {
        let tally = |bytes: usize| json!({ "count": 2, "bytes": bytes, "sizes": [{ "from": 4096, "count": 2 }] });
        let of = |names: &[(&str, usize)]| -> Tallies {
            names.iter().map(|(name, bytes)| ((*name).to_owned(), tally(*bytes))).collect()
        };
        let shown = |calls: &[(&str, usize)], rings: &[(&str, usize)]| {
            shown_requests(&of(calls), Some(&of(rings)))
        };
        let all = FILE_BYTES;
        assert_eq!(shown(&[("mmap", all), ("read", 100)], &[]), ("mapped".into(), String::new()));
        assert_eq!(shown(&[("splice", 2 * all)], &[]).1, "by the same call");
        assert_eq!(shown(&[("sendfile", all)], &[]).0, "2 × `sendfile` of 4 KiB");
        assert_eq!(
            shown(&[("read", all)], &[("write_fixed", all)]).1,
            "2 × `io_uring write_fixed` of 4 KiB"
        );
    }

    #[test]
    fn every_tool_reads_the_same_file() {
        for row in ROWS {
            assert!(row.line.split(' ').any(|word| word.ends_with("in")), "{}", row.line);
            assert!(row.line.starts_with(row.program), "{}", row.line);
        }
    }
}
