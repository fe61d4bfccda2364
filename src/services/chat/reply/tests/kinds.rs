//! Kinds of replies that look like something else: letters, refusals of one option, an option with another subject, noise.

use super::*;

/// Labels that are codes, as of shop shelves.
fn codes() -> Record {
    record("保修期多久？", Facet::Subject, &["A5", "B7"], &["产品"])
}

fn purifiers() -> Record {
    record("滤网多久换一次？", Facet::Subject, &["A5 空气净化器", "B7 空气净化器", "C9 除湿机"], &["产品"])
}

#[test]
fn letters_and_numbers_side_by_side() {
    for separated in
        ["a,b", "A,B", "a, b", "A，B", "A、B", "a b", "ab", "A/B", "A和B", "选A,B", "options a, b", "1,2", "a and b"]
    {
        check(&products(), &[(separated, "1,2")]);
    }
    check(
        &three(),
        &[
            ("a, c", "1,3"),
            ("A,C", "1,3"),
            ("a,b,c", "1,2,3"),
            ("AC", "1,3"),
            ("选 A, C", "1,3"),
            ("a c please", "1,3"),
            ("A，C吧", "1,3"),
            ("a, d", "nothing"),
            ("be", "unsure"),
        ],
    );
    let letters = record("Which plug?", Facet::Kind, &["AB", "CD", "EF"], &[]);
    check(&letters, &[("ab", "1"), ("cd", "2")]);
}

#[test]
fn an_option_instead_of_another() {
    check(
        &products(),
        &[
            ("Aurora X1 instead of Borealis Z9", "1"),
            ("the Borealis instead of the Aurora", "2"),
            ("instead of the Aurora, the Borealis", "2"),
            ("Aurora X1 rather than Borealis Z9", "1"),
            ("I'd rather have the Borealis than the Aurora", "2"),
            ("the second rather than the first", "2"),
            ("Aurora not Borealis", "1"),
            ("Aurora X1, not Borealis Z9", "1"),
            ("the first and not the second", "1"),
            ("not the Aurora and not the Borealis", "none"),
            ("not Aurora, not Borealis", "none"),
            ("not aurora nor borealis", "none"),
            ("Not sure, maybe Aurora X1", "1"),
            ("I don't know, perhaps the second", "2"),
            ("I'm not sure but I think the Borealis", "2"),
            ("not sure, sorry", "1,2"),
            ("the Aurora is not it", "2"),
        ],
    );
    check(
        &zh(),
        &[
            ("不要极光也不要北风", "3"),
            ("不是极光，也不是北风", "3"),
            ("极光而不是北风", "1"),
            ("是极光不是北风", "1"),
            ("极光，不要北风", "1"),
            ("要北风不要极光", "2"),
            ("极光不要", "2,3"),
            ("第一个不是，第二个", "2"),
            ("不要极光也不要北风也不要流云", "none"),
            ("不确定，可能是北风", "2"),
            ("不知道，也许第二个", "2"),
        ],
    );
    check(
        &purifiers(),
        &[
            ("A5空气净化器而不是B7空气净化器", "1"),
            ("A5而不是B7", "1"),
            ("是A5不是B7", "1"),
            ("不要A5也不要B7", "3"),
            ("我要除湿机", "3"),
        ],
    );
    assert_ne!(brief(&understand("是不是极光", &zh(), None), &zh()), "2,3", "it asks, and rules nothing out");
}

