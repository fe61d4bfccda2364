//! What tells a document from its siblings, read from its title, its file name and its first lines by rules.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;

use super::quantities::{Kind, quantities};

/// Facets of a text. Values keep their original case.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    /// What the text is about: its title without kind, edition and date.
    pub subject: Option<String>,
    /// The edition of the text: "2023", "v2", "Second edition", "第二版".
    pub edition: Option<String>,
    /// The date from which it holds, or that it bears: `2024-03-01`, `2024-03`.
    pub effective_from: Option<String>,
    /// The place that it holds for, where the text says so in so many words.
    pub place: Option<String>,
    /// The kind of document in English: "manual", "policy".
    pub kind: Option<String>,
}

/// How many lines of a text are searched for marked facets.
const LINES: usize = 30;
/// Longest line that is searched, in characters.
const LINE: usize = 300;
/// Longest subject, in characters.
const LONGEST_SUBJECT: usize = 80;
/// Longest name of a place, in characters.
const LONGEST_PLACE: usize = 40;

/// Kinds of documents and the words for them, longer ones first where one ends with another.
const KINDS: &[(&str, &str)] = &[
    (
        "manual",
        "user manual|owner'?s manual|instruction manual|operating manual|service manual|operating instructions|\
      instructions for use|manual|用户手册|使用手册|操作手册|维修手册|服务手册|产品手册|使用说明书|产品说明书|说明书|使用说明",
    ),
    ("handbook", "employee handbook|staff handbook|handbook|员工手册|手册"),
    (
        "guide",
        "quick start guide|getting started guide|user guide|user's guide|installation guide|admin(?:istrator)? guide|\
      guidelines?|guide|快速入门指南|快速指南|用户指南|使用指南|安装指南|操作指南|快速入门|指南|指引",
    ),
    ("policy", "policy|policies|政策|制度|管理办法|管理规定|实施细则|办法|规定|规范|条例|守则"),
    (
        "price list",
        "price lists?|price table|price sheet|pricing|prices|rate card|tariffs?|fee schedule|服务价目表|价目表|\
      价格表|报价单|收费标准|资费表|价格",
    ),
    ("catalogue", "catalogue|catalog|brochure|产品目录|商品目录|目录|宣传册"),
    ("datasheet", "data ?sheet|spec(?:ification)? sheet|specifications?|规格书|规格说明|技术规格|技术参数|参数表"),
    ("faq", "faqs?|frequently asked questions|常见问题解答|常见问题|问答"),
    (
        "report",
        "annual report|quarterly report|financial report|test report|report|年度报告|季度报告|财务报告|检测报告|年报|报告",
    ),
    (
        "contract",
        "service agreement|agreement|contract|terms (?:and|&) conditions|terms of (?:service|use)|\
      服务协议|合同|协议|服务条款|条款",
    ),
    ("minutes", "meeting minutes|minutes|会议纪要|会议记录|纪要"),
    ("notice", "notice|announcement|memo(?:randum)?|通知|公告|通告"),
    ("release notes", "release notes?|change ?log|发布说明|更新日志|更新说明|版本说明"),
    ("tutorial", "tutorial|教程"),
    ("procedure", "standard operating procedures?|procedures?|sop|操作规程|操作流程|工作流程|流程"),
    ("standard", "standard|标准"),
    ("white paper", "white ?paper|白皮书"),
    ("plan", "plan|proposal|计划|方案"),
];

#[expect(clippy::expect_used, reason = "the patterns are constants, and every test builds them")]
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a valid pattern")
}

/// One group per kind. Latin words stand alone; Chinese ones may stand anywhere.
static KIND: LazyLock<Vec<(&'static str, Regex)>> = LazyLock::new(|| {
    KINDS
        .iter()
        .map(|(kind, words)| {
            let (latin, han): (Vec<&str>, Vec<&str>) =
                words.split('|').map(str::trim_start).partition(|word| word.is_ascii());
            (*kind, pattern(&format!(r"(?i)\b(?:{})\b|(?:{})", latin.join("|"), han.join("|"))))
        })
        .collect()
});

