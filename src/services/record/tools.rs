//! A tool whose results are recorded, with the progress that it told of.
//!
//! The knowledge tool needs none of this: its ports are recorded, so retrieval runs again on what they answered.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{tape, tape::Turned};
use crate::domain::{
    error::{FaultCode, ToolError, ToolFault},
    event::Progress,
    model::ToolSpec,
    tool::{Bounds, Tool, ToolContext, ToolOutcome},
};

/// See the module.
pub struct TapedTool(Arc<dyn Tool>);

impl TapedTool {
    /// Over `inner`.
    #[must_use]
    pub fn over(inner: Arc<dyn Tool>) -> Arc<dyn Tool> {
        Arc::new(Self(inner))
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Called {
    steps: Vec<Line>,
    result: Result<ToolOutcome, ToolError>,
}

/// A line of progress.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    icon: String,
    label: String,
    detail: String,
    group: Option<(String, String)>,
}

/// Hands progress on and keeps it.
struct Noting {
    inner: Arc<dyn Progress>,
    lines: Mutex<Vec<Line>>,
}

impl Progress for Noting {
    fn step(&self, icon: &str, label: &str, detail: &str, group: Option<(&str, &str)>) {
        self.inner.step(icon, label, detail, group);
        let group = group.map(|(id, label)| (id.to_owned(), label.to_owned()));
        let line = Line { icon: icon.into(), label: label.into(), detail: detail.into(), group };
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }
}

#[async_trait]
impl Tool for TapedTool {
    fn spec(&self) -> &ToolSpec {
        self.0.spec()
    }

    fn bounds(&self) -> Bounds {
        self.0.bounds()
    }

    fn metered(&self) -> bool {
        self.0.metered()
    }

    async fn call(&self, ctx: &ToolContext, arguments: Value) -> Result<ToolOutcome, ToolError> {
        let Some(tape) = tape() else { return self.0.call(ctx, arguments).await };
        match tape.turn::<Called>("tool", &(&self.spec().name, &arguments)) {
            Turned::Through => self.0.call(ctx, arguments).await,
            Turned::Note(note) => {
                let noting = Arc::new(Noting { inner: Arc::clone(&ctx.progress), lines: Mutex::default() });
                let within = ToolContext { progress: Arc::clone(&noting) as Arc<dyn Progress>, ..ctx.clone() };
                let result = self.0.call(&within, arguments).await;
                let steps = std::mem::take(&mut *noting.lines.lock().unwrap_or_else(PoisonError::into_inner));
                let called = Called { steps, result };
                note.answered(&called);
                called.result
            }
            Turned::Played(Called { steps, result }) => {
                for Line { icon, label, detail, group } in &steps {
                    let group = group.as_ref().map(|(id, label)| (id.as_str(), label.as_str()));
                    ctx.progress.step(icon, label, detail, group);
                }
                result
            }
            Turned::Cut => std::future::pending().await,
            Turned::Missing => Err(ToolFault::new(FaultCode::Unavailable, "this call is not recorded.").into()),
        }
    }
}
