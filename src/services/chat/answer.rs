//! The work of a turn: what the message is, then the agent, or the question that it answers.

use std::sync::Arc;

use super::{
    Inner,
    ask::{self, Ground},
    reply::{self, Verdict},
    turn::{Asked, Ending, Scene, Work},
};
use crate::{
    domain::{
        chat::HitlAction,
        error::{ModelError, TurnError},
        event::Progress,
        evidence::Route,
        hitl::{HitlStatus, HitlView, OptionFilter, Question, Settlement},
        knowledge::Access,
        run::RunKind,
        tool::{Background, Quota, ToolContext},
        trace::RagTrace,
    },
    services::{
        agent::{Agent, End, run::Run},
        memory::settings::Preferences,
    },
};

/// Why a question is left that nobody can resume.
const UNREADABLE: &str = "its record cannot be read";
const SYSTEM: &str = include_str!("../prompts/system.md");

impl Inner {
    /// Does the work of a turn.
    pub(super) async fn answer(&self, scene: &Scene, work: &mut Work) -> Result<Ending, TurnError> {
        fail::fail_point!("turn:accepted", |_| Err(TurnError::Internal("failpoint".into())));
        work.settings = self.ports.settings.settings(scene.user).await?;
        work.preferences = Preferences::of(&work.settings);
        if let RunKind::Continue(_) = scene.request.kind {
            self.settle_again(scene, work).await;
            return self.extend(scene, work).await;
        }
        let Some(question) = &scene.accepted.question else {
            return self.ask_agent(scene, &scene.accepted.text, Vec::new(), work).await;
        };
        let Some(record) = &question.record else {
            tracing::warn!(hitl_id = %question.id, "a question's record cannot be read; the message is a new question");
            return self.leave_unreadable(scene, work).await;
        };
        // What was typed, not what is stored: chosen options come by id.
        let typed = &scene.request.message;
        let understood = reply::decide(typed, record, scene.request.hitl.as_ref(), self.ports.fast.as_deref()).await;
        fail::fail_point!("reply:decided", |_| Err(TurnError::Internal("failpoint".into())));
        work.verdict = Some(understood.trace());
        let settle = |settlement| Some((settlement, understood.reason.clone()));
        match understood.verdict {
            Verdict::Answer(answer) => {
                work.settlement = settle(Settlement::Answered);
                self.resume(scene, question, record, answer, work).await
            }
            Verdict::Dismiss { rest: None } => {
                work.settlement = settle(Settlement::Dismissed);
                self.say_all(work.labels(scene).dismissed, work);
                Ok(Ending::Answered)
            }
            Verdict::Dismiss { rest: Some(rest) } => {
                work.settlement = settle(Settlement::Dismissed);
                self.ask_anew(scene, Some(&rest), Vec::new(), work).await
            }
            Verdict::NewQuestion { given, rest } => {
                work.settlement = settle(Settlement::Superseded);
                self.ask_anew(scene, rest.as_deref(), given, work).await
            }
            Verdict::Unsure => {
                work.settlement = settle(Settlement::Superseded);
                self.ask_anew(scene, None, Vec::new(), work).await
            }
        }
    }

    /// Nobody can resume a question without its record: the message runs as a new one, unless it only declines.
    async fn leave_unreadable(&self, scene: &Scene, work: &mut Work) -> Result<Ending, TurnError> {
        let dismisses = scene.request.hitl.as_ref().is_some_and(|reply| reply.action == Some(HitlAction::Dismiss));
        if dismisses && scene.request.message.trim().is_empty() {
            work.settlement = Some((Settlement::Dismissed, UNREADABLE.into()));
            self.say_all(work.labels(scene).dismissed, work);
            return Ok(Ending::Answered);
        }
        work.settlement = Some((Settlement::Superseded, UNREADABLE.into()));
        self.ask_agent(scene, &scene.accepted.text, Vec::new(), work).await
    }

    /// Judges a reply whose answer was broken off once more: with the rest of the answer it settles the question.
    async fn settle_again(&self, scene: &Scene, work: &mut Work) {
        let Some(question) = &scene.accepted.question else { return };
        let Some(record) = &question.record else {
            work.settlement = Some((Settlement::Superseded, UNREADABLE.into()));
            return;
        };
        let (typed, by_hitl) = (&scene.request.message, scene.request.hitl.as_ref());
        let understood = reply::decide(typed, record, by_hitl, self.ports.fast.as_deref()).await;
        let settlement = match understood.verdict {
            Verdict::Answer(_) => Settlement::Answered,
            Verdict::Dismiss { .. } => Settlement::Dismissed,
            Verdict::NewQuestion { .. } | Verdict::Unsure => Settlement::Superseded,
        };
        work.settlement = Some((settlement, understood.reason));
    }

    /// Leaves the question that was open for the one that the message asks, or the `rest` of it.
    async fn ask_anew(
        &self,
        scene: &Scene,
        rest: Option<&str>,
        given: Vec<OptionFilter>,
        work: &mut Work,
    ) -> Result<Ending, TurnError> {
        work.transcript.sink().step("↪️", work.labels(scene).new_question, "", None);
        self.ask_agent(scene, rest.unwrap_or(&scene.accepted.text), given, work).await
    }