/// Editions, the clearest first.
static EDITIONS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    vec![
        pattern(
            r"(?i)\b(?:\d{1,3}(?:st|nd|rd|th)|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|revised|new) edition\b",
        ),
        pattern(r"第\s?[一二三四五六七八九十百两\d]{1,4}\s?版"),
        pattern(r"(?:[12]\d{3}\s?年?\s?(?:修订|试行)?版|修订版|试行版|[Vv]?\d+(?:\.\d+){1,3}\s?版)"),
        pattern(r"(?i)\b[12]\d{3} (?:edition|version|revision)\b"),
        pattern(
            r"(?i)\b(?:version|ver\.?|release|revision|rev\.?|edition|issue)[ .]?\s?(?:[vr]?\d+(?:\.\d+){0,3}[a-z]?|[A-H])\b|版本\s?[:：]?\s?[Vv]?\d+(?:\.\d+){0,3}",
        ),
        pattern(r"\b[Vv]\d{1,2}(?:\.\d+){1,3}\b"),
        pattern(r"\b(?:FY ?)?(?:19|20)\d{2} ?(?:Q[1-4]|H[12])\b|\bQ[1-4] ?(?:19|20)\d{2}\b"),
        pattern(r"\b(?:FY ?)?(?:19|20)\d{2}(?:[-–/](?:19|20)?\d{2})?\b(?:\s?年度?)?"),
    ]
});

/// Lines that name the edition of the text.
static EDITION_LINE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W*(?:(?:document |doc )?(?:version|revision|edition|issue)(?: no\.?| number)?|版本号?|版次)\W{0,3}\s*[:：|]\s*[\x22']?([^|\x22'\s][^|\x22']{0,30}?)[\x22']?\s*(?:$|[|;；,，])",
    )
});

/// Words before a date from which the text holds.
static EFFECTIVE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)(?:\b(?:effective(?: from| date| as of)?|valid(?: from| as of)|in force (?:from|since)|applies from|takes effect)\b|生效日期?|施行日期?|实施日期?|执行日期?|适用期)",
    )
});
/// The Chinese way round: the date first, then that it holds.
static HOLDS_SINCE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?:自|从)?[^。]{0,24}(?:起|开始)?(?:施行|生效|实施|执行)"));
/// Words before a date that the text bears.
static DATED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W*(?:date|dated|published|issued|updated|last (?:updated|modified|revised)|release date|publication date|日期|发布日期|发布时间|更新日期|更新时间|修订日期|印发日期)\b?\W{0,3}\s*[:：|]?",
    )
});

/// Lines that name the place which the text holds for.
static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W*(?:region|country|territory|market|location|applicable (?:region|country)|applies in|jurisdiction|适用地区|适用区域|适用范围地区|适用国家|适用城市|地区|区域|国家|城市|市场)\W{0,3}\s*[:：|]\s*[\x22']?([^|;；。\x22']+)",
    )
});

/// What a document may call its subject and its kind where it declares them.
const SUBJECT_KEYS: &[&str] = &["product", "product name", "subject", "model", "产品", "产品名称", "型号", "主题"];
const KIND_KEYS: &[&str] = &["type", "kind", "category", "document type", "doc type", "类型", "文档类型", "类别"];

/// Reads the facets of a document from the title that it gives itself, its file name, what it declares about itself, and
/// the beginning of its text.
#[must_use]
pub fn read(title: Option<&str>, filename: &str, declared: &[(String, String)], head: &str) -> Found {
    let stem = stem(filename);
    let title = title.map(str::trim).filter(|title| !title.is_empty());
    let declared: Vec<(String, &str)> =
        declared.iter().map(|(key, value)| (key.to_lowercase().replace(['_', '-'], " "), value.as_str())).collect();
    let value_of =
        |keys: &[&str]| declared.iter().find(|(key, _)| keys.contains(&key.as_str())).map(|(_, value)| *value);
    let claims: Vec<String> = declared.iter().map(|(key, value)| format!("{key}: {value}")).collect();
    let head = head.lines().map(str::trim).filter(|line| !line.is_empty() && line.chars().count() <= LINE).take(LINES);
    let heading = head.clone().next().unwrap_or_default();
    let lines: Vec<&str> = claims.iter().map(String::as_str).chain(head).collect();
    let names: Vec<&str> = title.into_iter().chain([stem.as_str()]).collect();
    let heading = if heading.chars().count() <= LONGEST_SUBJECT { heading } else { "" };
    Found {
        kind: value_of(KIND_KEYS).into_iter().chain(names.iter().copied()).chain([heading]).find_map(kind),
        edition: names
            .iter()
            .find_map(|name| edition(name).or_else(|| mark(name).map(|found| name[found].to_owned())))
            .or_else(|| lines.iter().find_map(|line| named(&EDITION_LINE, line))),
        effective_from: effective(&lines)
            .or_else(|| names.iter().find_map(|name| date(name)))
            .or_else(|| dated(&lines)),
        place: lines.iter().find_map(|line| named(&PLACE, line)).filter(|place| place.chars().count() <= LONGEST_PLACE),
        subject: value_of(SUBJECT_KEYS)
            .filter(|value| value.chars().count() <= LONGEST_SUBJECT && !value.starts_with('['))
            .map(str::to_owned)
            .or_else(|| names.iter().find_map(|name| subject(name))),
    }
}

