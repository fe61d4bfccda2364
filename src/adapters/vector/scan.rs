//! The dense score: an eight-bit row times a query in sixteen bits.

use wide::{i8x16, i16x16, i32x8};

/// Codes taken at a time: two registers, so that two sums run side by side.
const STEP: usize = 32;

/// A query, widened so that its products with eight-bit codes can be summed in 32 bits without overflow.
pub(super) struct Wide {
    steps: Vec<[i16x16; 2]>,
    /// What is left of a length that is no multiple of [`STEP`].
    rest: Vec<i16>,
    scale: f32,
}

impl Wide {
    /// Rounds `query` to the finest steps that cannot overflow.
    pub(super) fn of(query: &[f32]) -> Self {
        let largest = query.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
        let room = i32::MAX / 128 / i32::try_from(query.len().max(1)).unwrap_or(i32::MAX);
        #[expect(clippy::cast_precision_loss, reason = "at most 32767")]
        let finest = room.clamp(1, 32_767) as f32;
        let scale = if largest > 0.0 && largest.is_finite() { largest / finest } else { 1.0 };
        #[expect(clippy::cast_possible_truncation, reason = "rounded values lie within ±32767")]
        let values: Vec<i16> = query.iter().map(|value| (value / scale).round() as i16).collect();
        let (halves, _) = values.as_chunks::<{ STEP / 2 }>();
        let (pairs, _) = halves.as_chunks::<2>();
        let steps: Vec<[i16x16; 2]> = pairs.iter().map(|pair| pair.map(i16x16::new)).collect();
        let rest = values[steps.len() * STEP..].to_vec();
        Self { steps, rest, scale }
    }

    /// The cosine to a row of unit length; `scale` is the row's.
    #[inline]
    pub(super) fn cosine(&self, codes: &[i8], scale: f32) -> f32 {
        #[expect(clippy::cast_precision_loss, reason = "a score needs no more than 24 bits")]
        let product = self.dot(codes) as f32;
        product * (self.scale * scale)
    }

    #[inline]
    fn dot(&self, codes: &[i8]) -> i32 {
        let (halves, _) = codes.as_chunks::<{ STEP / 2 }>();
        let (pairs, _) = halves.as_chunks::<2>();
        let mut sums = [i32x8::ZERO; 2];
        for (query, codes) in self.steps.iter().zip(pairs) {
            sums[0] += i16x16::from_i8x16(i8x16::new(codes[0])).dot(query[0]);
            sums[1] += i16x16::from_i8x16(i8x16::new(codes[1])).dot(query[1]);
        }
        let rest = codes.get(self.steps.len() * STEP..).unwrap_or_default();
        let rest: i32 = self.rest.iter().zip(rest).map(|(q, c)| i32::from(*q) * i32::from(*c)).sum();
        (sums[0] + sums[1]).reduce_add() + rest
    }
}

#[cfg(test)]
mod tests {
    use super::Wide;

    #[test]
    fn the_cosine_of_what_was_rounded() {
        let wide = Wide::of(&[0.6, -0.8, 0.0]);
        assert!((wide.cosine(&[76, -102, 0], 1.0 / 127.0) - (0.6 * 76.0 + 0.8 * 102.0) / 127.0).abs() < 1e-4);
        assert_eq!(Wide::of(&[0.0; 3]).cosine(&[127; 3], 1.0), 0.0);
    }

    #[test]
    fn the_largest_values_do_not_overflow() {
        for dims in [1, 31, 32, 256, 1000, 4096] {
            let wide = Wide::of(&vec![1.0; dims]);
            #[allow(clippy::cast_precision_loss)]
            let expected = 127.0 * dims as f32;
            assert!((wide.cosine(&vec![127; dims], 1.0) / expected - 1.0).abs() < 1e-4);
            assert!((wide.cosine(&vec![-128; dims], 1.0) / expected + 128.0 / 127.0).abs() < 1e-4);
        }
    }
}
