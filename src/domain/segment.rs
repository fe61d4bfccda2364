//! The stored form of a segment's points: compact, versioned, and checked when it is read.
//!
//! ```text
//! segment = format:u8=1  count:u16  point*
//! point   = chunk:16 bytes  dims:u16  [scale:f32  code:i8 × dims, if dims > 0]  terms:u32  term:u32*  weight:f32*
//! ```
//! Numbers are little-endian. Which collection, document and version the points belong to is told by the row.

use uuid::Uuid;

use super::{
    id::ChunkId,
    index::{Point, Quantized, Segment, Sparse},
};

const FORMAT: u8 = 1;

/// The bytes are not a segment, or the points cannot be one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SegmentError {
    /// Written by a newer askback, or no segment at all.
    #[error("unknown segment format {0}")]
    Format(u8),
    /// Ends too early.
    #[error("the segment is cut off")]
    CutOff,
    /// Goes on after its end.
    #[error("the segment has bytes after its end")]
    Trailing,
    /// More points than [`Segment::CAPACITY`].
    #[error("a segment holds at most {} points", Segment::CAPACITY)]
    TooMany,
    /// A vector that no index can hold: not finite, terms not ascending, or lengths that differ.
    #[error("a vector of the segment is malformed")]
    Vector,
}

/// Packs points.
///
/// # Errors
/// `TooMany` and `Vector`: what could not be read back is not written.
pub fn encode(points: &[Point]) -> Result<Vec<u8>, SegmentError> {
    if points.len() > Segment::CAPACITY {
        return Err(SegmentError::TooMany);
    }
    let mut bytes = Vec::with_capacity(3 + points.iter().map(size).sum::<usize>());
    bytes.push(FORMAT);
    put_u16(&mut bytes, points.len())?;
    for point in points {
        check(point)?;
        bytes.extend_from_slice(point.chunk.uuid().as_bytes());
        let codes = point.dense.as_ref().map_or(&[][..], |dense| &dense.codes);
        put_u16(&mut bytes, codes.len())?;
        if let Some(dense) = &point.dense {
            bytes.extend_from_slice(&dense.scale.to_le_bytes());
            bytes.extend_from_slice(bytemuck::cast_slice(codes));
        }
        let terms = u32::try_from(point.sparse.terms.len()).map_err(|_| SegmentError::Vector)?;
        bytes.extend_from_slice(&terms.to_le_bytes());
        bytes.extend(point.sparse.terms.iter().flat_map(|term| term.to_le_bytes()));
        bytes.extend(point.sparse.weights.iter().flat_map(|weight| weight.to_le_bytes()));
    }
    Ok(bytes)
}

/// Unpacks points.
///
/// # Errors
/// Any bytes that [`encode`] did not write.
pub fn decode(bytes: &[u8]) -> Result<Vec<Point>, SegmentError> {
    let mut bytes = Reader(bytes);
    let [format] = bytes.array()?;
    if format != FORMAT {
        return Err(SegmentError::Format(format));
    }
    let count = usize::from(u16::from_le_bytes(bytes.array()?));
    if count > Segment::CAPACITY {
        return Err(SegmentError::TooMany);
    }
    let mut points = Vec::with_capacity(count);
    for _ in 0..count {
        let point = point(&mut bytes)?;
        check(&point)?;
        points.push(point);
    }
    if bytes.0.is_empty() { Ok(points) } else { Err(SegmentError::Trailing) }
}

fn point(bytes: &mut Reader<'_>) -> Result<Point, SegmentError> {
    let chunk = ChunkId::from_uuid(Uuid::from_bytes(bytes.array()?));
    let dims = usize::from(u16::from_le_bytes(bytes.array()?));
    let dense = if dims == 0 {
        None
    } else {
        let scale = f32::from_le_bytes(bytes.array()?);
        Some(Quantized { scale, codes: bytemuck::cast_slice(bytes.take(dims)?).to_vec() })
    };
    let terms = usize::try_from(u32::from_le_bytes(bytes.array()?)).map_err(|_| SegmentError::CutOff)?;
    // The slices are taken before anything is allocated: a wrong length cannot ask for memory.
    let words = terms.checked_mul(4).ok_or(SegmentError::CutOff)?;
    let sparse = Sparse {
        terms: bytes.take(words)?.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect(),
        weights: bytes.take(words)?.as_chunks().0.iter().map(|word| f32::from_le_bytes(*word)).collect(),
    };
    Ok(Point { chunk, dense, sparse })
}

