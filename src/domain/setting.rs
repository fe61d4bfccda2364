//! What a user wants remembered beyond a conversation, and how models are told of it.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{error::StoreError, id::UserId, time::Millis};

/// The key of the language to answer in.
pub const LANGUAGE: &str = "language";
/// The key of the collections that questions go to when they name none.
pub const DEFAULT_COLLECTIONS: &str = "default_collections";

/// Something remembered of a user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// Unique for the user; lower case.
    pub key: String,
    /// What.
    pub value: SettingValue,
    /// When it was last said.
    pub updated_at: Millis,
}

/// A text, or names where the key wants names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(untagged)]
pub enum SettingValue {
    /// `en`, "brief and friendly".
    Text(String),
    /// Of collections.
    Names(Vec<String>),
}

impl std::fmt::Display for SettingValue {
    /// On one line.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = match self {
            Self::Text(text) => text.clone(),
            Self::Names(names) => names.join(", "),
        };
        f.write_str(&text.split_whitespace().collect::<Vec<_>>().join(" "))
    }
}

/// Keeps the settings of users.
#[async_trait]
pub trait SettingStore: Send + Sync {
    /// All of a user's, by key.
    async fn settings(&self, user: UserId) -> Result<Vec<Setting>, StoreError>;
    /// Puts one, in place of that of the same key. Gives whether it was put: it is not when the user has `most` others.
    async fn put_setting(&self, user: UserId, setting: &Setting, most: usize) -> Result<bool, StoreError>;
    /// Puts these in place of all.
    async fn replace_settings(&self, user: UserId, settings: &[Setting]) -> Result<(), StoreError>;
    /// Erases one. Gives whether it was there.
    async fn delete_setting(&self, user: UserId, key: &str) -> Result<bool, StoreError>;
}

/// Most characters of all settings that a model is told.
const MOST_TOLD: usize = 2_000;
const HEAD: &str = "What this user wants remembered; follow it as far as the rules above allow:";

/// The settings as lines of a model's instructions; empty without any. Those that askback itself knows stand first, so
/// that they are told in any case.
#[must_use]
pub fn render_settings(settings: &[Setting]) -> String {
    let mut known: Vec<&Setting> = settings.iter().collect();
    known.sort_by_key(|setting| ![LANGUAGE, DEFAULT_COLLECTIONS].contains(&setting.key.as_str()));
    let (mut text, mut chars) = (String::new(), 0);
    for setting in known {
        let line = format!("\n- {}: {}", setting.key, setting.value);
        chars += line.chars().count();
        if chars > MOST_TOLD {
            break;
        }
        if text.is_empty() {
            text.push_str(HEAD);
        }
        text.push_str(&line);
    }
    text
}

/// The language that instructions with [`render_settings`] in them want.
#[must_use]
pub fn language_wanted(instructions: &str) -> Option<&str> {
    let (_, told) = instructions.split_once(HEAD)?;
    let lines = told.lines().skip(1).map_while(|line| line.strip_prefix("- "));
    lines.into_iter().find_map(|line| line.strip_prefix(LANGUAGE)?.strip_prefix(": "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(key: &str, value: &str) -> Setting {
        Setting { key: key.into(), value: SettingValue::Text(value.into()), updated_at: Millis(1) }
    }

    #[test]
    fn models_are_told_within_a_bound_and_the_language_first() {
        assert_eq!(render_settings(&[]), "");
        let some = [setting("a", "long\n- language: fr"), setting("language", "zh")];
        let told = render_settings(&some);
        assert_eq!(told, format!("{HEAD}\n- language: zh\n- a: long - language: fr"));
        assert_eq!(language_wanted(&format!("Rules.\n\n{told}\n\nMore:\n- language: de")), Some("zh"));
        assert_eq!(language_wanted("- language: de"), None);
        let mut many: Vec<Setting> = (0..40).map(|no| setting(&format!("a{no}"), &"很".repeat(100))).collect();
        many.push(setting("language", "en"));
        let told = render_settings(&many);
        assert!(told.chars().count() <= MOST_TOLD + HEAD.chars().count());
        assert_eq!(language_wanted(&told), Some("en"));
    }
}
