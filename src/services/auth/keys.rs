//! API keys: programs speak for a user with them, at the doors of other APIs and nowhere else.

use std::time::Duration;

use super::{Accounts, AuthError, digest, name, random_token};
use crate::domain::{
    error::StoreError,
    id::UserId,
    time::Millis,
    user::{ApiKey, KeyId, User},
};

/// Most keys of a user.
pub const MAX_KEYS: i64 = 50;
/// How a key begins, so that it is known for what it is. No access token begins so.
const PREFIX: &str = "ask-";
/// Its last characters that may be shown later.
const HINT_CHARS: usize = 4;
/// A use within this span of one that was noted is not noted.
const SPAN: Duration = Duration::from_secs(60);

/// A key that was made. Its text is known here and now, and never again.
pub struct NewKey {
    /// What is kept of it.
    pub key: ApiKey,
    /// The key itself.
    pub text: String,
}

impl Accounts {
    /// Makes a key for `user`.
    ///
    /// # Errors
    /// `InvalidField` when it cannot be called so, `TooManyKeys`; those of the store.
    pub async fn add_key(&self, user: UserId, name: &str) -> Result<NewKey, AuthError> {
        name::check_key(name)?;
        let text = format!("{PREFIX}{}", random_token());
        let now = self.clock.now();
        let key = ApiKey {
            id: KeyId::at(now),
            user,
            name: name.to_owned(),
            // The text is ASCII.
            hint: text.get(text.len() - HINT_CHARS..).unwrap_or_default().to_owned(),
            created_at: now,
            last_used_at: None,
        };
        match self.store.add_key(&key, &digest(&text), MAX_KEYS).await {
            Ok(()) => Ok(NewKey { key, text }),
            Err(StoreError::Conflict(_)) => Err(AuthError::TooManyKeys),
            Err(error) => Err(error.into()),
        }
    }

    /// Keys of `user`, newest first, after the place of the last one seen.
    ///
    /// # Errors
    /// Only those of the store.
    pub async fn keys(
        &self,
        user: UserId,
        after: Option<(Millis, KeyId)>,
        limit: i64,
    ) -> Result<Vec<ApiKey>, AuthError> {
        Ok(self.store.keys(user, after, limit).await?)
    }

    /// Ends a key of `user`: it is good for nothing from now on.
    ///
    /// # Errors
    /// `NotFound`, also for another user's; those of the store.
    pub async fn revoke_key(&self, user: UserId, id: KeyId) -> Result<ApiKey, AuthError> {
        Ok(self.store.revoke_key(user, id).await?)
    }

    /// Who an API key or an access token speaks for. Key and account are read every time.
    ///
    /// # Errors
    /// `InvalidToken`, `TokenExpired`.
    pub async fn authenticate_program(&self, token: &str) -> Result<User, AuthError> {
        if !token.starts_with(PREFIX) {
            return self.authenticate(token).await;
        }
        let key = match self.store.key(&digest(token)).await {
            Ok(key) => key,
            Err(StoreError::NotFound) => return Err(AuthError::InvalidToken),
            Err(error) => return Err(error.into()),
        };
        let user = self.living(key.user).await?;
        let now = self.clock.now();
        if is_to_be_noted(key.last_used_at, now) {
            self.store.key_used(key.id, now).await?;
        }
        Ok(user)
    }
}

fn is_to_be_noted(last: Option<Millis>, now: Millis) -> bool {
    last.is_none_or(|last| now.since(last) >= SPAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_use_is_noted_once_a_minute() {
        let last = Millis(1_000_000);
        assert!(is_to_be_noted(None, last));
        assert!(!is_to_be_noted(Some(last), last + Duration::from_millis(59_999)));
        assert!(is_to_be_noted(Some(last), last + SPAN));
        assert!(!is_to_be_noted(Some(last + SPAN), last), "another clock is ahead");
    }
}
