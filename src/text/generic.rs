//! Words that fit any document and verbs that say little by themselves.

/// What each of them weighs beside others.
const GENERIC_WEIGHT: f32 = 0.2;
const LIGHT_WEIGHT: f32 = 0.3;
/// Words that fit any document, and names of what is asked for at all: "each product" asks about no word "product".
const GENERIC: &[&str] = &[
    "product",
    "company",
    "document",
    "item",
    "thing",
    "detail",
    "information",
    "info",
    "model",
    "device",
    "exactly",
    "currently",
    "time",
    "amount",
    "average",
    "year",
    "period",
    "length",
    "duration",
    "rule",
    "产品",
    "公司",
    "文档",
    "文件",
    "资料",
    "东西",
    "情况",
    "信息",
    "内容",
    "具体",
    "目前",
    "规定",
    "一款",
    "两款",
    "型号",
    "设备",
    "时间",
    "金额",
    "平均",
    "意思",
    "含义",
];

/// Verbs that lend a noun their form and say little themselves: "set up", "get a refund", "进行检查".
const LIGHT: &[&str] = &[
    "set", "sets", "get", "gets", "getting", "got", "make", "makes", "making", "made", "take", "takes", "taking",
    "took", "taken", "give", "gives", "giving", "gave", "given", "put", "puts", "putting", "go", "goes", "going",
    "went", "done", "let", "use", "uses", "used", "using", "spend", "have", "进行", "得到", "获得", "作出", "做出",
    "使用", "采取",
];

/// Whether a folded word fits any document.
#[must_use]
pub fn is_generic(word: &str) -> bool {
    GENERIC.contains(&word) || GENERIC.contains(&word.trim_end_matches('s'))
}

/// What a folded word of a question weighs by its kind, 0 … 1.
#[must_use]
pub fn weight(word: &str) -> f32 {
    if is_generic(word) {
        GENERIC_WEIGHT
    } else if LIGHT.contains(&word) {
        LIGHT_WEIGHT
    } else {
        1.0
    }
}
