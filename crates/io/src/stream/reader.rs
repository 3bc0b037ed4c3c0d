//! The ordered reader: many requests in flight, bytes in order.
//!
//! Whatever order the answers come in, and however short they are, a block is delivered when all
//! before it were; an error comes after the bytes that were read before it. The end is where reading
//! says so and not where `stat` did: files grow, shrink, and lie.

mod page_cache;

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use haul_sys::CallError;
use haul_sys::data::{self, pread, read, seek_set, set_way};
use haul_sys::fs::fstat;
use haul_sys::memory::AlignedBuffer;
use haul_sys::process::Ready;

use super::block::{Block, Pool};
use super::direct_splice::{CHUNK_BYTES, Watch, direct_splice};
use super::in_kernel_copy::PassError;
use super::queue::{Direction, Done, Queue, Request, make};
use super::slot::Slot;
use super::source::{Executor, Pages, ReadPlan, ReadStrategy, Source, decide, open_own};
use crate::method::sides::Way;
use crate::system::errno::{Verdict, verdict};
use crate::system::gentle;
use crate::system::retry::{Retries, again, again_while, when_ready_unless};
use crate::system::segment::{Map, Segments};
use crate::system::stream_error::StreamError;

/// Bytes behind the reader that may still be cached where pages are to go: a window is worth one
/// call to drop it.
const BEHIND_BYTES: u64 = 4 << 20;

/// Bytes of a hole that are believed at a time: it may be filled long before they are delivered.
const HOLE_BYTES: u64 = 16 << 20;

/// Reads a file in order.
pub struct Reader {
    source: Source,
    /// Whose position moves on with what is delivered, where the source was opened anew.
    follower: Option<Arc<OwnedFd>>,
    plan: ReadPlan,
    strategy: ReadStrategy,
    queue: Box<dyn Queue>,
    pub(super) pool: Arc<Pool>,
    segments: Segments,
    /// The data segment that is being asked for.
    data: std::ops::Range<u64>,
    slots: VecDeque<Slot>,
    /// The number of the first slot.
    first: u64,
    /// The first byte that no request covers yet.
    next: u64,
    /// The next byte that was not delivered.
    delivered: u64,
    /// Where the source ends as far as is known, and no further than what is wanted.
    end: u64,
    /// Where it ended when the reader was made.
    told_end: u64,
    zeros: Option<Block>,
    retries: Retries,
    phase: Phase,
    /// Where the pages were dropped up to.
    dropped: u64,
}

/// How far the reader is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Asking for the bytes of the reported size.
    Told,
    /// Behind that, or where no size is reported: one plain read after the other.
    Rest,
    Over,
}

impl Reader {
    /// Makes a reader. Nothing is read yet; what is decided is by what the file is now.
    pub fn new(source: Source, plan: ReadPlan) -> haul_sys::Result<Reader> {
        if let Source::Shared(shared) = &source
            && let Some((own, at)) = open_own(shared)
        {
            let offset = plan.offset.saturating_add(at);
            let plan = ReadPlan { offset, ..plan.clone() };
            let mut reader = Reader::of_file(Source::Own(own), plan)?;
            if reader.strategy.positioned {
                reader.follower = Some(Arc::clone(shared));
                return Ok(reader);
            }
        }
        Reader::of_file(source, plan)
    }

    fn of_file(source: Source, plan: ReadPlan) -> haul_sys::Result<Reader> {
        let strategy = decide(&source, &plan)?;
        let queue = strategy.queue();
        Ok(Reader::with(source, plan, strategy, queue))
    }

    pub(super) fn with(
        source: Source,
        plan: ReadPlan,
        strategy: ReadStrategy,
        queue: Box<dyn Queue>,
    ) -> Reader {
        let depth = queue.depth();
        let most = plan.length.map_or(u64::MAX, |length| plan.offset.saturating_add(length));
        let end = strategy.reported_bytes.min(most);
        let phase = if strategy.positioned { Phase::Told } else { Phase::Rest };
        Reader {
            pool: Pool::new(strategy.request_bytes, depth + plan.held.max(1)),
            segments: Segments::new(strategy.map, end, strategy.allocated_bytes),
            data: 0..0,
            slots: VecDeque::with_capacity(depth),
            first: 0,
            next: plan.offset,
            delivered: plan.offset,
            end,
            told_end: end,
            zeros: None,
            retries: Retries::new(),
            phase,
            dropped: plan.offset,
            follower: None,
            source,
            plan,
            strategy,
            queue,
        }
    }

