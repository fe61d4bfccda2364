//! One call of a tool, held to its bounds: whatever the tool does, the model gets an answer and the turn goes on.

use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use serde_json::Value;

use crate::{
    domain::{
        error::{FaultCode, ToolError, ToolFault},
        tool::{Tool, ToolContext, ToolOutcome},
    },
    text::cut,
};

/// Carries a call out. A tool whose time is up is dropped, and with it what it had begun.
///
/// # Errors
/// The tool's own; a fault where its time is up or it panics.
pub(super) async fn call(tool: &dyn Tool, ctx: &ToolContext, arguments: Value) -> Result<ToolOutcome, ToolError> {
    let (name, bounds) = (tool.spec().name.as_str(), tool.bounds());
    let work = AssertUnwindSafe(tool.call(ctx, arguments)).catch_unwind();
    match tokio::time::timeout(bounds.time, work).await {
        Ok(Ok(Ok(outcome))) => Ok(ToolOutcome { text: fitted(outcome.text, bounds.chars), ..outcome }),
        Ok(Ok(Err(ToolError::RespondToModel(fault)))) => {
            Err(ToolFault::new(fault.code, fitted(fault.message, bounds.chars)).into())
        }
        Ok(Ok(Err(fatal))) => Err(fatal),
        Ok(Err(_)) => {
            tracing::error!(tool = name, "a tool panicked");
            Err(ToolFault::new(FaultCode::Failed, format!("`{name}` failed by a defect of its own.")).into())
        }
        Err(_) => {
            tracing::warn!(tool = name, seconds = bounds.time.as_secs(), "a tool's time was up");
            let text = format!("`{name}` did not answer within {} seconds.", bounds.time.as_secs());
            Err(ToolFault::new(FaultCode::Timeout, text).into())
        }
    }
}

/// `text`, or its beginning with a note for the model of what is left out.
fn fitted(text: String, most: usize) -> String {
    let kept = cut(&text, most);
    if kept.len() == text.len() {
        return text;
    }
    let (kept_chars, all) = (kept.chars().count(), text.chars().count());
    format!("{kept}\n\n(Cut: these are the first {kept_chars} of {all} characters.)")
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use async_trait::async_trait;
    use serde_json::json;

    use super::*;
    use crate::{
        domain::{
            event::Progress,
            id::Id,
            knowledge::Access,
            model::{ToolCall, ToolSpec},
            time::Millis,
            tool::{Background, Bounds, Quota},
            user::Role,
        },
        services::agent::registry::Registry,
    };

    /// What a tool does.
    #[derive(Clone, Copy)]
    enum Does {
        Answer(&'static str),
        Hang,
        Panic,
        Refuse,
    }

    struct Scripted {
        spec: ToolSpec,
        does: Does,
        bounds: Bounds,
    }

    impl Scripted {
        fn new(does: Does) -> Self {
            let schema = json!({ "type": "object", "properties": { "q": { "type": "string" } }, "required": ["q"] });
            let spec = ToolSpec { name: "t".into(), description: String::new(), parameters: schema };
            Self { spec, does, bounds: Bounds { time: Duration::from_secs(7), chars: 4, role: Role::User } }
        }
    }

    #[async_trait]
    impl Tool for Scripted {
        fn spec(&self) -> &ToolSpec {
            &self.spec
        }

        fn bounds(&self) -> Bounds {
            self.bounds
        }

        async fn call(&self, _: &ToolContext, _: Value) -> Result<ToolOutcome, ToolError> {
            match self.does {
                Does::Answer(text) => Ok(ToolOutcome { text: text.into(), ..ToolOutcome::default() }),
                Does::Hang => std::future::pending().await,
                Does::Panic => {
                    tokio::task::yield_now().await;
                    panic!("scripted")
                }
                Does::Refuse => Err(ToolFault::new(FaultCode::Refused, "很长的一句话").into()),
            }
        }
    }

    struct Silent;
    impl Progress for Silent {
        fn step(&self, _: &str, _: &str, _: &str, _: Option<(&str, &str)>) {}
    }

    fn context() -> ToolContext {
        ToolContext {
            user: Id::at(Millis(1)),
            role: Role::User,
            access: Access::default(),
            only: None,
            session: Id::at(Millis(1)),
            parent: None,
            run: Id::at(Millis(1)),
            message: String::new(),
            background: Background::default(),
            quota: Arc::new(Quota::new(1)),
            markers: Arc::default(),
            progress: Arc::new(Silent),
        }
    }

    /// What the model is told, or the class of the fault.
    async fn told(does: Does) -> Result<String, FaultCode> {
        match call(&Scripted::new(does), &context(), json!({ "q": "x" })).await {
            Ok(outcome) => Ok(outcome.text),
            Err(ToolError::RespondToModel(fault)) => {
                assert!(!fault.message.is_empty());
                Err(fault.code)
            }
            Err(ToolError::Fatal(error)) => panic!("{error}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn whatever_a_tool_does_the_model_is_told() {
        assert_eq!(told(Does::Hang).await, Err(FaultCode::Timeout));
        assert_eq!(told(Does::Panic).await, Err(FaultCode::Failed));
        assert_eq!(told(Does::Refuse).await, Err(FaultCode::Refused));
        assert_eq!(told(Does::Answer("保修两年")).await, Ok("保修两年".into()));
        assert_eq!(
            told(Does::Answer("保修e\u{301}e\u{301}两年")).await,
            Ok("保修e\u{301}\n\n(Cut: these are the first 4 of 8 characters.)".into())
        );
    }

    #[test]
    fn arguments_that_are_cut_or_missing_are_never_run_as_none() {
        let registry = Registry::new(vec![Arc::new(Scripted::new(Does::Hang)) as Arc<dyn Tool>]);
        let resolved = |arguments: &str| {
            let call = ToolCall { id: "1".into(), name: "t".into(), arguments: arguments.into() };
            registry.resolve(&call, Role::User).map(|(_, arguments)| arguments)
        };
        assert_eq!(resolved(r#"{"q":"x"}"#), Ok(json!({ "q": "x" })));
        for wrong in ["", "  ", "{}", "null", "[]", r#""{}""#, r#"{"q":"#, r#"{"q":"x"#, r#"{"q":"x"}}"#, r#"{"q":1}"#]
        {
            let Err(ToolError::RespondToModel(fault)) = resolved(wrong) else { panic!("{wrong} was run") };
            assert_eq!(fault.code, FaultCode::InvalidArguments, "{wrong}");
            assert!(fault.message.contains(r#""required":["q"]"#), "{fault}");
        }
    }

    #[test]
    fn what_is_for_admins_is_not_there_for_others() {
        let mut tool = Scripted::new(Does::Hang);
        tool.bounds.role = Role::Admin;
        let registry = Registry::new(vec![Arc::new(tool) as Arc<dyn Tool>]);
        let call = ToolCall { id: "1".into(), name: "t".into(), arguments: r#"{"q":"x"}"#.into() };
        assert!(registry.resolve(&call, Role::Admin).is_ok());
        let Err(ToolError::RespondToModel(fault)) = registry.resolve(&call, Role::User) else { panic!("it was run") };
        assert_eq!(fault.code, FaultCode::UnknownTool);
        assert_eq!((registry.specs(Role::Admin).len(), registry.specs(Role::User).len()), (1, 0));
    }
}
