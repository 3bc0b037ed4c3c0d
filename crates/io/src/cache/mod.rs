//! The page cache: what is resident, and how much a run may put into it.

pub mod ledger;
pub mod residency;
