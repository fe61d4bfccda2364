//! Comparing what a run told with what it tells now, ids and times apart.

use serde_json::{Map, Value};

use super::lines::diff;
use crate::{
    domain::{
        id::{Id, RunId},
        recording::{Change, Difference, Replay},
    },
    services::chat::Frame,
};

/// Most differences that are told.
const MOST: usize = 100;
/// Fields that name this run, or this request, or a time.
const PASSING: [&str; 7] =
    ["seq", "run_id", "request_id", "tokens_per_second", "expires_at", "created_at", "answered_at"];

/// Compares the recorded lines with the frames of now.
pub(super) fn compare(run: RunId, live: bool, then: &[u8], now: &[Frame]) -> Replay {
    let then: Vec<Value> = then.split(|byte| *byte == b'\n').filter_map(event).collect();
    let now: Vec<Value> = now.iter().filter_map(|frame| event(&frame.json)).collect();
    let status = change(&then, &now, |events| Some(end(events)?.get("status")?.as_str()?.to_owned()));
    let route = change(&then, &now, |events| Some(end(events)?.get("rag_trace")?.get("route")?.as_str()?.to_owned()));
    let text =
        |events: &[Value]| end(events).and_then(|end| end.get("response")?.as_str()).unwrap_or_default().to_owned();
    let answer = diff(&text(&then), &text(&now));
    let events = if live { Vec::new() } else { differences(&then, &now) };
    let is_unchanged = |change: &Change| change.recorded == change.now;
    let equal = events.is_empty() && answer.is_empty() && is_unchanged(&status) && is_unchanged(&route);
    Replay { run_id: run, live, equal, status, route, answer, events, calls: Vec::new() }
}

fn change(then: &[Value], now: &[Value], of: impl Fn(&[Value]) -> Option<String>) -> Change {
    Change { recorded: of(then), now: of(now) }
}

/// How the turn ended: its result or, where it failed, its problem.
fn end(events: &[Value]) -> Option<&Map<String, Value>> {
    let last = events.last()?;
    last.get("message").or_else(|| last.get("error"))?.as_object()
}

/// The event of a line, without what differs from run to run.
fn event(line: &[u8]) -> Option<Value> {
    let mut value = serde_json::from_slice(line).ok()?;
    settle(&mut value);
    Some(value)
}

fn settle(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.retain(|key, inner| {
                let is_id = || inner.as_str().is_some_and(|text| text.parse::<Id<()>>().is_ok());
                let is_passing = key.ends_with("_ms") || PASSING.contains(&key.as_str());
                // A question's own id, and the name of a session that got none.
                !(is_passing || matches!(key.as_str(), "id" | "session_id") && is_id())
            });
            object.values_mut().for_each(settle);
        }
        Value::Array(items) => items.iter_mut().for_each(settle),
        _ => {}
    }
}

fn differences(then: &[Value], now: &[Value]) -> Vec<Difference> {
    let (then, now) = (ordered(then), ordered(now));
    if then == now {
        return Vec::new();
    }
    let (then, now) = (joined(&then), joined(&now));
    let mut found = Vec::new();
    let mut after = 0;
    for (no, old) in then.iter().enumerate() {
        // The next event of its kind is its counterpart; what stands before that is new.
        let Some(place) = now[after..].iter().position(|new| kind(new) == kind(old)).map(|place| after + place) else {
            found.push(whole(no, old, true));
            continue;
        };
        found.extend(now[after..place].iter().map(|new| whole(no, new, false)));
        unlike(no, kind(old), "", old, &now[place], &mut found);
        after = place + 1;
    }
    found.extend(now[after..].iter().map(|new| whole(then.len(), new, false)));
    if found.is_empty() {
        // The same texts in other pieces.
        let (recorded, now) = (Value::from("the same text"), Value::from("in other pieces"));
        found.push(Difference { event: 1, kind: "content".into(), at: String::new(), recorded, now });
    }
    found.truncate(MOST);
    found
}

fn whole(no: usize, event: &Value, was_recorded: bool) -> Difference {
    let (recorded, now) = if was_recorded { (event.clone(), Value::Null) } else { (Value::Null, event.clone()) };
    Difference { event: no + 1, kind: kind(event).to_owned(), at: String::new(), recorded, now }
}

