//! One option instead of another, a second thought, and the words of politeness around it.

use super::{
    labels::{cards, plans},
    *,
};

fn codes() -> Record {
    record("保修期多久？", Facet::Subject, &["A5", "B7", "C9"], &["产品"])
}

#[test]
fn an_option_whose_name_is_a_joining_word() {
    for reply in [
        "Plus",
        "plus please",
        "Plus (not Basic)",
        "Plus, not Basic",
        "Plus instead of Basic",
        "Plus rather than Basic",
        "Plus and not Basic",
        "Plus but not Basic",
        "Plus not Basic",
        "rather Plus than Basic",
        "I'd rather have Plus than Basic",
        "not Basic but Plus",
        "not Basic, Plus",
        "I don't want Basic, I want Plus",
        "I don't want Basic I want Plus",
    ] {
        check(&plans(), &[(reply, "2")]);
    }
    check(
        &plans(),
        &[
            ("Basic and Plus but not Premium", "1,2"),
            ("Basic and Plus", "1,2"),
            ("Plus and Basic", "1,2"),
            ("Plus or Premium", "2,3"),
            ("Basic, Plus", "1,2"),
            ("Basic plus Premium", "1,3"),
            ("all but Premium", "1,2"),
            ("all but Plus", "1,3"),
            ("not Basic", "2,3"),
            ("not Plus", "1,3"),
            ("neither Basic nor Plus", "3"),
        ],
    );
    check(&products(), &[("Aurora plus Borealis", "1,2")]);
}

#[test]
fn one_chinese_option_instead_of_another() {
    for reply in [
        "不要B7要A5",
        "不是B7是A5",
        "不是B7，是A5",
        "要A5不要B7",
        "我不要B7，我要A5",
        "我不要B7我要A5",
        "不選B7選A5",
        "不是B7而是A5",
        "是A5不是B7",
    ] {
        check(&codes(), &[(reply, "1")]);
    }
    check(&codes(), &[("不要B7也不要A5", "3"), ("不要B7", "1,3"), ("除了B7都要", "1,3"), ("不要B7和A5", "3")]);
    check(&cards(), &[("不要银卡要金卡", "2"), ("不是銀卡是金卡", "2"), ("不要金卡", "1,3")]);
}

#[test]
fn politeness_around_an_option() {
    for reply in [
        "Plus thx",
        "Plus, thx",
        "Plus, cheers",
        "Plus, thanks in advance",
        "Plus would be great",
        "Plus would be nice, thank you very much",
        "that would be Plus",
        "Definitely Plus",
        "Plus, definitely",
        "Plus of course",
        "Plus for sure",
        "Plus it is",
    ] {
        check(&plans(), &[(reply, "2")]);
    }
    check(&plans(), &[("premium please, thanks a lot", "3"), ("Basic, if you don't mind", "1")]);
    check(
        &cards(),
        &[
            ("请选择第二个", "2"),
            ("請選擇第二個", "2"),
            ("麻烦选第二个，非常感谢", "2"),
            ("金卡，谢谢您", "2"),
            ("当然是金卡", "2"),
            ("肯定是金卡", "2"),
        ],
    );
}

#[test]
fn a_second_thought_replaces_the_first() {
    check(
        &plans(),
        &[
            ("Basic? No, Plus", "2"),
            ("Basic... actually Plus", "2"),
            ("Basic, no wait, Plus", "2"),
            ("Basic, I mean Plus", "2"),
            ("Basic, sorry, Plus", "2"),
            ("Basic. Wait, no, Plus", "2"),
            ("Basic? Nope, Premium", "3"),
            ("Basic? No", "nothing"),
            ("Actually, Plus", "2"),
            ("sorry, I meant Plus", "2"),
            ("oops, Plus", "2"),
            ("no not that, the second", "2"),
            ("no, the second", "2"),
            ("not that one, Premium", "3"),
            ("Basic, Plus, actually Premium", "3"),
            ("Plus, actually", "2"),
            ("Plus, sorry", "2"),
            ("Basic, Plus", "1,2"),
        ],
    );
    check(&products(), &[("Borealis, sorry, Aurora", "1"), ("1, no, 2", "2"), ("1, no. 2", "1,2")]);
    check(
        &cards(),
        &[
            ("银卡，不，金卡", "2"),
            ("銀卡，不對，金卡", "2"),
            ("银卡，哦不，金卡", "2"),
            ("银卡，应该是金卡", "2"),
            ("不对，是第二个", "2"),
            ("不對，第二個", "2"),
            ("错了，第二个", "2"),
            ("錯了，第二個", "2"),
            ("不是，第二个", "2"),
            ("银卡错了，金卡", "2"),
            ("没有金卡", "1,3"),
            ("金卡还是铂金卡", "2,3"),
        ],
    );
}

#[test]
fn the_other_one_of_two() {
    for reply in ["另一个", "另一個", "另外一个", "the other one", "the other"] {
        check(&products(), &[(reply, "nothing")]);
        check(&three(), &[(reply, "nothing")]);
        let mut named = products();
        named.question.original_question = "How long is the warranty of the Aurora X1?".into();
        check(&named, &[(reply, "2")]);
        let mut chosen = products();
        let filters = vec![chosen.question.options[1].filter.clone()];
        let text = "the second".into();
        let words = "Borealis Z9".into();
        chosen.answers.push(Answer { text, filters, none: false, except_documents: vec![], words });
        check(&chosen, &[(reply, "1")]);
    }
    check(
        &products(),
        &[("not the Aurora, the other one", "2"), ("不是第一个，是另一个", "2"), ("another one", "none")],
    );
}

#[test]
fn what_does_not_matter_is_all_of_them() {
    for reply in [
        "I do not care",
        "I don't care",
        "doesn't matter",
        "it doesn't matter",
        "it does not matter, thanks",
        "无所谓",
        "無所謂",
        "我无所谓",
        "随便",
        "隨便",
        "随便哪个",
        "都一样",
    ] {
        check(&products(), &[(reply, "1,2")]);
        check(&plans(), &[(reply, "1,2,3")]);
    }
}
