//! One scan of one folder.

use std::{path::PathBuf, time::Duration};

use super::{
    Inner, PATIENCE_LOOK,
    look::{Eye, Look, look},
    plan::plan,
};
use crate::domain::{
    error::StoreError,
    folder::{FileChange, Folder, FolderFault, Hold, KnownFile, Scanned, WatchedFile},
};

/// Files that one scan takes in; the next one follows at once when there are more.
const TAKES: usize = 200;
/// A folder is looked at for at most one part of the time in so many.
const SHARE: u32 = 10;
/// Intervals after which a folder that another node scanned counts as left alone.
const STALE: u32 = 3;

impl Inner {
    /// Scans a folder that is due, if it can be read here and nobody else does so. Gives whether the next scan is due at
    /// once.
    pub(super) async fn look_after(&self, folder: Folder) -> bool {
        match self.scan(&folder).await {
            Ok(more) => more,
            Err(StoreError::Conflict(_)) => {
                tracing::info!(folder = folder.path, "another scanner has the folder");
                false
            }
            Err(error) => {
                tracing::warn!(folder = folder.path, %error, "a watched folder was not scanned to the end");
                false
            }
        }
    }

    async fn scan(&self, folder: &Folder) -> Result<bool, StoreError> {
        let config = &self.config;
        if let Err(fault) = self.check(folder.id, &folder.path).await {
            if folder.fault != Some(fault) {
                self.told(folder, fault);
                let stale = config.interval * STALE;
                self.store.report_fault(folder.id, &config.node, fault, self.clock.now(), stale).await?;
            }
            return Ok(false);
        }
        let claim = self.store.claim_folder(folder.id, &config.node, self.clock.now(), config.lease);
        let Some(hold) = claim.await? else { return Ok(false) };
        tokio::select! {
            biased;
            scanned = self.scan_held(folder, hold) => scanned,
            lost = self.keep(hold) => Err(lost),
        }
    }

    /// Logs a fault once, not with every scan.
    fn told(&self, folder: &Folder, fault: FolderFault) {
        if folder.fault != Some(fault) {
            tracing::warn!(folder = folder.path, code = fault.code(), "a watched folder cannot be followed: {fault}");
        }
    }

    /// Beats until the folder is lost. A store that does not answer for a while is no reason: the lease tells.
    async fn keep(&self, hold: Hold) -> StoreError {
        loop {
            tokio::time::sleep(self.config.lease / 4).await;
            match self.store.hold_folder(hold, self.clock.now(), self.config.lease).await {
                Ok(()) => {}
                Err(StoreError::Unavailable(reason)) => tracing::warn!(reason, "a heartbeat was not stored"),
                Err(error) => return error,
            }
        }
    }

    async fn scan_held(&self, folder: &Folder, hold: Hold) -> Result<bool, StoreError> {
        let began = self.clock.now();
        let seen = self.look(folder).await;
        let known = self.store.known_files(folder.id).await?;
        let planned = seen.and_then(|look| Ok((plan(known, &look, folder.root, began)?, look)));
        // Taking files in is work that is wanted; only looking has to be cheap.
        let pause = self.config.interval.max(self.clock.now().since(began) * SHARE);
        let (plan, look) = match planned {
            Ok(planned) => planned,
            Err(fault) => {
                self.told(folder, fault);
                self.store.fail_scan(hold, fault, self.clock.now(), pause).await?;
                return Ok(false);
            }
        };
        self.store.change_files(hold, &plan.note, self.clock.now()).await?;
        let waiting = plan.take.len();
        let taken = self.take_all(folder, hold, plan.take).await?;
        let more = waiting > TAKES && taken > 0;
        // Not always the same ones, when there are many.
        let mut retry = plan.retry;
        let turn = usize::try_from(began.0 / 1000).unwrap_or(0).checked_rem(retry.len()).unwrap_or(0);
        retry.rotate_left(turn);
        self.take_all(folder, hold, retry).await?;
        for file in plan.forget {
            self.forget(hold, file).await?;
        }
        let scanned = Scanned { root: look.root, skipped: look.skipped, node: self.config.node.clone() };
        let pause = if more { Duration::ZERO } else { pause };
        self.store.end_scan(hold, &scanned, self.clock.now(), pause).await?;
        Ok(more)
    }

    /// Takes in the first of these files. Gives how many stand otherwise now.
    async fn take_all(&self, folder: &Folder, hold: Hold, files: Vec<KnownFile>) -> Result<usize, StoreError> {
        let mut taken = 0;
        for known in files.into_iter().take(TAKES) {
            let before = known.file.clone();
            match self.take(folder, known).await? {
                Some(file) if file != before => {
                    self.store.change_files(hold, &[FileChange::Is(file)], self.clock.now()).await?;
                    taken += 1;
                }
                _ => {}
            }
        }
        Ok(taken)
    }

    async fn look(&self, folder: &Folder) -> Result<Look, FolderFault> {
        let (path, own) = (PathBuf::from(&folder.path), self.config.own.clone());
        let extractor = std::sync::Arc::clone(&self.ingest.inner.ports.extractor);
        self.read(folder.id, PATIENCE_LOOK, move |stop| {
            let reads = |name: &str| extractor.file_type(name).is_some();
            look(&path, &Eye { own: &own, reads: &reads, stops: &|| stop.is_cancelled() })
        })
        .await
    }

    /// Deletes the document of a file that is gone, unless someone else has uploaded it since.
    async fn forget(&self, hold: Hold, file: WatchedFile) -> Result<(), StoreError> {
        // Whoever was paused for long must not delete what another scanner has seen come back.
        self.store.hold_folder(hold, self.clock.now(), self.config.lease).await?;
        if let Some(document) = self.store.document_of_file(hold.folder, &file.name).await? {
            match self.ingest.remove(document).await {
                Ok(_) | Err(StoreError::NotFound) => {}
                Err(error) => return Err(error),
            }
        }
        self.store.change_files(hold, &[FileChange::Gone(file.name)], self.clock.now()).await
    }
}
