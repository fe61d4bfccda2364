//! Grading: see [`builtin`] for the rules and [`model`] for a model's part in it.

pub(crate) mod answers;
pub(crate) mod builtin;
pub(crate) mod candidates;
pub(crate) mod case;
pub(crate) mod choices;
pub(crate) mod clauses;
mod contradictions;
pub(crate) mod given;
pub(crate) mod inside;
pub(crate) mod judges;
pub(crate) mod kin;
mod lacks;
pub(crate) mod lexicon;
pub(crate) mod model;
mod namesake;
pub(crate) mod reading;
pub(crate) mod rows;
mod sections;
pub(crate) mod separate;
pub(crate) mod siblings;
pub(crate) mod support;
pub(crate) mod tables;
pub(crate) mod unnamed;
pub(crate) mod weights;

#[cfg(test)]
pub(crate) mod fixture;
