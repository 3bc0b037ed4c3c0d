//! Servers in the foreground, ended when their file system is done.

use crate::command::command;
use crate::error::{Context, Error, Result};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Programs that run until this value is ended.
#[derive(Default)]
pub(super) struct Children(Vec<Child>);

/// The longest time until a server answers.
const START: Duration = Duration::from_secs(90);

const POLL: Duration = Duration::from_millis(100);

impl Children {
    /// Starts a program. What it says is on the console of the machine.
    pub(super) fn start(&mut self, words: &[&str]) -> Result<()> {
        let [program, arguments @ ..] = words else { return Ok(()) };
        let mut started = command(program);
        started.args(arguments).stdout(Stdio::null());
        self.0.push(started.spawn().context("run", program)?);
        Ok(())
    }

    /// Ends all of them, the last first.
    pub(super) fn end(&mut self) -> Result<()> {
        while let Some(mut child) = self.0.pop() {
            child.kill().context("end", "a server")?;
            child.wait().context("wait for", "a server")?;
        }
        Ok(())
    }
}

/// Waits until something is so; fails after a while.
pub(super) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) -> Result<()> {
    let begun = Instant::now();
    while !is_so() {
        if begun.elapsed() > START {
            return Err(Error::new(format!("{what} does not answer")));
        }
        std::thread::sleep(POLL);
    }
    Ok(())
}
