//! The copy: reads, writes to those that have to be served in order, hangs up for the others.
//!
//! Pipes, terminals and devices may block for as long as they like, and their reader expects what
//! was read to arrive at once: the reading thread writes to them itself. Regular files take what
//! they get, so several workers can write them, each its own. Serial is this with no helpers.

use haul_sys::sync::Mutex;
use std::os::fd::BorrowedFd;
use std::thread::Scope;

use haul_sys::data::{Advice, fadvise, read};
use haul_sys::fs::{Kind, Stat, fstat};
use haul_sys::process::{Happened, Ready, input_or_gone, processors};
use haul_sys::{Call, CallError, Errno};

use super::write_queue::{Block, GONE, Job, WriteQueue};
use crate::method::policy::DataPolicy;
use crate::method::trail::{SourceTrail, TargetTrail};
use crate::system::fully::write_whole;
use crate::system::retry::{through_signals, when_ready};

/// Bytes that are read at once: what stays in a core's second-level cache while it is written to
/// the first few outputs.
const BLOCK_BYTES: usize = 256 << 10;

/// Bytes after which helpers are started: a copy of a few milliseconds is not worth a thread.
const HELP_AFTER_BYTES: u64 = 8 << 20;

/// The most helpers: beyond this memory is the limit, whatever the number of processors.
const HELPERS_MAX: usize = 4;

/// What is to happen after an output failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// The others go on.
    GoOn,
    /// Everything ends.
    Stop,
}

/// An output that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed {
    /// Its number among the outputs.
    pub output: usize,
    /// Why.
    pub errno: Errno,
}

/// How a copy ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The input was read to its end.
    Input,
    /// No output is left.
    Outputs,
    /// An output failed, and that was to be the end.
    Stopped,
}

/// A stream and where it goes.
pub struct Tee<'a> {
    /// Where the bytes come from.
    pub input: BorrowedFd<'a>,
    /// Where they go.
    pub outputs: Vec<BorrowedFd<'a>>,
    /// Whether an output that is a pipe without a reader is to be noticed while the input is
    /// silent.
    pub watches_readers: bool,
    /// What becomes of the pages of files.
    pub policy: DataPolicy,
}

/// One output.
struct Output<'a> {
    fd: BorrowedFd<'a>,
    is_file: bool,
    is_pipe: bool,
    alive: bool,
}

impl Tee<'_> {
    /// Copies to the end. Every output that fails is reported once. `Err` is a failure to read.
    pub fn copy(&self, failed: &mut dyn FnMut(Failed) -> Then) -> Result<Ended, CallError> {
        // Refused on pipes, and then not needed.
        let _refused = fadvise(self.input, 0, 0, Advice::Sequential);
        let stats: Vec<Option<Stat>> = self.outputs.iter().map(|fd| fstat(fd).ok()).collect();
        let outputs = outputs(&self.outputs, &stats);
        let trail = |fd: &BorrowedFd<'_>| Mutex::new(TargetTrail::new(*fd, &self.policy));
        let trails: Vec<_> = self.outputs.iter().map(trail).collect();
        let files = outputs.iter().enumerate().filter(|(_, output)| output.is_file);
        let write_queue = WriteQueue::new(files.map(|(number, _)| number));
        let mut run = Run {
            tee: self,
            write_queue: &write_queue,
            outputs,
            helpers: 0,
            helpers_max: helpers_max(&stats),
            total: 0,
            source_trail: SourceTrail::new(self.input, &self.policy),
            trails: &trails,
        };
        std::thread::scope(|scope| {
            let ended = run.copy(scope, failed);
            // Also after an output that ended everything: GNU's files have by then what was read.
            write_queue.end();
            write_queue.serve(&|job| run.tee.write(job, &trails));
            run.end_trails(failed);
            match run.settle(failed) {
                Then::Stop => Ok(Ended::Stopped),
                Then::GoOn => ended,
            }
        })
    }

    fn write(&self, job: &Job, trails: &[Mutex<TargetTrail>]) -> Result<(), CallError> {
        let (Some(fd), Some(trail)) = (self.outputs.get(job.output), trails.get(job.output)) else {
            return Err(CallError::new(Call::Write, GONE));
        };
        write_whole(fd, job.block.filled())?;
        // An output has one worker at a time, so it waits for no other one here.
        let mut trail = trail.lock();
        trail.after_write_here(*fd, job.block.filled().len() as u64)
    }
}

fn outputs<'a>(fds: &[BorrowedFd<'a>], stats: &[Option<Stat>]) -> Vec<Output<'a>> {
    let of = |(fd, stat): (&BorrowedFd<'a>, &Option<Stat>)| {
        let kind = stat.map(|stat| stat.kind());
        let is_pipe = matches!(kind, Some(Kind::Fifo | Kind::Socket));
        Output { fd: *fd, is_file: kind == Some(Kind::Regular), is_pipe, alive: true }
    };
    fds.iter().zip(stats).map(of).collect()
}

