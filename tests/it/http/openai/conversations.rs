//! Which session a conversation is: the one that is named, else the one in which its messages were said.

use serde_json::{Value, json};

use super::{
    ASKED, COMPLETIONS, QUESTION, answering, assistant, complete, content, over_manuals, says, search, session, tree,
    user,
};
use crate::support::fake_openai::Reply;

fn script(texts: &[&str]) -> Vec<Reply> {
    texts.iter().map(|text| Reply::says(&[text])).collect()
}

#[tokio::test]
async fn messages_that_are_known_go_on_in_their_session() {
    let (app, ada) = answering(script(&["one", "two", "three"])).await;
    let first = says(&ada, &[user("a")]).await;
    // As clients hold it: instructions come and go, white space is theirs, texts may be parts.
    let parts = json!({"role": "assistant", "content": [{"type": "text", "text": " one\r\n"}]});
    let system = |text: &str| json!({"role": "system", "content": text});
    let second = says(&ada, &[system("Be brief."), user("a "), parts, user("b")]).await;
    let messages = [user("a"), assistant("one"), system("Be long."), user("b"), assistant("two"), user("c")];
    let third = says(&ada, &messages).await;
    assert_eq!((session(&second), session(&third)), (session(&first), session(&first)));
    assert_eq!(tree(&ada, session(&first)).await, ["a", "one", "b", "two", "c", "three"]);
    let asked = app.model.seen()[2].body["messages"].to_string();
    assert!(asked.contains("two"), "the model hears what was said before: {asked}");
}

#[tokio::test]
async fn messages_that_are_not_known_begin_a_session() {
    let (app, ada) = answering(script(&["one", "one", "two", "three", "four", "five"])).await;
    let bea = app.user("bea").await;
    let (first, again) = (says(&ada, &[user("a")]).await, says(&ada, &[user("a")]).await);
    assert_ne!(session(&first), session(&again), "a first message is never one that was known");
    let known = [user("a"), assistant("one"), user("b")];
    let foreign = says(&bea, &known).await;
    assert_eq!(tree(&bea, session(&foreign)).await, ["b", "two"]);
    let other = says(&ada, &[user("a"), assistant("another"), user("b")]).await;
    assert_eq!(tree(&ada, session(&other)).await, ["b", "three"]);
    // Of two that read the same the later one goes on.
    assert_eq!(session(&says(&ada, &known).await), session(&again));
    for name in [session(&first), session(&again)] {
        ada.delete(&format!("/sessions/{name}")).await;
    }
    let gone = says(&ada, &known).await;
    assert_eq!(tree(&ada, session(&gone)).await, ["b", "five"], "a deleted session is not known");
}

#[tokio::test]
async fn what_is_said_anew_is_a_branch() {
    let (_app, ada) = answering(script(&["one", "two", "other", "two again", "three"])).await;
    let first = says(&ada, &[user("a")]).await;
    let before = [user("a"), assistant("one")];
    let with = |more: &[Value]| [&before[..], more].concat();
    says(&ada, &with(&[user("b")])).await;
    // Another wording, the same once more, and on from there.
    says(&ada, &with(&[user("B?")])).await;
    let regenerated = says(&ada, &with(&[user("B?")])).await;
    assert_eq!(content(&regenerated), "two again");
    let on = says(&ada, &with(&[user("b"), assistant("two"), user("c")])).await;
    let name = session(&first);
    assert_eq!((session(&regenerated), session(&on)), (name, name));
    assert_eq!(tree(&ada, name).await, ["a", "one", "b", "two", "B?", "other", "two again", "c", "three"]);
    let shown = ada.get(&format!("/sessions/{name}")).await.json();
    let texts: Vec<&str> =
        shown["messages"].as_array().unwrap().iter().map(|message| message["content"].as_str().unwrap()).collect();
    assert_eq!(texts, ["a", "one", "b", "two", "c", "three"]);
}

#[tokio::test]
async fn a_reply_to_a_question_stays_one_however_often_it_is_said() {
    let months = ["36 months [1].", "Three years [1].", "24 months [1]."].map(|text| Reply::says(&[text]));
    let (_app, ada) = over_manuals([vec![search()], months.into()].concat()).await;
    let asked = says(&ada, &[user(QUESTION)]).await;
    assert_eq!((content(&asked), &asked["choices"][0]["finish_reason"]), (ASKED, &json!("stop")));
    let reply = |text: &str| [user(QUESTION), assistant(ASKED), user(text)];
    for (text, said, file) in [
        ("2", "36 months [1].", "borealis-z9.md"),
        ("2", "Three years [1].", "borealis-z9.md"),
        ("1", "24 months [1].", "aurora-x1.md"),
    ] {
        let answer = says(&ada, &reply(text)).await;
        assert_eq!((content(&answer), session(&answer)), (said, session(&asked)), "{text}");
        assert_eq!(answer["askback"]["citations"][0]["filename"], file, "{text}");
    }
    let all = tree(&ada, session(&asked)).await;
    assert_eq!(all[2..], ["2", "36 months [1].", "Three years [1].", "1", "24 months [1]."]);
}

#[tokio::test]
async fn a_failed_answer_is_had_by_asking_again() {
    let failure = Reply::json(500, &json!({"error": {"message": "no"}}));
    let (_app, ada) = answering(vec![Reply::says(&["one"]), failure, Reply::says(&["two"])]).await;
    let first = says(&ada, &[user("a")]).await;
    let messages = json!({"messages": [user("a"), assistant("one"), user("b")]});
    assert_eq!(ada.post(COMPLETIONS, messages.clone()).await.status.as_u16(), 502);
    complete(&ada, messages).await;
    assert_eq!(tree(&ada, session(&first)).await, ["a", "one", "b", "two"], "said once, answered once");
}

#[tokio::test]
async fn a_session_that_is_named() {
    let (_app, ada) = answering(script(&["one", "two", "three", "four", "five", "six"])).await;
    let named = |name: Value, messages: Value| {
        let mut body = json!({"messages": messages});
        for (field, value) in name.as_object().unwrap() {
            body[field] = value.clone();
        }
        complete(&ada, body)
    };
    let by_user = json!({"user": "u"});
    let first = named(by_user.clone(), json!([user("a")])).await;
    assert_eq!(session(&first), "u");
    // Its end, where the messages before are not sent, or not known.
    named(by_user.clone(), json!([user("b")])).await;
    named(by_user.clone(), json!([user("what"), assistant("else"), user("c")])).await;
    assert_eq!(tree(&ada, "u").await, ["a", "one", "b", "two", "c", "three"]);
    // Messages that are known tell the place in it.
    named(by_user.clone(), json!([user("a"), assistant("one"), user("B")])).await;
    let shown = ada.get("/sessions/u").await.json();
    assert_eq!((&shown["messages"][1]["content"], &shown["messages"][2]["content"]), (&json!("one"), &json!("B")));
    // And never another one.
    let both = json!({"user": "u", "metadata": {"session_id": "m", "more": "x"}});
    let moved = named(both, json!([user("a"), assistant("one"), user("d")])).await;
    assert_eq!((session(&moved), tree(&ada, "m").await), ("m", vec!["d".into(), "five".into()]));
    let empty = json!({"user": "", "metadata": {"session_id": ""}});
    let unnamed = named(empty, json!([user("a"), assistant("one"), user("b"), assistant("two"), user("e")])).await;
    assert_eq!(tree(&ada, session(&unnamed)).await, ["e", "six"], "an empty name is none");
}
