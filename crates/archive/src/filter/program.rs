//! Another program that compresses or decompresses (`-I PROGRAM`).
//!
//! As GNU tar does, the program's words are split at spaces, and `-d` is added to decompress.

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};

use super::Encode;

fn command(words: &[String]) -> std::io::Result<Command> {
    let (program, arguments) = words.split_first().ok_or(std::io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command.args(arguments);
    Ok(command)
}

fn ended(child: &mut Child) -> std::io::Result<()> {
    let status = child.wait()?;
    match status.code() {
        Some(0) => Ok(()),
        Some(code) => Err(std::io::Error::other(format!("Child returned status {code}"))),
        None => {
            use std::os::unix::process::ExitStatusExt as _;
            let signal = status.signal().unwrap_or(0);
            Err(std::io::Error::other(format!("Child died with signal {signal}")))
        }
    }
}

struct Decoding {
    child: Child,
    output: Option<std::process::ChildStdout>,
}

impl Read for Decoding {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let Some(output) = &mut self.output else { return Ok(0) };
        let count = output.read(buffer)?;
        if count == 0 && !buffer.is_empty() {
            self.output = None;
            ended(&mut self.child)?;
        }
        Ok(count)
    }
}

impl Drop for Decoding {
    fn drop(&mut self) {
        // A program that was not read to its end ends by SIGPIPE; waiting for it leaves no zombie.
        if self.output.take().is_some() {
            let _ended_by_us = self.child.wait();
        }
    }
}

/// Starts a program that decompresses a file from its position; the reader gives its output, and fails
/// at the end if the program failed.
pub fn decode_by(words: &[String], compressed: OwnedFd) -> std::io::Result<Box<dyn Read + Send>> {
    let mut child =
        command(words)?.arg("-d").stdin(Stdio::from(compressed)).stdout(Stdio::piped()).spawn()?;
    let output = child.stdout.take();
    Ok(Box::new(Decoding { child, output }))
}

struct Encoding {
    child: Child,
    input: Option<std::process::ChildStdin>,
}

impl Write for Encoding {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match &mut self.input {
            Some(input) => input.write(bytes),
            None => Err(std::io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Encode for Encoding {
    fn end(mut self: Box<Self>) -> std::io::Result<()> {
        self.input = None;
        ended(&mut self.child)
    }
}

/// A program whose input only ended would end what it has so far as if it were complete.
impl Drop for Encoding {
    fn drop(&mut self) {
        if self.input.is_some() {
            // One that has ended meanwhile is only waited for.
            let _killed = self.child.kill();
            let _ended_by_us = self.child.wait();
        }
    }
}

/// Starts a program that compresses what is written and writes it to a file.
pub fn encode_by(words: &[String], target: OwnedFd) -> std::io::Result<Box<dyn Encode>> {
    let mut child = command(words)?.stdin(Stdio::piped()).stdout(Stdio::from(target)).spawn()?;
    let input = child.stdin.take();
    Ok(Box::new(Encoding { child, input }))
}
