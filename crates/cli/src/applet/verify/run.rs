//! `haul verify`: compares a tree with a file of checksums or with another tree.
//!
//! It lists missing, extra and differing files one by one; the exit status says whether all files
//! match, something differs, or an error prevented the check.

use haul_sys::sync::Mutex;
use std::collections::HashMap;
use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use haul_engine::select::{Purpose, Selection};
use haul_engine::visit::{Visited, Visitor, selects, visit_selected};
use haul_io::digest::Algorithm;
use haul_io::{Cache, DataPolicy};
use haul_sys::CallError;
use haul_sys::fs::{CWD, Kind, statat_follow};
use serde_json::json;

use super::files::{File, Files, Hasher};
use super::options::{OPTIONS, Settings, algorithms, help};
use super::sums::{Prefix, algorithm, files_path};
use crate::among::first_given;
use crate::applet::compare;
use crate::ending::{self, CommandError};
use crate::escape::quote;
use crate::getopt::{Usage, parse};
use crate::lossless::name as lossless;
use crate::option::effect::{Asked, read_words};
use crate::output::Output;
use crate::sizes::counted;
use crate::sum_file::{self, Line};
use crate::value;

const PROGRAM: &str = "haul verify";

/// The exit status after an error, as with cmp and diff: 1 means that something differs.
const ERROR: u8 = 2;

/// Runs `verify` with its arguments.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    let output = Output::new(PROGRAM);
    let refuse = |error: CommandError| {
        ending::refused(&output, &error);
        ExitCode::from(ERROR)
    };
    let mut settings = Settings::default();
    let operands = match read_words(parse(arguments, OPTIONS), &mut settings, PROGRAM, help) {
        Ok(Asked::Print(text)) => return ending::print_or(&output, &text, ERROR),
        Ok(Asked::Work(operands)) => operands,
        Err(error) => return refuse(error),
    };
    let (tree, against) = match (operands.as_slice(), settings.against.clone()) {
        ([tree], Some(against)) => (Path::new(tree), against),
        ([_], None) => return refuse(Usage("--against is needed".to_owned()).into()),
        ([], _) => return refuse(Usage("a tree is needed".to_owned()).into()),
        ([_, extra, ..], _) => {
            let extra = quote(extra.as_bytes());
            return refuse(Usage(format!("extra operand {extra}")).into());
        }
    };
    if Path::new(&against).is_dir() {
        let given = [settings.algorithm.is_some(), settings.ignores_extra];
        if let Some(option) = first_given(&["--algorithm", "--ignore-extra"], given) {
            let against = quote(against.as_bytes());
            let text = format!("{option} is for checksums, and {against} is a directory");
            return refuse(Usage(text).into());
        }
        let quiet = if settings.quiet { ["--quiet"].as_slice() } else { &[] };
        let json = if settings.json { ["--json"].as_slice() } else { &[] };
        let words = ["--contents"].iter().chain(quiet).chain(json);
        let mut words: Vec<OsString> =
            settings.select.words().chain(words.map(OsString::from)).collect();
        if let Some((cache, _)) = settings.cache {
            words.extend(["--cache".into(), cache]);
        }
        words.extend(["--".into(), tree.into(), against]);
        return compare::run_as(PROGRAM, &words);
    }
    let selection = match settings.select.selection(Purpose::Read, 1) {
        Ok(selection) => selection,
        Err(error) => return refuse(error),
    };
    match check(&output, &settings, selection.as_ref(), tree, &against) {
        Ok(verdict) => verdict.ended(&output),
        Err(text) => {
            output.error(&text);
            ExitCode::from(ERROR)
        }
    }
}

/// What is wrong with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Finding {
    Missing,
    Extra,
    Differs,
    NoFile,
}

/// The totals of a run.
#[derive(Debug, Default)]
struct Verdict {
    found: AtomicUsize,
    errors: AtomicUsize,
    checked: AtomicUsize,
    bytes: AtomicU64,
}

impl Verdict {
    fn ended(&self, output: &Output) -> ExitCode {
        let written = output.finish();
        if !written || self.errors.load(Ordering::Relaxed) > 0 {
            ExitCode::from(ERROR)
        } else if self.found.load(Ordering::Relaxed) > 0 {
            ExitCode::from(1)
        } else {
            ExitCode::SUCCESS
        }
    }
}

