//! The agent's tools.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{
    episode::Source,
    error::{FaultCode, ToolError, ToolFault},
    event::Progress,
    evidence::Evidence,
    hitl::{OptionFilter, Question},
    id::{MessageId, RunId, SessionId, UserId},
    knowledge::Access,
    model::ToolSpec,
    trace::RagTrace,
    user::Role,
};

/// What a tool knows of the turn that calls it. Identity and limits come from here, never from a tool's arguments.
#[derive(Clone)]
pub struct ToolContext {
    /// Who asks.
    pub user: UserId,
    /// What they may do.
    pub role: Role,
    /// What they may search; already narrowed to the request's collections.
    pub access: Access,
    /// The names that the request narrowed it to.
    pub only: Option<Vec<String>>,
    /// Where.
    pub session: SessionId,
    /// The message that the user's message hangs on: the end of the branch before it.
    pub parent: Option<MessageId>,
    /// In which run.
    pub run: RunId,
    /// The user's message, as typed.
    pub message: String,
    /// The conversation before it.
    pub background: Background,
    /// Searches that this turn may still make.
    pub quota: Arc<Quota>,
    /// Numbers the passages that its searches find.
    pub markers: Arc<Markers>,
    /// Where progress goes.
    pub progress: Arc<dyn Progress>,
}

/// What the conversation has settled already.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Background {
    /// Earlier user messages of the branch, oldest first, at most the last few; of a reply that chose, what it chose.
    pub user_turns: Vec<String>,
    /// Earlier answers of the branch, oldest first, at most the last few.
    pub answers: Vec<String>,
    /// The session's note.
    pub note: Option<String>,
    /// Options of the question before that this message names, though it asks something of its own.
    pub given: Vec<OptionFilter>,
}

/// Counts down the searches of a turn.
#[derive(Debug)]
pub struct Quota(AtomicU32);

impl Quota {
    /// A quota of `searches`.
    #[must_use]
    pub const fn new(searches: u32) -> Self {
        Self(AtomicU32::new(searches))
    }

    /// Takes one search; `false` when none is left.
    pub fn take(&self) -> bool {
        self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| left.checked_sub(1)).is_ok()
    }
}

/// Numbers the passages of a turn, one after the other, and keeps the places of those that its searches found.
#[derive(Debug, Default)]
pub struct Markers {
    count: AtomicUsize,
    found: Mutex<Vec<Source>>,
}

impl Markers {
    /// Numbers further passages.
    #[must_use]
    pub fn number(&self, evidence: Evidence) -> Evidence {
        let before = self.count.fetch_add(evidence.passages.len(), Ordering::AcqRel);
        evidence.after(before)
    }

    /// Numbers the passages of a further search. They are the results that later turns can speak of.
    #[must_use]
    pub fn found(&self, evidence: Evidence) -> Evidence {
        let evidence = self.number(evidence);
        let markers = (evidence.before..).map(|before| u32::try_from(before + 1).unwrap_or(u32::MAX));
        let sources = evidence.passages.iter().zip(markers).map(|(passage, marker)| Source::of(marker, passage));
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.extend(sources);
        found.sort_by_key(|source| source.marker);
        drop(found);
        evidence
    }

    /// What the searches of the turn found so far, by number.
    #[must_use]
    pub fn sources(&self) -> Vec<Source> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ToolOutcome {
    /// What the model reads. Never empty.
    pub text: String,
    /// `ok` or `limit`.
    pub status: String,
    /// One line for people.
    pub summary: String,
    /// Numbered passages that the answer may cite.
    pub evidence: Option<Evidence>,
    /// A question that ends the turn.
    pub question: Option<Question>,
    /// What retrieval did.
    pub trace: Option<Box<RagTrace>>,
}

/// What a call may cost, and who may make one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Longest that it may take.
    pub time: Duration,
    /// Most characters of its text; the rest is cut off, and the model is told.
    pub chars: usize,
    /// The least that the user must be.
    pub role: Role,
}

impl Bounds {
    /// Whether users of `role` may call it.
    #[must_use]
    pub fn admit(&self, role: Role) -> bool {
        self.role == Role::User || role == self.role
    }
}

impl Default for Bounds {
    fn default() -> Self {
        Self { time: Duration::from_secs(30), chars: 20_000, role: Role::User }
    }
}

