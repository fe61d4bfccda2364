//! Comparing what lies in a folder with what was known of it. Nothing is done here.

use std::{collections::BTreeMap, time::Duration};

use super::look::{Found, Look};
use crate::domain::{
    folder::{FileChange, FileJob, FolderFault, KnownFile, Root, WatchedFile},
    job::JobState,
    time::Millis,
};

/// The code of a file that could not be opened: it is tried again with each scan.
pub(super) const NOT_READABLE: &str = "not_readable";
/// The code of a file that no document can be called like.
pub(super) const INVALID_NAME: &str = "invalid_name";
/// The codes of a job that something else than its file kept from success: what did not answer, and an embedder whose
/// vectors do not fit.
const INNOCENT: [&str; 2] = ["attempts_exhausted", "index_rejected"];
/// How long such a file is left alone.
const REST: Duration = Duration::from_secs(60 * 60);

/// What follows from a look.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// What is to be written down.
    pub(super) note: Vec<FileChange>,
    /// Files that looked the same twice: to be taken in, unless what they say is known.
    pub(super) take: Vec<KnownFile>,
    /// Files that could not be taken in, through no fault of theirs: they may fare better now.
    pub(super) retry: Vec<KnownFile>,
    /// Files that two looks did not see: their documents go.
    pub(super) forget: Vec<WatchedFile>,
}

/// Compares `look` with what is known; `before` is what stood at the folder's path then.
///
/// A file is taken in, and a document goes, only when two looks agree: one may fall into the middle of a copy, or between
/// the two steps in which an editor replaces a file.
pub(super) fn plan(known: Vec<KnownFile>, look: &Look, before: Option<Root>, now: Millis) -> Result<Plan, FolderFault> {
    let mut known: BTreeMap<String, KnownFile> =
        known.into_iter().map(|known| (known.file.name.clone(), known)).collect();
    let there = look.found.iter().filter(|found| known.contains_key(&found.name)).count();
    // An empty place for a disk looks like a folder from which everything was removed.
    if before.is_some_and(|before| before != look.root) && there * 2 < known.len() {
        return Err(FolderFault::FolderReplaced);
    }
    let mut plan = Plan::default();
    for found in &look.found {
        match known.remove(&found.name) {
            None => plan.note.push(FileChange::Is(first_seen(found))),
            Some(known) => plan.seen_again(known, found, now),
        }
    }
    for (name, known) in known {
        if look.unread.iter().any(|part| name.starts_with(part.as_str())) {
            continue;
        }
        if known.file.is_missing {
            plan.forget.push(known.file);
        } else {
            plan.note.push(FileChange::Is(WatchedFile { is_missing: true, ..known.file }));
        }
    }
    Ok(plan)
}

fn first_seen(found: &Found) -> WatchedFile {
    let file = WatchedFile {
        name: found.name.clone(),
        stamp: found.stamp,
        is_settled: false,
        is_missing: false,
        sha256: None,
        document: None,
        job: None,
        refused: None,
    };
    if found.has_good_name {
        return file;
    }
    let why =
        "A document cannot be called so: the path from the folder must have at most 255 characters, all of them text.";
    WatchedFile { is_settled: true, refused: Some((INVALID_NAME.into(), why.into())), ..file }
}

impl Plan {
    fn seen_again(&mut self, known: KnownFile, found: &Found, now: Millis) {
        let KnownFile { file, job } = known;
        let was_missing = file.is_missing;
        let file = WatchedFile { is_missing: false, ..file };
        if !found.has_good_name {
            if was_missing || file.stamp != found.stamp {
                self.note.push(FileChange::Is(WatchedFile { stamp: found.stamp, ..file }));
            }
        } else if file.stamp != found.stamp {
            self.note.push(FileChange::Is(WatchedFile {
                stamp: found.stamp,
                is_settled: false,
                refused: None,
                ..file
            }));
        } else if !file.is_settled {
            self.take.push(KnownFile { file, job });
        } else if wants_another_try(&file, job.as_ref(), now) {
            self.retry.push(KnownFile { file, job });
        } else if was_missing {
            self.note.push(FileChange::Is(file));
        }
    }
}

/// Whether a file that has not changed may fare better now: what failed it was not its own fault.
fn wants_another_try(file: &WatchedFile, job: Option<&FileJob>, now: Millis) -> bool {
    match (&file.refused, job) {
        (Some((code, _)), _) => code == NOT_READABLE,
        (None, Some(job)) => failed_innocently(job) && job.updated_at + REST <= now,
        (None, None) => false,
    }
}