    /// Returns how many bytes are to come by the size reported at the start; `None` where none was.
    #[must_use]
    pub fn reported_bytes(&self) -> Option<u64> {
        self.strategy.positioned.then(|| self.end.saturating_sub(self.plan.offset))
    }

    /// Tells whether a source that ends here has lost bytes since the reader was made.
    #[must_use]
    pub fn is_short(&self, end: u64) -> bool {
        !self.strategy.is_guess && end < self.told_end
    }

    /// Returns the offset of the next byte that will be delivered.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.delivered
    }

    /// Tells whether plain reads through the page cache would do the same, so that the bytes may as
    /// well be passed on within the kernel.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        let stays = match &self.strategy.pages {
            Pages::Stay => true,
            Pages::Go => false,
            Pages::GoIn(ranges) => ranges.is_empty(),
        };
        self.strategy.way == Way::Cached && self.queue.depth() == 1 && stays
    }

    /// Returns why reading is not direct, where that was asked for and is not possible.
    #[must_use]
    pub fn not_direct(&self) -> Option<CallError> {
        self.strategy.not_direct
    }

    /// Returns the next bytes, at least one, or `None` at the end. Blocks until they are there.
    ///
    /// An error is returned once, after all bytes before it; then the reader is at its end.
    #[expect(clippy::should_implement_trait, reason = "an iterator cannot fail and go on")]
    pub fn next(&mut self) -> Result<Option<Block>, StreamError> {
        let was_over = self.phase == Phase::Over;
        let answer = match self.next_block() {
            Ok(None) if !was_over && self.is_short(self.delivered) => Err(StreamError::Shrank),
            Ok(Some(block)) => self.deliver_block(block).map(Some),
            answer => answer,
        };
        if !matches!(answer, Ok(Some(_))) {
            self.phase = Phase::Over;
            self.drop_behind(0);
        }
        answer
    }

    /// Returns the next bytes of those that are on their way; `None` when none are. Fails as
    /// [`Reader::next`] does.
    pub fn next_on_its_way(&mut self) -> Result<Option<Block>, StreamError> {
        let answer = match self.arriving_block() {
            Ok(Some(block)) => self.deliver_block(block).map(Some),
            answer => answer,
        };
        if answer.is_err() {
            self.phase = Phase::Over;
        }
        answer
    }

    fn arriving_block(&mut self) -> Result<Option<Block>, StreamError> {
        while let Some(slot) = self.slots.front() {
            if self.plan.stop.load(Ordering::Relaxed) {
                return Err(StreamError::Stopped);
            }
            if slot.busy {
                self.wait()?;
            } else if let Some(block) = self.deliver()? {
                return Ok(Some(block));
            }
        }
        Ok(None)
    }

    /// Moves the position that other processes share behind a block, and returns the block. A position that
    /// does not move is an error: the next process would read these bytes again.
    fn deliver_block(&mut self, block: Block) -> Result<Block, StreamError> {
        let delivered = self.delivered + block.len() as u64;
        if let Some(shared) = &self.follower {
            seek_set(shared, delivered)?;
        }
        self.has_delivered(block.len() as u64);
        Ok(block)
    }

    fn has_delivered(&mut self, bytes: u64) {
        self.delivered += bytes;
        gentle::rest();
        self.drop_behind(BEHIND_BYTES);
    }

    /// Returns whether the rest can go by [`Reader::direct_splice`] once no request is in flight.
    #[must_use]
    pub fn can_pour(&self) -> bool {
        // A position that others see moves on with each block, and not when all is over.
        self.follower.is_none()
            && self.phase == Phase::Told
            && self.strategy.way == Way::Direct
            && self.strategy.executor == Executor::Ring
            && self.strategy.map == Map::Dense
            && self.next.is_multiple_of(self.strategy.align)
            && self.end.saturating_sub(self.next) >= CHUNK_BYTES
    }

    /// Moves what comes next into a pipe without a copy, as long as `watch` says so and there are no
    /// difficulties; [`Reader::next`] goes on behind it. Returns how many bytes, 0 where it cannot be
    /// done. Blocks as the file and the pipe do; one that does not block is waited for.
    pub fn direct_splice(
        &mut self,
        pipe: BorrowedFd<'_>,
        watch: &mut impl Watch,
    ) -> Result<u64, PassError> {
        if !self.can_pour() || !self.slots.is_empty() {
            return Ok(0);
        }
        let end = self.next + (self.end - self.next) / CHUNK_BYTES * CHUNK_BYTES;
        let spliced =
            direct_splice(self.source.file(), self.next..end, pipe, self.plan.stop, watch)?;
        self.next += spliced;
        // No position follows where this is done.
        self.has_delivered(spliced);
        Ok(spliced)
    }

    fn next_block(&mut self) -> Result<Option<Block>, StreamError> {
        loop {
            if self.plan.stop.load(Ordering::Relaxed) {
                return Err(StreamError::Stopped);
            }
            match self.phase {
                Phase::Over => return Ok(None),
                Phase::Rest => return self.read_on(),
                Phase::Told => {}
            }
            self.ask()?;
            match self.slots.front() {
                Some(slot) if slot.busy => self.wait()?,
                Some(_) => {
                    if let Some(block) = self.deliver()? {
                        if self.queue.depth() > 1 {
                            // What has room now is on its way while the caller is busy with this.
                            self.ask()?;
                            self.queue.start()?;
                        }
                        return Ok(Some(block));
                    }
                }
                None if self.next < self.end => self.wait_for_room()?,
                None => self.go_on_behind()?,
            }
        }
    }

    /// All blocks are out in the caller's hands: another thread will give one back.
    fn wait_for_room(&mut self) -> Result<(), StreamError> {
        match gentle::elsewhere(|| self.pool.take(self.plan.stop))? {
            Some(block) => self.ask_into(block).map_err(StreamError::from),
            None => Err(StreamError::Stopped),
        }
    }

    /// Asks for the next parts of the file as long as there is room for them.
    fn ask(&mut self) -> Result<(), StreamError> {
        while self.next < self.end && self.slots.len() < gentle::window(self.queue.depth()) {
            self.find_data()?;
            if self.next < self.data.start {
                self.add_zeros()?;
                continue;
            }
            if self.queue.in_flight() >= self.queue.depth() {
                return Ok(());
            }
            let Some(block) = self.pool.try_take()? else { return Ok(()) };
            self.ask_into(block)?;
        }
        Ok(())
    }

    /// Makes `data` the first segment that ends behind the next byte.
    fn find_data(&mut self) -> Result<(), StreamError> {
        while self.data.end <= self.next {
            let found = self.segments.next(self.source.file().as_fd(), u64::MAX)?;
            self.data = found.unwrap_or(self.end..u64::MAX);
            let border = self.next + HOLE_BYTES;
            if self.data.start > border {
                self.segments.ask_again_from(border);
                self.data = border..border;
            }
            if self.data.start > self.next {
                // Behind the end of a file that became shorter there is no hole.
                let size = fstat(self.source.file())?.size;
                self.end = self.end.min(size.max(self.next));
            }
        }
        Ok(())
    }

    /// A hole takes no request and no memory of its own.
    fn add_zeros(&mut self) -> Result<(), StreamError> {
        let bytes = self.data.start.min(self.end) - self.next;
        let block = match &self.zeros {
            Some(block) => block.clone(),
            None => {
                let memory = Arc::new(AlignedBuffer::new(self.strategy.request_bytes)?);
                let block = Block::lasting(memory, 0..self.strategy.request_bytes);
                self.zeros.insert(block).clone()
            }
        };
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX).min(block.len());
        self.slots.push_back(Slot::filled(block, self.next, bytes));
        self.next += bytes as u64;
        Ok(())
    }

    fn ask_into(&mut self, block: Block) -> haul_sys::Result<()> {
        let align = self.strategy.align;
        let offset = self.next / align * align;
        let skip = usize::try_from(self.next - offset).unwrap_or(0);
        let most = self.strategy.request_bytes as u64;
        let stop = self.end.min(self.data.end.max(self.next + 1)).min(offset + most);
        let wanted = usize::try_from(stop - offset).unwrap_or(0);
        let asked = usize::try_from((stop - offset).next_multiple_of(align)).unwrap_or(wanted);
        let block = Some(block);
        let slot = Slot { block, offset, asked, skip, wanted, ..Slot::default() };
        self.next = stop;
        self.slots.push_back(slot);
        let index = self.slots.len() - 1;
        self.ask_slot(index)
    }

    /// Asks for what is missing of a slot.
    fn ask_slot(&mut self, index: usize) -> haul_sys::Result<()> {
        let tag = self.first + index as u64;
        let way = self.strategy.way;
        let file = Arc::clone(self.source.file());
        let Some(slot) = self.slots.get_mut(index) else { return Ok(()) };
        let Some(memory) = slot.block.as_mut().and_then(Block::lend) else { return Ok(()) };
        slot.busy = true;
        let range = slot.filled..slot.asked;
        let offset = slot.offset + slot.filled as u64;
        self.queue.ask(Request {
            tag,
            direction: Direction::Read,
            file,
            way,
            offset,
            memory,
            range,
        })
    }

    fn wait(&mut self) -> Result<(), StreamError> {
        if let Some(done) = self.queue.wait(self.plan.stop)? {
            self.took(done)?;
        }
        Ok(())
    }

    /// Goes on with the slot of a request that is over.
    fn took(&mut self, done: Done) -> haul_sys::Result<()> {
        let Done { request, result } = done;
        let Ok(index) = usize::try_from(request.tag.wrapping_sub(self.first)) else {
            return Ok(());
        };
        let Some(slot) = self.slots.get_mut(index) else { return Ok(()) };
        let way = request.way;
        if let Some(block) = &mut slot.block {
            block.take_back(request.memory);
        }
        slot.busy = false;
        match result {
            Ok(count) => {
                slot.filled = (slot.filled + count).min(slot.asked);
                let is_short = slot.filled < slot.wanted;
                if count > 0 && is_short {
                    self.retries.reset();
                    let odd = !(slot.filled as u64).is_multiple_of(self.strategy.align);
                    return if odd && way == Way::Direct {
                        self.complete_by_call(index)
                    } else {
                        self.ask_slot(index)
                    };
                }
            }
            Err(error) => return self.heal(index, way, error),
        }
        Ok(())
    }

    /// Does about an error what the table says.
    fn heal(&mut self, index: usize, way: Way, error: CallError) -> haul_sys::Result<()> {
        if self.retries.allow(error) {
            return self.ask_slot(index);
        }
        match verdict(error.call, error.errno) {
            Verdict::NextMethod(_) => {
                if way != Way::Cached {
                    self.leave_way();
                }
                self.complete_by_call(index)
            }
            Verdict::Retry | Verdict::Flush | Verdict::Fail => {
                if let Some(slot) = self.slots.get_mut(index) {
                    slot.error = Some(error);
                }
                Ok(())
            }
        }
    }

    /// Goes on through the page cache. What is on its way past it still arrives.
    fn leave_way(&mut self) {
        if self.strategy.way == Way::Direct {
            // Clearing a flag that was set cannot be refused; if it were, the next read says so.
            let _cleared = set_way(self.source.file(), data::Way::Cached);
        }
        self.strategy.way = Way::Cached;
        self.strategy.align = 1;
    }

    /// Reads what is missing of a slot through the page cache, by plain calls.
    fn complete_by_call(&mut self, index: usize) -> haul_sys::Result<()> {
        self.leave_way();
        let file = Arc::clone(self.source.file());
        let Some(slot) = self.slots.get_mut(index) else { return Ok(()) };
        while slot.filled < slot.wanted {
            let Some(memory) = slot.block.as_mut().and_then(Block::lend) else { return Ok(()) };
            let mut request = Request {
                tag: 0,
                direction: Direction::Read,
                file: Arc::clone(&file),
                way: Way::Cached,
                offset: slot.offset + slot.filled as u64,
                memory,
                range: slot.filled..slot.asked,
            };
            let result = again(|| make(&mut request));
            if let Some(block) = &mut slot.block {
                block.take_back(request.memory);
            }
            match result {
                Ok(0) => break,
                Ok(count) => slot.filled += count,
                Err(error) => {
                    slot.error = Some(error);
                    break;
                }
            }
        }
        Ok(())
    }

    /// Takes the first slot, which has arrived. `None` if nothing is in it.
    fn deliver(&mut self) -> Result<Option<Block>, StreamError> {
        let Some(mut slot) = self.slots.pop_front() else { return Ok(None) };
        self.first += 1;
        let filled = slot.filled.min(slot.wanted);
        if filled < slot.wanted && slot.error.is_none() {
            // The source ends here, before its reported end.
            self.end_at(slot.offset + filled as u64)?;
        }
        let has_bytes = filled > slot.skip;
        if let Some(error) = slot.error.take() {
            if !has_bytes {
                return Err(StreamError::Call(error));
            }
            self.end_at(slot.offset + filled as u64)?;
            self.slots.push_back(Slot::failed(error));
        }
        let mut block = slot.block.take();
        if let Some(block) = &mut block {
            block.set_filled(slot.skip..filled);
        }
        Ok(block.filter(|_| has_bytes))
    }

    /// Forgets everything from here on. What is on its way is waited for, for it has memory of the
    /// pool's.
    fn end_at(&mut self, offset: u64) -> Result<(), StreamError> {
        self.end = offset;
        self.next = offset;
        while self.queue.in_flight() > 0 {
            if self.plan.stop.load(Ordering::Relaxed) {
                return Err(StreamError::Stopped);
            }
            self.wait()?;
        }
        self.first += self.slots.len() as u64;
        self.slots.clear();
        Ok(())
    }

    /// The reported bytes are delivered; finds out whether there are more.
    fn go_on_behind(&mut self) -> Result<(), StreamError> {
        if self.wanted_end().is_some_and(|end| self.delivered >= end) {
            self.phase = Phase::Over;
            return Ok(());
        }
        if self.strategy.way == Way::Direct {
            self.leave_way();
        }
        self.phase = Phase::Rest;
        Ok(())
    }

    fn wanted_end(&self) -> Option<u64> {
        self.plan.length.map(|length| self.plan.offset.saturating_add(length))
    }

    /// Reads once, from where the reader or the descriptor stands.
    fn read_on(&mut self) -> Result<Option<Block>, StreamError> {
        let left = self.wanted_end().map_or(u64::MAX, |end| end.saturating_sub(self.delivered));
        if left == 0 {
            return Ok(None);
        }
        let Some(mut block) = self.pool.take(self.plan.stop)? else {
            return Err(StreamError::Stopped);
        };
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(self.strategy.request_bytes);
        let room = &mut block.own_room()?[..most];
        let file = self.source.file();
        let stop = self.plan.stop;
        let is_stopped = || stop.load(Ordering::Relaxed);
        let filled = if self.strategy.positioned {
            let offset = self.delivered;
            let request = || again_while(|| !is_stopped(), || pread(file, &mut *room, offset));
            gentle::request(request).map_err(|error| {
                if is_stopped() { StreamError::Stopped } else { StreamError::Call(error) }
            })
        } else {
            when_ready_unless(is_stopped, file, Ready::ToRead, || read(file, &mut *room))
        }?;
        self.retries.reset();
        block.set_filled(0..filled);
        Ok((filled > 0).then_some(block))
    }
}
