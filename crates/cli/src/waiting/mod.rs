//! Which side of a copy, a move or a removal is waited for, and whether the devices below are idle.
//!
//! A thread looks every few milliseconds at the calls in which the workers sleep. So the run itself is not slowed
//! by a clock around each call, a call that only copies memory is no wait, and every call counts, whichever method
//! makes it. The figures are those of a sample: a run of a few milliseconds has none.

mod sampler;
mod sides;
mod told;

pub(crate) use sampler::{Lately, Sampler};
pub(crate) use sides::Operands;
pub(crate) use told::{DeviceUse, Said, Waiting};