struct Check<'a> {
    output: &'a Output,
    settings: &'a Settings,
    verdict: Verdict,
    /// What becomes of the pages of files.
    policy: DataPolicy,
    selection: Option<&'a Arc<Selection>>,
}

impl Check<'_> {
    /// Reports a file that is not in the tree, unless the selection leaves out its name.
    fn miss(&self, tree: &CString, name: &[u8], shown: &[u8]) {
        if self.selection.is_none_or(|selection| selects(selection, tree, name)) {
            self.find(Finding::Missing, shown);
        }
    }

    fn find(&self, finding: Finding, name: &[u8]) {
        self.verdict.found.fetch_add(1, Ordering::Relaxed);
        let word = match finding {
            Finding::Missing => "missing",
            Finding::Extra => "extra",
            Finding::Differs => "differs",
            Finding::NoFile => "no regular file",
        };
        if self.settings.json {
            let line = json!({ "event": "finding", "finding": word, "name": lossless(name) });
            self.output.line(&crate::json_line::line(line));
        } else if !self.settings.quiet {
            self.output.line(&format!("{word}: {}", quote(name)));
        }
    }

    fn error(&self, text: &str) {
        self.verdict.errors.fetch_add(1, Ordering::Relaxed);
        self.output.error(text);
    }
}

fn check(
    output: &Output,
    settings: &Settings,
    selection: Option<&Arc<Selection>>,
    tree: &Path,
    against: &OsStr,
) -> Result<Verdict, String> {
    let shown = quote(against.as_bytes());
    let text = std::fs::read(against)
        .map_err(|error| format!("cannot read {shown}: {}", crate::file_error::describe(&error)))?;
    let sums = sum_file::parse(&text);
    if sums.lines.is_empty() {
        return Err(format!("{shown} has no line with a checksum"));
    }
    let cache = settings.cache.as_ref().map_or(Cache::Auto, |(_, cache)| *cache);
    let policy = DataPolicy { cache, ..DataPolicy::of_run() };
    let check = Check { output, settings, verdict: Verdict::default(), policy, selection };
    for line in &sums.wrong {
        check.error(&format!("{shown}, line {line}: no checksum"));
    }
    let operand = CString::new(tree.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
    let mut files = files(&operand, &check)?;
    let prefix = Prefix::find(tree, &files, &sums.lines);
    let mut hasher = Hasher::new(&check.policy);
    let find = || algorithm((tree, &files), against, &prefix, &sums.lines, &mut hasher);
    let untagged = settings.algorithm.or_else(find);
    let mut wanted: HashMap<Vec<u8>, Vec<Wanted>> = HashMap::new();
    for line in sums.lines {
        let algorithm = line.algorithm.or(untagged).ok_or_else(|| {
            format!(
                "{shown} does not say what its checksums are, and no file of {} has one that is \
                 listed; give --algorithm=NAME, one of {}",
                quote(tree.as_os_str().as_bytes()),
                algorithms()
            )
        })?;
        let Some(name) = prefix.below(&line.name) else {
            check.find(Finding::Missing, &line.name);
            continue;
        };
        match files.get_mut(&name) {
            None => check.miss(&operand, &name, &line.name),
            Some(file) if file.kind == Kind::Regular => {
                file.is_listed = true;
                wanted.entry(name).or_default().push(Wanted {
                    line,
                    algorithm,
                    is_read: AtomicBool::new(false),
                });
            }
            Some(_) => check.find(Finding::NoFile, &line.name),
        }
    }
    read_all(&check, &operand, &wanted);
    // Sums that come through a pipe are no file of the tree, and a name that cannot be resolved is not
    // that of one: then the file counts as extra, which is reported.
    let sums_file = std::fs::canonicalize(against).ok();
    let is_sums_file = |name: &[u8]| {
        let path = files_path(tree, name);
        sums_file.is_some() && std::fs::canonicalize(OsStr::from_bytes(&path)).ok() == sums_file
    };
    for (name, file) in &files {
        let is_extra = file.kind == Kind::Regular && !file.is_listed && !settings.ignores_extra;
        if is_extra && !is_sums_file(name) {
            check.find(Finding::Extra, name);
        }
    }
    for name in selection.iter().flat_map(|selection| selection.missing()) {
        check.error(&format!("the tree does not have the listed name {}", quote(name)));
    }
    summarise(&check);
    Ok(check.verdict)
}

fn summarise(check: &Check<'_>) {
    let verdict = &check.verdict;
    let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
    let bytes = verdict.bytes.load(Ordering::Relaxed);
    if check.settings.json {
        let line = json!({
            "event": "summary",
            "files": count(&verdict.checked),
            "bytes": bytes,
            "findings": count(&verdict.found),
            "troubles": count(&verdict.errors),
        });
        check.output.line(&crate::json_line::line(line));
    } else if !check.settings.quiet {
        check.output.line(&format!(
            "{}, {} read: {}",
            counted(count(&verdict.checked) as u64, "file", "files"),
            crate::sizes::bytes(bytes),
            counted(count(&verdict.found) as u64, "finding", "findings")
        ));
    }
}

/// A line of the sums, and the algorithm of its digest.
struct Wanted {
    line: Line,
    algorithm: &'static Algorithm,
    is_read: AtomicBool,
}

/// Lists the files of a tree.
struct Listing<'a> {
    check: &'a Check<'a>,
    files: Mutex<Files>,
}