fn check(point: &Point) -> Result<(), SegmentError> {
    let dense = point
        .dense
        .as_ref()
        .is_none_or(|dense| !dense.codes.is_empty() && dense.scale.is_finite() && !dense.codes.contains(&i8::MIN));
    let Sparse { terms, weights } = &point.sparse;
    let sparse = terms.len() == weights.len()
        && terms.is_sorted_by(|earlier, later| earlier < later)
        && weights.iter().all(|weight| weight.is_finite());
    if dense && sparse { Ok(()) } else { Err(SegmentError::Vector) }
}

fn size(point: &Point) -> usize {
    26 + point.dense.as_ref().map_or(0, |dense| dense.codes.len()) + 8 * point.sparse.terms.len()
}

fn put_u16(bytes: &mut Vec<u8>, number: usize) -> Result<(), SegmentError> {
    let number = u16::try_from(number).map_err(|_| SegmentError::Vector)?;
    bytes.extend_from_slice(&number.to_le_bytes());
    Ok(())
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], SegmentError> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(SegmentError::CutOff)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], SegmentError> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(SegmentError::CutOff)?;
        self.0 = rest;
        Ok(*taken)
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection, prelude::*};

    use super::*;

    fn any_point() -> impl Strategy<Value = Point> {
        let dense = proptest::option::of((-1.0f32..1.0, collection::vec(-127i8..=127, 1..40)));
        let sparse = collection::btree_map(any::<u32>(), 0.0f32..9.0, 0..40);
        (any::<u128>(), dense, sparse).prop_map(|(id, dense, sparse)| Point {
            chunk: ChunkId::from_uuid(Uuid::from_u128(id)),
            dense: dense.map(|(scale, codes)| Quantized { scale, codes }),
            sparse: Sparse { terms: sparse.keys().copied().collect(), weights: sparse.values().copied().collect() },
        })
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(points in collection::vec(any_point(), 0..8)) {
            prop_assert_eq!(decode(&encode(&points).unwrap()), Ok(points));
        }

        #[test]
        fn a_cut_is_noticed(points in collection::vec(any_point(), 1..4), cut in any::<prop::sample::Index>()) {
            let bytes = encode(&points).unwrap();
            prop_assert!(decode(&bytes[..cut.index(bytes.len())]).is_err());
        }

        #[test]
        fn any_bytes_are_read_or_refused(mut bytes in collection::vec(any::<u8>(), 0..200), damage in any::<bool>()) {
            if damage && !bytes.is_empty() {
                bytes[0] = FORMAT;
            }
            let _ = decode(&bytes);
        }
    }

    #[test]
    fn bytes_after_the_end_and_unknown_formats_are_refused() {
        let mut bytes = encode(&[]).unwrap();
        bytes.push(0);
        assert_eq!(decode(&bytes), Err(SegmentError::Trailing));
        assert_eq!(decode(&[9, 0, 0]), Err(SegmentError::Format(9)));
        assert_eq!(decode(&[]), Err(SegmentError::CutOff));
    }

    #[test]
    fn vectors_that_no_index_can_hold_are_not_written() {
        let point = |terms: &[u32], weights: &[f32]| Point {
            chunk: ChunkId::from_uuid(Uuid::nil()),
            dense: None,
            sparse: Sparse { terms: terms.to_vec(), weights: weights.to_vec() },
        };
        for wrong in
            [point(&[2, 1], &[1.0, 1.0]), point(&[1, 1], &[1.0, 1.0]), point(&[1], &[]), point(&[1], &[f32::NAN])]
        {
            assert_eq!(encode(&[wrong]), Err(SegmentError::Vector));
        }
        assert_eq!(encode(&vec![point(&[], &[]); Segment::CAPACITY + 1]), Err(SegmentError::TooMany));
    }
}
