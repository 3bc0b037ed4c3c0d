//! `haul-mpi compare`: the same command line for a comparison that several processes carry out
//! together. Each compares with one thread.

use haul_sys::sync::Mutex;
use std::ffi::OsString;
use std::ops::ControlFlow;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use haul_engine::monitor::{Control, Counts, Report};
use haul_engine::peers::{self, Extent, Peers};
use haul_manifest::{Finding, Outside, PageCache, RawText, Share, Summary, Unit, Work};

use super::desk::{Counter, Desk};
use super::options::Settings;
use super::pages::Pages;
use super::run::{Command, ERROR, print_finding, print_summary, read, refuse};
use crate::among::{self, Among, Carry, Part};
use crate::option::select::refused_too;
use crate::output::Output;
use crate::relayed::Stream;

/// A comparison in which this process takes part.
pub struct Comparison<'a> {
    among: &'a Among,
    output: &'a Output,
    settings: &'a Settings,
    a: &'a Path,
    b: &'a Path,
    /// What each process has compared and found, on process 0.
    summaries: Mutex<Vec<Summary>>,
}

/// Returns what a unit of a comparison is; `None` if a process of another version made it.
#[must_use]
pub fn unit_of_comparison(bytes: &[u8]) -> Option<peers::Summary> {
    let Unit { path, work, .. } = serde_json::from_slice(bytes).ok()?;
    let (last, extent) = match work {
        Work::Roots => (None, Extent::Directory),
        Work::Directory(name) => (Some(name), Extent::Directory),
        Work::Range(..) => (None, Extent::SomeNames),
        Work::Names(names) => (None, Extent::Names(names.len())),
        Work::Links(links) => (None, Extent::Names(links.len())),
    };
    let name = last.iter().map(RawText::as_bytes);
    let parts: Vec<&[u8]> = std::iter::once(path.as_bytes()).chain(name).collect();
    let path = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(&b'/');
    Some(peers::Summary { path, extent })
}

/// Reads the arguments of `compare` and compares by a function that lets all processes take part.
/// Returns the exit status: on process 0 that of the whole comparison, elsewhere success. Blocks until
/// the comparison is over. The function is not called if the command line is refused.
pub fn compare_among(
    arguments: &[OsString],
    among: &Among,
    compare: impl for<'r> Carry<Comparison<'r>>,
) -> ExitCode {
    let output = among.output();
    let code = match read(arguments) {
        Ok(Command::Print(text)) => return among::print_help(among, &text, &refused_too(&[])),
        Ok(Command::Compare(settings, _)) if settings.select.given().is_some() => {
            let option: Vec<_> = settings.select.given().into_iter().collect();
            let refused = among::refuse("compare", &option, [true]);
            among::ended(among, &output, refused.map(|()| ExitCode::SUCCESS));
            ExitCode::from(ERROR)
        }
        Ok(Command::Compare(mut settings, [a, b])) => {
            settings.leave_auto_color();
            let comparison = Comparison {
                among,
                output: &output,
                settings: &settings,
                a: Path::new(&a),
                b: Path::new(&b),
                summaries: Mutex::default(),
            };
            carry_out(&comparison, compare)
        }
        Err(error) => refuse(&output, &error),
    };
    if among.leads() { code } else { ExitCode::SUCCESS }
}

fn carry_out(comparison: &Comparison<'_>, compare: impl for<'r> Carry<Comparison<'r>>) -> ExitCode {
    let Comparison { among, output, settings, .. } = *comparison;
    let stop = AtomicBool::new(false);
    let control = &Control::new(&stop);
    let print = &|stream, text: &[u8]| match stream {
        Stream::Result => comparison.accept(text),
        _ => output.print(stream, text),
    };
    // Differences are no failures of the engine, so nothing is reported this way.
    let monitor = &|_: Report<'_>| {};
    let counts = compare(Part { request: comparison, monitor, control, print });
    if !among.leads() {
        return ExitCode::SUCCESS;
    }
    let summaries = comparison.summaries.lock().split_off(0);
    let mut sum = Summary::default();
    summaries.iter().for_each(|summary| sum.add(summary));
    let is_complete =
        counts.is_ok_and(|counts| counts.failures == 0) && summaries.len() == among.count;
    if !is_complete {
        output.error("not all ranks have compared their parts");
        sum.stopped = true;
    }
    let code = print_summary(output, settings, &sum);
    if is_complete { code } else { ExitCode::from(ERROR) }
}

