use proptest::prelude::*;

use super::*;
use crate::domain::extract::{Block, BlockKind, PageMark};

/// A text of these blocks, parted by blank lines.
fn text(blocks: &[(BlockKind, &str)]) -> Extracted {
    let mut out = Extracted::default();
    let mut chars = 0;
    for (kind, body) in blocks {
        if !out.text.is_empty() {
            out.text.push('\n');
            chars += 1;
        }
        let end = chars + body.chars().count();
        out.text.push_str(body);
        out.blocks.push(Block { kind: *kind, start: chars, end });
        chars = end;
    }
    out
}

fn version() -> VersionId {
    VersionId::from_uuid(uuid::Uuid::from_u128(7))
}

fn cut(extracted: &Extracted) -> Vec<Chunk> {
    chunks(version(), extracted, &Shape::default(), &Before::default())
}

fn leaves(extracted: &Extracted) -> Vec<Chunk> {
    cut(extracted).into_iter().filter(|chunk| chunk.level == Level::Leaf).collect()
}

#[test]
fn each_section_is_a_leaf_and_a_bare_heading_joins_its_first() {
    let extracted = text(&[
        (BlockKind::Heading(1), "Aurora X1 Manual"),
        (BlockKind::Heading(2), "Warranty"),
        (BlockKind::Paragraph, "Two years."),
        (BlockKind::Heading(3), "Battery"),
        (BlockKind::Paragraph, "One year."),
        (BlockKind::Heading(2), "保养"),
        (BlockKind::Paragraph, "每年一次。"),
    ]);
    let found: Vec<(Option<String>, String)> =
        leaves(&extracted).into_iter().map(|leaf| (leaf.section, leaf.body)).collect();
    assert_eq!(
        found,
        [
            (Some("Warranty".into()), "Aurora X1 Manual\nWarranty\nTwo years.".into()),
            (Some("Warranty > Battery".into()), "Battery\nOne year.".into()),
            (Some("保养".into()), "保养\n每年一次。".into()),
        ]
    );
}

#[test]
fn rows_keep_their_header() {
    let row = format!("Model {} | 24 months", "x".repeat(90));
    let mut blocks = vec![(BlockKind::TableHeader, "Model | Warranty")];
    blocks.extend(std::iter::repeat_n((BlockKind::TableRow, row.as_str()), 20));
    let leaves = leaves(&text(&blocks));
    assert!(leaves.len() > 2);
    for leaf in &leaves {
        assert_eq!(leaf.header.as_deref(), Some("Model | Warranty"));
        assert!(leaf.body.lines().all(|line| line == row || line == "Model | Warranty"), "rows are whole");
    }
}

#[test]
fn long_prose_is_cut_at_sentences_of_both_scripts() {
    for sentence in ["The battery is covered for one year only. ", "电池的保修期只有一年，其余部件为两年。"]
    {
        let prose = sentence.repeat(80);
        let leaves = leaves(&text(&[(BlockKind::Paragraph, prose.trim())]));
        assert!(leaves.len() > 1);
        for leaf in &leaves {
            assert!(leaf.body.starts_with(['T', '电']) && leaf.body.ends_with(['.', '。']));
            assert!(leaf.body.chars().count() <= 1_000, "{}", leaf.body.chars().count());
        }
        let repeated = leaves.windows(2).filter(|pair| pair[1].start < pair[0].end).count();
        assert_eq!(repeated, leaves.len() - 1, "each repeats the end of the one before");
    }
}

#[test]
fn one_endless_line_is_cut_between_characters() {
    let leaves = leaves(&text(&[(BlockKind::Paragraph, &"保".repeat(5_000))]));
    assert_eq!(leaves.iter().map(|leaf| leaf.body.chars().count()).collect::<Vec<_>>(), [900, 900, 900, 900, 900, 500]);
}

#[test]
fn pages_are_where_a_chunk_begins() {
    let mut extracted =
        text(&[(BlockKind::Heading(1), "一月"), (BlockKind::Paragraph, "甲"), (BlockKind::Heading(1), "二月")]);
    extracted.pages = vec![PageMark { label: "Jan".into(), start: 0 }, PageMark { label: "Feb".into(), start: 5 }];
    let pages: Vec<Option<String>> = leaves(&extracted).into_iter().map(|leaf| leaf.page).collect();
    assert_eq!(pages, [Some("Jan".into()), Some("Feb".into())]);
}

#[test]
fn text_without_blocks_is_one_paragraph() {
    let extracted = Extracted { text: "  Just this.  ".into(), ..Extracted::default() };
    let bodies: Vec<String> = cut(&extracted).into_iter().map(|chunk| chunk.body).collect();
    assert_eq!(bodies, ["Just this."; 3]);
    assert_eq!(cut(&Extracted::default()), []);
}

fn kind() -> impl Strategy<Value = BlockKind> {
    prop_oneof![
        (1..=6_u8).prop_map(BlockKind::Heading),
        Just(BlockKind::Paragraph),
        Just(BlockKind::ListItem),
        Just(BlockKind::TableHeader),
        Just(BlockKind::TableRow),
        Just(BlockKind::Code),
    ]
}

fn body() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        (any::<String>(), 1..40_usize).prop_map(|(text, times)| text.repeat(times)),
        (0..60_usize).prop_map(|n| "The lid opens. 盖子打开。".repeat(n)),
        (0..3_000_usize).prop_map(|n| "e\u{301}".repeat(n)),
    ]
}

fn extracted() -> impl Strategy<Value = Extracted> {
    prop::collection::vec((kind(), body()), 0..12).prop_map(|blocks| {
        let blocks: Vec<(BlockKind, &str)> = blocks.iter().map(|(kind, body)| (*kind, body.as_str())).collect();
        text(&blocks)
    })
}

proptest! {
    #[test]
    fn any_text_is_covered_and_nested(extracted in extracted()) {
        let found = cut(&extracted);
        prop_assert_eq!(&found, &cut(&extracted), "the same input gives the same chunks");
        let text: Vec<char> = extracted.text.chars().collect();
        let mut covered = vec![false; text.len()];
        for chunk in &found {
            let (start, end) = (usize::try_from(chunk.start).unwrap(), usize::try_from(chunk.end).unwrap());
            prop_assert_eq!(&chunk.body, &text[start..end].iter().collect::<String>(), "stands there verbatim");
            prop_assert!(!chunk.body.trim().is_empty());
            if let Some(parent) = chunk.parent {
                let parent = found.iter().find(|other| other.id == parent).unwrap();
                prop_assert!(parent.start <= chunk.start && chunk.end <= parent.end, "lies in its parent");
                prop_assert_eq!(u8::from(parent.level) + 1, u8::from(chunk.level));
            } else {
                prop_assert_eq!(chunk.level, Level::Section);
            }
            if chunk.level == Level::Leaf {
                covered[start..end].fill(true);
                let tops = extracted.blocks.iter().filter(|block| {
                    matches!(block.kind, BlockKind::Heading(1)) && block.start > start && block.end <= end && block.end > block.start
                        && text[block.start..block.end].iter().any(|c| !c.is_whitespace())
                });
                prop_assert!(tops.count() == 0 , "a top-level heading opens its leaf");
            }
        }
        for (at, c) in text.iter().enumerate() {
            prop_assert!(covered[at] || c.is_whitespace(), "character {} is in no leaf", at);
        }
    }
}
