//! What people see while `haul bench` runs: which case, which round, how long still.
//!
//! On a terminal it is one line that is written over; elsewhere a line for each case, so that a
//! log tells how far it came.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use haul_bench::{Event, Monitor};

use crate::progress::Line;

/// How often the line is written over: faster is not read.
const REDRAW: Duration = Duration::from_millis(100);

/// Shows the progress of a session on standard error.
pub(super) struct Progress {
    program: &'static str,
    /// Where it is drawn, if standard error is a terminal.
    line: Option<Line>,
    started: Instant,
    drawn: Option<Instant>,
    case: String,
    /// Which case it is, from 1, and how many there are.
    place: (usize, usize),
}

impl Progress {
    pub(super) fn new(program: &'static str) -> Progress {
        Progress {
            program,
            line: std::io::stderr().is_terminal().then(Line::new),
            started: Instant::now(),
            drawn: None,
            case: String::new(),
            place: (0, 0),
        }
    }

    /// Takes the line off the terminal, before something else is written.
    pub(super) fn clear(&mut self) {
        if let Some(line) = &self.line {
            line.clear();
        }
    }

    /// Prints a line that is not overwritten.
    pub(super) fn say(&mut self, text: &str) {
        self.clear();
        self.write(&format!("{}: {text}\n", self.program));
    }

    fn write(&self, text: &str) {
        // There is nowhere to tell that this failed.
        let _nowhere_to_tell = std::io::stderr().write_all(text.as_bytes());
    }

    fn draw(&mut self, text: &str) {
        let due = self.drawn.is_none_or(|drawn| drawn.elapsed() >= REDRAW);
        let Some(line) = self.line.as_ref().filter(|_| due) else { return };
        let (number, count) = self.place;
        if number == 0 {
            line.draw(|_| text.to_owned());
        } else {
            line.draw(|_| format!("[{number}/{count}] {}: {text}", self.case));
        }
        self.drawn = Some(Instant::now());
    }

    /// Returns how long everything will take from here: this case's rest, and for each that follows
    /// as much as those until now took.
    fn left(&self, case_left: Duration) -> Duration {
        let (number, count) = self.place;
        let so_far = self.started.elapsed() + case_left;
        let cases = u32::try_from(number.max(1)).unwrap_or(u32::MAX);
        let to_come = u32::try_from(count.saturating_sub(number)).unwrap_or(0);
        case_left + so_far / cases * to_come
    }
}

impl Monitor for Progress {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Case { number, count, scenario, ground, cache } => {
                self.case = format!("{scenario}, {cache}, {}", plain(ground));
                self.place = (number, count);
                self.drawn = None;
                if self.line.is_none() {
                    let case = self.case.clone();
                    self.say(&format!("{number} of {count}: {case}"));
                }
            }
            Event::Estimating => self.draw("finding out how long it takes"),
            Event::Estimated(time) => self.say(&format!("it takes about {}", rough(time))),
            Event::Preparing => self.draw("making the files"),
            Event::Run { round, rounds, tool, left } => {
                let what = match round {
                    0 => "warming up".to_owned(),
                    round => format!("round {round} of {rounds}"),
                };
                let left = left.map_or_else(String::new, |left| {
                    format!(", about {} left", rough(self.left(left)))
                });
                self.draw(&format!("{what}, {tool}{left}"));
            }
            Event::Counting { tool } => self.draw(&format!("counting the calls of {tool}")),
            Event::Fault { tool, fault } => {
                let what = if fault.is_refusal() { ": not possible here" } else { " failed" };
                self.say(&format!("{tool}{what}: {}", plain(&fault.to_string())));
            }
            Event::Warning(text) => self.say(&format!("warning: {}", plain(text))),
        }
    }
}

/// Replaces what is not shown: a tool may print anything.
fn plain(text: &str) -> String {
    text.chars().map(|letter| if haul_manifest::is_shown(letter) { letter } else { ' ' }).collect()
}

/// Formats a duration that is not known well.
pub(super) fn rough(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..100 => format!("{seconds} s"),
        seconds @ 100..6000 => format!("{} min", seconds.div_ceil(60)),
        seconds => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rough() {
        assert_eq!(rough(Duration::from_secs(99)), "99 s");
        assert_eq!(rough(Duration::from_secs(150)), "3 min");
        assert_eq!(rough(Duration::from_secs(7_300)), "2 h 1 min");
    }

    #[test]
    fn what_is_left_counts_the_cases_to_come() {
        let mut progress = Progress::new("test");
        progress.place = (1, 3);
        let left = progress.left(Duration::from_secs(10));
        assert!(left >= Duration::from_secs(30) && left < Duration::from_secs(40), "{left:?}");
        progress.place = (3, 3);
        assert_eq!(progress.left(Duration::from_secs(10)), Duration::from_secs(10));
    }
}
