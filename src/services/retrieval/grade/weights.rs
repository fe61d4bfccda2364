//! The fitted numbers of the built-in grader.
//!
//! Two logistic regressions over [`Features`]: one for leaves in the question's language, one for leaves in another,
//! where words cannot meet and the dense side speaks alone. Fitted on development sets; see the constants.

use super::support::Features;

/// Names this set of numbers in traces.
pub(crate) const VERSION: &str = "builtin-1";

/// bias, cover, focus, kind, missing, nameless, dense, lexical, lead, spread
const WITHIN: [f32; 10] = [-3.6, 1.2, 3.2, 0.9, -1.5, -1.0, 1.2, 0.8, 1.0, 0.3];
const ACROSS: [f32; 10] = [-2.6, 0.5, 0.5, 0.8, -1.0, -0.3, 5.0, 0.0, 1.5, 0.0];

/// How likely a leaf in the question's language answers it.
pub(crate) fn within(features: &Features) -> f32 {
    logistic(&WITHIN, features)
}

/// How likely a leaf in another language answers it.
pub(crate) fn across(features: &Features) -> f32 {
    logistic(&ACROSS, features)
}

/// The features in the order of the weights.
pub(crate) const fn vector(features: &Features) -> [f32; 9] {
    [
        features.cover,
        features.focus,
        features.kind,
        features.missing,
        features.nameless,
        features.dense,
        features.lexical,
        features.lead,
        features.spread,
    ]
}

fn logistic(weights: &[f32; 10], features: &Features) -> f32 {
    let sum: f32 = weights[1..].iter().zip(vector(features)).map(|(weight, feature)| weight * feature).sum();
    1.0 / (1.0 + (-(weights[0] + sum)).exp())
}

/// Below it a passage has nothing to do with the question.
pub(crate) const RELEVANT: f32 = 0.12;
/// From it on it is the very thing.
pub(crate) const STRONG: f32 = 0.45;
/// From it on it answers.
pub(crate) const SUFFICIENT: f32 = 0.40;
/// From it on it answers in part.
pub(crate) const PARTIAL: f32 = 0.25;
/// From it on it is a candidate.
pub(crate) const CANDIDATE: f32 = 0.30;