/// The file name without extension, marks between words as spaces.
fn stem(filename: &str) -> String {
    let stem = match filename.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() && extension.len() <= 8 => stem,
        _ => filename,
    };
    // A hyphen between digits belongs to a date.
    let chars: Vec<char> = stem.chars().collect();
    let digit = |at: Option<usize>| at.and_then(|at| chars.get(at)).is_some_and(char::is_ascii_digit);
    let spaced: String = chars
        .iter()
        .enumerate()
        .map(|(at, c)| match c {
            '_' | '+' => ' ',
            '-' if !(digit(at.checked_sub(1)) && digit(Some(at + 1))) => ' ',
            c => *c,
        })
        .collect();
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The kind that the last kind word names: the head noun stands last in both languages.
fn kind(name: &str) -> Option<String> {
    KIND.iter()
        .filter_map(|(kind, words)| words.find_iter(name).last().map(|found| (found.end(), found.len(), *kind)))
        .max_by_key(|(end, length, _)| (*end, *length))
        .map(|(_, _, kind)| kind.to_owned())
}

fn edition(name: &str) -> Option<String> {
    let dates = dates(name);
    EDITIONS
        .iter()
        .flat_map(|pattern| pattern.find_iter(name))
        .find(|found| !dates.iter().any(|(start, end, _)| *start < found.end() && found.start() < *end))
        .map(|found| found.as_str().trim().trim_end_matches(['年', '度']).trim().to_owned())
}

/// A bare "v2" where it counts editions of the text: behind the word for its kind, or in brackets. Before that word it is
/// part of a model's name: the "Falcon V2 User Manual" is no edition of the "Falcon V3 User Manual".
fn mark(name: &str) -> Option<Range<usize>> {
    static MARK: LazyLock<Regex> = LazyLock::new(|| pattern(r"[(（\[【]\s*[Vv]\d{1,2}\s*[)）\]】]|\b[Vv]\d{1,2}\b"));
    static BRACKETS: &[char] = &['(', '（', '[', '【', ')', '）', ']', '】', ' '];
    let kind = KIND.iter().filter_map(|(_, words)| words.find_iter(name).last()).map(|found| found.end()).max();
    let found = MARK
        .find_iter(name)
        .find(|found| found.as_str().starts_with(BRACKETS) || kind.is_some_and(|kind| kind <= found.start()))?;
    let lead = found.as_str().len() - found.as_str().trim_start_matches(BRACKETS).len();
    let bare = found.as_str().trim_matches(BRACKETS).len();
    Some(found.start() + lead..found.start() + lead + bare)
}

/// Dates with at least a month: where they stand, and in ISO form.
fn dates(text: &str) -> Vec<(usize, usize, String)> {
    quantities(text)
        .into_iter()
        .filter(|quantity| quantity.kind == Kind::Date)
        .filter_map(|quantity| {
            let iso = quantity.key.strip_prefix("date:")?;
            let full = iso.len() >= 7 && iso.bytes().take(4).all(|b| b.is_ascii_digit());
            full.then(|| (quantity.start, quantity.end, iso.to_owned()))
        })
        .collect()
}

