//! Watched folders, scan by scan.

use std::{
    fs::{self, File},
    os::unix::fs::symlink,
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use askback::{
    domain::{
        error::StoreError,
        folder::{FileCounts, FolderFault, FolderStore, ListedFolder, Root, Scanned},
        job::JobKind,
        knowledge::DocumentStore,
        time::Clock,
    },
    services::ingest::folders::{FolderError, Folders, FoldersConfig},
};

use super::desk::{Desk, Setup, on_both_engines};
use crate::support::store::{Schema, TestClock};

on_both_engines!(
    files_come_change_and_go,
    a_file_that_grows_is_not_read_half,
    a_bad_file_is_not_tried_again_before_it_changes,
    a_folder_that_is_not_there_keeps_its_documents,
    what_leads_out_of_the_folder_is_not_read,
    of_two_scanners_one_takes_a_file_in,
    a_restart_takes_nothing_in_again,
    what_someone_else_uploaded_stays,
    a_document_that_was_deleted_comes_back_when_its_file_changes,
    a_name_belongs_to_one_folder,
    settings_name_folders_and_let_them_go,
    what_cannot_be_watched_is_refused,
);

const COLLECTION: &str = "handbooks";

/// A folder that is watched, and who takes its files in.
struct Watch {
    desk: Desk,
    folders: Folders,
    clock: Arc<TestClock>,
    home: tempfile::TempDir,
}

impl Watch {
    async fn open(schema: Option<Schema>) -> Self {
        let desk = Desk::closed(Setup { schema, ..Setup::default() }).await;
        desk.start().await;
        let home = tempfile::tempdir().unwrap();
        for folder in ["docs", "scratch", "own"] {
            fs::create_dir(home.path().join(folder)).unwrap();
        }
        let clock = TestClock::new();
        let folders = watcher(&desk, &clock, home.path(), "node");
        Self { desk, folders, clock, home }
    }

    /// The same with its folder watched.
    async fn started(schema: Option<Schema>) -> Self {
        let watch = Self::open(schema).await;
        watch.folders.add(watch.docs("").to_str().unwrap(), COLLECTION).await.unwrap();
        watch
    }

    fn docs(&self, name: &str) -> std::path::PathBuf {
        self.home.path().join("docs").join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.docs(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// One scan, and the jobs that it made.
    async fn scan(&self) {
        self.clock.forward(Duration::from_secs(5));
        self.folders.pass().await.unwrap();
        for listed in self.folders.list(None, 100).await.unwrap() {
            for known in self.desk.storage.known_files(listed.folder.id).await.unwrap() {
                if let Some(job) = known.file.job {
                    self.desk.ended_job(job).await;
                }
            }
        }
    }

    async fn scans(&self, times: usize) {
        for _ in 0..times {
            self.scan().await;
        }
    }

    async fn listed(&self) -> ListedFolder {
        let mut all = self.folders.list(None, 100).await.unwrap();
        assert_eq!(all.len(), 1);
        all.remove(0)
    }

    /// Files in all, those that answer, those that failed.
    async fn counts(&self) -> (i64, i64, i64) {
        let FileCounts { files, ready, failed } = self.listed().await.counts;
        (files, ready, failed)
    }

    /// Name and current version of each document, by name.
    async fn documents(&self) -> Vec<(String, Option<i64>)> {
        let all = self.desk.storage.documents(Some(COLLECTION), None, 100).await.unwrap();
        let mut all: Vec<_> = all.into_iter().map(|document| (document.filename, document.current_no)).collect();
        all.sort();
        all
    }

    /// How many uploads there were.
    async fn jobs(&self) -> usize {
        self.desk.ingest.jobs(JobKind::Ingest, None, 1000).await.unwrap().len()
    }

    async fn close(self) {
        self.desk.close().await;
    }
}

fn watcher(desk: &Desk, clock: &Arc<TestClock>, home: &Path, node: &str) -> Folders {
    // On Postgres pauses go by the server's time, which no test can move.
    let config =
        FoldersConfig { interval: Duration::ZERO, ..FoldersConfig::new(node, home.join("scratch"), home.join("own")) };
    let clock = Arc::clone(clock) as Arc<dyn Clock>;
    Folders::new(desk.ingest.clone(), Arc::new(desk.storage.clone()), clock, config)
}

fn document(name: &str, version: i64) -> (String, Option<i64>) {
    (name.into(), Some(version))
}

async fn files_come_change_and_go(schema: Option<Schema>) {
    let watch = Watch::started(schema).await;
    watch.write("readme.md", "# Ferry\n\nThe ferry leaves at nine.\n");
    watch.write("sub/readme.md", "# Train\n\nThe train leaves at ten.\n");
    watch.write(".hidden/readme.md", "# Secret\n");
    watch.write("~$plan.docx", "an open document's lock");
    watch.write("picture.xyz", "no document");
    watch.scan().await;
    assert!(watch.documents().await.is_empty(), "seen once");
    assert_eq!(watch.counts().await, (2, 0, 0));
    watch.scan().await;
    assert_eq!(watch.documents().await, [document("readme.md", 1), document("sub/readme.md", 1)]);
    let listed = watch.listed().await;
    assert_eq!((listed.counts.ready, listed.folder.skipped, listed.folder.fault), (2, 1, None));
    assert_eq!(watch.desk.best("ferry leaves").await.unwrap().1, "Ferry\n\nThe ferry leaves at nine.");

    watch.write("readme.md", "# Ferry\n\nThe ferry leaves at half past eleven.\n");
    fs::remove_file(watch.docs("sub/readme.md")).unwrap();
    watch.scan().await;
    assert_eq!(watch.documents().await, [document("readme.md", 1), document("sub/readme.md", 1)], "seen once");
    watch.scan().await;
    assert_eq!(watch.documents().await, [document("readme.md", 2)]);
    assert_eq!(watch.desk.best("ferry leaves").await.unwrap().1, "Ferry\n\nThe ferry leaves at half past eleven.");
    assert_eq!(watch.desk.leaves().await, 1);

    // All of it may go, too.
    fs::remove_file(watch.docs("readme.md")).unwrap();
    watch.scans(2).await;
    assert!(watch.documents().await.is_empty());
    assert_eq!(watch.counts().await, (0, 0, 0));
    watch.close().await;
}

async fn a_file_that_grows_is_not_read_half(schema: Option<Schema>) {
    let watch = Watch::started(schema).await;
    let mut text = String::from("# Log\n");
    for line in 0..3 {
        text.push_str(&format!("\nLine {line} of the log.\n"));
        watch.write("log.md", &text);
        watch.scan().await;
        assert_eq!((watch.documents().await, watch.jobs().await), (Vec::new(), 0));
    }
    watch.scan().await;
    assert_eq!(watch.documents().await, [document("log.md", 1)]);
    assert!(watch.desk.text("log.md").await.contains("Line 2"));

    // An editor that replaces a file by two steps leaves it away for a moment.
    fs::rename(watch.docs("log.md"), watch.docs("log.md~")).unwrap();
    watch.scan().await;
    fs::rename(watch.docs("log.md~"), watch.docs("log.md")).unwrap();
    watch.scans(3).await;
    assert_eq!((watch.documents().await, watch.jobs().await), (vec![document("log.md", 1)], 1));
    watch.close().await;
}

async fn a_bad_file_is_not_tried_again_before_it_changes(schema: Option<Schema>) {
    let watch = Watch::started(schema).await;
    watch.write("broken.pdf", "no PDF");
    watch.write("empty.md", "");
    watch.write("good.md", "# Good\n\nA good text.\n");
    watch.write(&format!("{}.md", "长".repeat(80)), "# Long\n\nA long name.\n");
    watch.scans(2).await;
    let bad: Vec<_> = watch.listed().await.bad_files.into_iter().map(|bad| (bad.name, bad.error_code)).collect();
    let file = |name: &str, code: &str| (name.to_owned(), code.to_owned());
    assert_eq!(bad, [file("broken.pdf", "malformed"), file("empty.md", "empty_file")]);
    assert_eq!((watch.counts().await, watch.jobs().await), ((4, 2, 2), 3));
    watch.scans(3).await;
    assert_eq!(watch.jobs().await, 3);

    // A new time is no new content.
    let touched = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    for name in ["broken.pdf", "good.md"] {
        File::options().write(true).open(watch.docs(name)).unwrap().set_modified(touched).unwrap();
    }
    watch.scans(3).await;
    assert_eq!((watch.counts().await, watch.jobs().await), ((4, 2, 2), 3));

    watch.write("broken.pdf", "no PDF either");
    watch.write("empty.md", "# Full\n\nIt says something.\n");
    watch.scans(3).await;
    assert_eq!((watch.counts().await, watch.jobs().await), ((4, 3, 1), 5));
    fs::remove_file(watch.docs("broken.pdf")).unwrap();
    watch.scans(2).await;
    assert_eq!((watch.counts().await, watch.listed().await.bad_files), ((3, 3, 0), Vec::new()));
    assert!(!watch.documents().await.iter().any(|(name, _)| name == "broken.pdf"), "not even its failure is listed");
    watch.close().await;
}

async fn a_folder_that_is_not_there_keeps_its_documents(schema: Option<Schema>) {
    let watch = Watch::started(schema).await;
    for name in ["a.md", "b.md"] {
        watch.write(name, &format!("# {name}\n\nA text.\n"));
    }
    watch.scans(2).await;
    let documents = [document("a.md", 1), document("b.md", 1)];
    let scanned_at = watch.listed().await.folder.scanned_at;
    let (docs, away) = (watch.home.path().join("docs"), watch.home.path().join("away"));

    fs::rename(&docs, &away).unwrap();
    watch.scans(3).await;
    let folder = watch.listed().await.folder;
    assert_eq!((folder.fault, folder.scanned_at), (Some(FolderFault::NotFound), scanned_at));
    assert_eq!(watch.documents().await, documents);
    fs::write(&docs, "no folder").unwrap();
    watch.scan().await;
    assert_eq!(watch.listed().await.folder.fault, Some(FolderFault::NotAFolder));
    fs::remove_file(&docs).unwrap();

    // The place of a disk that is not mounted is an empty folder.
    fs::create_dir(&docs).unwrap();
    watch.scans(3).await;
    assert_eq!(watch.listed().await.folder.fault, Some(FolderFault::FolderReplaced));
    assert_eq!(watch.documents().await, documents);
    fs::remove_dir(&docs).unwrap();

    fs::rename(&away, &docs).unwrap();
    watch.scans(2).await;
    assert_eq!(watch.listed().await.folder.fault, None);
    assert_eq!((watch.documents().await, watch.jobs().await), (documents.to_vec(), 2));
    watch.close().await;
}

async fn what_leads_out_of_the_folder_is_not_read(schema: Option<Schema>) {
    let watch = Watch::started(schema).await;
    let outside = watch.home.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret.md"), "# Secret\n").unwrap();
    watch.write("real.md", "# Real\n\nIt lies here.\n");
    symlink(outside.join("secret.md"), watch.docs("secret.md")).unwrap();
    symlink(&outside, watch.docs("outside")).unwrap();
    symlink("..", watch.docs("up")).unwrap();
    symlink(watch.docs("loop.md"), watch.docs("loop.md")).unwrap();
    symlink("real.md", watch.docs("inner.md")).unwrap();
    watch.scans(2).await;
    assert_eq!(watch.documents().await, [document("inner.md", 1), document("real.md", 1)]);

    // What was a file becomes a link between two looks.
    fs::remove_file(watch.docs("real.md")).unwrap();
    symlink(outside.join("secret.md"), watch.docs("real.md")).unwrap();
    watch.scans(3).await;
    assert!(watch.documents().await.is_empty());
    watch.close().await;
}

async fn of_two_scanners_one_takes_a_file_in(schema: Option<Schema>) {
    let watch = Watch::started(schema).await;
    let other = watcher(&watch.desk, &watch.clock, watch.home.path(), "other");
    for no in 0..20 {
        watch.write(&format!("{no}.md"), &format!("# {no}\n\nText number {no}.\n"));
    }
    for _ in 0..4 {
        watch.clock.forward(Duration::from_secs(5));
        let (one, two) = tokio::join!(watch.folders.pass(), other.pass());
        one.and(two).unwrap();
    }
    watch.scan().await;
    assert_eq!((watch.counts().await, watch.jobs().await), ((20, 20, 0), 20));
    watch.close().await;
}

async fn a_restart_takes_nothing_in_again(schema: Option<Schema>) {
    let mut watch = Watch::started(schema).await;
    watch.write("a.md", "# A\n\nA text.\n");
    watch.scan().await;
    watch.folders = watcher(&watch.desk, &watch.clock, watch.home.path(), "node");
    watch.scan().await;
    assert_eq!(watch.documents().await, [document("a.md", 1)], "what was seen before counts");
    watch.folders = watcher(&watch.desk, &watch.clock, watch.home.path(), "node");
    watch.scans(3).await;
    assert_eq!(watch.jobs().await, 1);
    watch.close().await;
}

async fn what_someone_else_uploaded_stays(schema: Option<Schema>) {
    let watch = Watch::started(schema).await;
    for name in ["mine.md", "ours.md"] {
        watch.write(name, "# Text\n\nOf the folder.\n");
    }
    // There before, with the same content: it is the folder's from now on.
    let before = watch.desk.submit_to(COLLECTION, "mine.md", b"# Text\n\nOf the folder.\n").await.unwrap();
    watch.desk.ended(&before).await;
    watch.scans(2).await;
    let uploaded = watch.desk.submit_to(COLLECTION, "ours.md", b"# Text\n\nOf an admin.\n").await.unwrap();
    watch.desk.ended(&uploaded).await;
    let elsewhere = watch.desk.submit_to("elsewhere", "mine.md", b"# Text\n\nOf an admin.\n").await.unwrap();
    watch.desk.ended(&elsewhere).await;
    watch.scans(2).await;
    assert_eq!(watch.documents().await, [document("mine.md", 1), document("ours.md", 2)], "the last upload answers");
    for name in ["mine.md", "ours.md"] {
        fs::remove_file(watch.docs(name)).unwrap();
    }
    watch.scans(2).await;
    assert_eq!(watch.documents().await, [document("ours.md", 2)]);
    assert_eq!(watch.desk.storage.documents(Some("elsewhere"), None, 9).await.unwrap().len(), 1);
    watch.close().await;
}

async fn a_document_that_was_deleted_comes_back_when_its_file_changes(schema: Option<Schema>) {
    let watch = Watch::started(schema).await;
    watch.write("a.md", "# A\n\nOld.\n");
    watch.scans(2).await;
    watch.desk.ingest.delete("a.md", None).await.unwrap();
    watch.scans(3).await;
    assert!(watch.documents().await.is_empty());
    watch.write("a.md", "# A\n\nNewer.\n");
    watch.scans(2).await;
    assert_eq!(watch.documents().await, [document("a.md", 1)]);
    watch.close().await;
}

async fn a_name_belongs_to_one_folder(schema: Option<Schema>) {
    let watch = Watch::started(schema).await;
    watch.write("readme.md", "# First\n\nOf the first folder.\n");
    watch.scans(2).await;
    let second = watch.home.path().join("second");
    fs::create_dir(&second).unwrap();
    fs::write(second.join("readme.md"), "# Second\n\nOf the second folder.\n").unwrap();
    let second = second.to_str().unwrap().to_owned();
    watch.folders.add(&second, COLLECTION).await.unwrap();
    watch.scans(3).await;
    let of = async |path: &str| {
        let all = watch.folders.list(None, 100).await.unwrap();
        all.into_iter().find(|listed| listed.folder.path == path).unwrap()
    };
    let refused = of(&second).await;
    assert_eq!(refused.bad_files[0].error_code, "name_taken");
    assert_eq!(watch.documents().await, [document("readme.md", 1)]);

    // In another collection it is another document.
    watch.folders.add(&second, "other").await.unwrap();
    watch.scans(2).await;
    assert_eq!(watch.desk.storage.documents(Some("other"), None, 9).await.unwrap().len(), 1);

    // The name is free when its file goes.
    fs::remove_file(watch.docs("readme.md")).unwrap();
    watch.scans(4).await;
    assert_eq!(watch.documents().await, [document("readme.md", 1)]);
    let ready = watch.folders.list(None, 100).await.unwrap().iter().map(|listed| listed.counts.ready).sum::<i64>();
    assert_eq!(ready, 2);

    let removed = watch.folders.remove(&second, None).await;
    assert_eq!(removed, Err(FolderError::Ambiguous(vec![COLLECTION.into(), "other".into()])));
    watch.folders.remove(&second, Some("other")).await.unwrap();
    watch.scans(2).await;
    assert_eq!(watch.desk.storage.documents(Some("other"), None, 9).await.unwrap().len(), 1, "its documents stay");
    watch.close().await;
}

async fn settings_name_folders_and_let_them_go(schema: Option<Schema>) {
    let watch = Watch::open(schema).await;
    let start = async |names: &[&str]| {
        let named: Vec<_> = names.iter().map(|name| (watch.home.path().join(name), COLLECTION.to_owned())).collect();
        let (tasks, stop) = (tokio_util::task::TaskTracker::new(), tokio_util::sync::CancellationToken::new());
        stop.cancel();
        watch.folders.start(&named, &tasks, &stop).await
    };
    let paths = async || {
        let all = watch.folders.list(None, 100).await.unwrap();
        all.into_iter().map(|listed| (listed.folder.path, listed.folder.node)).collect::<Vec<_>>()
    };
    let path = |name: &str| watch.home.path().join(name).to_str().unwrap().to_owned();
    watch.folders.add(&path("docs"), COLLECTION).await.unwrap();
    // One that is not there yet is no reason not to start.
    start(&["later", "docs"]).await.unwrap();
    let node = Some("node".to_owned());
    assert_eq!(paths().await, [(path("docs"), None), (path("later"), node.clone())]);
    watch.scan().await;
    let faults: Vec<_> =
        watch.folders.list(None, 100).await.unwrap().into_iter().map(|listed| listed.folder.fault).collect();
    assert_eq!(faults, [None, Some(FolderFault::NotFound)]);
    assert_eq!(watch.folders.remove(&path("later"), None).await, Err(FolderError::SetByConfig));

    let other = watcher(&watch.desk, &watch.clock, watch.home.path(), "other");
    let (tasks, stop) = (tokio_util::task::TaskTracker::new(), tokio_util::sync::CancellationToken::new());
    stop.cancel();
    other.start(&[], &tasks, &stop).await.unwrap();
    assert_eq!(paths().await.len(), 2, "another node's settings say nothing of this one's");
    start(&[]).await.unwrap();
    assert_eq!(paths().await, [(path("docs"), None)]);
    assert_eq!(start(&["a\0b"]).await, Err(FolderError::Path));
    watch.close().await;
}

async fn what_cannot_be_watched_is_refused(schema: Option<Schema>) {
    let watch = Watch::started(schema).await;
    let path = |name: &str| watch.home.path().join(name).to_str().unwrap().to_owned();
    watch.write("a.md", "# A\n");
    fs::create_dir(watch.home.path().join("own/blobs")).unwrap();
    for (name, fault) in [
        ("nowhere", FolderFault::NotFound),
        ("docs/a.md", FolderFault::NotAFolder),
        ("docs/a.md/b", FolderFault::NotAFolder),
        ("own", FolderFault::NotReadable),
        ("own/blobs", FolderFault::NotReadable),
    ] {
        let refused = watch.folders.add(&path(name), COLLECTION).await;
        assert_eq!(refused, Err(FolderError::Fault(fault)), "{name}");
    }
    let again = watch.folders.add(&format!("{}/./", path("docs")), COLLECTION).await;
    assert_eq!(again, Err(FolderError::AlreadyWatched));
    assert_eq!(watch.folders.add(&path("docs"), " ").await, Err(FolderError::Collection));
    assert_eq!(watch.folders.add("", COLLECTION).await, Err(FolderError::Path));
    assert_eq!(watch.folders.list(None, 100).await.unwrap().len(), 1);

    // askback's own files are no documents, wherever they lie.
    watch.folders.remove(&path("docs"), None).await.unwrap();
    fs::write(watch.home.path().join("own/door.json"), "{\"token\": \"secret\"}").unwrap();
    fs::remove_dir_all(watch.home.path().join("scratch")).unwrap();
    fs::create_dir(watch.home.path().join("own/scratch")).unwrap();
    watch.folders.add(&path(""), COLLECTION).await.unwrap();
    watch.scan().await;
    let known = watch.desk.storage.known_files(watch.listed().await.folder.id).await.unwrap();
    let names: Vec<_> = known.iter().map(|known| known.file.name.as_str()).collect();
    assert_eq!(names, ["docs/a.md"]);
    watch.close().await;
}

/// A folder as two processes see it whose clocks are an hour apart.
async fn folders_go_by_the_database(is_first_ahead: bool) {
    const LEASE: Duration = Duration::from_secs(60 * 60);
    let Some(schema) = Schema::make().await else { return };
    let watch = Watch::open(Some(schema.clone())).await;
    watch.folders.add(watch.docs("").to_str().unwrap(), COLLECTION).await.unwrap();
    let (store, folder) = (&watch.desk.storage, watch.listed().await.folder.id);
    let (here, there) = (TestClock::new(), TestClock::new());
    if is_first_ahead { &here } else { &there }.forward(2 * LEASE);
    let due = async |clock: &TestClock| store.due_folders(clock.now(), 9).await.unwrap().len();
    let claim = async |clock: &TestClock| store.claim_folder(folder, "node", clock.now(), LEASE).await.unwrap();
    let scanned = || Scanned { root: Root { device: 1, inode: 2 }, skipped: 0, node: "here".into() };

    // Whoever has it keeps it while it lives, and loses it when it dies, whatever anyone's clock says.
    assert_eq!((due(&here).await, due(&there).await), (1, 1));
    let first = claim(&here).await.unwrap();
    assert_eq!((due(&there).await, claim(&there).await), (0, None));
    store.hold_folder(first, here.now(), LEASE).await.unwrap();
    store.change_files(first, &[], here.now()).await.unwrap();
    assert_eq!(claim(&there).await, None);
    store.hold_folder(first, here.now(), Duration::ZERO).await.unwrap();
    let second = claim(&there).await.unwrap();
    let late = store.end_scan(first, &scanned(), here.now(), LEASE).await;
    assert!(matches!(late, Err(StoreError::Conflict(_))), "{late:?}");

    // A pause is as long for both, and so is the time for which a folder counts as read.
    store.end_scan(second, &scanned(), there.now(), Duration::ZERO).await.unwrap();
    assert_eq!((due(&here).await, due(&there).await), (1, 1));
    for clock in [&here, &there] {
        store.report_fault(folder, "other", FolderFault::NotFound, clock.now(), LEASE).await.unwrap();
        assert_eq!(watch.listed().await.folder.fault, None);
    }
    let third = claim(&here).await.unwrap();
    store.fail_scan(third, FolderFault::TooManyFiles, here.now(), LEASE).await.unwrap();
    assert_eq!((due(&here).await, due(&there).await), (0, 0));
    watch.close().await;
    schema.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_is_behind_keeps_its_folders_while_it_lives() {
    folders_go_by_the_database(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_is_ahead_loses_its_folders_when_it_dies() {
    folders_go_by_the_database(true).await;
}