#[test]
fn an_option_with_another_subject_is_another_question() {
    check(
        &products(),
        &[
            ("Aurora X1 price", "new 1"),
            ("Aurora X1 noise level", "new 1"),
            ("price of the Aurora", "new 1"),
            ("tell me about the Aurora X1", "new 1"),
            ("cancel the warranty of the Aurora X1", "new 1"),
            ("Borealis Z9 error C4", "new 2"),
            ("Borealis Z9, price", "new 2"),
            // What repeats the question, or says no more than whose it is, stays the answer.
            ("Aurora X1 warranty", "1"),
            ("warranty of the Aurora X1 please", "1"),
            ("the Aurora one", "1"),
            ("I mean the warranty for the Borealis", "2"),
            ("the warrenty of the Aurora", "1"),
            ("I bought the Aurora X1", "1"),
            ("the Aurora X1 model", "1"),
            ("Aurora X1, the white one", "1"),
            ("Aurora X1, I have it in the office", "1"),
            ("Borealis Z8", "slot"),
        ],
    );
    check(
        &codes(),
        &[
            ("A5重量", "new 1"),
            ("A5价格", "new 1"),
            ("B7噪音", "new 2"),
            ("B7的价格", "new 2"),
            ("A5，价格", "new 1"),
            ("A5", "1"),
            ("A5的", "1"),
            ("请问A5", "1"),
            ("A5保修期", "1"),
            ("A5的保修", "1"),
            ("那个B7", "2"),
            ("我买的是B7", "2"),
        ],
    );
}

#[test]
fn a_question_behind_an_option_runs_alone() {
    check(
        &products(),
        &[
            ("Aurora X1. Also what is the daily meal allowance?", "new: what is the daily meal allowance?"),
            ("the second one. What does shipping cost?", "new: What does shipping cost?"),
            ("Aurora X1. How heavy is it?", "new 1: How heavy is it?"),
            ("Aurora X1. How heavy is the Borealis?", "new 2: How heavy is the Borealis?"),
            ("Aurora X1. How long is the warranty?", "1"),
            ("no, I want to know the returns policy", "dismiss I want to know the returns policy"),
            ("Never mind the warranty, how heavy is the Aurora", "dismiss how heavy is the Aurora"),
            ("never mind the warranty", "dismiss"),
            ("forget about the warranty. What does shipping cost?", "dismiss What does shipping cost?"),
        ],
    );
    check(
        &codes(),
        &[
            ("B7，另外年假几天？", "new: 年假几天？"),
            ("第一个。怎么退货？", "new: 怎么退货？"),
            ("A5，它多重？", "new 1: 它多重？"),
            ("算了，年假几天？", "dismiss 年假几天？"),
        ],
    );
}

#[test]
fn what_goes_on_from_a_question_says_so() {
    for text in
        ["and the battery?", "What about the battery?", "how heavy is it?", "电池呢？", "那退货期限呢", "它多重？"]
    {
        assert!(leans(text), "{text}");
    }
    for text in ["pizza", "returns policy", "How do I return a mower?", "退货", "怎么退货？"] {
        assert!(!leans(text), "{text}");
    }
}

#[test]
fn what_says_nothing_chooses_nothing() {
    for noise in [
        "hmm",
        "umm",
        "🤷 hmm",
        "well",
        "well...",
        "why?",
        "x",
        "what?",
        "What do you mean?",
        "什么意思？",
        "你猜",
        "嗯……",
        "不懂",
        "哪个？",
        "3",
        "option 3",
        "第三个",
        "the third one",
        "三",
        "E",
        "999",
        "all three",
        "三个都要",
    ] {
        check(&products(), &[(noise, "nothing")]);
        check(&codes(), &[(noise, "nothing")]);
    }
    for noise in ["hmm", "什么意思？", "what?", "你猜", "?"] {
        check(&open_place(), &[(noise, "nothing")]);
        check(&open_kind(), &[(noise, "nothing")]);
    }
    // What has words of its own is no noise.
    check(&products(), &[("why is it so loud", "new"), ("what is x", "new"), ("x rays", "unsure"), ("HR", "unsure")]);
    let said = understand("hmm", &products(), None);
    assert_eq!((said.reason.as_str(), said.by.as_str()), ("says nothing that chooses", "builtin"));
}

#[test]
fn all_and_none_of_the_above() {
    for all in ["以上都是", "以上全部", "都是", "all of the above", "all the above", "两个都是"] {
        check(&codes(), &[(all, "1,2")]);
    }
    for none in ["以上都不是", "都不是", "以上都不要", "两个都不是", "none of the above", "neither"] {
        check(&codes(), &[(none, "none")]);
    }
    let sections = record("How long?", Facet::Section, &["Battery", "Motor"], &[]);
    check(&sections, &[("none of these", "none"), ("都不是", "none")]);
}
