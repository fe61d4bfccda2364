//! A leaf as the embedder and the word index read it.

use crate::{
    domain::{
        index::{Bm25, Point, Quantized},
        knowledge::Chunk,
    },
    text::terms,
};

/// What makes the terms of a leaf and their weights, with its revision: to be raised with every change after which
/// [`passage_text`], `text::terms::count` or [`Bm25::CURRENT`] gives another result for a text. Reindexing is due then.
pub const ANALYSER: &str = "words@1, bm25 0.9 0.6";

/// The words that a leaf is found by: title, heading path, table header, body. A part that the body begins with anyway
/// is not said twice.
#[must_use]
pub fn passage_text(title: Option<&str>, chunk: &Chunk) -> String {
    let body = chunk.body.as_str();
    let mut text = String::with_capacity(body.len() + 128);
    let mut say = |part: &str| {
        if !part.is_empty() && !body.starts_with(part) {
            text.push_str(part);
            text.push('\n');
        }
    };
    say(title.unwrap_or_default());
    for heading in chunk.section.as_deref().unwrap_or_default().split(" > ") {
        say(heading);
    }
    if let Some(header) = chunk.header.as_deref().filter(|header| !body.contains(header)) {
        say(header);
    }
    text.push_str(body);
    text
}

/// The leaf's place in the index.
pub(super) fn point(chunk: &Chunk, text: &str, vector: Option<&[f32]>) -> Point {
    let counted = terms::count(text);
    Point {
        chunk: chunk.id,
        dense: vector.map(Quantized::of),
        sparse: Bm25::CURRENT.passage(&counted.frequencies, counted.length),
    }
}

/// A title from a file name, for files that give themselves none: without extension, marks between words as spaces.
pub(super) fn title_of(filename: &str) -> String {
    let stem = filename.rsplit_once('.').map_or(filename, |(stem, _)| if stem.is_empty() { filename } else { stem });
    stem.split(['_', '-', ' ', '+']).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{
        id::{ChunkId, VersionId},
        knowledge::Level,
    };

    fn leaf(section: &str, header: Option<&str>, body: &str) -> Chunk {
        let version = VersionId::from_uuid(uuid::Uuid::from_u128(1));
        Chunk {
            id: ChunkId::derived(version, "3/0"),
            version,
            level: Level::Leaf,
            no: 0,
            parent: None,
            page: None,
            start: 0,
            end: 0,
            section: Some(section.into()),
            header: header.map(str::to_owned),
            body: body.into(),
        }
    }

    /// Whoever changes what this test sees also raises the revision of [`ANALYSER`], and then the number here.
    #[test]
    fn another_analyser_has_another_name() {
        const TEXTS: [&str; 4] = [
            "The warranty of the Aurora X1 lasts 36 months; batteries are covered for 1.5 years.",
            "ISO-9001 e-mails, naïve cafés, ﬁles and don't: running runs ran.",
            "本产品自购买之日起享受二十四个月的保修服务。",
            "保固期為兩年，請聯絡 support@example.com 或撥打 400-123。",
        ];
        let points = TEXTS.map(|text| {
            let leaf = leaf("Warranty > 保修", Some("型号 | Price"), text);
            point(&leaf, &passage_text(Some("Manual 手册"), &leaf), None).sparse
        });
        let sum = points.iter().fold(0_u64, |sum, sparse| {
            let each = sparse.terms.iter().zip(&sparse.weights);
            each.fold(sum, |sum, (term, weight)| {
                let parts = [u64::from(*term), (weight * 1_000.0).round() as u64];
                parts.iter().fold(sum, |sum, part| (sum ^ part).wrapping_mul(0x0000_0100_0000_01b3))
            })
        });
        assert_eq!((ANALYSER, sum), ("words@1, bm25 0.9 0.6", 13_545_299_293_447_841_353));
        let Bm25 { k1, b } = Bm25::CURRENT;
        assert!(ANALYSER.ends_with(&format!("bm25 {k1} {b}")), "{ANALYSER}");
    }

    #[test]
    fn context_is_said_once() {
        assert_eq!(
            passage_text(Some("Aurora X1"), &leaf("Warranty > Battery", None, "Battery\nOne year.")),
            "Aurora X1\nWarranty\nBattery\nOne year."
        );
        assert_eq!(passage_text(None, &leaf("价格", Some("型号 | 价格"), "X1 | 199")), "价格\n型号 | 价格\nX1 | 199");
    }

    proptest::proptest! {
        #[test]
        fn any_name_becomes_a_title(name in "[a ._+报𠀀👩\u{200d}\u{301}-]{0,60}") {
            let title = title_of(&name);
            proptest::prop_assert!(title.chars().all(|c| c == ' ' || name.contains(c)) && title.len() <= name.len());
        }
    }

    #[test]
    fn names_become_titles() {
        assert_eq!(title_of("aurora-x1_user manual.pdf"), "aurora x1 user manual");
        assert_eq!(title_of("说明书"), "说明书");
    }
}
