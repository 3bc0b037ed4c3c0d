//! Rehearsal of a copy: determines what the copy would do with each entry, and why.
//!
//! A rehearsal makes no call that writes, so it cannot damage anything.
//! [`classify`](crate::decide::classify) decides what happens to an entry, as in the copy; this
//! module has no such rule. It has what only a rehearsal needs: a record of what the copy would
//! have made by now ([`imagined`]), and checks of the permissions that the calls would need
//! ([`foresee`]). It does not foresee what another process changes between the rehearsal and the
//! copy.

mod based;
mod foresee;
mod imagined;
mod place;
pub mod preflight;
mod pretended;
mod run;
mod told;

pub use crate::decide::Reason;
pub use run::rehearse;
pub use told::{Audience, Intent, Step};
