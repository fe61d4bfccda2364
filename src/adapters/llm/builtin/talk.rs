//! Small talk, answered without a search.

use crate::text::{fold, lang::Lang, reply_words::NUMERALS};

const GREETINGS: &str = "hello|hi|hey|hi there|hello there|good morning|good afternoon|good evening|greetings|howdy|\
    hello askback|hi askback|how are you|你好|您好|嗨|哈喽|早上好|下午好|晚上好|早|大家好|你好啊|在吗|你好吗|hello world";
const THANKS: &str = "thanks|thank you|thanks a lot|thank you very much|many thanks|thx|great thanks|ok thanks|\
    okay thanks|perfect thanks|thanks so much|thanks that was helpful|that was helpful|that helped|that helps|very helpful|\
    thanks for your help|thank you for your help|cheers|great|perfect|谢谢|谢谢你|谢谢您|多谢|感谢|非常感谢|好的谢谢|谢谢啦|帮了大忙|很有帮助|太好了|太感谢了";
const WHO: &str = "who are you|what are you|what can you do|what do you do|help|help me|what is this|what's this|\
    how does this work|what is askback|who is this|are you a bot|are you human|how can you help me|what can i ask|\
    what can i ask you|what else can you do|tell me what you can do|你是谁|你是什么|你能做什么|你能干什么|你能帮我做什么|你都能做什么|你会什么|你可以做什么|帮助|能帮我什么|你有什么功能|怎么用|你叫什么|你叫什么名字|你是机器人吗|我能问什么";
const BYE: &str = "bye|goodbye|bye bye|see you|see you later|good night|再见|拜拜|回见|晚安";
const OKAY: &str = "ok|okay|yes|yeah|sure|alright|fine|i see|got it|understood|dismiss|never mind|nevermind|forget it|stop|\
    cancel|no|no thanks|好|好的|嗯|行|可以|知道了|明白了|了解|算了|取消|不用了|没事了";

/// The answer to a message that asks for nothing in the documents; `None` when it asks for something.
pub(super) fn reply(message: &str, lang: Lang) -> Option<&'static str> {
    let said = plain(&fold(message));
    // Of several clauses ("thanks, that was helpful") all have to be talk; the last one that is more than a nod is answered.
    let clauses = clauses(message);
    let known = |clause: &str| [GREETINGS, THANKS, WHO, BYE, OKAY].into_iter().find(|table| has(table, clause));
    let tables: Option<Vec<&str>> = clauses.iter().map(|clause| known(clause)).collect();
    let of_clauses = tables.filter(|tables| tables.len() > 1).and_then(|tables| {
        let tells = |wanted: &&str| tables.contains(wanted);
        [WHO, THANKS, BYE, GREETINGS, OKAY].into_iter().find(tells)
    });
    let is = |table: &str| has(table, &said) || of_clauses == Some(table);
    let zh = lang == Lang::Zh;
    if is(GREETINGS) {
        Some(if zh {
            "你好！你可以问我文档里的任何内容：我会用原文回答并注明出处；如果问题可能有几种意思，我会先问清楚。"
        } else {
            "Hello! Ask me anything about your documents: I answer in their own words with numbered sources, and I ask \
             back when a question could mean several things."
        })
    } else if is(THANKS) {
        Some(if zh { "不客气。" } else { "You're welcome." })
    } else if is(WHO) {
        Some(if zh {
            "我是 askback 的内置助手。我会搜索你的文档，用原文回答并注明出处；问题可能有几种意思时，我会反问；文档里没有的，我会直说。"
        } else {
            "I am the built-in assistant of askback. I search your documents and answer in their own words with numbered \
             sources; I ask back when a question could mean several things, and I say so when the documents do not hold \
             the answer."
        })
    } else if is(BYE) {
        Some(if zh { "再见！" } else { "Goodbye!" })
    } else if is(OKAY) {
        Some(if zh {
            "好的。需要查什么，随时问我。"
        } else {
            "All right. Ask me whenever you need something from the documents."
        })
    } else if is_number(&said) {
        Some(if zh {
            "现在没有等待选择的问题，我不知道这个数字指什么。请把想了解的内容写完整。"
        } else {
            "No question is open that a number could answer. Please write out what you would like to know."
        })
    } else if said.is_empty() {
        Some(if zh { "你想了解什么？" } else { "What would you like to know?" })
    } else {
        None
    }
}

/// What one chooses with, and no more.
fn is_number(said: &str) -> bool {
    let is = |c: char| c.is_ascii_digit() || NUMERALS.contains(c);
    (1..=3).contains(&said.chars().count()) && said.chars().all(is)
}

fn has(table: &str, said: &str) -> bool {
    table.split('|').any(|phrase| phrase == said)
}

/// Words without marks.
fn plain(folded: &str) -> String {
    let bare = folded.chars().map(|c| if c.is_alphanumeric() || c == '\'' { c } else { ' ' }).collect::<String>();
    bare.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn clauses(message: &str) -> Vec<String> {
    let folded = fold(message);
    folded
        .split([',', '.', '!', '?', ';', '，', '。', '！', '？', '；', '、'])
        .flat_map(|clause| clause.split(" and "))
        .map(plain)
        .filter(|clause| !clause.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_talk_is_answered_in_its_language() {
        for message in ["Thanks, that was helpful!", "Who are you and what can you do?", "ok, bye"] {
            assert!(reply(message, Lang::En).is_some(), "{message}");
        }
        for message in ["Hello!", "hi", "THANKS.", "Who are you?", "What can you do", "bye", "ok", "👍", ""] {
            assert!(reply(message, Lang::En).is_some(), "{message}");
        }
        for message in ["你好！", "謝謝", "你是谁？", "再见", "好的", "。"] {
            let text = reply(message, Lang::Zh).unwrap();
            assert!(text.chars().any(crate::text::words::is_han), "{message}: {text}");
        }
    }

    #[test]
    fn a_number_that_nothing_asked_for_is_no_question() {
        for (message, lang) in [("7", Lang::En), ("2.", Lang::En), ("１", Lang::En), ("二", Lang::Zh)] {
            assert!(reply(message, lang).is_some(), "{message}");
        }
    }

    #[test]
    fn what_asks_for_something_is_no_small_talk() {
        for message in [
            "hello, how long is the warranty?",
            "Help with the dock",
            "你好，怎么退货？",
            "2 years",
            "2025",
            "the warranty",
        ] {
            assert_eq!(reply(message, Lang::En), None, "{message}");
        }
    }
}