    /// Runs the agent on `question`, for which the options `given` are settled.
    async fn ask_agent(
        &self,
        scene: &Scene,
        question: &str,
        given: Vec<OptionFilter>,
        work: &mut Work,
    ) -> Result<Ending, TurnError> {
        let mut context = self.context(scene, work).await?;
        work.earlier = Some(context.read);
        context.background.given = given;
        context.hear(self.ports.memory.as_ref(), scene.user, scene.accepted.session.id).await?;
        // Whoever leaves a question for another does not ask it again with a word more.
        let left = scene.accepted.question.as_ref().filter(|question| question.record.is_some());
        if left.is_some() && !reply::leans(question) {
            context.background.answers.pop();
            context.background.user_turns.pop();
        }
        fail::fail_point!("turn:context", |_| Err(TurnError::Internal("failpoint".into())));
        work.told = context.told();
        let prompts = context.prompts(SYSTEM, question, self.config.window_tokens);
        let ctx = self.tool_context(scene, question, context.background, work).await?;
        let mut run = Run::new(prompts, self.config.recursion_limit, self.ports.tools.metered());
        let agent = Agent {
            model: self.ports.chat_model.as_ref(),
            model_name: scene.request.model.clone(),
            sampling: scene.request.sampling.clone(),
            tools: &self.ports.tools,
        };
        let thinking = work.labels(scene).thinking;
        let transcript = &mut work.transcript;
        let end = agent.drive(&mut run, &ctx, &mut |said| transcript.hear(said, thinking)).await;
        if run.hit_limit() {
            transcript.trace.get_or_insert_with(Box::default).step_limit = true;
        }
        match end? {
            End::Asked(asked) => {
                let ground = Ground {
                    answers: Vec::new(),
                    before: None,
                    only: ctx.only,
                    collections: ctx.access.collections,
                    generation: self.generation().await?,
                };
                Ok(self.ask_back(*asked, ground, work))
            }
            End::Answered => {
                self.never_silent(scene, work, run.hit_limit())?;
                Ok(Ending::Answered)
            }
        }
    }

    /// What tools know of the turn.
    async fn tool_context(
        &self,
        scene: &Scene,
        question: &str,
        background: Background,
        work: &Work,
    ) -> Result<ToolContext, TurnError> {
        let (only, access) = self.scope(scene, work).await?;
        Ok(ToolContext {
            user: scene.user,
            role: scene.role,
            access,
            only,
            session: scene.accepted.session.id,
            parent: scene.accepted.parent,
            run: scene.run,
            message: question.to_owned(),
            background,
            quota: Arc::new(Quota::new(self.config.knowledge_quota)),
            markers: Arc::clone(&work.markers),
            progress: Arc::clone(work.transcript.sink()) as Arc<dyn Progress>,
        })
    }

    /// Where the question goes: to the collections that it names, else to those that the user prefers, else to all. Of a
    /// preference none of whose collections is there nothing is left.
    async fn scope(&self, scene: &Scene, work: &Work) -> Result<(Option<Vec<String>>, Access), TurnError> {
        let documents = &self.ports.documents;
        if let (None, Some(preferred)) = (&scene.request.collections, &work.preferences.collections) {
            let access = documents.readable(scene.user, Some(preferred)).await?;
            if !access.collections.is_empty() {
                return Ok((Some(preferred.clone()), access));
            }
        }
        let only = scene.request.collections.clone();
        let access = documents.readable(scene.user, only.as_deref()).await?;
        Ok((only, access))
    }

    /// A model that ended without a word: askback says itself what the matter is, or the turn fails.
    fn never_silent(&self, scene: &Scene, work: &mut Work, hit_limit: bool) -> Result<(), TurnError> {
        if !work.transcript.answer().is_empty() {
            return Ok(());
        }
        let found_nothing = work.transcript.trace.as_ref().is_some_and(|trace| trace.route == Some(Route::NoKnowledge));
        if found_nothing {
            self.say_all(work.labels(scene).no_knowledge, work);
        } else if hit_limit {
            self.say_all(work.labels(scene).step_limit, work);
        } else {
            return Err(TurnError::Model(ModelError::BadResponse("the model said nothing".into())));
        }
        Ok(())
    }

    /// A whole answer of askback's own.
    pub(super) fn say_all(&self, sentence: &str, work: &mut Work) {
        work.transcript.reset();
        work.transcript.say(sentence);
        work.transcript.finish_reason.get_or_insert_with(|| "stop".into());
    }

    /// Generation of the index, kept with a question.
    pub(super) async fn generation(&self) -> Result<u64, TurnError> {
        let stats = self.ports.retrieval.search.index().stats(None).await;
        stats.map(|stats| stats.generation).map_err(|error| TurnError::Retrieval(error.to_string()))
    }

    /// Ends the turn with a question.
    pub(super) fn ask_back(&self, question: Question, ground: Ground, work: &mut Work) -> Ending {
        let now = self.ports.clock.now();
        let text = question.text();
        show_question(work.transcript.trace.get_or_insert_with(Box::default), &question);
        let pending = ask::pending(question, ground, now, now + self.config.hitl_expiry);
        let view = HitlView::new(
            pending.id,
            &pending.record,
            pending.round,
            self.ports.retrieval.config.max_rounds,
            pending.expires_at,
            HitlStatus::Open,
        );
        Ending::Asked(Box::new(Asked { pending, text, view }))
    }
}

/// The fields that the trace of an asking turn has.
fn show_question(trace: &mut RagTrace, question: &Question) {
    trace.route = Some(question.route);
    trace.retrieval_status = Some(question.status());
    trace.hitl_prompt = Some(question.prompt.clone());
    trace.hitl_options = question.options.iter().map(|option| option.label.clone()).collect();
    trace.missing_slots.clone_from(&question.missing_slots);
}
