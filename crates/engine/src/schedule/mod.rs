//! Resources that the descriptor limit allows a run to use.

pub(crate) mod budget;
