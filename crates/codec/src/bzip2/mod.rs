//! bzip2, which is only read: its blocks by several workers, or in order.

mod blocks;
mod in_order;
mod span;

use crate::decoding::{Decode, DecodePlan};
use crate::library::InOrder;

/// Makes the decoder that the plan allows.
pub(crate) fn decoder(plan: DecodePlan) -> Box<dyn Decode> {
    match blocks::most_in_flight(plan) {
        0 | 1 => Box::new(InOrder::new(in_order::Bzip2::new(0))),
        most => Box::new(blocks::Blocks::new(plan.jobs, most)),
    }
}
