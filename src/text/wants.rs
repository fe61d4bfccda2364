//! The kind of answer that a question wants.

use std::sync::LazyLock;

use regex::Regex;

use super::{quantities::Kind, question::pattern};

/// The kind of answer that is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wants {
    /// A length of time.
    Duration,
    /// An amount of money.
    Money,
    /// A count or a measure.
    Amount,
    /// A share.
    Percent,
    /// A time.
    Date,
    /// Somebody.
    Person,
    /// Somewhere.
    Place,
    /// Yes or no.
    YesNo,
    /// Several things.
    List,
    /// How something is done.
    Procedure,
    /// Why.
    Reason,
    /// None of these.
    Other,
}

impl Wants {
    /// The kinds of quantity that can answer it; empty where no quantity does.
    #[must_use]
    pub const fn quantities(self) -> &'static [Kind] {
        match self {
            Self::Duration => &[Kind::Duration],
            Self::Money => &[Kind::Money],
            Self::Amount => &[Kind::Measure, Kind::Number, Kind::Duration, Kind::Money, Kind::Percent],
            Self::Percent => &[Kind::Percent],
            Self::Date => &[Kind::Date],
            Self::Person | Self::Place | Self::YesNo | Self::List | Self::Procedure | Self::Reason | Self::Other => &[],
        }
    }
}

/// In the order in which they are tried.
static WANTS: LazyLock<Vec<(Wants, Regex)>> = LazyLock::new(|| {
    [
        (Wants::Percent, r"\b(what|which) (is the )?(percent|percentage|share|proportion)\b|\bpercentage of\b|百分之几|百分比|占比|比例"),
        (Wants::Money, r"\bhow much (money|is|are|does|do|did|was|were|will|would)\b.*\b(cost|price|pay|paid|fee|charge|spend)|\bhow much (is|are|was|were) (a|an|the|one|your)\b|\bhow (expensive|much money)\b|\bhow much (can|could|may|should|must) (i|we|you|one)\b.*\b(spend|pay|claim)\b|\bwhat (is|are|was|were|does|do|did)\b.*\b(cost|costs|price|prices|fee|fees|charges|salary)\b|\bprice of\b|多少(钱|元|美元|人民币)|几块钱|几元|价格|价钱|费用(是|为)?多少|怎么收费|如何收费|贵不贵|多贵|收费标准"),
        (Wants::Duration, r"\bhow (long|soon|early)\b|\bhow many (second|minute|hour|day|week|month|year|business day|working day)s?\b|\bwhat (is|was) the (duration|length of time)\b|^\W*(\w+ )?(warranty|guarantee|trial|notice|return|retention|validity) (length|duration|period|term)\b|多久|多长时间|周期|多少?(天|年|个月|小时|分钟|秒|周|个工作日|日)|几(天|年|个月|个小时|小时|分钟|周|个工作日)"),
        (Wants::Date, r"\bwhen\b|\bhow late\b|\b(what|which) (year|date|day|month|time)\b|什么时候|何时|什么时间|哪一?(年|天|日|月)|几(月|号|点)|何年|何月"),
        (Wants::Amount, r"\bhow (much|many|far|fast|quickly|slow|high|tall|heavy|big|large|small|deep|thick|wide|often|frequently|loud|old|hot|cold|strong|powerful|bright)\b|\b(number|amount|quantity) of\b|多少|多大|多高|多重|多远|多宽|多深|多快|几(个|位|名|次|人|家|种|台|件|倍|项|条|层|岁)|第几"),
        (Wants::Person, r"\bwho(m|se)?\b|谁|哪位|何人|哪个人"),
        (Wants::Place, r"\bwhere\b|\b(what|which) (city|country|place|town|state|county|location)\b|哪里|哪儿|何处|在哪|哪个(国家|城市|地方|省|地区)"),
        (Wants::Reason, r"\bwhy\b|为什么|为何|原因"),
        (Wants::Procedure, r"\bhow (is|are|was|were|do|can|to|should|could|would|does one|am i|are we)\b|怎么|如何|怎样"),
        (Wants::YesNo, r"^(is|are|was|were|do|does|did|can|could|may|will|would|should|has|have|had|am|must)\b|吗[?？]?$|是否|能不能|可不可以|有没有|是不是|能否|可否"),
        (Wants::List, r"\b(what|which) are\b|\bwhich (\w+ )?\w+[^su\W]s (have|has|need|offer|support|include|are)\b|\blist\b|\bname (the|all|some)\b|\bwhat (kinds?|types?|sorts?) of\b|哪些|有什么|列出|列举|哪几"),
    ]
    .into_iter()
    .filter_map(|(wants, text)| pattern(text).map(|pattern| (wants, pattern)))
    .collect()
});

/// Reads it from a folded question.
pub(super) fn wants(folded: &str) -> Wants {
    let trimmed = folded.trim();
    WANTS.iter().find(|(_, pattern)| pattern.is_match(trimmed)).map_or(Wants::Other, |(wants, _)| *wants)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::question::Question;

    #[test]
    fn every_pattern_compiles() {
        assert_eq!(WANTS.len(), 11);
    }

    #[test]
    fn the_kind_of_answer() {
        let cases = [
            ("How long is the warranty?", Wants::Duration),
            ("保修期多久？", Wants::Duration),
            ("滤芯多长时间更换一次？", Wants::Duration),
            ("How much is the licence?", Wants::Money),
            ("会员多少钱一年？", Wants::Money),
            ("When does the policy take effect?", Wants::Date),
            ("这本书哪一年出版？", Wants::Date),
            ("How many visitors may be in one hall?", Wants::Amount),
            ("How much does the robot weigh?", Wants::Amount),
            ("How early do visitors have to be registered?", Wants::Duration),
            ("How soon is the money refunded?", Wants::Duration),
            ("How strong is the suction power?", Wants::Amount),
            ("How quickly does it charge?", Wants::Amount),
            ("What percentage of sales came from Asia?", Wants::Percent),
            ("Who approves long trips?", Wants::Person),
            ("谁负责审批？", Wants::Person),
            ("Where is the meeting point?", Wants::Place),
            ("Why does the light blink?", Wants::Reason),
            ("How do I reset the robot?", Wants::Procedure),
            ("How is the rate derived?", Wants::Procedure),
            ("如何申请报销？", Wants::Procedure),
            ("Can the battery be changed?", Wants::YesNo),
            ("滤芯可以水洗吗？", Wants::YesNo),
            ("What are the error codes?", Wants::List),
            ("有哪些故障代码", Wants::List),
            ("Tell me about the dock", Wants::Other),
        ];
        for (text, expected) in cases {
            assert_eq!(Question::read(text).wants, expected, "{text}");
        }
    }
}
