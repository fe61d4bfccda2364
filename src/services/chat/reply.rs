//! What a message means when a question is open (behaviour.md §2).
//!
//! [`understand`] is a pure function over word tables of both languages; [`decide`] asks the fast model where it is not
//! sure. In doubt a message is a new question: none is ever swallowed.

mod choose;
mod clauses;
mod intent;
mod labels;
mod meant;
mod model;
mod nouns;
mod numbered;
mod ordinal;
mod said;

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

pub(super) use self::meant::meant;
use self::{
    choose::{Offer, Pick},
    intent::{Decline, Known},
    said::Said,
};
use crate::{
    domain::{
        chat::{HitlAction, HitlReply},
        hitl::{Answer, Facet, OptionFilter, Record},
        model::ChatModel,
    },
    text::cut,
};

/// Longest reply, in characters, that can name an option or complete a slot.
const MAX_REPLY: usize = 400;
/// Most characters of a reply that are kept in the record and added to the search.
const MAX_ANSWER: usize = 300;
/// Share of a reply's content words that must be known for a name inside it to make it the answer.
const KNOWN_SHARE: f32 = 0.5;

/// What a reply is.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// It answers the question.
    Answer(Answer),
    /// It declines.
    Dismiss {
        /// What else it says, to be run as a new question.
        rest: Option<String>,
    },
    /// It asks something else.
    NewQuestion {
        /// Options that it names, fixed for the new question too.
        given: Vec<OptionFilter>,
        /// The question itself, where the message says something else before it; else the message is the question.
        #[serde(skip_serializing_if = "Option::is_none")]
        rest: Option<String>,
    },
    /// The rules cannot tell. [`decide`] never gives it.
    Unsure,
}

/// A verdict and how it was reached.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Understanding {
    /// See [`Verdict`].
    #[serde(flatten)]
    pub verdict: Verdict,
    /// For the trace and the question's history.
    pub reason: String,
    /// `builtin` or the model's name.
    pub by: String,
}

impl Understanding {
    fn new(verdict: Verdict, reason: impl Into<String>) -> Self {
        Self { verdict, reason: reason.into(), by: "builtin".into() }
    }

    /// A question of its own, whole, about nothing that was offered.
    fn new_question(reason: impl Into<String>) -> Self {
        Self::new(Verdict::NewQuestion { given: Vec::new(), rest: None }, reason)
    }

    /// `hitl_reply_verdict` of the trace.
    #[must_use]
    pub fn trace(&self) -> Value {
        serde_json::to_value(self).unwrap_or(Value::Null)
    }
}

/// What `reply` means to the open question of `record`, by rules alone. `body` is the request's `hitl` part; its option
/// ids were checked when the turn was accepted, unknown ones count as absent. A reply that names the question by id is
/// its answer, unless it declines.
#[must_use]
pub fn understand(reply: &str, record: &Record, body: Option<&HitlReply>) -> Understanding {
    let reply = reply.trim();
    let question = &record.question;
    let by_id: BTreeSet<usize> = body
        .into_iter()
        .flat_map(|body| &body.option_ids)
        .filter_map(|id| question.options.iter().position(|option| option.id == *id))
        .collect();
    if !by_id.is_empty() {
        return Understanding::new(Verdict::Answer(with_remark(record, &by_id, reply)), "option_ids");
    }
    let is_addressed = body.is_some_and(|body| body.id.is_some() || body.action == Some(HitlAction::Answer));
    let is_long = reply.chars().count() > MAX_REPLY;
    let said = Said::new(if is_long { cut(reply, MAX_REPLY) } else { reply });
    let known = Known::new(question);
    if body.is_some_and(|body| body.action == Some(HitlAction::Dismiss)) {
        return Understanding::new(Verdict::Dismiss { rest: beside_dismissal(reply, &said, &known) }, "action dismiss");
    }
    let offer = Offer::new(record);
    let understood = if is_long { long(reply, &said, &known) } else { short(reply, &said, record, (&offer, &known)) };
    match understood {
        Some(understood) if !is_addressed || !matches!(understood.verdict, Verdict::NewQuestion { .. }) => understood,
        _ if is_addressed => {
            // A name in a long text, in a refusal, or in that of another model chooses nothing.
            let chooses = !is_long && !choose::is_negated(&said.tokens) && !offer.is_other_model(&said);
            let named = if chooses { offer.mentioned(&said) } else { BTreeSet::new() };
            let answer = Answer {
                text: cut(reply, MAX_ANSWER).to_owned(),
                filters: filters(record, &named),
                none: false,
                except_documents: Vec::new(),
                // What has no words, or counts to a place that is not there, adds nothing to the search.
                words: if intent::is_bare(&said) { String::new() } else { cut(reply, MAX_ANSWER).to_owned() },
            };
            Understanding::new(Verdict::Answer(answer), "names the question by id")
        }
        Some(understood) => understood,
        None if is_long => Understanding::new_question("too long for a reply"),
        None => Understanding::new(Verdict::Unsure, "neither an option, a refusal nor a question"),
    }
}

