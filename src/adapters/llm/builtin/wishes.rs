//! What the built-in model understands of talk about the last search's results, and of wishes for a language: "open the
//! second one", 列出来源, "answer in Chinese from now on". A message has to say that and nothing else; whatever asks for
//! more is searched for.

use std::sync::LazyLock;

use regex::Regex;

use crate::text::{fold, lang::Lang};

/// What the user wants in place of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    /// See the one of this number.
    Open(u32),
    /// Know which there are.
    List,
    /// Be answered in this language.
    Speak(Lang),
}

/// Numbers as words, by value.
const ENGLISH: [&[&str]; 12] = [
    &["first", "1st", "one"],
    &["second", "2nd", "two"],
    &["third", "3rd", "three"],
    &["fourth", "4th", "four"],
    &["fifth", "5th", "five"],
    &["sixth", "6th", "six"],
    &["seventh", "7th", "seven"],
    &["eighth", "8th", "eight"],
    &["ninth", "9th", "nine"],
    &["tenth", "10th", "ten"],
    &["eleventh", "11th", "eleven"],
    &["twelfth", "12th", "twelve"],
];
const CHINESE: [&str; 12] = ["一", "二", "三", "四", "五", "六", "七", "八", "九", "十", "十一", "十二"];

const EN_ORDINAL: &str = "first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|1st|2nd|3rd|\
    [4-9]th|1[0-2]th";
const EN_CARDINAL: &str = "[0-9]{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve";
const EN_THING: &str = "(?:search )?(?:result|source|passage|reference|citation|hit|document)";
const EN_ASKED: &str = "(?:(?:please|ok|okay|now|then|and|can you|could you|would you|will you|i want to|i'd like to|let me|\
    let's) )*";
const EN_POLITE: &str = "(?: (?:please|for me|in full|again|thanks|thank you|now))*";

const ZH_NUMBER: &str = "[一二三四五六七八九十]|十[一二]|[0-9]{1,2}";
const ZH_THING: &str = "(?:搜索结果|结果|来源|出处|引用|文档|文件|资料|段落)";
const ZH_ASKED: &str = "(?:请|麻烦|帮我|帮忙|给我|能不能|能否|可以|可否|你能|你|那就|那|再|现在|我想|我要|想|把)*";
const ZH_POLITE: &str = "(?:吧|吗|好吗|可以吗|谢谢|一下|看看|给我看看|给我看|的?(?:内容|原文|全文))*";
const ZH_SEE: &str = "(?:打开|点开|展开|查看|显示|展示|调出|看看|看一下|看下|看|读一下|读)(?:一下)?";

/// Patterns of one kind of message.
struct Table(Vec<Option<Regex>>);

impl Table {
    fn new(patterns: &[String]) -> Self {
        // Each is a constant, so that none fails; one that did would match nothing.
        Self(patterns.iter().map(|pattern| Regex::new(&format!("^(?:{pattern})$")).ok()).collect())
    }

    /// What stands in the place that the patterns leave open.
    fn word<'s>(&self, said: &'s str) -> Option<&'s str> {
        let captures = self.0.iter().flatten().find_map(|pattern| pattern.captures(said))?;
        captures.iter().skip(1).flatten().next().map(|word| word.as_str())
    }

    fn number(&self, said: &str) -> Option<u32> {
        self.word(said).and_then(value)
    }

    fn matches(&self, said: &str) -> bool {
        self.0.iter().flatten().any(|pattern| pattern.is_match(said))
    }
}

/// Orders to open one.
static OPEN: LazyLock<Table> = LazyLock::new(|| {
    let see = "(?:open|show|display|read|view|see|bring up|pull up|expand|give)(?: me| us)?";
    // 条, 项 and 段 count what stands in documents, too: with them it has to be said that results are meant.
    let of_results = format!("(?:条|项|段|处|个|篇|份|号)?(?:搜索)?{ZH_THING}");
    Table::new(&[
        format!("{EN_ASKED}{see} (?:the )?({EN_ORDINAL})(?: one| {EN_THING})?{EN_POLITE}"),
        format!("{EN_ASKED}{see} (?:the )?{EN_THING} (?:number |no |nr )?({EN_CARDINAL}){EN_POLITE}"),
        format!("{EN_ASKED}(?:open|show|show me) (?:number |no |nr )?([0-9]{{1,2}}){EN_POLITE}"),
        format!("{ZH_ASKED}{ZH_SEE}第({ZH_NUMBER})(?:个|篇|份|号|{of_results}){ZH_POLITE}"),
        format!("{ZH_ASKED}{ZH_SEE}{ZH_THING}第?({ZH_NUMBER})号?{ZH_POLITE}"),
        format!("{ZH_ASKED}第({ZH_NUMBER})(?:个|篇|份|号|{of_results})(?:打开|点开|展开){ZH_POLITE}"),
    ])
});

