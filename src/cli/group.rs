//! `askback group`: groups of users.

use askback::config::Config;
use reqwest::Method;
use serde_json::{Value, json};

use super::{
    Failure,
    args::GroupCommand,
    link::{self, Link},
    output::{self, words},
};

pub(crate) async fn run(config: Config, command: GroupCommand) -> Result<(), Failure> {
    let link = Link::open(&config).await?;
    let done = carry_out(&link, command).await;
    link.close().await?;
    done
}

async fn carry_out(link: &Link, command: GroupCommand) -> Result<(), Failure> {
    match command {
        GroupCommand::List { json } => list(link, json).await,
        GroupCommand::Add { name, members, json } => {
            let body = json!({ "name": name, "members": members });
            let made: Value = link::read(link::send(link.post("/groups").json(&body)).await?).await?;
            output::told(&made, json, shown)
        }
        GroupCommand::Rename { name, new, json } => {
            let patch = link.at(Method::PATCH, &["groups", &name])?.json(&json!({ "name": new }));
            output::told(&link::read(link::send(patch).await?).await?, json, shown)
        }
        GroupCommand::Delete { name, json } => {
            let deleted: Value = link::read(link::send(link.at(Method::DELETE, &["groups", &name])?).await?).await?;
            output::told(&deleted, json, |deleted| format!("deleted {}", words(&deleted["name"])))
        }
    }
}

async fn list(link: &Link, as_json: bool) -> Result<(), Failure> {
    let groups = link.list("/groups", "groups").await?;
    if as_json {
        return Ok(output::json(&groups)?);
    }
    for group in &groups {
        output::line(&shown(group))?;
    }
    Ok(())
}

/// A group in a line.
fn shown(group: &Value) -> String {
    let members = words(&group["members"]);
    format!("{}: {}", words(&group["name"]), if members.is_empty() { "nobody" } else { &members })
}
