//! The command line's way into a running server: its address and a token, in the data folder, for its owner alone.

use std::{convert::Infallible, net::SocketAddr, time::Duration};

use serde::{Deserialize, Serialize};

use super::folder::{DataFolder, FolderError};
use crate::{
    http::App,
    services::auth::{Accounts, AuthError},
};

/// Its name in the data folder.
pub const FILE: &str = "local-door.json";
/// Access tokens live for a minute at least.
const RENEW: Duration = Duration::from_secs(30);

/// What the file holds.
#[derive(Clone, Serialize, Deserialize)]
pub struct Door {
    /// `http://127.0.0.1:8080`
    pub url: String,
    /// An access token of the local admin.
    pub token: String,
}

/// The door of a server that runs over `folder`, or ran until it crashed.
///
/// # Errors
/// When the file is there and cannot be read.
pub fn find(folder: &DataFolder) -> Result<Option<Door>, FolderError> {
    let Some(text) = folder.read(FILE)? else { return Ok(None) };
    // A file of another version is as good as none: the server that wrote it is found by its lock.
    Ok(serde_json::from_str(&text).ok())
}

/// Opens the door. That it cannot be written does not keep the server from serving.
pub(super) async fn open(app: &App, folder: &DataFolder, bound: SocketAddr) {
    if let Err(error) = write(app, folder, bound).await {
        tracing::warn!(error, "the command line cannot reach this server");
    }
}

/// Keeps the door open: tokens end, so it is written anew before they do.
pub(super) async fn keep(app: &App, folder: &DataFolder, bound: SocketAddr) -> Infallible {
    loop {
        tokio::time::sleep(RENEW).await;
        open(app, folder, bound).await;
    }
}

async fn write(app: &App, folder: &DataFolder, bound: SocketAddr) -> Result<(), String> {
    let token = token(&app.accounts).await.map_err(|error| error.to_string())?;
    // A server that listens on every address is reached by this machine's own.
    let mut address = bound;
    if bound.ip().is_unspecified() {
        let loopback: std::net::IpAddr = match bound {
            SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
        };
        address.set_ip(loopback);
    }
    let door = Door { url: format!("http://{address}"), token };
    let text = serde_json::to_string(&door).map_err(|error| error.to_string())?;
    folder.write(FILE, &text).map_err(|error| error.to_string())
}

/// An access token of the local admin.
pub(super) async fn token(accounts: &Accounts) -> Result<String, AuthError> {
    let local = accounts.local_admin().await?;
    accounts.access_token(local.id).await
}
