//! What users want remembered: checked, bounded, and read as what it means to a turn.

use std::sync::Arc;

use crate::{
    domain::{
        error::StoreError,
        id::UserId,
        setting::{DEFAULT_COLLECTIONS, LANGUAGE, Setting, SettingStore, SettingValue},
        time::Clock,
    },
    text::{fold, lang::Lang},
};

/// Most settings of a user.
pub const MAX_SETTINGS: usize = 32;
/// Longest key and longest text, in characters.
pub const MAX_KEY: usize = 64;
/// See [`MAX_KEY`].
pub const MAX_VALUE: usize = 500;
/// Most names of a list, and the longest of them.
pub const MAX_NAMES: usize = 16;
/// See [`MAX_NAMES`].
pub const MAX_NAME: usize = 255;

/// Why something is not remembered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// A field is not what it must be; the sentence is for people.
    #[error("{field}: {message}")]
    InvalidField {
        /// Which.
        field: &'static str,
        /// What it must be.
        message: String,
    },
    /// As much is remembered as may be.
    #[error("at most {MAX_SETTINGS} things are remembered of a user")]
    Full,
    /// `NotFound` when nothing is remembered under the key; the store's.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn invalid(field: &'static str, message: impl Into<String>) -> SettingError {
    SettingError::InvalidField { field, message: message.into() }
}

/// The settings of all users.
#[derive(Clone)]
pub struct Settings {
    store: Arc<dyn SettingStore>,
    clock: Arc<dyn Clock>,
}

impl Settings {
    /// Settings in `store`.
    #[must_use]
    pub fn new(store: Arc<dyn SettingStore>, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock }
    }

    /// All of a user's, by key.
    ///
    /// # Errors
    /// The store's.
    pub async fn list(&self, user: UserId) -> Result<Vec<Setting>, StoreError> {
        self.store.settings(user).await
    }

    /// What is remembered under `key`.
    ///
    /// # Errors
    /// `NotFound` when nothing is; the store's.
    pub async fn read(&self, user: UserId, key: &str) -> Result<Setting, StoreError> {
        let Ok(key) = checked_key(key) else { return Err(StoreError::NotFound) };
        let settings = self.store.settings(user).await?;
        settings.into_iter().find(|setting| setting.key == key).ok_or(StoreError::NotFound)
    }

    /// Remembers `value` under `key`.
    ///
    /// # Errors
    /// See [`SettingError`].
    pub async fn put(&self, user: UserId, key: &str, value: SettingValue) -> Result<Setting, SettingError> {
        let setting = self.checked(key, value)?;
        let is_put = self.store.put_setting(user, &setting, MAX_SETTINGS).await?;
        if is_put { Ok(setting) } else { Err(SettingError::Full) }
    }

    /// Remembers these and nothing else.
    ///
    /// # Errors
    /// See [`SettingError`]; then everything stays as it was.
    pub async fn replace(
        &self,
        user: UserId,
        settings: impl IntoIterator<Item = (String, SettingValue)>,
    ) -> Result<Vec<Setting>, SettingError> {
        let mut checked: Vec<Setting> = Vec::new();
        for (key, value) in settings {
            let setting = self.checked(&key, value)?;
            if checked.iter().any(|known| known.key == setting.key) {
                return Err(invalid("settings", format!("`{}` stands twice", setting.key)));
            }
            checked.push(setting);
        }
        if checked.len() > MAX_SETTINGS {
            return Err(SettingError::Full);
        }
        self.store.replace_settings(user, &checked).await?;
        Ok(self.store.settings(user).await?)
    }

    /// Forgets what is remembered under `key`.
    ///
    /// # Errors
    /// `NotFound` when nothing is; the store's.
    pub async fn forget(&self, user: UserId, key: &str) -> Result<(), StoreError> {
        let Ok(key) = checked_key(key) else { return Err(StoreError::NotFound) };
        let was_there = self.store.delete_setting(user, &key).await?;
        if was_there { Ok(()) } else { Err(StoreError::NotFound) }
    }

    fn checked(&self, key: &str, value: SettingValue) -> Result<Setting, SettingError> {
        let key = checked_key(key)?;
        let value = match key.as_str() {
            LANGUAGE => SettingValue::Text(language(&checked_text(value)?)),
            DEFAULT_COLLECTIONS => SettingValue::Names(checked_names(value)?),
            _ => SettingValue::Text(checked_text(value)?),
        };
        Ok(Setting { key, value, updated_at: self.clock.now() })
    }
}

/// A key as it is stored: "Default collections" is `default_collections`.
fn checked_key(key: &str) -> Result<String, SettingError> {
    let key = key.to_lowercase().split_whitespace().collect::<Vec<_>>().join("_");
    let is_good = (1..=MAX_KEY).contains(&key.chars().count())
        && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
    if is_good {
        return Ok(key);
    }
    Err(invalid("key", format!("must have 1 to {MAX_KEY} letters, digits, `_`, `-` or `.`")))
}

