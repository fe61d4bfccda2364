//! The tools that an agent has, and the check of what a model gives them.

use std::sync::Arc;

use serde_json::Value;

use crate::domain::{
    error::{FaultCode, ToolError, ToolFault},
    model::{ToolCall, ToolSpec},
    tool::Tool,
    user::Role,
};

/// Tools by name, in the order in which models are told of them.
#[derive(Clone, Default)]
pub struct Registry {
    tools: Vec<Arc<dyn Tool>>,
}

impl Registry {
    /// These tools; of two with one name the later wins.
    #[must_use]
    pub fn new(tools: Vec<Arc<dyn Tool>>) -> Self {
        let mut registry = Self::default();
        for tool in tools {
            registry.tools.retain(|known| known.spec().name != tool.spec().name);
            registry.tools.push(tool);
        }
        registry
    }

    /// Those that users of `role` may call, as models are told of them.
    #[must_use]
    pub fn specs(&self, role: Role) -> Vec<ToolSpec> {
        self.of(role).map(|tool| tool.spec().clone()).collect()
    }

    fn of(&self, role: Role) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.tools.iter().filter(move |tool| tool.bounds().admit(role))
    }

    /// Names of tools that count their own calls.
    #[must_use]
    pub fn metered(&self) -> Vec<String> {
        self.tools.iter().filter(|tool| tool.metered()).map(|tool| tool.spec().name.clone()).collect()
    }

    /// The tool of a call of a user of `role`, and its checked arguments.
    ///
    /// # Errors
    /// What the model is told instead: the tool is unknown, or the arguments do not fit its schema, which is then quoted.
    pub fn resolve(&self, call: &ToolCall, role: Role) -> Result<(Arc<dyn Tool>, Value), ToolError> {
        let Some(tool) = self.of(role).find(|tool| tool.spec().name == call.name) else {
            let names: Vec<&str> = self.of(role).map(|tool| tool.spec().name.as_str()).collect();
            let text = format!("there is no tool `{}`. There are: {}.", call.name, names.join(", "));
            return Err(ToolFault::new(FaultCode::UnknownTool, text).into());
        };
        // Servers send nothing at all for a call without arguments; what wants some is missing then.
        let text = if call.arguments.trim().is_empty() { "{}" } else { call.arguments.as_str() };
        let checked = serde_json::from_str::<Value>(text)
            .map_err(|error| format!("not JSON ({error})"))
            .and_then(|value| fits(&value, &tool.spec().parameters, "arguments").map(|()| value));
        match checked {
            Ok(value) => Ok((Arc::clone(tool), value)),
            Err(why) => Err(tool.spec().unfit(&why)),
        }
    }
}

/// Whether `value` fits the part of JSON Schema that tools use: types, required and known properties, enumerations,
/// choices, items. Anything else of a schema is the tool's own to check.
fn fits(value: &Value, schema: &Value, at: &str) -> Result<(), String> {
    let kinds: Vec<&str> = match schema.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !kinds.is_empty() && !kinds.iter().any(|kind| is_of(value, kind)) {
        return Err(format!("{at} must be of type {}", kinds.join(" or ")));
    }
    if schema.get("const").is_some_and(|only| only != value) {
        return Err(format!("{at} is not what it must be"));
    }
    for choice in ["oneOf", "anyOf"] {
        let Some(choices) = schema.get(choice).and_then(Value::as_array) else { continue };
        if !choices.iter().any(|choice| fits(value, choice, at).is_ok()) {
            return Err(format!("{at} must fit one of {}", Value::Array(choices.clone())));
        }
    }
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
        && !allowed.contains(value)
    {
        return Err(format!("{at} must be one of {}", Value::Array(allowed.clone())));
    }
    if let Some(object) = value.as_object() {
        for required in schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
        {
            if !object.contains_key(required) {
                return Err(format!("`{required}` is missing"));
            }
        }
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, inner) in object {
            match properties.and_then(|known| known.get(name)) {
                Some(property) => fits(inner, property, &format!("`{name}`"))?,
                None if schema.get("additionalProperties") == Some(&Value::Bool(false)) => {
                    return Err(format!("`{name}` is not known"));
                }
                None => {}
            }
        }
    }
    if let (Some(items), Some(schema)) = (value.as_array(), schema.get("items")) {
        for (index, item) in items.iter().enumerate() {
            fits(item, schema, &format!("{at}[{index}]"))?;
        }
    }
    Ok(())
}

fn is_of(value: &Value, kind: &str) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "query": { "type": "string" },
                "extensions": { "type": "string", "enum": ["base", "all"] },
                "pages": { "type": "array", "items": { "type": "integer" } },
            },
            "required": ["query"],
            "additionalProperties": false,
        })
    }

    #[test]
    fn arguments_are_checked_against_the_schema() {
        let check = |value: Value| fits(&value, &schema(), "arguments");
        assert_eq!(check(json!({ "query": "q", "extensions": "all", "pages": [1, 2] })), Ok(()));
        assert_eq!(check(json!([])), Err("arguments must be of type object".into()));
        assert_eq!(check(json!({})), Err("`query` is missing".into()));
        assert_eq!(check(json!({ "query": 3 })), Err("`query` must be of type string".into()));
        assert_eq!(check(json!({ "query": "q", "limit": 3 })), Err("`limit` is not known".into()));
        assert_eq!(
            check(json!({ "query": "q", "extensions": "some" })),
            Err(r#"`extensions` must be one of ["base","all"]"#.into())
        );
        assert_eq!(check(json!({ "query": "q", "pages": [1, "2"] })), Err("`pages`[1] must be of type integer".into()));
        let maybe = json!({ "anyOf": [{ "type": ["string", "null"] }, { "const": 7 }] });
        for (value, is_good) in [(json!("x"), true), (Value::Null, true), (json!(7), true), (json!(8), false)] {
            assert_eq!(fits(&value, &maybe, "it").is_ok(), is_good, "{value}");
        }
    }
}
