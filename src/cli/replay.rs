//! `askback replay`: a recorded turn once more. Exit codes: 0 the same, 1 different, 2 it cannot be played.

use askback::{
    config::Config,
    domain::recording::{Change, Replay},
};
use comfy_table::{Table, presets};
use serde_json::Value;

use super::{
    Failure, args,
    link::{self, Link},
    output,
};

/// Most characters of a value that are shown; JSON has all of it.
const SHOWN: usize = 60;

pub(crate) async fn run(config: Config, wish: args::Replay) -> Result<(), Failure> {
    let link = Link::open(&config).await?;
    if link.is_anothers() {
        output::note("played by the running server, with the settings that it was started with");
    }
    let played = play(&link, &wish).await;
    link.close().await?;
    let replay = played?;
    if wish.json {
        output::json(&replay)?;
    } else {
        show(&replay)?;
    }
    // What differs is out already.
    if replay.equal { Ok(()) } else { Err(Failure::Silent) }
}

async fn play(link: &Link, wish: &args::Replay) -> Result<Replay, Failure> {
    let request = link.post(&format!("/runs/{}/replay?live={}", wish.run, wish.live));
    match link::send(request).await {
        Ok(response) => link::read(response).await,
        Err(Failure::Failed(why) | Failure::Refused { text: why, .. }) => Err(Failure::Usage(why)),
        Err(other) => Err(other),
    }
}

fn show(replay: &Replay) -> Result<(), Failure> {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(["event", "type", "at", "recorded", "now"]);
    for (name, change) in [("status", &replay.status), ("route", &replay.route)] {
        if change.recorded != change.now {
            let Change { recorded, now } = change;
            table.add_row(["", name, "", recorded.as_deref().unwrap_or("-"), now.as_deref().unwrap_or("-")]);
        }
    }
    for found in &replay.events {
        let event = found.event.to_string();
        table.add_row([&event, &found.kind, &found.at, &short(&found.recorded), &short(&found.now)]);
    }
    if !table.is_empty() {
        output::line(&table.to_string())?;
    }
    for line in &replay.answer {
        output::line(line)?;
    }
    for call in &replay.calls {
        output::note(call);
    }
    if replay.equal {
        output::line(if replay.live { "the same end, route and answer" } else { "the same events" })?;
    }
    Ok(())
}

fn short(value: &Value) -> String {
    let text = match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
