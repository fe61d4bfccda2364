//! A session's title: the first words of its first question.

/// Longest title, in characters.
const MAX: usize = 48;

/// The title for a session that begins with `message`.
pub(super) fn title(message: &str) -> String {
    let line = message.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut title = String::new();
    for word in words {
        let length = title.chars().count() + word.chars().count() + usize::from(!title.is_empty());
        if length > MAX {
            if title.is_empty() {
                title.extend(word.chars().take(MAX));
            }
            break;
        }
        if !title.is_empty() {
            title.push(' ');
        }
        title.push_str(word);
    }
    let end = title.trim_end_matches(|c: char| "?.!,;:？。！，；：…".contains(c)).len();
    title.truncate(end);
    title
}

#[cfg(test)]
mod tests {
    use super::title;

    #[test]
    fn first_words_without_the_last_stop() {
        assert_eq!(title("How long is the warranty?"), "How long is the warranty");
        assert_eq!(title("\n  保修期多久？ \n另外…"), "保修期多久");
        assert_eq!(
            title("Please compare the delivery times of all products that you have in stock"),
            "Please compare the delivery times of all"
        );
        assert_eq!(title(&"长".repeat(60)), "长".repeat(48));
        assert_eq!(title("  "), "");
    }
}
