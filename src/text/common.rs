//! What two sequences have in common.

/// A longest common subsequence, as pairs of places in `left` and `right`, by the table of Wagner and Fischer, "The
/// String-to-String Correction Problem" (1974). Takes time and four bytes for each pair of items: bound them.
#[must_use]
pub fn common<T: PartialEq>(left: &[T], right: &[T]) -> Vec<(usize, usize)> {
    let width = right.len() + 1;
    let mut longest = vec![0_u32; (left.len() + 1) * width];
    for (i, a) in left.iter().enumerate().rev() {
        for (j, b) in right.iter().enumerate().rev() {
            longest[i * width + j] = if a == b {
                longest[(i + 1) * width + j + 1] + 1
            } else {
                longest[(i + 1) * width + j].max(longest[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j, mut places) = (0, 0, Vec::new());
    while i < left.len() && j < right.len() {
        if left[i] == right[j] {
            places.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if longest[(i + 1) * width + j] >= longest[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::common;

    #[test]
    fn what_both_have_keeps_its_order() {
        let places = |left: &str, right: &str| -> Vec<(usize, usize)> {
            common(&left.chars().collect::<Vec<_>>(), &right.chars().collect::<Vec<_>>())
        };
        assert_eq!(places("abcd", "bxd"), [(1, 0), (3, 2)]);
        assert_eq!(places("ab", "ba"), [(1, 0)]);
        assert_eq!(places("", "a"), []);
    }
}
