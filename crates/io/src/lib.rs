//! The bytes of one file: which of them to move, how, and what an error means.
//!
//! Three axes that never know each other: [`segment`] chooses bytes, [`method`] moves bytes, and
//! the executor chooses when ([`transfer`], drawn from by as many workers as there are). No trees
//! and no paths here: descriptors come in, counts and (call, errno) go out.

pub mod errno;
mod kit;
pub mod ladder;
pub mod method;
mod pair;
mod policy;
pub mod quirk;
pub mod segment;
pub mod transfer;

pub use kit::{Kit, Watch};
pub use ladder::{DataError, Detection, Moved};
pub use pair::Pair;
pub use policy::{DataPolicy, Reflink, Sparse};
pub use quirk::Quirk;
