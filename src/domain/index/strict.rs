//! Embedders held to their contract.

use std::sync::Arc;

use async_trait::async_trait;

use super::Embedder;
use crate::domain::error::EngineError;

/// An embedder whose vectors are looked at before anyone stores them or searches with them: a server may have another
/// model behind the name that it is asked for, and one vector of another length would spoil an index.
pub(in crate::domain) struct Strict(pub(in crate::domain) Arc<dyn Embedder>);

impl Strict {
    fn check(&self, vector: &[f32]) -> Result<(), EngineError> {
        let (name, dims) = (self.name(), self.dims());
        if vector.len() != dims {
            let values = vector.len();
            return Err(EngineError::Rejected(format!("{name} gave a vector of {values} values, not of {dims}")));
        }
        if !vector.iter().all(|value| value.is_finite()) {
            return Err(EngineError::Rejected(format!("{name} gave a vector with a value that is no number")));
        }
        Ok(())
    }
}

#[async_trait]
impl Embedder for Strict {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn dims(&self) -> usize {
        self.0.dims()
    }

    fn weight(&self) -> f32 {
        self.0.weight()
    }

    fn embeds_words(&self) -> bool {
        self.0.embeds_words()
    }

    async fn passages(&self, texts: &[String]) -> Result<Vec<Option<Vec<f32>>>, EngineError> {
        let vectors = self.0.passages(texts).await?;
        if vectors.len() != texts.len() {
            let (name, given, asked) = (self.name(), vectors.len(), texts.len());
            return Err(EngineError::Rejected(format!("{name} gave {given} vectors for {asked} texts")));
        }
        vectors.iter().flatten().try_for_each(|vector| self.check(vector))?;
        Ok(vectors)
    }

    async fn query(&self, text: &str) -> Result<Option<Vec<f32>>, EngineError> {
        let vector = self.0.query(text).await?;
        vector.iter().try_for_each(|vector| self.check(vector))?;
        Ok(vector)
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    /// Says the same to everything.
    struct Says(Vec<Option<Vec<f32>>>);

    #[async_trait]
    impl Embedder for Says {
        fn name(&self) -> &str {
            "two@1"
        }
        fn dims(&self) -> usize {
            2
        }
        fn weight(&self) -> f32 {
            0.5
        }
        fn embeds_words(&self) -> bool {
            false
        }
        async fn passages(&self, _: &[String]) -> Result<Vec<Option<Vec<f32>>>, EngineError> {
            Ok(self.0.clone())
        }
        async fn query(&self, _: &str) -> Result<Option<Vec<f32>>, EngineError> {
            Ok(self.0[0].clone())
        }
    }

    #[test]
    fn what_breaks_the_contract_is_refused() {
        let good = Some(vec![0.6, 0.8]);
        let asked = |vectors: &[Option<Vec<f32>>]| {
            let strict = Strict(Arc::new(Says(vectors.to_vec())));
            let passages = strict.passages(&["a".into(), "b".into()]).now_or_never().unwrap();
            (passages.is_ok(), strict.query("a").now_or_never().unwrap().is_ok())
        };
        assert_eq!(asked(&[good.clone(), None]), (true, true));
        assert_eq!(asked(&[None, good.clone()]), (true, true));
        for few_or_many in [vec![good.clone()], vec![good.clone(); 3]] {
            assert_eq!(asked(&few_or_many), (false, true));
        }
        for wrong in [vec![], vec![1.0], vec![1.0, 0.0, 0.0], vec![f32::NAN, 0.0], vec![0.0, f32::INFINITY]] {
            assert_eq!(asked(&[Some(wrong.clone()), good.clone()]), (false, false), "{wrong:?}");
            assert!(!asked(&[good.clone(), Some(wrong.clone())]).0, "{wrong:?}");
        }
    }
}
