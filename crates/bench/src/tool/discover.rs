//! Finds the installed tools of the table.
//!
//! The caller passes the search path: this library reads no environment.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::peers::{HAUL_DEPTHS, HAUL_JOBS, IO_SIZES, PEERS, QUEUED_METHOD, SIZED_METHOD};
use super::template::Template;
use super::types::{Group, Tool, Variation};
use crate::scenario::Work;

/// A known program that is installed.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its name in the table.
    pub program: &'static str,
    /// Its path.
    pub path: PathBuf,
    /// The first line of its version output.
    pub version: Option<String>,
    /// For haul: the names that `--method` takes.
    pub methods: Vec<String>,
}

/// Searches the directories for the known programs and takes the first match of each; `haul`, if
/// given, replaces the match. Runs each program to get its version.
#[must_use]
pub fn discover(directories: &[PathBuf], haul: Option<&Path>) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    for peer in PEERS {
        if found.iter().any(|known| known.program == peer.program) {
            continue;
        }
        let given = if peer.program == "haul" { haul.map(Path::to_owned) } else { None };
        let paths = directories.iter().map(|directory| directory.join(peer.program));
        let Some(path) = given.or_else(|| paths.into_iter().find(|path| is_program(path))) else {
            continue;
        };
        let version = version_of(&path, peer.version);
        let methods = if peer.program == "haul" { haul_methods(&path) } else { Vec::new() };
        found.push(Found { program: peer.program, path, version, methods });
    }
    found
}

/// Runs `haul cp --list-methods` and returns the first word of each line. Empty if haul does not
/// know the option.
#[must_use]
pub fn haul_methods(program: &Path) -> Vec<String> {
    let asked = Command::new(program)
        .args(["cp", "--list-methods"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    let Ok(answer) = asked else { return Vec::new() };
    if !answer.status.success() {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(&answer.stdout);
    let is_name = |word: &&str| {
        word.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter))
    };
    let first = |line: &str| line.split_whitespace().next().map(str::to_owned);
    text.lines().filter_map(first).filter(|word| is_name(&word.as_str())).collect()
}

/// Runs a program to get its version and returns the first line.
#[must_use]
pub fn version_of(program: &Path, argument: &str) -> Option<String> {
    let answer = Command::new(program).arg(argument).stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&answer.stdout).into_owned();
    text.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

impl Found {
    /// Returns the tools that use this program in a group, for some work.
    #[must_use]
    pub fn tools(&self, work: Work, group: Group) -> Vec<Tool> {
        let mut tools = Vec::new();
        for peer in PEERS.iter().filter(|peer| peer.program == self.program && peer.group == group)
        {
            if let Some(text) = peer.template(work) {
                tools.extend(self.tool(peer.name, text, None));
            }
        }
        let flag = match work {
            Work::CopyTree => "-R ",
            Work::CopyFile => "",
            Work::Delete => return tools,
        };
        match self.program {
            "haul" => tools.extend(self.haul_tools(flag, group)),
            "dd" if group == Group::Sizes && work == Work::CopyFile => {
                for bytes in IO_SIZES {
                    let text = format!("dd if={{source}} of={{target}} bs={bytes} status=none");
                    let name = format!("dd-{}", size_name(bytes));
                    tools.extend(self.tool(&name, &text, Some(("dd", "I/O bytes", bytes))));
                }
            }
            _ => {}
        }
        tools
    }

    /// Returns the series of haul's own settings; `flag` is what a tree takes.
    fn haul_tools(&self, flag: &str, group: Group) -> Vec<Tool> {
        let tool = |name: String, options: String, variation| {
            let text = format!("haul cp {flag}{options} {{source}} {{target}}");
            self.tool(&name, &text, variation)
        };
        let has = |method: &str| self.methods.iter().any(|known| known == method);
        match group {
            Group::Methods => self
                .methods
                .iter()
                .filter_map(|method| {
                    let made = tool(format!("haul-{method}"), format!("--method={method}"), None)?;
                    Some(Tool { method: Some(method.clone()), ..made })
                })
                .collect(),
            Group::Jobs => HAUL_JOBS
                .iter()
                .filter_map(|jobs| {
                    let variation = Some(("haul", "jobs", *jobs));
                    tool(format!("haul-j{jobs}"), format!("--jobs={jobs}"), variation)
                })
                .collect(),
            // Only for a single file, because there each request has the requested size.
            Group::Sizes if flag.is_empty() && has(SIZED_METHOD) => IO_SIZES
                .iter()
                .filter_map(|bytes| {
                    let variation = Some(("haul", "I/O bytes", *bytes));
                    let options = format!("--method={SIZED_METHOD} --io-size={bytes}");
                    tool(format!("haul-{}", size_name(*bytes)), options, variation)
                })
                .collect(),
            Group::Depths if flag.is_empty() && has(QUEUED_METHOD) => HAUL_DEPTHS
                .iter()
                .filter_map(|depth| {
                    let variation = Some(("haul ring", "requests in flight", *depth));
                    let options = format!("--method={QUEUED_METHOD} --queue-depth={depth}");
                    tool(format!("haul-q{depth}"), options, variation)
                })
                .collect(),
            _ => Vec::new(),
        }
    }

    fn tool(&self, name: &str, text: &str, variation: Option<(&str, &str, u64)>) -> Option<Tool> {
        let template = Template::parse(text).ok()?;
        // A shell template names its programs itself, and the shell finds them.
        let program = (!template.needs_shell()).then(|| self.path.clone());
        let variation = variation.map(|(series, axis, value)| Variation {
            series: series.to_owned(),
            axis: axis.to_owned(),
            value,
        });
        let version = self.version.clone();
        Some(Tool { name: name.to_owned(), template, program, version, method: None, variation })
    }
}

/// Returns a size as part of a name: `256KiB`.
fn size_name(bytes: u64) -> String {
    crate::units::bytes(bytes).replace(' ', "")
}
