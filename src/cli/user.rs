//! `askback user add`.

use std::io::Read;

use askback::{boot::invite_code, config::Config};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

use super::{
    Failure,
    args::UserCommand,
    link::{self, Link},
    output,
};

/// Longest password that is read, in bytes.
const LONGEST: u64 = 4096;

pub(crate) async fn run(config: Config, command: UserCommand) -> Result<(), Failure> {
    let UserCommand::Add { name, role, password_stdin: _ } = command;
    let password = read_password()?;
    let link = Link::open(&config).await?;
    let added = add(&link, &config, &name, role.as_str(), &password).await;
    link.close().await?;
    added
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

fn read_password() -> Result<SecretString, Failure> {
    let mut text = String::new();
    std::io::stdin().take(LONGEST).read_to_string(&mut text)?;
    let password = text.strip_suffix('\n').unwrap_or(&text);
    let password = password.strip_suffix('\r').unwrap_or(password);
    if password.is_empty() {
        return Err(Failure::Usage("standard input holds no password; pipe it in".into()));
    }
    Ok(password.into())
}