/// A place and no more.
static PLACE: LazyLock<Table> = LazyLock::new(|| {
    Table::new(&[
        format!("(?:the )?({EN_ORDINAL})(?: one| {EN_THING})(?: please)?"),
        format!("(?:那就)?第({ZH_NUMBER})(?:个|篇|份)(?:{ZH_THING})?(?:吧|谢谢)?"),
    ])
});

/// Wants to know what there is.
static LIST: LazyLock<Table> = LazyLock::new(|| {
    let things = "(?:sources|references|citations|search results)";
    Table::new(&[
        format!(
            "{EN_ASKED}(?:list|show|give|tell)(?: me| us)?(?: all)?(?: of)?(?: the| your| these| those)? {things}(?: again)?\
             (?: of (?:the|your) (?:last|previous) (?:answer|search))?{EN_POLITE}"
        ),
        format!(
            "(?:what|which) (?:are|were) (?:the|your) {things}(?: of (?:this|that|the|your)(?: last)? (?:answer|search))?"
        ),
        "(?:what|which) sources did you use(?: for (?:this|that))?".to_owned(),
        "(?:what|which) sources is (?:this|that)(?: answer)? based on".to_owned(),
        format!(
            "{ZH_ASKED}(?:列出|列举|列一下|显示|展示|查看|看看|看一下)(?:一下)?(?:所有|全部|上次|刚才|上面)?的?\
             (?:搜索结果|引用来源|来源|出处|引用|参考资料)(?:列表)?{ZH_POLITE}"
        ),
        "(?:这个答案的|答案的|回答的|上面的|你的|引用)?(?:来源|出处)(?:都?有哪些|是什么|是哪些)".to_owned(),
        "都?有哪些(?:引用)?(?:来源|出处)".to_owned(),
    ])
});

/// Wants a language.
static SPEAK: LazyLock<Table> = LazyLock::new(|| {
    let answer = "(?:answer|reply|respond|write|speak)(?: to)?(?: me| us)?(?: only)?";
    Table::new(&[
        format!(
            "{EN_ASKED}(?:from now on )?(?:please )?(?:always )?{answer} in (english|chinese|mandarin)\
             (?: from now on| in future| in the future| always)?{EN_POLITE}"
        ),
        "(?:以后|今后|从现在起|从现在开始|请|麻烦|你|能不能|可以|都|一直|总是|只)*用(中文|汉语|普通话|英文|英语)\
         (?:来|跟我|和我|给我|对我)*(?:回答|回复|答复|交流|说话|沟通)(?:我的问题|我|问题)?(?:吧|吗|谢谢|好吗|可以吗)*"
            .to_owned(),
    ])
});

/// What `message` wants of the results, or which language. `is_cited`: an answer with numbers stands above it, so that a mere place, or a
/// word for sources, can mean them.
pub(super) fn wish(message: &str, is_cited: bool) -> Option<Wish> {
    let folded = fold(message);
    let said = plain(&folded);
    if let Some(number) = OPEN.number(&said) {
        return Some(Wish::Open(number));
    }
    if let Some(called) = SPEAK.word(&said) {
        let is_english = matches!(called, "english" | "英文" | "英语");
        return Some(Wish::Speak(if is_english { Lang::En } else { Lang::Zh }));
    }
    if !is_cited {
        return None;
    }
    if LIST.matches(&said) {
        return Some(Wish::List);
    }
    // "The second one?" asks about it.
    let asks = folded.contains(['?', '？']);
    PLACE.number(&said).filter(|_| !asks).map(Wish::Open)
}

