//! Hosts on one machine: network namespaces, each with a host name and an address of its own, joined by
//! a bridge that is in a namespace, too.
//!
//! `mpirun` on the first host starts a daemon on each other one by a script that stands for ssh, and
//! ranks reach each other by TCP alone. File systems, processes and memory are those of the machine.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a test says why it does not run")]

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::job::{PROGRAM, is_open_mpi};
use crate::ranks::is_root;

/// Number of hosts.
pub(crate) const HOSTS: usize = 3;

/// First part of all names, before the number of the test's process.
const PREFIX: &str = "haul-hosts-";

/// Programs that make the hosts and work on them.
const PROGRAMS: [&str; 4] = ["ip", "unshare", "hostname", "mpirun"];

/// Hosts that exist as long as this value.
pub(crate) struct Hosts {
    /// Beginning of the names of the namespaces.
    name: String,
    /// Script by which `mpirun` starts a command on a host.
    agent: PathBuf,
}

impl Hosts {
    /// Makes the hosts for a test of this name; `None`, with a note, if this machine cannot. The script
    /// is in the directory.
    pub(crate) fn new(directory: &Path, test: &str) -> Option<Hosts> {
        if let Some(why) = missing() {
            println!("ignored: {test} needs {why}");
            return None;
        }
        remove_stale();
        let name = format!("{PREFIX}{}-{test}", std::process::id());
        let hosts = Hosts { name, agent: directory.join("agent") };
        if let Err(why) = hosts.connect() {
            println!("ignored: {test} needs network namespaces with a bridge: {why}");
            return None;
        }
        hosts.write_agent();
        Some(hosts)
    }

    fn namespace(&self, host: usize) -> String {
        format!("{}-{host}", self.name)
    }

    fn connect(&self) -> Result<(), String> {
        let hub = &format!("{}-hub", self.name);
        ip(&["netns", "add", hub])?;
        ip(&["-n", hub, "link", "add", "hub", "type", "bridge"])?;
        ip(&["-n", hub, "link", "set", "hub", "up"])?;
        for host in 1..=HOSTS {
            let (own, port) = (&self.namespace(host), &format!("port{host}"));
            let address = &format!("{}/24", address(host));
            ip(&["netns", "add", own])?;
            let ends = ["type", "veth", "peer", "name", "eth0", "netns", own];
            ip(&[&["-n", hub, "link", "add", port][..], &ends].concat())?;
            ip(&["-n", hub, "link", "set", port, "master", "hub", "up"])?;
            ip(&["-n", own, "address", "add", address, "dev", "eth0"])?;
            ip(&["-n", own, "link", "set", "eth0", "up"])?;
            ip(&["-n", own, "link", "set", "lo", "up"])?;
        }
        Ok(())
    }

    /// Writes the script, which gets an address and the words of a shell command.
    fn write_agent(&self) {
        let name = &self.name;
        let script = format!(
            "#!/bin/sh\nhost=${{1##*.}}; shift\n\
             exec ip netns exec {name}-$host unshare --uts sh -c \"hostname host$host; $*\"\n"
        );
        // Another process writes it: a child of another test might inherit this process's descriptor, and
        // the kernel executes no file that a process has open for writing.
        let write = "printf %s \"$2\" >\"$1\" && chmod 755 \"$1\"";
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", write, "sh"]).arg(&self.agent).arg(script);
        assert!(shell.status().unwrap().success());
    }

    /// Returns a command that starts the program with one rank on each host, each by a shell command.
    /// Rank 0 is on `host1`.
    pub(crate) fn job(&self, directory: &Path, shell: &str, words: &[&str]) -> Command {
        let addresses: Vec<String> = (1..=HOSTS).map(address).collect();
        let mut command = Command::new("ip");
        command
            .args(["netns", "exec", &self.namespace(1), "unshare", "--uts"])
            .args(["sh", "-c", "hostname host1; exec \"$@\"", "sh"])
            .args(["mpirun", "--allow-run-as-root", "--host", &addresses.join(",")])
            .args(["--map-by", "ppr:1:node", "--mca", "btl", "tcp,self"])
            .args(["--mca", "plm_rsh_agent"])
            .arg(&self.agent)
            .args(["sh", "-c", shell, "sh", PROGRAM.unwrap()])
            .args(words)
            .current_dir(directory)
            .stdin(Stdio::null());
        command
    }

    /// Kills all processes of a host, as if it lost its power.
    pub(crate) fn kill(&self, host: usize) {
        kill_all(&self.namespace(host));
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        let own = namespaces().into_iter().filter(|name| name.starts_with(&self.name));
        own.for_each(|name| remove(&name));
    }
}

/// Returns the address of a host. It exists inside of the namespaces only.
fn address(host: usize) -> String {
    format!("10.99.0.{host}")
}

/// Returns what this machine lacks.
fn missing() -> Option<String> {
    if !is_root() {
        return Some("root".into());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let has = |program: &&str| std::env::split_paths(&path).any(|dir| dir.join(program).exists());
    if let Some(program) = PROGRAMS.iter().find(|program| !has(program)) {
        return Some(format!("the program {program}"));
    }
    (!is_open_mpi()).then(|| "Open MPI, whose mpirun takes the script".into())
}

fn ip(words: &[&str]) -> Result<String, String> {
    let output = Command::new("ip").args(words).output().map_err(|error| error.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

/// Returns the names of the namespaces of all tests, also of processes that have ended.
fn namespaces() -> Vec<String> {
    let Ok(found) = fs::read_dir("/run/netns") else { return Vec::new() };
    let names = found.flatten().map(|entry| entry.file_name());
    names
        .filter_map(|name: OsString| name.into_string().ok())
        .filter(|it| it.starts_with(PREFIX))
        .collect()
}

/// Removes what tests left that were killed.
fn remove_stale() {
    for name in namespaces() {
        let pid = name[PREFIX.len()..].split('-').next().unwrap_or_default();
        if !Path::new("/proc").join(pid).exists() {
            remove(&name);
        }
    }
}

/// Ends the processes of a namespace and removes its name. The namespace, its interface and the other end
/// of that are gone with the last process.
fn remove(namespace: &str) {
    kill_all(namespace);
    if let Err(why) = ip(&["netns", "delete", namespace]) {
        eprintln!("{namespace} is left: {why}");
    }
}

fn kill_all(namespace: &str) {
    let pids = ip(&["netns", "pids", namespace]).unwrap_or_default();
    for pid in pids.split_whitespace() {
        // It may have ended by itself.
        let _status = Command::new("kill").args(["-KILL", pid]).stderr(Stdio::null()).status();
    }
}