fn date(text: &str) -> Option<String> {
    dates(text).into_iter().next().map(|(_, _, iso)| iso)
}

/// The date from which the text says that it holds.
fn effective(lines: &[&str]) -> Option<String> {
    lines.iter().find_map(|line| {
        let dates = dates(line);
        let after = EFFECTIVE.find(line).and_then(|mark| dates.iter().find(|(start, ..)| *start >= mark.end()));
        let before = || {
            dates.iter().find(|(start, end, _)| {
                HOLDS_SINCE.find_iter(line).any(|mark| mark.start() <= *start && *end <= mark.end())
            })
        };
        after.or_else(before).map(|(_, _, iso)| iso.clone())
    })
}

/// The date that the text bears.
fn dated(lines: &[&str]) -> Option<String> {
    lines.iter().filter(|line| DATED.is_match(line)).find_map(|line| date(line))
}

/// What a marked line names.
fn named(mark: &Regex, line: &str) -> Option<String> {
    let value = mark.captures(line)?.get(1)?.as_str().trim().trim_end_matches(['.', ',', '，', '。']).trim();
    (!value.is_empty()).then(|| value.to_owned())
}

/// A name without the words for kind, edition and date.
fn subject(name: &str) -> Option<String> {
    let mut kept = name.to_owned();
    for (start, end, _) in dates(name).into_iter().rev() {
        kept.replace_range(start..end, " ");
    }
    for pattern in EDITIONS.iter() {
        kept = pattern.replace_all(&kept, " ").into_owned();
    }
    if let Some(mark) = mark(&kept) {
        kept.replace_range(mark, " ");
    }
    // Only the head noun goes: in "Price Plan Policy" the plan is what the policy is about.
    let head = KIND.iter().filter_map(|(_, words)| words.find_iter(&kept).last().map(|found| found.range()));
    if let Some(range) = head.max_by_key(|range| (range.end, range.len())) {
        kept.replace_range(range, " ");
    }
    let kept = tidy(&kept, name);
    (kept.chars().any(char::is_alphabetic) && kept.chars().count() <= LONGEST_SUBJECT).then_some(kept)
}

