//! The threads of creation: one walks the trees, workers describe entries and read small files, the
//! caller's thread writes members, and other workers move large files.

use std::sync::Arc;
use std::thread::Scope;

use haul_io::Reflink;

use super::archive_file::Output;
use super::creator::Creator;
use super::entry::describe;
use super::line::Line;
use super::placing::Placing;
use super::plan::{Monitor, Operand, Plan};
use super::sink::Sink;
use super::walk::{Filter, Found, Step, Walk};
use super::work::{Batches, Item, Work};

/// Names that a worker gets at a time. Small files of a full line are 32 MiB of memory at most.
const BATCH_NAMES: usize = 16;

/// Batches on the line: enough for workers to be ahead of a writer that waits for storage.
const BATCHES_MAX: u64 = 8;

struct Excluding<'m>(&'m (dyn Monitor + Sync), usize);

impl Filter for Excluding<'_> {
    fn is_excluded(&self, name: &[u8]) -> bool {
        self.0.is_excluded(name, self.1)
    }
}

/// Writes members for all operands. Blocks. Fails if the archive cannot be written; what is wrong with
/// single names, the monitor is told.
pub fn create<W: Output>(
    operands: Vec<Operand>,
    plan: &Plan,
    monitor: &(dyn Monitor + Sync),
    sink: &mut Sink<W>,
) -> std::io::Result<()> {
    let line: Batches = Line::new(BATCHES_MAX);
    let workers = plan.workers.max(1);
    let placing = Placing::new(workers, plan.data.clone());
    std::thread::scope(|scope| {
        let (line, placing) = (&line, &placing);
        let walker = move || {
            walk(operands, plan, monitor, line);
            line.close();
        };
        std::thread::Builder::new().spawn_scoped(scope, walker).map_err(no_thread)?;
        let describing = if plan.reads_ahead { workers } else { 1 };
        if let Err(error) = spawn(scope, describing, move || describe_all(line, plan)) {
            line.abandon();
            return Err(no_thread(error));
        }
        // Without threads for them, large files are read by this one.
        let places = sink.has_offsets()
            && plan.may_read_elsewhere()
            && spawn(scope, workers, move || placing.work()).is_ok();
        if plan.data.reflink == Reflink::Always && !places {
            line.abandon();
            return Err(std::io::Error::other(
                "blocks cannot be shared (--reflink=always) with a device, with checkpoints or with \
                 --atime-preserve=replace",
            ));
        }
        let mut creator = Creator::new(plan, monitor, sink, places.then_some(placing));
        let written = creator.all(line);
        if written.is_err() {
            line.abandon();
            placing.abandon();
        }
        written
    })
}

/// Starts as many threads as possible, at most `count`. Fails if there is none.
fn spawn<'scope>(
    scope: &'scope Scope<'scope, '_>,
    count: usize,
    work: impl Fn() + Copy + Send + 'scope,
) -> std::io::Result<()> {
    for number in 0..count {
        let started = std::thread::Builder::new().spawn_scoped(scope, work);
        if let Err(error) = started {
            return if number == 0 { Err(error) } else { Ok(()) };
        }
    }
    Ok(())
}

/// Describes names until no more come.
fn describe_all(line: &Batches, plan: &Plan) {
    while let Some((number, batch)) = line.take() {
        let described = batch.into_iter().map(|work| match work {
            Work::Describe(found) => Item::Entry(Box::new(describe(found, plan))),
            Work::Pass(item) => item,
        });
        line.finish(number, described.collect());
    }
}

/// Tells the error of a thread from that of a write.
#[expect(clippy::needless_pass_by_value, reason = "what `map_err` gives")]
fn no_thread(error: std::io::Error) -> std::io::Error {
    std::io::Error::other(format!("cannot start a thread: {error}"))
}

fn walk(operands: Vec<Operand>, plan: &Plan, monitor: &(dyn Monitor + Sync), line: &Batches) {
    let mut batch = Vec::with_capacity(BATCH_NAMES);
    for operand in operands {
        let filter = Excluding(monitor, operand.scope);
        let Ok(leaf) = std::ffi::CString::new(operand.name.clone()) else { continue };
        let found = Found {
            root: Arc::clone(&operand.directory),
            parent: operand.directory,
            leaf,
            name: operand.name,
            kind: None,
            is_operand: true,
            operand: operand.number,
        };
        let rules = (plan.sort, plan.follow, &plan.tags[..]);
        let mut walk = Walk::new(&filter, rules, &found, operand.recurses, plan.stays_on_device);
        while let Some(step) = walk.advance() {
            batch.push(match step {
                Step::Entry(found) => Work::Describe(found),
                Step::Unreadable(name, error, is_operand) => {
                    Work::Pass(Item::Unreadable(name, error, is_operand))
                }
                Step::Changed(name) => Work::Pass(Item::Changed(name)),
                Step::Tagged(name, tag, scope) => {
                    Work::Pass(Item::Tagged(name, tag.into_bytes(), scope))
                }
            });
            let is_enough = batch.len() >= BATCH_NAMES / 4 && line.is_starved();
            if batch.len() >= BATCH_NAMES || is_enough {
                let full = std::mem::replace(&mut batch, Vec::with_capacity(BATCH_NAMES));
                if !line.put(full) {
                    return;
                }
            }
        }
    }
    line.put(batch);
}
