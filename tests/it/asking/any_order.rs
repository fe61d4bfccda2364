//! Whatever is done in whatever order: no message is lost, no run stays without an end, no branch has two questions.

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use askback::{
    domain::{
        chat::{
            ChatStore, HistoryStore, HitlAction, HitlReply, Message, MessageKind, MessageStatus, OnBusy, Refused,
            SessionChange,
        },
        error::ToolError,
        hitl::{HitlStatus, Question},
        id::{HitlId, MessageId, RunId},
        model::ToolSpec,
        run::RunKind,
        tool::{Tool, ToolContext, ToolOutcome},
    },
    services::chat::{StartError, Submission, Turn},
};
use async_trait::async_trait;
use proptest::{
    prelude::*,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use serde_json::Value;

use super::{CLEAR, QUESTION, ask_back, by_id, over_manuals};
use crate::{
    contract::store::on_both_engines,
    support::{
        faults::Fault,
        harness::{Harness, ScriptedSearch, asks, found},
        model::{Say, says},
        store::TestStore,
    },
};

on_both_engines! {
    a_conversation_stays_whole,
}

/// Conversations that are tried; a longer run says how many in this variable, and tries others every time.
const CASES: u32 = 4;
const CASES_VARIABLE: &str = "ASKBACK_TEST_CONVERSATIONS";
const LONGEST: usize = 40;

/// What is done next. Numbers choose among what there is.
#[derive(Debug, Clone, Copy)]
enum Act {
    Say(&'static str),
    Choose {
        question: usize,
        option: usize,
    },
    Reply {
        question: usize,
    },
    Dismiss {
        question: usize,
    },
    Expire,
    Branch {
        from: usize,
    },
    Switch {
        to: usize,
    },
    Edit {
        of: usize,
        text: &'static str,
    },
    Regenerate {
        of: usize,
    },
    Continue {
        of: usize,
    },
    /// The model fails at the next message.
    Fail(&'static str),
    /// The next message is stopped in the middle of its answer.
    Stop(&'static str),
    /// The process dies in the middle of the next answer.
    Crash(&'static str),
    Restart,
    /// Two at once; the second is refused, waits, or stops the first.
    Twice(&'static str, &'static str, OnBusy),
    Delete {
        message: usize,
    },
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let text = || prop::sample::select(vec![QUESTION, CLEAR, "2", "Aurora X1", "both", "never mind", "hm", "👍"]);
    let place = || 0..64_usize;
    let busy = prop::sample::select(vec![OnBusy::Reject, OnBusy::Enqueue, OnBusy::Interrupt]);
    let act = prop_oneof![
        6 => Just(Act::Say(QUESTION)),
        6 => text().prop_map(Act::Say),
        3 => (place(), place()).prop_map(|(question, option)| Act::Choose { question, option }),
        1 => place().prop_map(|question| Act::Reply { question }),
        1 => place().prop_map(|question| Act::Dismiss { question }),
        1 => Just(Act::Expire),
        2 => place().prop_map(|from| Act::Branch { from }),
        2 => place().prop_map(|to| Act::Switch { to }),
        2 => (place(), text()).prop_map(|(of, text)| Act::Edit { of, text }),
        2 => place().prop_map(|of| Act::Regenerate { of }),
        2 => place().prop_map(|of| Act::Continue { of }),
        2 => text().prop_map(Act::Fail),
        3 => text().prop_map(Act::Stop),
        1 => text().prop_map(Act::Crash),
        1 => Just(Act::Restart),
        3 => (text(), text(), busy).prop_map(|(one, two, on_busy)| Act::Twice(one, two, on_busy)),
        1 => place().prop_map(|message| Act::Delete { message }),
    ];
    prop::collection::vec(act, 1..=LONGEST)
}

/// A knowledge tool that asks about the warranty whatever was said before, and finds everything else.
struct AlwaysAsks {
    spec: ToolSpec,
    question: Question,
}

#[async_trait]
impl Tool for AlwaysAsks {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn metered(&self) -> bool {
        true
    }

    async fn call(&self, _: &ToolContext, arguments: Value) -> Result<ToolOutcome, ToolError> {
        let is_vague = arguments["query"].as_str().unwrap_or_default().ends_with(QUESTION);
        Ok(if is_vague {
            ToolOutcome { question: Some(self.question.clone()), ..asks() }
        } else {
            found(&["It stands here."])
        })
    }
}

/// One conversation, and what is known of it.
struct Talk {
    harness: Harness,
    sessions: usize,
    said: Vec<String>,
    runs: Vec<RunId>,
}

impl Talk {
    async fn over(test: &TestStore) -> Self {
        let harness = over_manuals(test).await;
        let asked = ask_back(&harness).await;
        let (pending, _) = harness.store.pending(harness.user.id, asked.id).await.unwrap();
        let question = pending.record.unwrap().question;
        let spec = ScriptedSearch::new([]).spec().clone();
        let harness = harness.searching_with(Arc::new(AlwaysAsks { spec, question })).await;
        Self { harness, sessions: 0, said: Vec::new(), runs: Vec::new() }
    }

    /// A conversation from its beginning. The error says what is broken.
    async fn play(&mut self, acts: &[Act]) -> Result<(), String> {
        self.sessions += 1;
        self.harness.move_to(&format!("p{}", self.sessions));
        (self.said, self.runs) = (Vec::new(), Vec::new());
        self.send(self.harness.submission(QUESTION)).await?;
        for (at, act) in acts.iter().enumerate() {
            self.harness.clock.forward(Duration::from_millis(1));
            self.act(*act).await.map_err(|why| format!("act {at}, {act:?}: {why}"))?;
            self.check().await.map_err(|why| format!("after act {at}, {act:?}: {why}"))?;
        }
        Ok(())
    }

    async fn tree(&self) -> Vec<Message> {
        let harness = &self.harness;
        harness.store.tree(harness.user.id, &harness.session(), 0, 10_000).await.unwrap().1
    }

    async fn questions(&self) -> Vec<(HitlId, Vec<String>)> {
        let name = self.harness.session();
        let pages = self.harness.chat.questions(self.harness.user.id, &name, None, 1000);
        let options = |record: Option<askback::domain::hitl::Record>| {
            record.into_iter().flat_map(|record| record.question.options).map(|option| option.id).collect()
        };
        pages.await.unwrap().into_iter().map(|(question, _)| (question.id, options(question.record))).collect()
    }

    async fn act(&mut self, act: Act) -> Result<(), String> {
        let tree = self.tree().await;
        let nth = |kind: MessageKind, number: usize| {
            let of_kind: Vec<&Message> = tree.iter().filter(|message| message.kind == kind).collect();
            of_kind.get(number % of_kind.len().max(1)).map(|message| message.id)
        };
        let questions = self.questions().await;
        let question = |number: usize| questions.get(number % questions.len().max(1));
        let mut next = self.harness.submission("");
        match act {
            Act::Say(text) => next.request.message = text.into(),
            Act::Choose { question: number, option } => {
                let Some((id, options)) = question(number) else { return Ok(()) };
                next.request.hitl =
                    Some(HitlReply { option_ids: vec![options[option % options.len()].clone()], ..by_id(*id) });
            }
            Act::Reply { question: number } => {
                let Some((id, _)) = question(number) else { return Ok(()) };
                next.request.message = "whichever is nicer".into();
                next.request.hitl = Some(by_id(*id));
            }
            Act::Dismiss { question: number } => {
                let Some((id, _)) = question(number) else { return Ok(()) };
                next.request.hitl = Some(HitlReply { action: Some(HitlAction::Dismiss), ..by_id(*id) });
            }
            Act::Expire => {
                self.harness.clock.forward(Duration::from_secs(24 * 60 * 60));
                return Ok(());
            }
            Act::Branch { from } => {
                next.request.message = QUESTION.into();
                next.request.parent = nth(MessageKind::Ai, from);
            }
            Act::Switch { to } => {
                let change =
                    SessionChange { shown: tree.get(to % tree.len().max(1)).map(|message| message.id), title: None };
                let (user, session) = (self.harness.user.id, self.harness.session());
                return self
                    .harness
                    .store
                    .change_session(user, &session, &change)
                    .await
                    .map(|_| ())
                    .map_err(|e| e.to_string());
            }
            Act::Edit { of, text } => {
                let Some(human) = nth(MessageKind::Human, of) else { return Ok(()) };
                next.request.kind = RunKind::Edit(human);
                next.request.message = text.into();
            }
            Act::Regenerate { of } => {
                let Some(answer) = nth(MessageKind::Ai, of) else { return Ok(()) };
                next.request.kind = RunKind::Regenerate(answer);
            }
            Act::Continue { of } => {
                let broken: Vec<&Message> = tree
                    .iter()
                    .filter(|message| matches!(message.status, MessageStatus::Stopped | MessageStatus::Interrupted))
                    .collect();
                let Some(answer) = broken.get(of % broken.len().max(1)) else { return Ok(()) };
                next.request.kind = RunKind::Continue(answer.id);
            }
            Act::Fail(text) => {
                self.harness.faults.at("stream", 1, Fault::Fail);
                self.send(self.harness.submission(text)).await?;
                // Where no model was asked, it may fail yet.
                self.harness.faults.forget();
                return Ok(());
            }
            Act::Stop(text) | Act::Crash(text) => {
                self.harness.model.then([says(&["It stands"]), vec![Say::Hang]].concat());
                let turn = self.harness.start(text).await.map_err(|refused| refused.to_string())?;
                self.note(&turn, text);
                if matches!(act, Act::Stop(_)) {
                    let stopped = self.harness.chat.stop(self.harness.user.id, turn.run).await;
                    stopped.map_err(|error| error.to_string())?;
                } else {
                    tokio::task::yield_now().await;
                    self.harness = self.harness.crashed().await;
                }
                self.harness.model.drain();
                return Ok(());
            }
            Act::Restart => {
                self.harness = self.harness.restarted().await;
                return Ok(());
            }
            Act::Delete { message } => {
                let Some(message) = tree.get(message % tree.len().max(1)) else { return Ok(()) };
                let (user, session) = (self.harness.user.id, self.harness.session());
                let deleted = self.harness.store.delete_message(user, &session, message.id).await;
                deleted.map_err(|error| error.to_string())?;
                let left = self.tree().await.into_iter().filter(|message| message.kind == MessageKind::Human);
                self.said = left.map(|message| message.content).collect();
                // What was said by them goes with the messages.
                self.runs.clear();
                return Ok(());
            }
            Act::Twice(one, two, on_busy) => {
                let mut other = self.harness.submission(two);
                other.request.on_busy = on_busy;
                let (first, second) = tokio::join!(self.harness.start(one), self.harness.chat.start(other));
                for (sent, text) in [(first, one), (second, two)] {
                    match sent {
                        Ok(turn) => self.end(turn, text).await?,
                        Err(StartError::Refused(Refused::Busy(_))) => {}
                        Err(refused) => return Err(refused.to_string()),
                    }
                }
                return Ok(());
            }
        }
        self.send(next).await
    }

    /// Sends it and waits for its end. A refusal has to be one of those that the wire knows.
    async fn send(&mut self, submission: Submission) -> Result<(), String> {
        let text = if submission.request.kind.speaks() { submission.request.message.clone() } else { String::new() };
        match self.harness.chat.start(submission).await {
            Ok(turn) => self.end(turn, &text).await,
            Err(StartError::Refused(
                Refused::HitlExpired | Refused::HitlNotOpen(_) | Refused::NotFound | Refused::NotContinuable(_),
            )) => Ok(()),
            Err(refused) => Err(refused.to_string()),
        }
    }

    fn note(&mut self, turn: &Turn, text: &str) {
        self.runs.push(turn.run);
        if !text.is_empty() {
            self.said.push(text.to_owned());
        }
    }

    async fn end(&mut self, turn: Turn, text: &str) -> Result<(), String> {
        self.note(&turn, text);
        match turn.finish().await {
            Ok(result) if result.response.trim().is_empty() && result.status.is_good() => Err("an empty answer".into()),
            Ok(_) => Ok(()),
            Err(problem) if problem.code == "model_unavailable" => Ok(()),
            Err(problem) => Err(problem.detail),
        }
    }

    async fn check(&self) -> Result<(), String> {
        let (user, name) = (self.harness.user.id, self.harness.session());
        for run in &self.runs {
            let status = self.harness.store.run(user, *run).await.unwrap().status;
            if !status.is_terminal() {
                return Err(format!("run {run} is {}", status.as_str()));
            }
        }
        let session = self.harness.store.session(user, &name).await.unwrap();
        if session.running_run.is_some() {
            return Err("the session is still claimed".into());
        }
        let tree = self.tree().await;
        let is_running = |message: &&Message| message.status == MessageStatus::Running;
        if let Some(running) = tree.iter().find(is_running) {
            return Err(format!("message {} is running", running.id));
        }
        for text in self.said.iter().collect::<HashSet<_>>() {
            let sent = self.said.iter().filter(|said| *said == text).count();
            let kept =
                tree.iter().filter(|message| message.kind == MessageKind::Human && message.content == *text).count();
            if kept < sent {
                return Err(format!("{text:?} was sent {sent} times and kept {kept} times"));
            }
        }
        let mut open = HashMap::new();
        for (question, moves) in self.harness.chat.questions(user, &name, None, 1000).await.unwrap() {
            let mut stands = HitlStatus::Open;
            for step in moves {
                if step.from != stands || !step.from.may_become(step.to) {
                    return Err(format!("{:?} became {:?} as {stands:?}", step.from, step.to));
                }
                stands = step.to;
            }
            // What expires reads so before the row follows.
            if stands != question.status && (stands, question.status) != (HitlStatus::Open, HitlStatus::Expired) {
                return Err(format!("a question is {:?}, its history says {stands:?}", question.status));
            }
            match question.status {
                HitlStatus::Taken => return Err("a question is taken and no run has it".into()),
                HitlStatus::Open => drop(open.insert(question.message, question.id)),
                _ => {}
            }
        }
        branches(&tree, &open)
    }
}

/// Every branch has at most one open question, and that one is the one that a message at its end replies to.
fn branches(tree: &[Message], open: &HashMap<MessageId, HitlId>) -> Result<(), String> {
    let by_id: HashMap<MessageId, &Message> = tree.iter().map(|message| (message.id, message)).collect();
    let parents: HashSet<MessageId> = tree.iter().filter_map(|message| message.parent).collect();
    for leaf in tree.iter().filter(|message| !parents.contains(&message.id)) {
        let path = std::iter::successors(Some(leaf), |message| by_id.get(&message.parent?).copied());
        let answers: Vec<&Message> = path.filter(|message| message.kind == MessageKind::Ai).collect();
        let nearest = answers
            .iter()
            .find(|message| matches!(message.status, MessageStatus::Completed | MessageStatus::AwaitingInput));
        let asking: Vec<MessageId> =
            answers.iter().map(|message| message.id).filter(|message| open.contains_key(message)).collect();
        if asking.len() > 1 || asking.first().is_some_and(|asking| nearest.is_none_or(|near| near.id != *asking)) {
            return Err(format!("the branch of {} has {} open questions, out of reach", leaf.id, asking.len()));
        }
    }
    Ok(())
}

async fn a_conversation_stays_whole(test: &mut TestStore) {
    let wanted = std::env::var(CASES_VARIABLE).ok().map(|cases| cases.parse::<u32>().unwrap());
    let config = Config {
        cases: wanted.unwrap_or(CASES),
        failure_persistence: None,
        max_shrink_iters: 200,
        ..Config::default()
    };
    let mut runner = match wanted {
        Some(_) => TestRunner::new(config),
        None => TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha)),
    };
    let talk = RefCell::new(Talk::over(test).await);
    let runtime = tokio::runtime::Handle::current();
    let tried = tokio::task::block_in_place(|| {
        runner.run(&acts(), |acts| runtime.block_on(talk.borrow_mut().play(&acts)).map_err(TestCaseError::fail))
    });
    if let Err(broken) = tried {
        panic!("{broken}");
    }
}