/// Something that the agent can do.
#[async_trait]
pub trait Tool: Send + Sync {
    /// How models are told of it.
    fn spec(&self) -> &ToolSpec;
    /// Whoever calls it holds it to them.
    fn bounds(&self) -> Bounds {
        Bounds::default()
    }
    /// Whether it counts its own calls: then an equal call of the same turn reaches it again, so that it can say that
    /// its quota is spent, in place of being answered from the first.
    fn metered(&self) -> bool {
        false
    }
    /// Runs it. Dropping the future cancels the call.
    async fn call(&self, ctx: &ToolContext, arguments: Value) -> Result<ToolOutcome, ToolError>;
}

impl ToolSpec {
    /// A tool whose arguments are an `A`: its schema comes from the type, so that both say the same.
    #[must_use]
    pub fn of<A: JsonSchema>(name: &str, description: &str) -> Self {
        let mut settings = SchemaSettings::draft2020_12();
        settings.inline_subschemas = true;
        settings.meta_schema = None;
        let mut parameters = settings.into_generator().into_root_schema_for::<A>().to_value();
        if let Some(schema) = parameters.as_object_mut() {
            // What they say, name and description of the tool say.
            schema.remove("title");
            schema.remove("description");
            // Some servers want it of a tool without arguments too.
            schema.entry("properties").or_insert_with(|| json!({}));
        }
        drop_formats(&mut parameters);
        Self { name: name.to_owned(), description: description.to_owned(), parameters }
    }

    /// The arguments of a call.
    ///
    /// # Errors
    /// A text for the model, with the schema, when they do not fit.
    pub fn read<A: DeserializeOwned>(&self, arguments: Value) -> Result<A, ToolError> {
        serde_json::from_value(arguments).map_err(|error| self.unfit(&error.to_string()))
    }

    /// What the model is told when the arguments are wrong for a reason of the tool's own.
    #[must_use]
    pub fn unfit(&self, why: &str) -> ToolError {
        let Self { name, parameters, .. } = self;
        let text = format!("the arguments of `{name}` are wrong: {why}. Its schema is {parameters}");
        ToolFault::new(FaultCode::InvalidArguments, text).into()
    }
}

/// Sizes of Rust's integers: some servers refuse a schema with formats that they do not know.
fn drop_formats(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if object.get("format").is_some_and(Value::is_string) {
                object.remove("format");
            }
            object.values_mut().for_each(drop_formats);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_formats),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_is_that_of_the_type() {
        /// Not told.
        #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        struct Arguments {
            /// Which.
            index: u32,
            /// How.
            how: Option<How>,
        }
        #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
        #[serde(rename_all = "lowercase")]
        enum How {
            Base,
            All,
        }
        #[derive(JsonSchema)]
        struct Nothing {}

        let spec = ToolSpec::of::<Arguments>("open", "Opens.");
        assert_eq!(spec.parameters["required"], json!(["index"]));
        assert_eq!(spec.parameters["additionalProperties"], json!(false));
        assert_eq!(
            spec.parameters["properties"]["index"],
            json!({ "type": "integer", "minimum": 0, "description": "Which." })
        );
        assert!(spec.parameters.to_string().contains(r#""base""#) && !spec.parameters.to_string().contains("$ref"));
        assert_eq!(spec.parameters.get("title").or(spec.parameters.get("description")), None);
        assert_eq!(spec.read::<Arguments>(json!({ "index": 2 })), Ok(Arguments { index: 2, how: None }));
        let Err(ToolError::RespondToModel(fault)) = spec.read::<Arguments>(json!({ "index": -2 })) else {
            panic!("it fits")
        };
        assert_eq!(fault.code, FaultCode::InvalidArguments);
        assert!(fault.to_string().starts_with("Error (invalid_arguments): the arguments of `open` are wrong"));
        assert_eq!(ToolSpec::of::<Nothing>("list", "Lists.").parameters, json!({ "type": "object", "properties": {} }));
    }

    #[test]
    fn only_admins_may_call_what_is_for_admins() {
        let of = |role| Bounds { role, ..Bounds::default() };
        assert!(of(Role::User).admit(Role::User) && of(Role::User).admit(Role::Admin));
        assert!(of(Role::Admin).admit(Role::Admin) && !of(Role::Admin).admit(Role::User));
    }

    #[test]
    fn a_class_is_known_by_its_word() {
        for code in [FaultCode::OutOfRange, FaultCode::InvalidArguments, FaultCode::Full] {
            assert_eq!(FaultCode::of(code.as_str()), Some(code));
        }
        assert_eq!(FaultCode::of("nonsense"), None);
    }
}
