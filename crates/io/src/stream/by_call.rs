//! Requests by plain calls: made when they are waited for, one at a time.
//!
//! For the page cache of a local file this is the fastest: bytes are copied into memory that is
//! still in the processor's cache, and no other thread has to be woken.

use std::sync::atomic::AtomicBool;

use haul_sys::{Call, CallError, Errno, Result};

use super::queue::{Done, Queue, Request, make};

/// A queue of one.
#[derive(Default)]
pub(crate) struct ByCall {
    asked: Option<Request>,
}

impl Queue for ByCall {
    fn depth(&self) -> usize {
        1
    }

    fn in_flight(&self) -> usize {
        usize::from(self.asked.is_some())
    }

    fn ask(&mut self, request: Request) -> Result<()> {
        if self.asked.is_some() {
            return Err(CallError::new(Call::Pread, Errno::BUSY));
        }
        self.asked = Some(request);
        Ok(())
    }

    fn start(&mut self) -> Result<()> {
        Ok(())
    }

    fn wait(&mut self, _stop: &AtomicBool) -> Result<Option<Done>> {
        let Some(mut request) = self.asked.take() else { return Ok(None) };
        let result = make(&mut request);
        Ok(Some(Done { request, result }))
    }
}
