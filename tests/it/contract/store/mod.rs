//! The store's ports on SQLite and on Postgres.

mod accounts;
mod chats;
mod conversations;
mod documents;
mod episodes;
mod feedback;
mod history;
mod jobs;
mod keys;
mod memory;
mod opening;
mod profiles;
mod questions;
mod settings;
mod turns;
mod upkeep;
mod users;
mod writer;

use askback::domain::{
    evidence::Route,
    hitl::{Choice, Facet, OptionFilter, Question, Record},
    id::UserId,
    user::{Role, User, UserStore},
};

use crate::support::store::TestStore;

/// Makes each named function a test on both engines.
macro_rules! on_both_engines {
    ($($case:ident),+ $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $case() {
                let mut test = crate::support::store::TestStore::sqlite().await;
                super::$case(&mut test).await;
                test.remove().await;
            })+
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $case() {
                let Some(mut test) = crate::support::store::TestStore::postgres().await else { return };
                super::$case(&mut test).await;
                test.remove().await;
            })+
        }
    };
}
pub(crate) use on_both_engines;

fn account(test: &TestStore, name: &str) -> User {
    User {
        id: test.id(),
        name: name.into(),
        role: Role::User,
        password_hash: "$argon2id$…".into(),
        auth_epoch: 0,
        disabled_at: None,
        created_at: test.now(),
    }
}

async fn someone(test: &TestStore, name: &str) -> UserId {
    let user = account(test, name);
    test.store.add_user(&user, name).await.unwrap();
    user.id
}

/// A question with two options, `aurora` and `borealis`.
fn two_products() -> Record {
    let option = |id: &str, label: &str| Choice {
        id: id.into(),
        label: label.into(),
        aliases: Vec::new(),
        evidence_count: 2,
        filter: OptionFilter { facet: Facet::Subject, value: label.into(), documents: Vec::new() },
    };
    Record {
        v: Record::VERSION,
        question: Question {
            route: Route::ScopeSelect,
            prompt: "哪一个产品？".into(),
            options: vec![option("aurora", "Aurora X1"), option("borealis", "Borealis Z9")],
            missing_slots: Vec::new(),
            original_question: "How long is the warranty?".into(),
            rewrite_count: 0,
            parts: Vec::new(),
        },
        answers: Vec::new(),
        asked: Vec::new(),
        only: None,
        collections: Vec::new(),
        index_generation: 1,
    }
}
