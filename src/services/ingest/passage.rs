//! A leaf as the embedder and the word index read it.

use crate::{
    domain::{
        index::{Point, Profile, Quantized},
        knowledge::Chunk,
    },
    text::terms,
};

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
        sparse: Profile::CURRENT.passage(&counted.frequencies, counted.length),
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
