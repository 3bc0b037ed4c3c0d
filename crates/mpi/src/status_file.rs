//! The file of `--status`: rank 0 describes the job in it every few seconds.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use haul::WholeFile;

use crate::job_status::{Describe, JobStatus};

/// Time between two descriptions. A parallel file system replaces a file in milliseconds.
const EVERY: Duration = Duration::from_secs(2);

/// The status of a job and the thread that writes it: a file system that does not answer must not keep
/// rank 0 from its messages.
pub(crate) struct StatusFile {
    pub(crate) status: JobStatus,
    texts: SyncSender<String>,
    thread: JoinHandle<Option<String>>,
    written: Option<Instant>,
}

impl StatusFile {
    /// Starts the thread. Fails if there is none to be had.
    pub(crate) fn begin(
        file: WholeFile,
        what: (&'static str, Describe),
        ranks: usize,
    ) -> std::io::Result<StatusFile> {
        let status = JobStatus::new(what, ranks, clocks());
        let (texts, written) = sync_channel(1);
        let thread = std::thread::Builder::new().name("status".to_owned());
        let thread = thread.spawn(move || write(&file, &written))?;
        Ok(StatusFile { status, texts, thread, written: None })
    }

    /// Describes the job if that was long ago. Does not block.
    pub(crate) fn tick(&mut self, waiting: usize) {
        if self.written.is_some_and(|written| written.elapsed() < EVERY) {
            return;
        }
        self.written = Some(Instant::now());
        let text = self.status.text("running", waiting, clocks());
        // If the file system takes longer, the next one is soon enough.
        let _sent = self.texts.try_send(text);
    }

    /// Describes the job for the last time. Blocks until that is written. Returns why the file could not
    /// be written, if ever it could not.
    pub(crate) fn end(mut self, state: &str) -> Option<String> {
        let text = self.status.text(state, 0, clocks());
        // The thread takes texts until the sender is gone.
        let _sent = self.texts.send(text);
        drop(self.texts);
        self.thread.join().unwrap_or_else(|_| Some("the status was not written".to_owned()))
    }
}

fn write(file: &WholeFile, texts: &Receiver<String>) -> Option<String> {
    let mut first = None;
    for text in texts {
        if let Err(why) = file.write(&text) {
            first.get_or_insert(why);
        }
    }
    first
}

/// Returns the time by the clock that never jumps, and in seconds since 1970.
fn clocks() -> (Instant, u64) {
    let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (Instant::now(), unix.as_secs())
}
