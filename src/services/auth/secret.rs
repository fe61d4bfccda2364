//! Secrets that the server itself keeps: the signing secret and the invite code.

use std::collections::HashSet;

use secrecy::{ExposeSecret as _, SecretString};

use super::random_token;

/// Fewest bytes: as many as the hash of HS256 has.
const MIN_BYTES: usize = 32;
/// A random text of 32 bytes has more different ones than this, even in hex.
const MIN_DISTINCT: usize = 8;
/// Pieces of the values that examples and templates ship with. Folded.
const DEFAULTS: &[&str] = &[
    "change-me",
    "change_me",
    "changeme",
    "default",
    "example",
    "insecure",
    "your-256-bit",
    "your-secret",
    "your_secret",
];

/// Why the server does not start with a signing secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WeakSecret {
    /// It can be guessed by trying.
    #[error(
        "the signing secret has {0} bytes; it needs at least 32 (leave it unset, and one is made in the data folder)"
    )]
    TooShort(usize),
    /// It is what examples ship with.
    #[error("the signing secret looks like the default of an example; set one of your own, or leave it unset")]
    Default,
    /// It repeats a few characters.
    #[error("the signing secret repeats a few characters; set a random one, or leave it unset")]
    Repetitive,
}

/// A signing secret that passed the check. Never printed.
#[derive(Debug, Clone)]
pub struct SigningSecret(SecretString);

impl SigningSecret {
    /// Checks a secret.
    ///
    /// # Errors
    /// See [`WeakSecret`].
    pub fn new(secret: SecretString) -> Result<Self, WeakSecret> {
        let text = secret.expose_secret();
        if text.len() < MIN_BYTES {
            return Err(WeakSecret::TooShort(text.len()));
        }
        let folded = text.to_lowercase();
        if DEFAULTS.iter().any(|piece| folded.contains(piece)) {
            return Err(WeakSecret::Default);
        }
        if text.bytes().collect::<HashSet<u8>>().len() < MIN_DISTINCT {
            return Err(WeakSecret::Repetitive);
        }
        Ok(Self(secret))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.0.expose_secret().as_bytes()
    }
}

/// A new random signing secret, as text for a file.
#[must_use]
pub fn new_signing_secret() -> SecretString {
    random_token().into()
}

/// A new random invite code, short enough to be typed: 80 bits.
#[must_use]
pub fn new_invite_code() -> SecretString {
    hex::encode(rand::random::<[u8; 10]>()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weak_secrets_are_told_apart() {
        let check = |text: &str| SigningSecret::new(text.into()).map(drop);
        assert_eq!(check("secret"), Err(WeakSecret::TooShort(6)));
        assert_eq!(check("CHANGE-ME-please-this-is-for-development"), Err(WeakSecret::Default));
        assert_eq!(check(&"ab".repeat(20)), Err(WeakSecret::Repetitive));
        assert_eq!(check("f3a1c0de77e84b2a9b5d6e1f20c4a8b7"), Ok(()));
        assert_eq!(SigningSecret::new(new_signing_secret()).map(drop), Ok(()));
    }

    #[test]
    fn it_is_not_printed() {
        let secret = SigningSecret::new("f3a1c0de77e84b2a9b5d6e1f20c4a8b7".into()).unwrap();
        assert!(!format!("{secret:?}").contains("f3a1"));
    }
}