fn checked_text(value: SettingValue) -> Result<String, SettingError> {
    let SettingValue::Text(text) = value else { return Err(invalid("value", "must be a text")) };
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if (1..=MAX_VALUE).contains(&text.chars().count()) && !text.contains(char::is_control) {
        return Ok(text);
    }
    Err(invalid("value", format!("must have 1 to {MAX_VALUE} characters and none that controls")))
}

/// Names in a list, or one after the other in a text.
fn checked_names(value: SettingValue) -> Result<Vec<String>, SettingError> {
    let given = match value {
        SettingValue::Names(names) => names,
        SettingValue::Text(text) => text.split([',', '，', '、', ';', '；', '\n']).map(str::to_owned).collect(),
    };
    let mut names: Vec<String> = Vec::new();
    for name in given.iter().map(|name| name.trim()) {
        if !(1..=MAX_NAME).contains(&name.chars().count()) || name.contains(char::is_control) {
            return Err(invalid("value", format!("names must have 1 to {MAX_NAME} characters and none that controls")));
        }
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    if (1..=MAX_NAMES).contains(&names.len()) {
        return Ok(names);
    }
    Err(invalid("value", format!("must be 1 to {MAX_NAMES} names of collections")))
}

const ENGLISH: &str = "|en|eng|english|英文|英语|";
const CHINESE: &str = "|zh|zho|chi|chinese|mandarin|中文|汉语|华语|普通话|简体中文|simplified chinese|简体|";

/// `en` and `zh`, however they are called; other languages as they were called.
fn language(called: &str) -> String {
    match known_language(called) {
        Some(lang) => lang.code().unwrap_or(called).to_owned(),
        None => called.to_owned(),
    }
}

/// The language that askback itself speaks, if it is one of those.
fn known_language(called: &str) -> Option<Lang> {
    let folded = fold(called);
    // en-GB and zh_Hans are what they begin with.
    let tag = folded.split(['-', '_']).next().unwrap_or_default();
    let is_in = |table: &str| [folded.as_str(), tag].iter().any(|word| table.contains(&format!("|{word}|")));
    if is_in(ENGLISH) {
        Some(Lang::En)
    } else if is_in(CHINESE) {
        Some(Lang::Zh)
    } else {
        None
    }
}

/// What settings mean to a turn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Preferences {
    /// The language of askback's own sentences.
    pub language: Option<Lang>,
    /// Where questions go that name no collections.
    pub collections: Option<Vec<String>>,
}

impl Preferences {
    /// Those of these settings.
    #[must_use]
    pub fn of(settings: &[Setting]) -> Self {
        let mut preferences = Self::default();
        for setting in settings {
            match (setting.key.as_str(), &setting.value) {
                (LANGUAGE, SettingValue::Text(called)) => preferences.language = known_language(called),
                (DEFAULT_COLLECTIONS, SettingValue::Names(names)) => preferences.collections = Some(names.clone()),
                _ => {}
            }
        }
        preferences
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_spelt_one_way() {
        for (key, expected) in [
            ("Tone", Some("tone")),
            (" Default  collections ", Some("default_collections")),
            ("称呼", Some("称呼")),
            ("", None),
            (" ", None),
            ("a/b", None),
            ("a\0", None),
        ] {
            assert_eq!(checked_key(key).ok().as_deref(), expected, "{key:?}");
        }
        assert!(checked_key(&"很".repeat(MAX_KEY)).is_ok() && checked_key(&"很".repeat(MAX_KEY + 1)).is_err());
    }

    #[test]
    fn languages_are_known_by_many_names() {
        for (called, expected) in [
            ("English", "en"),
            ("en-GB", "en"),
            ("英文", "en"),
            ("中文", "zh"),
            ("zh_Hans_CN", "zh"),
            ("Simplified Chinese", "zh"),
            ("German", "German"),
            ("entish", "entish"),
        ] {
            assert_eq!(language(called), expected, "{called}");
        }
    }

    #[test]
    fn collections_come_in_a_list_or_in_a_text() {
        let names = |value| checked_names(value).ok();
        let expected = Some(vec!["manuals".to_owned(), "政策".to_owned()]);
        assert_eq!(names(SettingValue::Text("manuals, 政策，manuals".into())), expected);
        assert_eq!(names(SettingValue::Names(vec!["manuals".into(), "政策 ".into()])), expected);
        assert_eq!(names(SettingValue::Names(vec![])), None);
        assert_eq!(names(SettingValue::Text("a,,b".into())), None);
        assert_eq!(names(SettingValue::Names((0..17).map(|no| no.to_string()).collect())), None);
    }

    #[test]
    fn texts_are_bounded_and_one_line() {
        let text = |value: &str| checked_text(SettingValue::Text(value.into())).ok();
        assert_eq!(text(" brief\nand  friendly "), Some("brief and friendly".into()));
        assert_eq!((text(""), text("a\u{7}"), text(&"很".repeat(MAX_VALUE + 1))), (None, None, None));
        assert!(checked_text(SettingValue::Names(vec!["a".into()])).is_err());
    }
}
