//! People who may ask, and the port that keeps them.

use std::fmt;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{
    error::StoreError,
    id::{Id, UserId},
    time::Millis,
};

/// What a user may do beyond asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Asks, and reads what the collections let them read.
    #[default]
    User,
    /// Also manages documents, collections and users.
    Admin,
}

impl Role {
    /// The word of the wire and of SQL.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Admin => "admin",
        }
    }
}

/// An account.
#[derive(Clone, PartialEq, Eq)]
pub struct User {
    /// Never changes.
    pub id: UserId,
    /// As the user typed it.
    pub name: String,
    /// What the account may do.
    pub role: Role,
    /// PHC string (argon2id).
    pub password_hash: String,
    /// Part of every access token; a password change raises it and so ends all tokens.
    pub auth_epoch: i64,
    /// When an admin switched the account off.
    pub disabled_at: Option<Millis>,
    /// When it was made.
    pub created_at: Millis,
}

impl fmt::Debug for User {
    /// Without the hash: accounts end up in logs, hashes must not.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("User")
            .field("id", &self.id)
            .field("name", &self.name)
            .field("role", &self.role)
            .field("auth_epoch", &self.auth_epoch)
            .field("disabled_at", &self.disabled_at)
            .finish_non_exhaustive()
    }
}

/// An account as admins see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The user.
    pub user: User,
    /// Names of the groups that the user is in, ascending.
    pub groups: Vec<String>,
}

/// What changes about an account; what is `None` stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AccountChange {
    /// What it may do.
    pub role: Option<Role>,
    /// Whether it is switched off.
    pub disabled: Option<bool>,
}

/// Why an account was not changed or deleted. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotChanged {
    /// Nobody would be left to manage the others.
    #[error("the last admin")]
    LastAdmin,
    /// See [`StoreError`].
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Names a [`Group`].
pub type GroupId = Id<Group>;

/// Users that collections can name together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Never changes.
    pub id: GroupId,
    /// Unique.
    pub name: String,
    /// Names of the users in it, ascending.
    pub members: Vec<String>,
}

/// What changes about a group.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GroupChange {
    /// Its new name; `None`: it stays.
    pub name: Option<String>,
    /// Users who come in; some may be in it already.
    pub add: Vec<UserId>,
    /// Users who leave; some may not be in it.
    pub remove: Vec<UserId>,
}

/// Names a family of refresh tokens: all that came from one login.
pub type FamilyId = Id<RefreshToken>;

/// One refresh token. Only its hash is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefreshToken {
    /// SHA-256 of the token.
    pub hash: [u8; 32],
    /// All tokens of one login share it.
    pub family: FamilyId,
    /// Whose it is.
    pub user: UserId,
    /// When it was issued.
    pub issued_at: Millis,
    /// When it ends unused.
    pub expires_at: Millis,
}

/// What spending a refresh token came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spent {
    /// It was good and is now used up.
    Ok(FamilyId, UserId),
    /// It had been spent before: the whole family is revoked in the same transaction.
    Reused,
    /// Unknown, expired or revoked.
    Invalid,
}

/// Names an [`ApiKey`].
pub type KeyId = Id<ApiKey>;

/// A key by which a program speaks for a user. The key itself is with its owner alone; its hash is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    /// Never changes.
    pub id: KeyId,
    /// Whom it speaks for.
    pub user: UserId,
    /// What its owner calls it.
    pub name: String,
    /// Its last characters, by which its owner knows it.
    pub hint: String,
    /// When it was made.
    pub created_at: Millis,
    /// When it was last used; may lag behind by a minute.
    pub last_used_at: Option<Millis>,
}

/// Keeps accounts, groups, refresh tokens and API keys. Names of accounts are unique after folding (NFKC, lower case; the service
/// folds), names of groups as they are.
#[async_trait]
pub trait UserStore: Send + Sync {
    /// Adds an account. `Conflict` when the folded name is taken.
    async fn add_user(&self, user: &User, name_key: &str) -> Result<(), StoreError>;
    /// The account of this id.
    async fn user(&self, id: UserId) -> Result<User, StoreError>;
    /// The account of this folded name.
    async fn user_by_name(&self, name_key: &str) -> Result<User, StoreError>;
    /// Sets a new hash and raises `auth_epoch`. Tokens and keys of the account end with it.
    async fn set_password(&self, id: UserId, hash: &str) -> Result<(), StoreError>;
    /// Accounts, newest first, those after `after`, at most `limit`.
    async fn accounts(&self, after: Option<(Millis, UserId)>, limit: i64) -> Result<Vec<Account>, StoreError>;
    /// The account of this folded name, with its groups.
    async fn account(&self, name_key: &str) -> Result<Account, StoreError>;
    /// Changes an account. Switching it off ends all its tokens and keys for good. `LastAdmin` when no admin would be left who is
    /// not switched off, the one of the folded name `uncounted` aside.
    async fn change_account(
        &self,
        id: UserId,
        change: AccountChange,
        uncounted: &str,
        now: Millis,
    ) -> Result<(), NotChanged>;
    /// Deletes an account with everything of its own: tokens, keys, conversations, memory. What it uploaded stays. `LastAdmin`
    /// as for [`change_account`](Self::change_account).
    async fn delete_account(&self, id: UserId, uncounted: &str) -> Result<(), NotChanged>;
    /// Groups by name, those after the name `after`, at most `limit`.
    async fn groups(&self, after: Option<&str>, limit: i64) -> Result<Vec<Group>, StoreError>;
    /// The group of this name.
    async fn group(&self, name: &str) -> Result<Group, StoreError>;
    /// Adds a group with these members. `Conflict` when the name is taken.
    async fn add_group(&self, id: GroupId, name: &str, members: &[UserId]) -> Result<Group, StoreError>;
    /// Changes a group, all of it or nothing. `Conflict` when the new name is taken.
    async fn change_group(&self, id: GroupId, change: &GroupChange) -> Result<Group, StoreError>;
    /// Deletes a group; its members read no more what they read through it.
    async fn delete_group(&self, id: GroupId) -> Result<(), StoreError>;
    /// Stores a refresh token.
    async fn add_refresh(&self, token: &RefreshToken) -> Result<(), StoreError>;
    /// Uses a refresh token up, once; see [`Spent`].
    async fn spend_refresh(&self, hash: &[u8; 32], now: Millis) -> Result<Spent, StoreError>;
    /// Revokes the family that this token belongs to; unknown tokens are no error.
    async fn revoke_refresh(&self, hash: &[u8; 32], now: Millis) -> Result<(), StoreError>;
    /// Adds a key with the SHA-256 of its text. `Conflict` when its user has `most` of them, `NotFound` when the user is
    /// gone.
    async fn add_key(&self, key: &ApiKey, hash: &[u8; 32], most: i64) -> Result<(), StoreError>;
    /// At most `limit` keys of a user, newest first, after this place.
    async fn keys(&self, user: UserId, after: Option<(Millis, KeyId)>, limit: i64) -> Result<Vec<ApiKey>, StoreError>;
    /// The key whose text has this hash.
    async fn key(&self, hash: &[u8; 32]) -> Result<ApiKey, StoreError>;
    /// Notes that a key was used. One that is gone is no error.
    async fn key_used(&self, id: KeyId, now: Millis) -> Result<(), StoreError>;
    /// Ends a key of `user` for good; gives what it was.
    async fn revoke_key(&self, user: UserId, id: KeyId) -> Result<ApiKey, StoreError>;
}