/// Whether what failed the job was not its file.
pub(super) fn failed_innocently(job: &FileJob) -> bool {
    job.state == JobState::Failed && job.error_code.as_deref().is_some_and(|code| INNOCENT.contains(&code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::folder::Stamp;

    const NOW: Millis = Millis(10_000_000);
    const ROOT: Root = Root { device: 1, inode: 2 };
    const OTHER: Root = Root { device: 7, inode: 2 };

    fn stamp(modified: i64) -> Stamp {
        Stamp { bytes: 9, modified, changed: modified }
    }

    fn found(name: &str, modified: i64) -> Found {
        Found { name: name.into(), stamp: stamp(modified), has_good_name: true }
    }

    fn look(found: Vec<Found>) -> Look {
        Look { root: ROOT, found, unread: Vec::new(), skipped: 0 }
    }

    fn seen(name: &str, modified: i64) -> WatchedFile {
        first_seen(&found(name, modified))
    }

    fn settled(name: &str, modified: i64) -> WatchedFile {
        WatchedFile { is_settled: true, sha256: Some("a".into()), ..seen(name, modified) }
    }

    fn known(file: WatchedFile) -> KnownFile {
        KnownFile { file, job: None }
    }

    fn planned(before: Vec<WatchedFile>, now: Vec<Found>) -> Plan {
        plan(before.into_iter().map(known).collect(), &look(now), Some(ROOT), NOW).unwrap()
    }

    #[test]
    fn a_file_is_taken_in_when_two_looks_agree() {
        let noted = FileChange::Is(seen("a", 1));
        assert_eq!(planned(vec![], vec![found("a", 1)]), Plan { note: vec![noted], ..Plan::default() });
        let grown = FileChange::Is(seen("a", 2));
        assert_eq!(planned(vec![seen("a", 1)], vec![found("a", 2)]), Plan { note: vec![grown], ..Plan::default() });
        let take = vec![known(seen("a", 2))];
        assert_eq!(planned(vec![seen("a", 2)], vec![found("a", 2)]), Plan { take, ..Plan::default() });
        assert_eq!(planned(vec![settled("a", 2)], vec![found("a", 2)]), Plan::default());
        let changed = FileChange::Is(WatchedFile { is_settled: false, ..settled("a", 3) });
        assert_eq!(
            planned(vec![settled("a", 2)], vec![found("a", 3)]),
            Plan { note: vec![changed], ..Plan::default() }
        );
    }

    #[test]
    fn a_document_goes_when_two_looks_agree() {
        let missing = WatchedFile { is_missing: true, ..settled("a", 1) };
        let note = vec![FileChange::Is(missing.clone())];
        assert_eq!(planned(vec![settled("a", 1)], vec![]), Plan { note, ..Plan::default() });
        let back = vec![FileChange::Is(settled("a", 1))];
        assert_eq!(planned(vec![missing.clone()], vec![found("a", 1)]), Plan { note: back, ..Plan::default() });
        assert_eq!(planned(vec![missing.clone()], vec![]), Plan { forget: vec![missing], ..Plan::default() });
    }

    #[test]
    fn what_could_not_be_read_is_not_missing() {
        let look = Look { unread: vec!["sub/".into()], ..look(vec![]) };
        let missing = WatchedFile { is_missing: true, ..settled("sub/a", 1) };
        let before = vec![known(settled("sub/b", 1)), known(missing)];
        assert_eq!(plan(before, &look, Some(ROOT), NOW), Ok(Plan::default()));
    }

    #[test]
    fn another_folder_without_the_files_is_none_from_which_they_were_removed() {
        let before = || ["a", "b", "c", "d"].map(|name| known(settled(name, 1))).to_vec();
        let replaced = |found: Vec<Found>, root| plan(before(), &Look { root, ..look(found) }, Some(ROOT), NOW);
        assert_eq!(replaced(vec![], OTHER), Err(FolderFault::FolderReplaced));
        assert_eq!(replaced(vec![found("a", 1), found("x", 1)], OTHER), Err(FolderFault::FolderReplaced));
        // A disk that was mounted anew has most of what it had.
        assert_eq!(replaced(vec![found("a", 1), found("b", 1)], OTHER).unwrap().note.len(), 2);
        assert_eq!(replaced(vec![], ROOT).unwrap().note.len(), 4);
        assert_eq!(plan(vec![], &Look { root: OTHER, ..look(vec![]) }, Some(ROOT), NOW), Ok(Plan::default()));
    }

    #[test]
    fn a_bad_file_is_left_alone_until_it_changes() {
        let refused = |code: &str| WatchedFile { refused: Some((code.into(), "no".into())), ..settled("a", 1) };
        assert_eq!(planned(vec![refused("empty_file")], vec![found("a", 1)]), Plan::default());
        let changed = FileChange::Is(WatchedFile { is_settled: false, refused: None, ..settled("a", 2) });
        let note = vec![changed];
        assert_eq!(planned(vec![refused("empty_file")], vec![found("a", 2)]), Plan { note, ..Plan::default() });
        assert_eq!(planned(vec![refused(NOT_READABLE)], vec![found("a", 1)]).retry.len(), 1);

        let failed = |code: &str, updated_at| {
            let job = FileJob { state: JobState::Failed, error_code: Some(code.into()), updated_at };
            let before = vec![KnownFile { file: settled("a", 1), job: Some(job) }];
            plan(before, &look(vec![found("a", 1)]), Some(ROOT), NOW).unwrap().retry.len()
        };
        let long_ago = Millis(NOW.0 - 60 * 60 * 1000);
        assert_eq!(failed("malformed", long_ago), 0);
        assert_eq!(INNOCENT.map(|code| (failed(code, NOW), failed(code, long_ago))), [(0, 1); 2]);
    }

    #[test]
    fn a_name_that_is_none_is_told_once() {
        let bad = Found { has_good_name: false, ..found("\u{fffd}.md", 1) };
        let first = planned(vec![], vec![bad.clone()]);
        let [FileChange::Is(file)] = &first.note[..] else { panic!("{first:?}") };
        assert_eq!((file.is_settled, file.refused.as_ref().unwrap().0.as_str()), (true, INVALID_NAME));
        assert_eq!(planned(vec![file.clone()], vec![bad]), Plan::default());
    }
}
