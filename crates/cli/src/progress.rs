//! The progress bar: bytes and files, rate and time left, on standard error; plain lines of the
//! same where standard error is no terminal that can draw; or JSON lines, where those are wanted.
//!
//! It appears only when the run is long, makes room for every other line, and learns the total
//! during the copy, from a count of its own that begins when the bar does.

mod line;
mod moment;
mod other_end;
mod pace;
mod tally;

use haul_sys::sync::{Condvar, Mutex};
use std::io::{IsTerminal, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Scope;
use std::time::{Duration, Instant};

use haul_engine::census::{Census, count};
use haul_engine::monitor::Control;
use haul_engine::request::{Appearance, Request, Sync};
pub(crate) use line::Line;
pub(crate) use moment::WaitsFor;
use moment::{Moment, stored};
pub(crate) use other_end::{End, OtherEnd};
use pace::Pace;
pub(crate) use tally::Tally;

use crate::output::Output;
use crate::value::When;
use crate::waiting::{Lately, Said, Sampler};

/// The time after which a run counts as long.
const PATIENCE: Duration = Duration::from_millis(1000);

/// How often the bar is drawn.
const TICK: Duration = Duration::from_millis(100);

/// How often a line is written where no terminal could draw it over the one before.
const LINE: Duration = Duration::from_millis(1000);

/// A run that took this long leaves a line, also where a bar was drawn.
const WORTH_A_LINE: Duration = Duration::from_secs(60);

/// How often lines are written, for programs or in place of a bar, in ticks.
const TICKS_OF_LINE: u32 = 10;

/// Returns whether standard error is a terminal that can draw a line over the one before.
fn can_draw() -> bool {
    std::io::stderr().is_terminal() && crate::output::can_draw()
}

/// Writes a line on standard error. A log that cannot be written to is no reason to stop.
fn write_line(line: &str) {
    let _written = writeln!(std::io::stderr(), "{line}");
}

/// How progress is shown.
enum Shown {
    Never,
    /// Drawn in one place, which a terminal can.
    InPlace(Line),
    /// As lines, one below the other.
    Lines,
}

/// A bar that may never be drawn.
pub(crate) struct Progress<'a> {
    shown: Shown,
    /// Where JSON lines go, if they are wanted.
    lines: Option<&'a Output>,
    /// What looks at the workers of the run.
    sampler: Option<&'a Sampler>,
    /// Set, and notified, when the run is over.
    over: Mutex<bool>,
    ended: Condvar,
    stop_census: AtomicBool,
    begun: Instant,
}

