//! A copy that is only talked through: what would be done about each entry, and why.
//!
//! It makes no call that writes, so nothing can go wrong by it. What happens to an entry is decided by
//! [`classify`](crate::decide::classify), as in the copy; there is no such rule here. What is here is
//! what a copy does not need: a memory of what it would have made by now ([`imagined`]), and a look at
//! the permissions that its calls would meet ([`foresee`]). What another process changes between the
//! two is not foreseen.

mod foresee;
mod imagined;
mod place;
mod run;
mod told;

pub use crate::decide::Reason;
pub use run::rehearse;
pub use told::{Audience, Intent, Step};
