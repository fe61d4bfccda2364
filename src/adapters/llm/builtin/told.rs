//! How the built-in model passes on what other tools than the search say.

use crate::{
    domain::{
        error::FaultCode,
        evidence::{GONE, ParsedEvidence, ParsedPassage},
    },
    text::lang::Lang,
};

/// How a fault begins.
const ERROR: &str = "Error (";

/// A section that was opened: where it stands, then all of it.
pub(super) fn opened(evidence: &ParsedEvidence, lang: Lang) -> String {
    let sections: Vec<String> = evidence.passages.iter().map(|passage| section(passage, lang)).collect();
    sections.join("\n\n")
}

fn section(passage: &ParsedPassage, lang: Lang) -> String {
    let ParsedPassage { marker, filename, page, section, header, text, .. } = passage;
    let mut place = match (lang, page) {
        (Lang::Zh, Some(page)) => format!("《{filename}》（第 {page} 页）"),
        (Lang::Zh, None) => format!("《{filename}》"),
        (_, Some(page)) => format!("{filename} (page {page})"),
        (_, None) => filename.clone(),
    };
    if let Some(section) = section {
        place.push_str(" · ");
        place.push_str(section);
    }
    let colon = if lang == Lang::Zh { "：" } else { ": " };
    // A text that begins with its table's header has it already.
    let header = header.as_ref().filter(|header| !text.starts_with(header.as_str()));
    let header = header.map(|header| format!("{header}\n")).unwrap_or_default();
    format!("{place}{colon}[{marker}]\n\n{header}{text}")
}

/// What any other tool said, in the user's language as far as it is known.
pub(super) fn told(text: &str, lang: Lang) -> String {
    match fault(text) {
        Some((code, message)) => explained(code, message, lang),
        None => text.to_owned(),
    }
}

/// The list of results.
pub(super) fn listed(text: &str, lang: Lang) -> String {
    if fault(text).is_some() {
        return told(text, lang);
    }
    let lines = text.lines().skip(1).collect::<Vec<_>>().join("\n");
    match lang {
        Lang::Zh => format!("上次搜索的结果：\n\n{}", lines.replace(GONE, "（已无法查看）")),
        _ => format!("The results of the last search:\n\n{lines}"),
    }
}

/// That something is remembered; a language in that language.
pub(super) fn remembered(text: &str, lang: Lang) -> String {
    match text.strip_prefix("Remembered: language = ") {
        Some("en") => "I will answer in English from now on.".to_owned(),
        Some("zh") => "好的，以后我用中文回答。".to_owned(),
        _ => told(text, lang),
    }
}

/// Class and message, where the text is that of a fault.
fn fault(text: &str) -> Option<(FaultCode, &str)> {
    let (code, message) = text.strip_prefix(ERROR)?.split_once("): ")?;
    Some((FaultCode::of(code)?, message))
}

fn explained(code: FaultCode, message: &str, lang: Lang) -> String {
    let (en, zh) = match code {
        FaultCode::NoResults => {
            ("There are no numbered results yet: ask a question first.", "还没有可以查看的搜索结果，请先提一个问题。")
        }
        FaultCode::OutOfRange => (
            "The last search has no result of this number; “list the sources” shows which there are.",
            "上次搜索没有这个编号的结果；说“列出来源”可以看到有哪些。",
        ),
        FaultCode::Gone => (
            "This result was changed or removed since the search, or you may not read it any more.",
            "这个结果在搜索之后被修改或删除了，或者您已无权查看。",
        ),
        FaultCode::NotConfigured => ("This is not set up on this server.", "这台服务器没有配置这项功能。"),
        FaultCode::Timeout | FaultCode::Unavailable => {
            ("That did not answer in time; please try again later.", "没有及时得到答复，请稍后再试。")
        }
        FaultCode::Full => ("There is no room to remember more.", "记不下更多内容了。"),
        FaultCode::UnknownTool | FaultCode::InvalidArguments | FaultCode::Failed | FaultCode::Refused => {
            return match lang {
                Lang::Zh => format!("没有成功：{message}"),
                _ => format!("That did not work: {message}"),
            };
        }
    };
    if lang == Lang::Zh { zh.to_owned() } else { en.to_owned() }
}