/// Returns how many may help, if there are as many processors: none where a file was named twice, for then the order
/// in which its names are written is what ends up in it.
fn helpers_max(stats: &[Option<Stat>]) -> usize {
    let files: Vec<&Stat> =
        stats.iter().flatten().filter(|stat| stat.kind() == Kind::Regular).collect();
    let is_twice = |(index, stat): (usize, &&Stat)| {
        files.iter().take(index).any(|other| other.same_file(stat))
    };
    if stats.len() < 2 || files.iter().enumerate().any(is_twice) {
        return 0;
    }
    files.len().min(HELPERS_MAX)
}

struct Run<'r, 'a> {
    tee: &'r Tee<'a>,
    write_queue: &'r WriteQueue,
    outputs: Vec<Output<'a>>,
    helpers: usize,
    helpers_max: usize,
    total: u64,
    source_trail: SourceTrail,
    trails: &'r [Mutex<TargetTrail>],
}

impl<'r> Run<'r, '_> {
    fn copy<'scope>(
        &mut self,
        scope: &'scope Scope<'scope, '_>,
        failed: &mut dyn FnMut(Failed) -> Then,
    ) -> Result<Ended, CallError>
    where
        'r: 'scope,
    {
        let (tee, write_queue, trails) = (self.tee, self.write_queue, self.trails);
        loop {
            if self.settle(failed) == Then::Stop {
                return Ok(Ended::Stopped);
            }
            if !self.outputs.iter().any(|output| output.alive) {
                return Ok(Ended::Outputs);
            }
            if tee.watches_readers && self.lost_reader()? {
                if self.lose_first(failed) == Then::Stop {
                    return Ok(Ended::Stopped);
                }
                continue;
            }
            write_queue.make_room(&|job| tee.write(job, trails));
            let mut block = write_queue.used_block().unwrap_or_else(|| Block::new(BLOCK_BYTES));
            let filled = self.read(block.room())?;
            if filled == 0 {
                return Ok(Ended::Input);
            }
            block.fill(filled);
            self.total += filled as u64;
            self.source_trail.after_read_here(self.tee.input, filled as u64);
            let then = self.write_in_order(&block, failed);
            write_queue.push(block);
            if then == Then::Stop {
                return Ok(Ended::Stopped);
            }
            if self.helpers == 0 {
                write_queue.drain(&|job| tee.write(job, trails));
            }
            while self.total >= HELP_AFTER_BYTES
                && self.helpers < self.helpers_max
                && self.helpers + 1 < processors()
            {
                let serve = move || write_queue.serve(&|job| tee.write(job, trails));
                match std::thread::Builder::new().spawn_scoped(scope, serve) {
                    Ok(_) => self.helpers += 1,
                    // Where no more threads are allowed it goes on with those there are.
                    Err(_) => self.helpers_max = self.helpers,
                }
            }
        }
    }

    fn read(&self, room: &mut [u8]) -> Result<usize, CallError> {
        when_ready(self.tee.input, Ready::ToRead, || read(self.tee.input, &mut *room))
    }

    fn write_in_order(&mut self, block: &Block, failed: &mut dyn FnMut(Failed) -> Then) -> Then {
        for (number, output) in self.outputs.iter_mut().enumerate() {
            if output.is_file || !output.alive {
                continue;
            }
            if let Err(error) = write_whole(output.fd, block.filled()) {
                output.alive = false;
                if failed(Failed { output: number, errno: error.errno }) == Then::Stop {
                    return Then::Stop;
                }
            }
        }
        Then::GoOn
    }

    /// Waits for what was written and goes, and drops it.
    fn end_trails(&mut self, failed: &mut dyn FnMut(Failed) -> Then) {
        self.source_trail.finish(self.tee.input);
        let files = self.tee.outputs.iter().zip(self.trails).enumerate();
        for (number, (fd, trail)) in files {
            let ended = trail.lock().finish(*fd);
            if let Err(error) = ended {
                // Nothing is left that could be stopped.
                let _then = failed(Failed { output: number, errno: error.errno });
            }
        }
    }

    /// Tells of the files that have failed meanwhile.
    fn settle(&mut self, failed: &mut dyn FnMut(Failed) -> Then) -> Then {
        let mut then = Then::GoOn;
        for (number, error) in self.write_queue.take_failures() {
            if let Some(output) = self.outputs.get_mut(number) {
                output.alive = false;
            }
            if failed(Failed { output: number, errno: error.errno }) == Then::Stop {
                then = Then::Stop;
            }
        }
        then
    }

    fn first_alive(&self) -> Option<usize> {
        self.outputs.iter().position(|output| output.alive)
    }

    /// Waits for input; tells whether the first output's reader went away before there was any.
    fn lost_reader(&self) -> Result<bool, CallError> {
        let Some(output) = self.first_alive().and_then(|number| self.outputs.get(number)) else {
            return Ok(false);
        };
        if !output.is_pipe {
            return Ok(false);
        }
        let happened = through_signals(|| input_or_gone(self.tee.input, output.fd))?;
        Ok(happened == Happened::OutputGone)
    }

    /// Gives the first output up, as if a write to it had failed with EPIPE.
    fn lose_first(&mut self, failed: &mut dyn FnMut(Failed) -> Then) -> Then {
        let Some(number) = self.first_alive() else { return Then::GoOn };
        if let Some(output) = self.outputs.get_mut(number) {
            output.alive = false;
        }
        failed(Failed { output: number, errno: GONE })
    }
}
