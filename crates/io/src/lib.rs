//! The bytes of one file: which of them to move, how, and what an error means.
//!
//! Three axes that never know each other: [`segment`] chooses bytes, [`method`] moves bytes, and
//! the executor chooses when ([`transfer`], drawn from by as many workers as there are). No trees
//! and no paths here: descriptors come in, counts and (call, errno) go out.

pub mod block_digests;
pub mod cache;
pub mod digest;
pub mod errno;
pub mod fully;
pub mod hidden;
mod in_order;
pub mod inherit;
mod job;
mod kit;
pub mod ladder;
pub mod method;
pub mod pace;
mod pair;
mod passage;
mod policy;
pub mod publish;
mod pump;
pub mod quirk;
pub mod recheck;
pub mod record;
pub mod report;
pub mod residency;
pub mod retry;
pub mod segment;
mod shape;
pub mod sides;
pub mod split;
pub mod stream;
pub mod tee;
pub mod transfer;
pub mod verification;
mod worth;

pub use in_order::move_to_end;
pub use job::{Behind, Change, Extent, FileJob};
pub use kit::{Kit, Watch};
pub use ladder::{DataError, Detection, Moved, NotDirect};
pub use method::MethodId;
pub use pace::Pace;
pub use pair::{Device, Pair};
pub use policy::{Cache, Choice, DataPolicy, Preference, Reflink, Sparse, Tell};
pub use quirk::Quirk;
pub use report::Report;
pub use residency::Residency;
