//! `askback user`: accounts.

use std::io::Read;

use askback::{boot::invite_code, config::Config};
use reqwest::Method;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use super::{
    Failure,
    args::{UserCommand, UserRole},
    link::{self, Link},
    output::{self, words},
};

/// Longest password that is read, in bytes.
const LONGEST: u64 = 4096;

pub(crate) async fn run(config: Config, command: UserCommand) -> Result<(), Failure> {
    let password = match &command {
        UserCommand::Add { .. } => Some(read_password()?),
        _ => None,
    };
    let link = Link::open(&config).await?;
    let done = carry_out(&link, &config, command, password).await;
    link.close().await?;
    done
}

async fn carry_out(
    link: &Link,
    config: &Config,
    command: UserCommand,
    password: Option<SecretString>,
) -> Result<(), Failure> {
    match command {
        UserCommand::Add { name, role, password_stdin: _ } => {
            add(link, config, &name, role.as_str(), &password.ok_or_else(no_password)?).await
        }
        UserCommand::List { json } => list(link, json).await,
        UserCommand::Role { name, role, json } => change(link, &name, &role_change(role), json).await,
        UserCommand::Disable { name, json } => change(link, &name, &json!({ "disabled": true }), json).await,
        UserCommand::Enable { name, json } => change(link, &name, &json!({ "disabled": false }), json).await,
        UserCommand::Delete { name, json } => {
            let deleted: Value = link::read(link::send(link.at(Method::DELETE, &["users", &name])?).await?).await?;
            output::told(&deleted, json, |deleted| format!("deleted {}", words(&deleted["username"])))
        }
        UserCommand::Groups { name, add, remove, json } => groups(link, &name, &add, &remove, json).await,
    }
}

fn role_change(role: UserRole) -> Value {
    json!({ "role": role.as_str() })
}

async fn add(link: &Link, config: &Config, name: &str, role: &str, password: &SecretString) -> Result<(), Failure> {
    // Whoever owns the data folder may read the invite code, which is all that making an admin needs.
    let code = invite_code(config, &link.folder)?;
    let body = json!({
        "username": name,
        "password": password.expose_secret(),
        "role": role,
        "admin_code": code.as_ref().map(ExposeSecret::expose_secret),
    });
    link::send(link.post("/auth/register").json(&body)).await?;
    Ok(output::line(&format!("added {name} ({role})"))?)
}

async fn list(link: &Link, as_json: bool) -> Result<(), Failure> {
    let users = link.list("/users", "users").await?;
    if as_json {
        return Ok(output::json(&users)?);
    }
    for user in &users {
        output::line(&shown(user))?;
    }
    Ok(())
}

async fn change(link: &Link, name: &str, body: &Value, json: bool) -> Result<(), Failure> {
    let changed = link::send(link.at(Method::PATCH, &["users", name])?.json(body)).await?;
    output::told(&link::read(changed).await?, json, shown)
}

async fn groups(link: &Link, name: &str, add: &[String], remove: &[String], json: bool) -> Result<(), Failure> {
    for (groups, how) in [(add, "add"), (remove, "remove")] {
        for group in groups {
            let patch = json!({ how: [name] });
            link::send(link.at(Method::PATCH, &["groups", group])?.json(&patch)).await.map_err(|failure| {
                Failure::Failed(format!("group {group}: {failure}\nSee the groups that exist with: askback group list"))
            })?;
        }
    }
    let user = link::send(link.at(Method::GET, &["users", name])?).await?;
    output::told(&link::read(user).await?, json, shown)
}

/// An account in a line.
fn shown(user: &Value) -> String {
    let mut line = format!("{}  {}", words(&user["username"]), words(&user["role"]));
    if user["disabled"] == true {
        line.push_str("  disabled");
    }
    if user["groups"].as_array().is_some_and(|groups| !groups.is_empty()) {
        line.push_str("  in ");
        line.push_str(&words(&user["groups"]));
    }
    line
}

fn read_password() -> Result<SecretString, Failure> {
    let mut text = String::new();
    std::io::stdin().take(LONGEST).read_to_string(&mut text)?;
    let password = text.strip_suffix('\n').unwrap_or(&text);
    let password = password.strip_suffix('\r').unwrap_or(password);
    if password.is_empty() {
        return Err(no_password());
    }
    Ok(password.into())
}

fn no_password() -> Failure {
    Failure::Usage("standard input holds no password; pipe it in".into())
}