impl Comparison<'_> {
    /// Compares the units that `peers` receives, on process 0 the roots first. Blocks until `peers` has
    /// returned and the last unit is compared.
    pub fn carry_out(&self, peers: &mut dyn Peers) -> Counts {
        let desk = if self.among.leads() { Desk::with_roots() } else { Desk::default() };
        let summary = std::thread::scope(|scope| {
            let comparing = scope.spawn(|| {
                let _guard = StopIfPanicking(&desk);
                self.compare_units(&desk)
            });
            peers.exchange(&mut Counter(&desk));
            desk.close();
            comparing.join()
        });
        match summary {
            Ok(summary) if self.among.leads() => {
                self.summaries.lock().push(summary);
            }
            Ok(summary) => {
                let text = serde_json::to_vec(&summary).unwrap_or_default();
                (self.among.relay)(Stream::Result, &text);
            }
            Err(_) => {}
        }
        // A process that stopped, for whatever reason, has not compared all of its units.
        Counts { failures: u64::from(desk.is_stopped()), ..Counts::default() }
    }

    fn compare_units(&self, desk: &Desk) -> Summary {
        let options = self.settings.compare_options();
        let pages = Pages::new(self.settings.data());
        let mut outside = Process { comparison: self, desk, pages };
        let mut share = Share::new(self.a, self.b, &options, &mut outside);
        while let Some(unit) = desk.next() {
            match unit {
                Some(unit) if share.compare(&unit) => desk.done(),
                // The job was stopped, or another version of the program sent the unit.
                _ => {
                    desk.stop();
                    break;
                }
            }
        }
        share.summary().clone()
    }

    /// Takes what another process has compared and found. What cannot be read is missed at the end.
    fn accept(&self, text: &[u8]) {
        if let Ok(summary) = serde_json::from_slice(text) {
            self.summaries.lock().push(summary);
        }
    }
}

/// Ends the job if the thread that compares panics: nothing would complete its units.
struct StopIfPanicking<'a>(&'a Desk);

impl Drop for StopIfPanicking<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop();
        }
    }
}

struct Process<'a> {
    comparison: &'a Comparison<'a>,
    desk: &'a Desk,
    pages: Pages,
}

impl Outside for Process<'_> {
    fn report(&mut self, finding: Finding) -> ControlFlow<()> {
        let Comparison { output, settings, a, b, .. } = *self.comparison;
        print_finding(output, settings, (a, b), &finding);
        if self.desk.is_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn page_cache(&mut self) -> Option<&mut dyn PageCache> {
        Some(&mut self.pages)
    }

    fn project(&mut self, file: BorrowedFd<'_>) -> u32 {
        // A file system without projects has none to tell.
        haul_sys::fs::project(file).unwrap_or(0)
    }

    fn is_shared(&self) -> bool {
        self.comparison.among.count > 1
    }

    fn is_wanted(&self) -> bool {
        self.desk.is_wanted()
    }

    fn give(&mut self, unit: Unit) {
        self.desk.give(unit);
    }

    fn owner(&self, ino: u64) -> Option<usize> {
        let Among { own, count, .. } = *self.comparison.among;
        haul_engine::peers::Ranks { own, count }.other_owner(ino)
    }

    fn send(&mut self, to: usize, unit: Unit) {
        self.desk.route(to, unit);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use haul_engine::peers::Exchange;

    use super::*;

    /// Another process, which sends a unit that this one does not know.
    struct OtherVersion;

    impl Peers for OtherVersion {
        fn exchange(&mut self, exchange: &mut dyn Exchange) {
            exchange.receive(1, b"of another version".to_vec());
            haul_manifest::wait_until("the run is stopped", || exchange.is_stopped());
        }
    }

    #[test]
    fn a_unit_of_another_version_is_a_failure_on_every_rank() {
        let directory = tempfile::tempdir().unwrap();
        let (a, b) = (&directory.path().join("a"), &directory.path().join("b"));
        for path in [a, b] {
            std::fs::create_dir(path).unwrap();
        }
        let words = ["a", "b"].map(OsString::from);
        let Ok(Command::Compare(settings, _)) = read(&words) else { panic!("{words:?}") };
        for own in [0, 1] {
            let among = &Among { own, count: 2, relay: Arc::new(|_, _: &[u8]| {}) };
            let (output, summaries) = (&among.output(), Mutex::default());
            let comparison = Comparison { among, output, settings: &settings, a, b, summaries };
            assert_eq!(comparison.carry_out(&mut OtherVersion).failures, 1, "rank {own}");
        }
    }
}