impl<'a> Progress<'a> {
    /// Decides whether there will be a bar. `-v` shows progress enough of its own.
    pub(crate) fn new(when: When, verbose: bool) -> Progress<'a> {
        let in_place = can_draw();
        let wanted = match when {
            When::Always => true,
            When::Auto => !verbose && in_place,
            When::Never => false,
        };
        let shown = match (wanted, in_place) {
            (false, _) => Shown::Never,
            (true, true) => Shown::InPlace(Line::new()),
            (true, false) => Shown::Lines,
        };
        Progress {
            shown,
            lines: None,
            sampler: None,
            over: Mutex::new(false),
            ended: Condvar::new(),
            stop_census: AtomicBool::new(false),
            begun: Instant::now(),
        }
    }

    /// Also prints JSON lines, where `--progress=always` asks for them.
    pub(crate) fn telling(self, output: &'a Output, when: When) -> Progress<'a> {
        Progress { lines: (when == When::Always).then_some(output), ..self }
    }

    /// Also tells what the run waits for.
    pub(crate) fn watching(self, sampler: &'a Sampler) -> Progress<'a> {
        Progress { sampler: Some(sampler), ..self }
    }

    /// Starts to draw, once the run is long. Where there is no terminal a line is
    /// written now and then, and the last one comes however short the run was. `renamed` tells how
    /// many entries needed no copy.
    pub(crate) fn start<'scope, 'env: 'scope>(
        &'env self,
        scope: &'scope Scope<'scope, 'env>,
        control: &'env Control<'env>,
        request: &'env Request,
        waits_for: WaitsFor,
        renamed: impl Fn() -> u64 + Send + 'env,
    ) {
        let in_lines = match self.shown {
            Shown::Never => return,
            Shown::InPlace(_) => false,
            Shown::Lines => self.lines.is_none(),
        };
        scope.spawn(move || {
            let census = Arc::new(Census::default());
            if !self.wait(PATIENCE) {
                let counted = Arc::clone(&census);
                scope.spawn(move || count(request, &counted, &self.stop_census));
                self.start_sampler(scope);
                let mut lately = Lately::new();
                let (mut on_storage, mut ticks) = (0, 0_u32);
                let (mut pace, mut expected, mut last) = (Pace::new(), PATIENCE, self.begun);
                while !self.wait(TICK) {
                    let said = self.sampler.map(|sampler| lately.said(sampler).clone());
                    let said = said.unwrap_or_default();
                    let now = moment(control, &census, waits_for, (on_storage, renamed()));
                    let now = Moment { said: &said, ..now };
                    on_storage = now.stored;
                    let since = last.elapsed();
                    last += since;
                    let rates = pace.add(since, expected + TICK, now.position(), now.files);
                    expected = Duration::ZERO;
                    if let Shown::InPlace(line) = &self.shown {
                        line.draw(|columns| now.bar(rates, columns));
                    }
                    let is_time = ticks.is_multiple_of(TICKS_OF_LINE);
                    match self.lines {
                        Some(output) if is_time => {
                            let seen = self.sampler.map(Sampler::seen).unwrap_or_default();
                            self.aside(|| output.line_now(&now.json(&seen)));
                        }
                        None if is_time && in_lines => write_line(&now.line(rates)),
                        _ => {}
                    }
                    ticks = ticks.wrapping_add(1);
                }
            }
            if in_lines || self.leaves_a_line() {
                let last = moment(control, &census, waits_for, (0, renamed()));
                write_line(&last.last_line(self.begun.elapsed()));
            }
        });
    }

    /// Starts to draw a line without a total, once the run is long. Where there is
    /// no terminal each is a line of its own, and the last one comes however short the run was.
    pub(crate) fn start_line<'scope, 'env: 'scope>(
        &'env self,
        scope: &'scope Scope<'scope, 'env>,
        line: impl Fn() -> String + Send + 'env,
    ) {
        // A run that shows nothing needs no thread.
        if matches!(self.shown, Shown::Never) {
            return;
        }
        scope.spawn(move || match &self.shown {
            Shown::Never => {}
            Shown::Lines => {
                self.start_sampler(scope);
                loop {
                    let is_over = self.wait(LINE);
                    write_line(&line());
                    if is_over {
                        return;
                    }
                }
            }
            Shown::InPlace(drawn) => {
                if self.wait(PATIENCE) {
                    return;
                }
                self.start_sampler(scope);
                while !self.wait(TICK) {
                    drawn.draw(|columns| fitted(&line(), columns));
                }
                if self.leaves_a_line() {
                    write_line(&line());
                }
            }
        });
    }

    /// Begins to look at the workers, for what the lines say of waiting.
    fn start_sampler<'scope, 'env: 'scope>(&'env self, scope: &'scope Scope<'scope, 'env>) {
        if let Some(sampler) = self.sampler {
            sampler.start(scope);
        }
    }

    /// Returns whether a line stays on the terminal when the bar is taken away.
    fn leaves_a_line(&self) -> bool {
        matches!(self.shown, Shown::InPlace(_)) && self.begun.elapsed() >= WORTH_A_LINE
    }

    /// Waits; `true` when the run is over.
    fn wait(&self, time: Duration) -> bool {
        let over = self.over.lock();
        let (over, _) = self.ended.wait_timeout_while(over, time, |over| !*over);
        *over
    }

    /// Takes the bar away, and ends looking at the workers.
    pub(crate) fn end(&self) {
        self.stop_census.store(true, Ordering::Relaxed);
        *self.over.lock() = true;
        self.ended.notify_all();
        if let Some(sampler) = self.sampler {
            sampler.end();
        }
        if let Shown::InPlace(line) = &self.shown {
            line.clear();
        }
    }

    /// Writes something else to the terminal, with the bar out of the way.
    pub(crate) fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        match &self.shown {
            Shown::InPlace(line) => line.aside(write),
            Shown::Never | Shown::Lines => write(),
        }
    }
}

/// What a copy waits for before it ends.
pub(crate) fn of_copy(request: &Request) -> WaitsFor {
    match (request.policy.sync, request.policy.appearance) {
        (Sync::Files | Sync::Groups, _) | (_, Appearance::Durable) => WaitsFor::Storage,
        (Sync::No, _) => WaitsFor::Acceptance,
    }
}

fn moment(
    control: &Control<'_>,
    census: &Census,
    waits_for: WaitsFor,
    (before, renamed): (u64, u64),
) -> Moment<'static> {
    let counts = control.counts();
    let (bytes, entries, is_all) = census.so_far();
    Moment {
        accepted: counts.bytes,
        stored: stored(counts.bytes, haul_sys::memory::unwritten_bytes(), before),
        done: counts.entries() + counts.skipped + renamed,
        files: counts.entries() - counts.directories + counts.skipped + renamed,
        counted: (bytes, entries),
        counted_files: census.files(),
        is_all,
        waits_for,
        said: &Said::NOTHING,
    }
}

/// Returns a line in at most so many columns: its parts in the middle are left out first, because the
/// first one says how far the run is and the last one what it waits for.
fn fitted(line: &str, columns: usize) -> String {
    let mut parts: Vec<&str> = line.split(", ").collect();
    let width = |parts: &[&str]| parts.join(", ").chars().count();
    while parts.len() > 1 && width(&parts) > columns {
        parts.remove(if parts.len() > 2 { parts.len() - 2 } else { 1 });
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::fitted;

    #[test]
    fn a_line_that_is_too_long_loses_whole_parts() {
        let line = "read: 9.0 of 20.0 MiB, 27.4 MiB/s, 1 s left, waiting for gzip";
        assert_eq!(fitted(line, 61), line);
        assert_eq!(fitted(line, 60), "read: 9.0 of 20.0 MiB, 27.4 MiB/s, waiting for gzip");
        assert_eq!(fitted(line, 50), "read: 9.0 of 20.0 MiB, waiting for gzip");
        assert_eq!(fitted(line, 30), "read: 9.0 of 20.0 MiB");
        assert_eq!(fitted(line, 5), "read: 9.0 of 20.0 MiB");
    }
}