/// Whether a marker stands in an answer.
pub(super) fn is_cited(answer: &str) -> bool {
    answer.split('[').skip(1).any(|rest| {
        let number = rest.split(']').next().filter(|number| number.len() < rest.len()).unwrap_or_default();
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

fn value(word: &str) -> Option<u32> {
    let place = |at: usize| u32::try_from(at + 1).ok();
    if let Ok(number) = word.parse() {
        return Some(number);
    }
    let english = ENGLISH.iter().position(|words| words.contains(&word));
    english.or_else(|| CHINESE.iter().position(|known| *known == word)).and_then(place)
}

/// Words without marks; Chinese ones without spaces.
fn plain(folded: &str) -> String {
    let bare = folded.chars().map(|c| if c.is_alphanumeric() || c == '\'' { c } else { ' ' }).collect::<String>();
    let between = if folded.is_ascii() { " " } else { "" };
    bare.split_whitespace().collect::<Vec<_>>().join(between)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_opened_in_both_languages() {
        for (message, number) in [
            ("open the second one", 2),
            ("Open the 2nd.", 2),
            ("Could you please show me the third result?", 3),
            ("open [4]", 4),
            ("Show source no. 12, please", 12),
            ("open #2", 2),
            ("read the first document in full", 1),
            ("view reference two", 2),
            ("打开第二个", 2),
            ("请打开第 3 个来源。", 3),
            ("打開第二個", 2),
            ("帮我看一下第十二篇文档吧", 12),
            ("看看第二条结果", 2),
            ("查看来源2", 2),
            ("把第一个打开", 1),
        ] {
            assert_eq!(wish(message, false), Some(Wish::Open(number)), "{message}");
        }
        for (message, number) in [("the second one", 2), ("the 3rd result", 3), ("第二个", 2), ("第三篇文档", 3)]
        {
            assert_eq!(wish(message, true), Some(Wish::Open(number)), "{message}");
            assert_eq!(wish(message, false), None, "{message}: of what?");
        }
    }

    #[test]
    fn results_are_listed_in_both_languages() {
        for message in [
            "list the sources",
            "Show me your references again, please",
            "What are your sources?",
            "Which sources did you use?",
            "列出来源",
            "请列出所有的引用来源",
            "来源有哪些？",
            "你的出处是什么",
        ] {
            assert_eq!(wish(message, true), Some(Wish::List), "{message}");
            assert_eq!(wish(message, false), None, "{message}: of what?");
        }
    }

    #[test]
    fn a_language_is_wished_for_in_both_languages() {
        for (message, lang) in [
            ("Please answer in Chinese from now on.", Lang::Zh),
            ("From now on, always reply to me in English", Lang::En),
            ("Can you respond in English?", Lang::En),
            ("以后请用中文回答", Lang::Zh),
            ("请用英文回答我的问题吧", Lang::En),
            ("從現在起用英語回覆", Lang::En),
        ] {
            assert_eq!(wish(message, false), Some(Wish::Speak(lang)), "{message}");
        }
    }

    #[test]
    fn a_real_question_is_no_wish() {
        for message in [
            "Must we answer in English?",
            "Answer in English: how long is the warranty?",
            "用英文回答客户需要多久？",
            "客服用中文回答吗",
            "答复用英文",
            "How do I open the second door?",
            "When does the second document have to be handed in?",
            "open the second valve",
            "the second one?",
            "Is the second one waterproof?",
            "open the second one and tell me how long the warranty is",
            "What are the sources of income?",
            "show the first aid instructions",
            "give me 2",
            "second",
            "open 24 hours",
            "show results for 2024",
            "2",
            "第二个呢？",
            "第二个是什么意思",
            "第二条",
            "查看第二条",
            "打开第二个阀门",
            "打开第二个阀门的步骤",
            "资金来源是什么",
            "第二章讲什么",
            "看第二季度的报告",
            "",
        ] {
            assert_eq!(wish(message, true), None, "{message}");
        }
    }

    #[test]
    fn an_answer_is_cited_where_a_number_stands_in_brackets() {
        assert!(is_cited("Two years. [1]") && is_cited("见 [12]。"));
        assert!(!is_cited("Two years.") && !is_cited("[a] []") && !is_cited("[1"));
    }
}
