//! Finds out which of the known tools are installed.
//!
//! The search path is given by the caller: this library reads no environment.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::peers::{DD_SIZES, HAUL_JOBS, PEERS};
use super::template::Template;
use super::types::{Group, Tool, Variation};
use crate::scenario::Work;

/// A known program that is installed.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its name in the table.
    pub program: &'static str,
    /// Where it is.
    pub path: PathBuf,
    /// The first line that it says of its version.
    pub version: Option<String>,
    /// For haul: the names that `--method` takes.
    pub methods: Vec<String>,
}

/// Looks for the known programs in the directories, the first hit of each; `haul`, if given, is
/// taken in place of what is found. Starts each that it finds, to ask for its version.
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

/// Asks haul for its copy methods: the words that `haul cp --list-methods` begins its lines with.
/// Empty where it does not know the question.
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

/// Asks a program for its version and returns the first line of the answer.
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
    /// Returns the tools that this program stands for in a group, for some work.
    #[must_use]
    pub fn tools(&self, work: Work, group: Group) -> Vec<Tool> {
        let mut tools = Vec::new();
        for peer in PEERS.iter().filter(|peer| peer.program == self.program && peer.group == group)
        {
            if let Some(text) = peer.template(work) {
                tools.extend(self.tool(peer.name, text, None));
            }
        }
        let copies = match work {
            Work::CopyTree => Some("-R "),
            Work::CopyFile => Some(""),
            Work::Delete => None,
        };
        match (self.program, group, copies) {
            ("haul", Group::Usual, Some(flag)) => {
                for method in &self.methods {
                    let text = format!("haul cp {flag}--method={method} {{source}} {{target}}");
                    let tool = self.tool(&format!("haul-{method}"), &text, None);
                    tools.extend(tool.map(|tool| Tool { method: Some(method.clone()), ..tool }));
                }
            }
            ("haul", Group::Jobs, Some(flag)) => {
                for jobs in HAUL_JOBS {
                    let text = format!("haul cp {flag}--jobs={jobs} {{source}} {{target}}");
                    let variation = ("haul", "jobs", jobs);
                    tools.extend(self.tool(&format!("haul-j{jobs}"), &text, Some(variation)));
                }
            }
            ("dd", Group::Sizes, Some("")) => {
                for bytes in DD_SIZES {
                    let text = format!("dd if={{source}} of={{target}} bs={bytes} status=none");
                    let size = crate::units::bytes(bytes).replace(' ', "");
                    let variation = ("dd", "I/O bytes", bytes);
                    tools.extend(self.tool(&format!("dd-{size}"), &text, Some(variation)));
                }
            }
            _ => {}
        }
        tools
    }

    fn tool(&self, name: &str, text: &str, variation: Option<(&str, &str, u64)>) -> Option<Tool> {
        let template = Template::parse(text).ok()?;
        // A template for the shell names its programs by itself, and finds them as the shell does.
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
