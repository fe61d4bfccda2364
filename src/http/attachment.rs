//! Answers that are saved as files: their names.

use axum::http::HeaderValue;

/// Longest name without its ending, in characters.
const MAX_NAME: usize = 80;

/// `Content-Disposition` of an attachment of this name (RFC 6266): percent-encoded UTF-8 (RFC 8187), with an ASCII name
/// for those who do not read it.
pub(super) fn attachment(filename: &str) -> HeaderValue {
    let plain: String =
        filename.chars().map(|c| if c.is_ascii_graphic() && !r#""\%"#.contains(c) { c } else { '_' }).collect();
    let mut value = format!("attachment; filename=\"{plain}\"; filename*=UTF-8''");
    for byte in filename.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            value.push(char::from(byte));
        } else {
            value.push_str(&format!("%{byte:02X}"));
        }
    }
    // All of it is visible ASCII.
    HeaderValue::from_str(&value).unwrap_or_else(|_| HeaderValue::from_static("attachment"))
}

/// `title` as the name of a file that every system takes: nothing that separates paths, steers a terminal or hides an
/// ending.
pub(super) fn filename(title: &str, ending: &str) -> String {
    let unsafe_in_names = |c: char| {
        c.is_control()
            || r#"/\:*?"<>|"#.contains(c)
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    let name: String = title.chars().map(|c| if unsafe_in_names(c) { ' ' } else { c }).collect();
    let words: Vec<&str> = name.split_whitespace().collect();
    let name: String = words.join(" ").trim_start_matches('.').chars().take(MAX_NAME).collect();
    let name = name.trim_matches([' ', '.']);
    format!("{}.{ending}", if name.is_empty() { "conversation" } else { name })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_all_scripts() {
        assert_eq!(
            attachment("保修 \"1\".pdf"),
            "attachment; filename=\"____1_.pdf\"; filename*=UTF-8''%E4%BF%9D%E4%BF%AE%20%221%22.pdf"
        );
    }

    #[test]
    fn titles_become_safe_names() {
        for (title, name) in [
            ("保修期多久？", "保修期多久？.md"),
            ("../../etc/passwd", "etc passwd.md"),
            ("a/b\\c:d*?\"<>|\r\nSet-Cookie: x", "a b c d Set-Cookie x.md"),
            ("x\u{202e}dm.exe", "x dm.exe.md"),
            (" ... ", "conversation.md"),
            ("", "conversation.md"),
        ] {
            assert_eq!(filename(title, "md"), name);
        }
        assert_eq!(filename(&"长".repeat(200), "json"), format!("{}.json", "长".repeat(MAX_NAME)));
    }
}
