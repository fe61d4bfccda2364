//! `askback serve`.

use std::pin::pin;

use askback::{
    boot::{BootError, Node},
    config::Config,
    telemetry::Metrics,
};
use secrecy::ExposeSecret;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{Failure, output};

pub(crate) async fn run(config: Config) -> Result<(), Failure> {
    let mut signals = Signals::new()?;
    let metrics = Metrics::start().map_err(|error| Failure::Failed(error.to_string()))?;
    let node = Node::start(&config, metrics).await?;
    show_new_invite_code(&node);
    let (listener, bound) = match node.listen(&config.server.listen).await {
        Ok(listening) => listening,
        Err(error) => return stop(node, error).await,
    };
    if config.server.sample {
        let indexed = tokio::select! {
            indexed = node.index_sample() => indexed,
            () = signals.next() => Ok(0),
        };
        match indexed {
            Ok(0) => {}
            Ok(count) => output::note(&format!("indexed {count} sample documents")),
            Err(error) => return stop(node, error).await,
        }
    }
    if let Err(error) = node.watch(&config).await {
        return stop(node, error).await;
    }
    if signals.came {
        node.stop().await;
        return Ok(());
    }
    output::line(&format!("listening on http://{bound}"))?;

    let shutdown = node.app.shutdown.clone();
    let mut serving = pin!(node.serve(listener, bound));
    tokio::select! {
        served = &mut serving => return Ok(served?),
        () = signals.next() => shutdown.cancel(),
    }
    tokio::select! {
        served = serving => Ok(served?),
        () = signals.next() => {
            Err(Failure::Failed("stopped at the second signal; the next start ends what was left".into()))
        }
    }
}

/// Shows the invite code if this start made it, whichever command started the node first.
pub(crate) fn show_new_invite_code(node: &Node) {
    if let Some(code) = &node.new_invite_code {
        output::note(&format!(
            "admin invite code: {}\n(shown once; whoever registers with it becomes an admin; kept in {})",
            code.expose_secret(),
            node.folder.path("admin-invite-code").display()
        ));
    }
}

async fn stop(node: Node, error: BootError) -> Result<(), Failure> {
    node.stop().await;
    Err(error.into())
}

/// SIGTERM and SIGINT.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    came: bool,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            came: false,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
        self.came = true;
    }
}