/// Like [`understand`], with one call of the fast model (and one to repair its answer) where the rules cannot tell.
/// Without a model, or when it fails, it is a new question.
pub async fn decide(
    reply: &str,
    record: &Record,
    body: Option<&HitlReply>,
    fast: Option<&dyn ChatModel>,
) -> Understanding {
    let understood = understand(reply, record, body);
    if understood.verdict != Verdict::Unsure {
        return understood;
    }
    let in_doubt = Understanding::new_question;
    let Some(fast) = fast else { return in_doubt("in doubt") };
    match model::ask(reply, record, fast).await {
        Ok(Some(understood)) => understood,
        Ok(None) => in_doubt("in doubt; the model's verdict did not fit"),
        Err(error) => {
            tracing::warn!(%error, model = fast.name(), "a reply is taken for a new question");
            in_doubt("in doubt; the model failed")
        }
    }
}

/// Whether a message that left a question says by its own words that it goes on from there: "and the battery?", "how
/// heavy is it?". A mere fragment ("pizza") does not.
pub(super) fn leans(message: &str) -> bool {
    let said = Said::new(cut(message, MAX_REPLY));
    intent::lead(&said, 0) > 0 || intent::points_back(&said) || intent::asks_on(&said)
}

fn short(reply: &str, said: &Said, record: &Record, (offer, known): (&Offer, &Known)) -> Option<Understanding> {
    let question = &record.question;
    let answer = |answer: Answer, why: &str| Some(Understanding::new(Verdict::Answer(answer), why));
    let new_question = |given: &BTreeSet<usize>, rest: Option<String>, why: &str| {
        let verdict = Verdict::NewQuestion { given: filters(record, given), rest };
        Some(Understanding::new(verdict, format!("own question: {why}")))
    };
    match offer.pick(said) {
        Some(Pick::Options(places, reason)) => return answer(chosen(record, &places, reply), reason),
        Some(Pick::NoneOf { rest }) => {
            let other = Said::new(&rest);
            return match intent::own_question(&other, known) {
                Some(why) => {
                    let rest = behind(reply, said, said.tokens.len().saturating_sub(other.tokens.len()));
                    new_question(&offer.mentioned(&other), Some(rest), why)
                }
                None => answer(none_of(record, reply, &rest), "none of the options"),
            };
        }
        Some(Pick::Unclear(reason)) => return answer(nothing(reply), reason),
        None => {}
    }
    // "Never mind, the second one" has changed its mind.
    if let Some(tokens) = intent::behind_refusal(said)
        && let Some(Pick::Options(places, reason)) = offer.pick(&Said::new(said.rest(tokens)))
    {
        return answer(chosen(record, &places, reply), reason);
    }
    if let Some(declined) = intent::decline(said, known) {
        return Some(match declined {
            Decline::Whole => Understanding::new(Verdict::Dismiss { rest: None }, "declines"),
            Decline::First(tokens) => {
                let rest = intent::rest_as_written(reply, said, tokens);
                match offer.pick(&Said::new(&rest)) {
                    Some(Pick::NoneOf { rest }) if rest.is_empty() => {
                        Understanding::new(Verdict::Dismiss { rest: None }, "declines twice")
                    }
                    _ => Understanding::new(Verdict::Dismiss { rest: Some(rest) }, "declines and says more"),
                }
            }
        });
    }
    if intent::says_nothing(&offer.plain(said), question.options.len()) {
        return answer(nothing(reply), "says nothing that chooses");
    }
    let mentioned = offer.mentioned(said);
    if !mentioned.is_empty() {
        let names: Vec<&str> = mentioned.iter().map(|&place| question.options[place].label.as_str()).collect();
        if intent::restates(said, question, &names.join(" ")) {
            return answer(with_remark(record, &mentioned, reply), "asks it again");
        }
    }
    let first = offer.pick_first(said);
    if let Some((places, tokens)) = &first {
        let other = Said::new(said.rest(*tokens));
        if intent::is_description(&other) && offer.mentioned(&other).is_subset(places) {
            return answer(chosen(record, places, reply), "names an option and describes it");
        }
        if let Some(why) = intent::own_question(&other, known) {
            // "B7. How heavy is it?" stays with what it names; "B7. And what is the meal allowance?" leaves it.
            let mut about = offer.mentioned(&other);
            if about.is_empty() && intent::points_back(&other) {
                about.clone_from(places);
            }
            return new_question(&about, Some(behind(reply, said, *tokens)), why);
        }
    }
    if let Some(why) = intent::own_question(said, known) {
        return new_question(&mentioned, None, why);
    }
    if !mentioned.is_empty() {
        if choose::is_negated(&said.tokens) {
            return None;
        }
        let strange = known.strange(said);
        if strange.is_empty() {
            return answer(with_remark(record, &mentioned, reply), "names an option");
        }
        let is_remark = |(_, tokens): &(BTreeSet<usize>, usize)| {
            known.share(said) >= KNOWN_SHARE && intent::is_remark(&Said::new(said.rest(*tokens)))
        };
        // "Borealis Z8" completes what is missing, with another name.
        let is_other_model = intent::are_codes(&strange) && offer.is_other_model(said) && !offer.is_named_in_full(said);
        if !is_other_model {
            return if first.as_ref().is_some_and(is_remark) {
                answer(with_remark(record, &mentioned, reply), "names an option and remarks on it")
            } else {
                new_question(&mentioned, None, "something else about an option")
            };
        }
    }
    let why = intent::slot(said, reply, question)?;
    let text = cut(reply, MAX_ANSWER).to_owned();
    answer(Answer { words: text.clone(), ..nothing(reply) }, why)
}

