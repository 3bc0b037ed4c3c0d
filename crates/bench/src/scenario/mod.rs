//! What is copied or deleted: one file for each scenario, one line for each in the table.

mod definition;
mod delete_flat;
mod delete_mixed;
mod delete_nested;
mod delete_scattered;
mod flat_small;
mod huge;
mod large;
mod medium;
mod mixed;
mod nested_small;
mod startup;

pub use definition::{Definition, Scale, Scenario, ScenarioError, Volume, Work, parse_scenario};

/// The scenarios, in the order in which they are listed and run: the many small files first,
/// because they differ most between tools.
pub const SCENARIOS: &[Definition] = &[
    nested_small::DEFINITION,
    flat_small::DEFINITION,
    mixed::DEFINITION,
    medium::DEFINITION,
    large::DEFINITION,
    huge::DEFINITION,
    startup::DEFINITION,
    delete_nested::DEFINITION,
    delete_flat::DEFINITION,
    delete_mixed::DEFINITION,
    delete_scattered::DEFINITION,
];
