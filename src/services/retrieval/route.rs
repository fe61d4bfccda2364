//! Where a graded question goes: the table of behaviour.md §4, first match wins.

use crate::domain::evidence::{Ambiguity, Answerability, Relevance, RetrievalStatus, Route};

/// Everything that the table looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Facts {
    /// Nothing was found.
    pub is_empty: bool,
    pub relevance: Relevance,
    pub answerability: Answerability,
    pub ambiguity: Ambiguity,
    /// A part of a complex question: it is never rewritten and never asked about while another part answers.
    pub is_part: bool,
    /// A rewrite was made already.
    pub was_rewritten: bool,
}

/// Decides the route.
pub(crate) const fn route(facts: Facts) -> Route {
    if facts.is_empty || matches!(facts.relevance, Relevance::None) {
        return Route::NoKnowledge;
    }
    match facts.ambiguity {
        Ambiguity::MissingSlot => return Route::Clarify,
        Ambiguity::MultipleCandidates => return Route::ScopeSelect,
        Ambiguity::None => {}
    }
    let is_partial = matches!(facts.answerability, Answerability::Partial);
    let is_sufficient = matches!(facts.answerability, Answerability::Sufficient);
    if matches!(facts.relevance, Relevance::Strong) && is_sufficient {
        return Route::Answer;
    }
    if facts.is_part {
        return if is_partial || is_sufficient { Route::Answer } else { Route::NoKnowledge };
    }
    if matches!(facts.relevance, Relevance::Weak) || is_partial {
        if !facts.was_rewritten {
            return Route::Rewrite;
        }
        if is_sufficient {
            return Route::Answer;
        }
        if is_partial {
            return Route::Clarify;
        }
    }
    Route::NoKnowledge
}

/// `retrieval_status` of a route.
pub(crate) const fn status(route: Route, answerability: Answerability) -> RetrievalStatus {
    match route {
        Route::Answer => match answerability {
            Answerability::Partial => RetrievalStatus::Partial,
            Answerability::Sufficient | Answerability::None => RetrievalStatus::Answerable,
        },
        Route::Rewrite => RetrievalStatus::NeedsRewrite,
        Route::Clarify => RetrievalStatus::NeedsClarification,
        Route::ScopeSelect => RetrievalStatus::NeedsScopeSelection,
        Route::NoKnowledge => RetrievalStatus::NoKnowledge,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table as behaviour.md words it, over every combination.
    #[test]
    fn the_whole_table() {
        use Ambiguity as Am;
        use Answerability as An;
        use Relevance as Re;
        for relevance in [Re::None, Re::Weak, Re::Strong] {
            for answerability in [An::None, An::Partial, An::Sufficient] {
                for ambiguity in [Am::None, Am::MissingSlot, Am::MultipleCandidates] {
                    for (is_part, was_rewritten, is_empty) in [false, true]
                        .into_iter()
                        .flat_map(|a| [false, true].into_iter().flat_map(move |b| [(a, b, false), (a, b, true)]))
                    {
                        let facts = Facts { is_empty, relevance, answerability, ambiguity, is_part, was_rewritten };
                        let expected = match (relevance, answerability, ambiguity, is_part, was_rewritten) {
                            _ if is_empty => Route::NoKnowledge,
                            (Re::None, ..) => Route::NoKnowledge,
                            (_, _, Am::MissingSlot, ..) => Route::Clarify,
                            (_, _, Am::MultipleCandidates, ..) => Route::ScopeSelect,
                            (Re::Strong, An::Sufficient, ..) => Route::Answer,
                            (_, An::Partial | An::Sufficient, _, true, _) => Route::Answer,
                            (_, An::None, _, true, _) => Route::NoKnowledge,
                            (Re::Weak, _, _, false, false) | (_, An::Partial, _, false, false) => Route::Rewrite,
                            (_, An::Sufficient, _, false, true) => Route::Answer,
                            (_, An::Partial, _, false, true) => Route::Clarify,
                            (_, An::None, _, false, _) => Route::NoKnowledge,
                        };
                        assert_eq!(route(facts), expected, "{facts:?}");
                    }
                }
            }
        }
    }
}
