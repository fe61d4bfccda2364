//! Places in the list under the words of the prompt, and counts of what was offered.

use super::{
    labels::{cards, plans},
    *,
};

fn prompted(mut record: Record, prompt: &str) -> Record {
    record.question.prompt = prompt.into();
    record
}

#[test]
fn a_place_with_the_noun_of_the_prompt() {
    check(
        &prompted(products(), "Which product do you mean?"),
        &[
            ("the second product", "2"),
            ("second product", "2"),
            ("product 2", "2"),
            ("product number 2", "2"),
            ("Product B", "2"),
            ("both products", "1,2"),
            ("both of these products", "1,2"),
            ("all products", "1,2"),
            ("all the products", "1,2"),
            ("all of the products", "1,2"),
            ("the two products", "1,2"),
            ("second model", "2"),
            ("item 2", "2"),
            ("the second item please", "2"),
            ("the second bullet", "2"),
            ("the second bullet point", "2"),
            ("II", "2"),
            ("Ⅱ", "2"),
            ("Ⅰ", "1"),
            ("not the first product", "2"),
            ("neither product", "none"),
            ("none of these products", "none"),
            ("products 1 and 2", "1,2"),
            ("the 2nd product, please", "2"),
            ("I'd like the second product, thanks", "2"),
            ("the second product, not the first", "2"),
            ("any product", "1,2"),
            ("each product", "1,2"),
            ("every product", "1,2"),
            ("another product", "none"),
            ("neither of the products", "none"),
            ("the other product", "nothing"),
            ("which product is cheaper?", "new"),
            ("product 3", "nothing"),
            ("the third product", "nothing"),
            ("the second product. What does shipping cost?", "new: What does shipping cost?"),
            ("What does the second product cost?", "new"),
            ("product recalls", "unsure"),
        ],
    );
    check(
        &plans(),
        &[
            ("the second plan", "2"),
            ("the second care plan", "2"),
            ("plan 2", "2"),
            ("the first plan", "1"),
            ("the last plan", "3"),
            ("the middle plan", "2"),
            ("all three plans", "1,2,3"),
            ("all three care plans", "1,2,3"),
            ("the first two plans", "1,2"),
            ("the Plus plan", "2"),
            ("plan Plus", "2"),
            ("Premium plan, not the Basic plan", "3"),
            ("the price of the Plus plan", "new 2"),
            ("both plans", "nothing"),
            ("the first and the third plan", "1,3"),
        ],
    );
    let policies = prompted(three(), "Which policy do you mean?");
    check(&policies, &[("the second policy", "2"), ("all policies", "1,2,3")]);
    // What stands in a label is no bare noun.
    let versions = prompted(
        record("What changed?", Facet::Edition, &["Version 2", "Version 1"], &[]),
        "Which version do you mean?",
    );
    check(&versions, &[("version 1", "2"), ("version 2", "1"), ("the second version", "2"), ("both versions", "1,2")]);
}

#[test]
fn chinese_places_with_the_noun_of_the_prompt() {
    let products = prompted(products(), "您指的是哪一款产品？");
    check(
        &products,
        &[
            ("第二个产品", "2"),
            ("第二款产品", "2"),
            ("第二個產品", "2"),
            ("第二產品", "2"),
            ("两个产品都要", "1,2"),
            ("兩個產品都要", "1,2"),
            ("两款产品都要", "1,2"),
            ("所有产品", "1,2"),
            ("所有的产品", "1,2"),
            ("全部产品都要", "1,2"),
            ("产品二", "2"),
            ("產品二", "2"),
            ("产品2", "2"),
            ("2号产品", "2"),
            ("第二个型号", "2"),
            ("不是第一个产品", "2"),
            ("这两个产品都要", "1,2"),
            ("最后一款产品", "2"),
            ("第一个产品和第二个产品", "1,2"),
            ("B产品", "2"),
            ("选项2", "2"),
            ("方案二", "2"),
            ("方案B", "2"),
            ("产品一般怎么样", "new"),
            ("第二个产品多重？", "new"),
            ("第三个产品", "nothing"),
            ("三个产品都要", "nothing"),
            ("产品召回", "unsure"),
        ],
    );
    check(
        &cards(),
        &[
            ("第二个等级", "2"),
            ("第二個等級", "2"),
            ("全部等级", "1,2,3"),
            ("三个等级都要", "1,2,3"),
            ("最后一个等级", "3"),
            ("等级二", "2"),
            ("第二张卡", "2"),
            ("三张卡都要", "1,2,3"),
            ("前两个等级", "1,2"),
        ],
    );
}

#[test]
fn counts_are_no_places() {
    check(
        &products(),
        &[
            ("two of them", "1,2"),
            ("2 of them", "1,2"),
            ("two products", "1,2"),
            ("2 of 2", "2"),
            ("1 of 2", "1"),
            ("two of two", "2"),
            ("one of them", "nothing"),
            ("2 of 3", "nothing"),
            ("three of them", "nothing"),
            ("the last but one", "1"),
        ],
    );
    check(
        &three(),
        &[
            ("two of them", "nothing"),
            ("2 of these", "nothing"),
            ("two products", "nothing"),
            ("three of them", "1,2,3"),
            ("2 of 3", "2"),
            ("the last but one", "2"),
            ("last but one", "2"),
            ("the one before the last", "2"),
            ("all but one", "nothing"),
            ("second to last", "2"),
        ],
    );
    check(&cards(), &[("其中两个", "nothing"), ("倒数第二个", "2")]);
}

#[test]
fn declining_an_option_is_not_choosing_it() {
    check(
        &products(),
        &[
            ("Never mind the first one", "2"),
            ("never mind the Aurora", "2"),
            ("forget the first one", "2"),
            ("forget about the second", "1"),
            ("skip the first", "2"),
            ("never mind the second one, the first", "1"),
            ("never mind, the second one", "2"),
            ("no thanks, the second", "2"),
            ("forget it, the second one", "2"),
            ("skip it", "dismiss"),
            ("ignore that", "dismiss"),
            ("forget it", "dismiss"),
            ("How do I ignore alerts on the Aurora X1?", "new 1"),
            ("I forgot my password", "unsure"),
            ("never mind the warranty", "dismiss"),
            ("跳过第一个", "2"),
        ],
    );
    check(&three(), &[("Never mind the first one", "2,3"), ("ignore the second", "1,3")]);
    check(
        &cards(),
        &[
            ("算了金卡吧", "2"),
            ("算了，金卡吧", "2"),
            ("算了第二个吧", "2"),
            ("算了第二個吧", "2"),
            ("算了，第二个吧", "2"),
            ("算了都不要", "dismiss"),
            ("忽略第一个", "2,3"),
            ("算了怎么退货", "dismiss 怎么退货"),
        ],
    );
}
