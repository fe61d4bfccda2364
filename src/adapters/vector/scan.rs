//! The dense score: an eight-bit row times a query in sixteen bits.

/// A query, widened so that its products with eight-bit codes can be summed in 32 bits without overflow.
pub(super) struct Wide {
    values: Vec<i16>,
    scale: f32,
}

impl Wide {
    /// Rounds `query` to the finest steps that cannot overflow.
    pub(super) fn of(query: &[f32]) -> Self {
        let largest = query.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
        let room = i32::MAX / 128 / i32::try_from(query.len().max(1)).unwrap_or(i32::MAX);
        #[expect(clippy::cast_precision_loss, reason = "at most 32767")]
        let steps = room.clamp(1, 32_767) as f32;
        let scale = if largest > 0.0 && largest.is_finite() { largest / steps } else { 1.0 };
        #[expect(clippy::cast_possible_truncation, reason = "rounded values lie within ±32767")]
        let values = query.iter().map(|value| (value / scale).round() as i16).collect();
        Self { values, scale }
    }

    /// The cosine to a row of unit length; `scale` is the row's.
    #[inline]
    pub(super) fn cosine(&self, codes: &[i8], scale: f32) -> f32 {
        #[expect(clippy::cast_precision_loss, reason = "a score needs no more than 24 bits")]
        let product = dot(&self.values, codes) as f32;
        product * (self.scale * scale)
    }
}

/// Eight sums side by side: the shape that compilers turn into SIMD for the default target (see benches/README.md).
#[inline]
fn dot(query: &[i16], codes: &[i8]) -> i32 {
    const LANES: usize = 8;
    let (query, query_rest) = query.as_chunks::<LANES>();
    let (codes, codes_rest) = codes.as_chunks::<LANES>();
    let mut sums = [0_i32; LANES];
    for (query, codes) in query.iter().zip(codes) {
        for lane in 0..LANES {
            sums[lane] += i32::from(query[lane]) * i32::from(codes[lane]);
        }
    }
    let rest: i32 = query_rest.iter().zip(codes_rest).map(|(q, c)| i32::from(*q) * i32::from(*c)).sum();
    sums.iter().sum::<i32>() + rest
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
        for dims in [1, 256, 1024, 4096] {
            let wide = Wide::of(&vec![1.0; dims]);
            #[allow(clippy::cast_precision_loss)]
            let expected = 127.0 * dims as f32;
            assert!((wide.cosine(&vec![127; dims], 1.0) / expected - 1.0).abs() < 1e-4);
            assert!((wide.cosine(&vec![-128; dims], 1.0) / expected + 128.0 / 127.0).abs() < 1e-4);
        }
    }
}