impl Visitor for Listing<'_> {
    fn visit(&self, visited: &Visited<'_>) {
        let file = File { kind: visited.kind, is_listed: false };
        let mut files = self.files.lock();
        files.insert(visited.below(), file);
    }

    fn failed(&self, path: &[u8], error: CallError) {
        let why = haul_sys::errno_text(error.errno);
        self.check.error(&format!("cannot read {}: {why}", quote(path)));
    }
}

/// Lists the files of the tree. Only these are ever opened, whatever names the sums have.
fn files(tree: &CString, check: &Check<'_>) -> Result<Files, String> {
    statat_follow(CWD, tree).map_err(|error| {
        let why = haul_sys::errno_text(error.errno);
        format!("cannot read {}: {why}", quote(tree.to_bytes()))
    })?;
    let listing = Listing { check, files: Mutex::default() };
    visit_selected(&[tree], 1, check.selection, &listing);
    Ok(listing.files.into_inner())
}

/// Reads the files that the sums name, relative to their directories.
struct Reading<'a> {
    check: &'a Check<'a>,
    wanted: &'a HashMap<Vec<u8>, Vec<Wanted>>,
    differing: Mutex<Vec<Vec<u8>>>,
}

impl Visitor for Reading<'_> {
    fn visit(&self, visited: &Visited<'_>) {
        let verdict = &self.check.verdict;
        for Wanted { line, algorithm, is_read } in
            self.wanted.get(&visited.below()).into_iter().flatten()
        {
            is_read.store(true, Ordering::Relaxed);
            let mut hasher = Hasher::new(&self.check.policy);
            let (directory, bytes) = (visited.directory, line.digest.len());
            match hasher.digest(directory, visited.entry, algorithm, bytes) {
                Ok((digest, bytes)) => {
                    verdict.checked.fetch_add(1, Ordering::Relaxed);
                    verdict.bytes.fetch_add(bytes, Ordering::Relaxed);
                    if digest != line.digest {
                        let mut list = self.differing.lock();
                        list.push(line.name.clone());
                    }
                }
                Err(why) => {
                    self.check.error(&format!("cannot read {}: {why}", quote(&line.name)));
                }
            }
        }
    }

    /// What cannot be reached now counts as missing.
    fn failed(&self, _: &[u8], _: CallError) {}
}

/// Reads files with several workers.
fn read_all(check: &Check<'_>, tree: &CString, wanted: &HashMap<Vec<u8>, Vec<Wanted>>) {
    let jobs = check.settings.jobs.unwrap_or_else(value::default_jobs);
    let reading = Reading { check, wanted, differing: Mutex::default() };
    visit_selected(&[tree], jobs, check.selection, &reading);
    let mut differing = reading.differing.into_inner();
    differing.sort_unstable();
    for name in differing {
        check.find(Finding::Differs, &name);
    }
    // Removed, or no longer to be reached, since the tree was listed.
    let unread = |wanted: &&Wanted| !wanted.is_read.load(Ordering::Relaxed);
    let mut missing: Vec<&Wanted> = wanted.values().flatten().filter(unread).collect();
    missing.sort_unstable_by_key(|wanted| &wanted.line.name);
    for wanted in missing {
        check.find(Finding::Missing, &wanted.line.name);
    }
}