fn kind(event: &Value) -> &str {
    event.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// Parts of a complex question are worked on side by side: each part's steps stand together, at its first one.
fn ordered(events: &[Value]) -> Vec<&Value> {
    let group = |event: &Value| event.pointer("/step/group").cloned();
    let mut seen: Vec<Value> = Vec::new();
    let mut ordered = Vec::with_capacity(events.len());
    for event in events {
        match group(event) {
            None => ordered.push(event),
            Some(name) if seen.contains(&name) => {}
            Some(name) => {
                ordered.extend(events.iter().filter(|other| group(other).as_ref() == Some(&name)));
                seen.push(name);
            }
        }
    }
    // Side by side the parts may begin in any order.
    let (mut first, mut last) = (0, 0);
    while first < ordered.len() {
        if group(ordered[first]).is_none() {
            first += 1;
            continue;
        }
        last = last.max(first);
        while ordered.get(last).is_some_and(|event| group(event).is_some()) {
            last += 1;
        }
        ordered[first..last].sort_by_key(|event| group(event).map(|name| name.to_string()));
        first = last;
    }
    ordered
}

/// Pieces of one text as one event.
fn joined(events: &[&Value]) -> Vec<Value> {
    let mut joined: Vec<Value> = Vec::new();
    for event in events {
        let is_piece = matches!(kind(event), "content" | "reasoning");
        if is_piece
            && let Some(last) = joined.last_mut()
            && kind(last) == kind(event)
            && let (Some(Value::String(text)), Some(piece)) =
                (last.get_mut("content"), event.get("content").and_then(Value::as_str))
        {
            text.push_str(piece);
            continue;
        }
        joined.push((*event).clone());
    }
    joined
}

fn unlike(no: usize, kind: &str, at: &str, then: &Value, now: &Value, found: &mut Vec<Difference>) {
    if then == now || found.len() >= MOST {
        return;
    }
    match (then, now) {
        (Value::Object(old), Value::Object(new)) => {
            let keys = old.keys().chain(new.keys().filter(|key| !old.contains_key(*key)));
            for key in keys {
                let (old, new) = (old.get(key).unwrap_or(&Value::Null), new.get(key).unwrap_or(&Value::Null));
                unlike(no, kind, &format!("{at}/{key}"), old, new, found);
            }
        }
        (Value::Array(old), Value::Array(new)) => {
            for place in 0..old.len().max(new.len()) {
                let (old, new) = (old.get(place).unwrap_or(&Value::Null), new.get(place).unwrap_or(&Value::Null));
                unlike(no, kind, &format!("{at}/{place}"), old, new, found);
            }
        }
        _ => found.push(Difference {
            event: no + 1,
            kind: kind.to_owned(),
            at: at.to_owned(),
            recorded: then.clone(),
            now: now.clone(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(then: &[Value], now: &[Value]) -> Vec<(usize, String, String)> {
        let settled = |events: &[Value]| -> Vec<Value> {
            events.iter().filter_map(|value| event(value.to_string().as_bytes())).collect()
        };
        let differences = differences(&settled(then), &settled(now));
        differences.into_iter().map(|found| (found.event, found.kind, found.at)).collect()
    }

    fn content(text: &str) -> Value {
        json!({ "type": "content", "content": text })
    }

    fn step(label: &str, group: Option<&str>) -> Value {
        json!({ "type": "rag_step", "step": { "label": label, "group": group, "elapsed_ms": label.len() } })
    }

    #[test]
    fn ids_times_and_the_order_of_parts_are_no_differences() {
        let id = "01890000-0000-7000-8000-000000000000";
        let then = [json!({"type": "trace", "seq": 1, "run_id": id, "hitl": {"id": id}}), content("a")];
        let now = [json!({"type": "trace", "seq": 2, "run_id": "x", "hitl": {}}), content("a")];
        assert_eq!(told(&then, &now), []);
        let then = [step("s", None), step("1", Some("a")), step("1", Some("b")), step("2", Some("a"))];
        let now = [step("s", None), step("1", Some("b")), step("1", Some("a")), step("2", Some("a"))];
        assert_eq!(told(&then, &now), []);
    }

    #[test]
    fn each_difference_has_its_place() {
        let at = |event, kind: &str, at: &str| (event, kind.to_owned(), at.to_owned());
        let then = [step("s", None), content("24 "), content("months"), json!({"type": "message", "citations": [1]})];
        let now = [step("s", None), content("two years"), json!({"type": "message", "citations": [1, 2]})];
        assert_eq!(told(&then, &now), [at(2, "content", "/content"), at(3, "message", "/citations/1")]);
        let now = [step("s", None), json!({"type": "tool_call"}), json!({"type": "message", "citations": [1]})];
        assert_eq!(told(&then, &now), [at(2, "content", ""), at(3, "tool_call", "")]);
        let now = [step("s", None), content("24 months"), json!({"type": "message", "citations": [1]})];
        assert_eq!(told(&then, &now), [at(1, "content", "")]);
    }
}