/// What stands behind the first `tokens` tokens, without the words that only lead to it.
fn behind(reply: &str, said: &Said, tokens: usize) -> String {
    intent::rest_as_written(reply, said, tokens + intent::lead(said, tokens))
}

/// A reply of many words can only decline with its first clause.
fn long(reply: &str, said: &Said, known: &Known) -> Option<Understanding> {
    let Some(Decline::First(tokens)) = intent::decline(said, known) else { return None };
    let skipped = said
        .tokens
        .get(tokens)
        .map_or(0, |token| said.folded.get(..token.start).map_or(0, |head| head.chars().count()));
    let rest: String = reply.chars().skip(skipped).collect();
    Some(Understanding::new(Verdict::Dismiss { rest: Some(rest.trim().to_owned()) }, "declines and says more"))
}

/// What the text beside `action: dismiss` asks, if it asks anything.
fn beside_dismissal(reply: &str, said: &Said, known: &Known) -> Option<String> {
    if said.tokens.is_empty() {
        return None;
    }
    match intent::decline(said, known) {
        Some(Decline::Whole) => None,
        Some(Decline::First(tokens)) if reply.chars().count() <= MAX_REPLY => {
            Some(intent::rest_as_written(reply, said, tokens))
        }
        _ => Some(reply.to_owned()),
    }
}

fn filters(record: &Record, places: &BTreeSet<usize>) -> Vec<OptionFilter> {
    places.iter().filter_map(|&place| record.question.options.get(place)).map(|option| option.filter.clone()).collect()
}

/// The answer that chooses these options.
fn chosen(record: &Record, places: &BTreeSet<usize>, reply: &str) -> Answer {
    let labels: Vec<&str> = places
        .iter()
        .filter_map(|&place| record.question.options.get(place))
        .map(|option| option.label.as_str())
        .collect();
    let words = labels.join(" ");
    let text = if reply.is_empty() { labels.join(", ") } else { cut(reply, MAX_ANSWER).to_owned() };
    Answer { text, filters: filters(record, places), none: false, except_documents: Vec::new(), words }
}

/// The same, with what the reply says besides the labels among the words.
fn with_remark(record: &Record, places: &BTreeSet<usize>, reply: &str) -> Answer {
    let mut answer = chosen(record, places, reply);
    let held = labels::units(&Said::new(&answer.words).tokens);
    let said = Said::new(cut(reply, MAX_ANSWER));
    if labels::units(&said.tokens).iter().any(|unit| !held.contains(unit)) {
        answer.words = format!("{} {}", answer.words, cut(reply, MAX_ANSWER));
    }
    answer
}

/// The answer that chooses nothing and adds nothing.
fn nothing(reply: &str) -> Answer {
    Answer {
        text: cut(reply, MAX_ANSWER).to_owned(),
        filters: Vec::new(),
        none: false,
        except_documents: Vec::new(),
        words: String::new(),
    }
}

/// The answer that rules all options out. Facets inside a document leave the document itself in.
fn none_of(record: &Record, reply: &str, rest: &str) -> Answer {
    let mut except: Vec<_> = record
        .question
        .options
        .iter()
        .filter(|option| !matches!(option.filter.facet, Facet::Section | Facet::Kind))
        .flat_map(|option| option.filter.documents.iter().copied())
        .collect();
    except.sort_unstable();
    except.dedup();
    Answer {
        text: cut(reply, MAX_ANSWER).to_owned(),
        filters: Vec::new(),
        none: true,
        except_documents: except,
        words: rest.to_owned(),
    }
}

#[cfg(test)]
mod tests;
