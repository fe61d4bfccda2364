//! What a turn says by itself, in the language of the user's message.

use crate::{
    domain::hitl::Pending,
    text::lang::{Lang, detect, of_reply},
};

/// The sentences and step labels of one language.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Labels {
    pub(super) received: &'static str,
    /// While the turns before it run.
    pub(super) queued: &'static str,
    pub(super) resumed: &'static str,
    pub(super) thinking: &'static str,
    pub(super) answering: &'static str,
    pub(super) new_question: &'static str,
    /// The whole answer to a pure dismissal.
    pub(super) dismissed: &'static str,
    /// The whole answer when nothing was found.
    pub(super) no_knowledge: &'static str,
    /// The whole answer when the steps ran out and the model had nothing to say.
    pub(super) step_limit: &'static str,
}

static EN: Labels = Labels {
    received: "Request received",
    queued: "Waiting for the turn before this one",
    resumed: "Continuing with your answer",
    thinking: "Thinking",
    answering: "Writing the answer",
    new_question: "Taken as a new question",
    dismissed: "All right, I will leave that question.",
    no_knowledge: "I could not find an answer to this in the documents.",
    step_limit: "I could not finish this within the steps that one question may take. Try asking for one part of it.",
};

static ZH: Labels = Labels {
    received: "已收到问题",
    queued: "正在等待前一个问题处理完",
    resumed: "根据您的回答继续",
    thinking: "正在思考",
    answering: "正在撰写回答",
    new_question: "按新问题处理",
    dismissed: "好的，这个问题先放下。",
    no_knowledge: "在文档中没有找到这个问题的答案。",
    step_limit: "在一次提问允许的步骤内没能完成，请试着只问其中一部分。",
};

/// Whether this is the whole answer to a pure dismissal.
pub(super) fn is_dismissal(answer: &str) -> bool {
    [&EN, &ZH].iter().any(|labels| labels.dismissed == answer)
}

/// Those of the language of `text` or, where that has none ("2", "Aurora X1"), of the question that it replies to.
pub(super) fn of(text: &str, asked: Option<&Pending>) -> &'static Labels {
    let lang = asked.map_or_else(
        || detect(text),
        |asked| {
            let options = asked.record.iter().flat_map(|record| &record.question.options);
            of_reply(text, options.map(|option| option.label.as_str()), &asked.prompt)
        },
    );
    in_language(lang)
}

/// Those of a language.
pub(super) const fn in_language(lang: Lang) -> &'static Labels {
    match lang {
        Lang::Zh => &ZH,
        Lang::En | Lang::Other => &EN,
    }
}
