//! What every [`Embedder`] keeps to.

use std::sync::Arc;

use askback::{adapters::embed::builtin::Builtin, domain::index::Embedder};

/// Runs everything on one embedder of English and Chinese.
pub(crate) async fn suite(embedder: Arc<dyn Embedder>) {
    vectors_have_unit_length_and_come_in_order(&*embedder).await;
    a_text_without_words_has_no_direction(&*embedder).await;
    meaning_crosses_languages(&*embedder).await;
    many_calls_at_once_give_what_one_gives(embedder).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn builtin() {
    suite(Arc::new(Builtin::load().unwrap())).await;
}

#[test]
fn builtin_gives_unknown_characters_no_direction() {
    let embedder = Builtin::load().unwrap();
    for text in ["\u{0}", "ᚠᚢᚦ 𒀀𒀁"] {
        assert_eq!(embedder.embed_now(text), None, "{text:?}");
    }
}

#[test]
fn builtin_answers_at_once_too() {
    let embedder = Builtin::load().unwrap();
    let waited =
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(embedder.query("保修期多久？"));
    assert_eq!(Ok(embedder.embed_now("保修期多久？")), waited);
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

async fn vectors_have_unit_length_and_come_in_order(embedder: &dyn Embedder) {
    let texts = owned(&["The warranty lasts two years.", "", "保修期为两年。", "The warranty lasts two years."]);
    let together = embedder.passages(&texts).await.unwrap();
    assert_eq!(together.len(), texts.len());
    for (text, vector) in texts.iter().zip(&together) {
        let alone = embedder.passages(std::slice::from_ref(text)).await.unwrap();
        assert_eq!(alone, std::slice::from_ref(vector), "{text:?} alone");
        if let Some(vector) = vector {
            assert_eq!(vector.len(), embedder.dims());
            assert!((cosine(vector, vector) - 1.0).abs() < 1e-4, "{text:?} has another length");
        }
    }
    assert_eq!(embedder.passages(&[]).await, Ok(vec![]));
}

async fn a_text_without_words_has_no_direction(embedder: &dyn Embedder) {
    for text in ["", " ", "\n\t \u{3000}"] {
        assert_eq!(embedder.query(text).await, Ok(None), "{text:?}");
    }
    assert!(embedder.query("x").await.unwrap().is_some());
}

async fn meaning_crosses_languages(embedder: &dyn Embedder) {
    let question = embedder.query("How long does the warranty last?").await.unwrap().unwrap();
    let texts = owned(&["产品的保修期为两年。", "会议室可以提前一周预订。"]);
    let passages: Vec<Vec<f32>> = embedder.passages(&texts).await.unwrap().into_iter().flatten().collect();
    assert!(cosine(&question, &passages[0]) > cosine(&question, &passages[1]) + 0.1);
}

async fn many_calls_at_once_give_what_one_gives(embedder: Arc<dyn Embedder>) {
    let expected = embedder.query("保修 warranty").await;
    let calls: Vec<_> = (0..50)
        .map(|_| {
            let embedder = Arc::clone(&embedder);
            tokio::spawn(async move { embedder.query("保修 warranty").await })
        })
        .collect();
    for call in calls {
        assert_eq!(call.await.unwrap(), expected);
    }
}