/// Without empty brackets, loose marks and the little words that now stand at the ends. What `name` ends with stays: the
/// "A" of "Plan A" is no article.
fn tidy(text: &str, name: &str) -> String {
    static EMPTY: LazyLock<Regex> = LazyLock::new(|| pattern(r"[(（\[【《「]\s*[)）\]】》」]"));
    const LOOSE: &[char] = &[
        ' ', '-', '–', '—', '_', ':', '：', ',', '，', '、', '·', '|', '/', '.', '。', '《', '》', '“', '”', '"', '•',
        ';', '；',
    ];
    const LITTLE: &[&str] = &["for", "of", "the", "to", "on", "a", "an", "and", "de", "关于", "之"];
    let name = name.to_lowercase();
    let mut text = EMPTY.replace_all(text, " ").split_whitespace().collect::<Vec<_>>().join(" ");
    loop {
        let before = text.len();
        text = text.trim_matches(LOOSE).to_owned();
        for word in LITTLE {
            let lower = text.to_lowercase();
            let latin = word.is_ascii();
            if let Some(rest) = lower.strip_prefix(word)
                && (!latin || rest.starts_with(' '))
                && text.is_char_boundary(word.len())
            {
                text = text[word.len()..].to_owned();
            } else if latin && lower.ends_with(&format!(" {word}")) && !name.ends_with(&format!(" {word}")) {
                text.truncate(text.len().saturating_sub(word.len()));
            }
        }
        if let Some(rest) = text.strip_suffix('的') {
            text = rest.to_owned();
        }
        if text.len() == before {
            return text;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(title: &str, filename: &str, head: &str) -> [Option<String>; 5] {
        let found = read(Some(title).filter(|title| !title.is_empty()), filename, &[], head);
        [found.subject, found.edition, found.effective_from, found.place, found.kind]
    }

    fn some<const N: usize>(values: [&str; N]) -> [Option<String>; N] {
        values.map(|value| Some(value.to_owned()).filter(|value| !value.is_empty()))
    }

    #[test]
    fn titles_tell_subject_kind_and_edition() {
        for (title, expected) in [
            ("Aurora X1 User Manual", ["Aurora X1", "", "", "", "manual"]),
            ("User Manual for the Aurora X1", ["Aurora X1", "", "", "", "manual"]),
            ("极光 X1 用户手册", ["极光 X1", "", "", "", "manual"]),
            ("极光 X1 用户手册（第二版）", ["极光 X1", "第二版", "", "", "manual"]),
            ("Leave Policy, 2nd edition", ["Leave", "2nd edition", "", "", "policy"]),
            ("Northlight Travel Policy 2023", ["Northlight Travel", "2023", "", "", "policy"]),
            ("差旅报销制度（2023版）", ["差旅报销", "2023版", "", "", "policy"]),
            ("Widget Guide v2.1", ["Widget", "v2.1", "", "", "guide"]),
            ("Falcon V2 User Manual", ["Falcon V2", "", "", "", "manual"]),
            ("Falcon V2", ["Falcon V2", "", "", "", ""]),
            ("猎鹰 V2 用户手册", ["猎鹰 V2", "", "", "", "manual"]),
            ("Falcon V2 User Manual, version 3", ["Falcon V2", "version 3", "", "", "manual"]),
            ("Falcon User Manual V2", ["Falcon", "V2", "", "", "manual"]),
            ("Falcon User Manual (v3)", ["Falcon", "v3", "", "", "manual"]),
            ("猎鹰用户手册 V2", ["猎鹰", "V2", "", "", "manual"]),
            ("差旅报销制度（V2）", ["差旅报销", "V2", "", "", "policy"]),
            ("Volvo V60 Owner's Manual", ["Volvo V60", "", "", "", "manual"]),
            ("Price List - March 2024", ["", "", "2024-03", "", "price list"]),
            ("关于员工休假的规定", ["员工休假", "", "", "", "policy"]),
            ("会员服务价目表", ["会员", "", "", "", "price list"]),
            ("Returns and Refunds", ["Returns and Refunds", "", "", "", ""]),
        ] {
            assert_eq!(found(title, "", ""), some(expected), "{title}");
        }
    }

    #[test]
    fn the_file_name_fills_in() {
        assert_eq!(
            found("User Manual", "aurora-x1_manual_2024-05-01.pdf", ""),
            some(["aurora x1", "", "2024-05-01", "", "manual"])
        );
        assert_eq!(found("", "晨星A5-用户手册.md", ""), some(["晨星A5", "", "", "", "manual"]));
    }

    #[test]
    fn first_lines_tell_date_place_and_version() {
        let head = "Leave Policy\nVersion: 2.1\nRegion: Germany\nEffective from 1 January 2023. Owner: HR.\n";
        assert_eq!(found("Leave Policy", "p.md", head), some(["Leave", "2.1", "2023-01-01", "Germany", "policy"]));
        let head = "差旅报销制度\n适用地区：上海\n自 2025 年 7 月 1 日起施行。归口部门：财务部。\n";
        assert_eq!(found("差旅报销制度", "", head), some(["差旅报销", "", "2025-07-01", "上海", "policy"]));
        let head = "Notes\n\nThe region of Bavaria is large. It was effective.\nLast updated: 2024-02-03\n";
        assert_eq!(found("Notes", "", head), some(["Notes", "", "2024-02-03", "", ""]));
    }

    #[test]
    fn what_a_document_declares_comes_first() {
        let claims = [
            ("product", "Aurora X1"),
            ("doc_type", "price list"),
            ("version", "2.1"),
            ("last-updated", "2024-05-02"),
            ("region", "Germany"),
        ];
        let declared = claims.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let found = read(Some("Cleaning robots"), "r.md", &declared, "Cleaning robots\nVersion: 1\n");
        assert_eq!(
            [found.subject, found.edition, found.effective_from, found.place, found.kind],
            some(["Aurora X1", "2.1", "2024-05-02", "Germany", "price list"])
        );
    }

    #[test]
    fn nothing_is_found_in_nothing() {
        assert_eq!(read(None, "", &[], ""), Found::default());
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(title in proptest::prelude::any::<String>(), name in proptest::prelude::any::<String>()) {
            let _ = read(Some(&title), &name, &[(name.clone(), title.clone())], &title);
        }
    }
}
