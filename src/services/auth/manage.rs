//! Accounts and groups as admins manage them.

use super::{Accounts, AuthError, LOCAL, name};
use crate::domain::{
    error::StoreError,
    id::UserId,
    time::Millis,
    user::{Account, AccountChange, Group, GroupChange, GroupId, NotChanged},
};

impl From<NotChanged> for AuthError {
    fn from(error: NotChanged) -> Self {
        match error {
            NotChanged::LastAdmin => Self::LastAdmin,
            NotChanged::Store(error) => Self::Store(error),
        }
    }
}

impl Accounts {
    /// Accounts, newest first, those after `after`.
    ///
    /// # Errors
    /// Only those of the store.
    pub async fn accounts(&self, after: Option<(Millis, UserId)>, limit: i64) -> Result<Vec<Account>, AuthError> {
        Ok(self.store.accounts(after, limit).await?)
    }

    /// The account of this name, whichever way it is written.
    ///
    /// # Errors
    /// `NotFound`; those of the store.
    pub async fn account(&self, username: &str) -> Result<Account, AuthError> {
        Ok(self.store.account(&name::key(username)).await?)
    }

    /// Changes an account. One that is switched off is out at once, and its tokens do not come back with it.
    ///
    /// # Errors
    /// `LastAdmin` when nobody would be left to manage the others, `LocalAccount`; `NotFound`; those of the store.
    pub async fn change(&self, username: &str, change: AccountChange) -> Result<Account, AuthError> {
        let account = self.anothers(username).await?;
        self.store.change_account(account.user.id, change, LOCAL, self.clock.now()).await?;
        self.account(username).await
    }

    /// Deletes an account with everything of its own; what it uploaded stays. Gives what was deleted.
    ///
    /// # Errors
    /// As [`change`](Self::change).
    pub async fn delete(&self, username: &str) -> Result<Account, AuthError> {
        let account = self.anothers(username).await?;
        self.store.delete_account(account.user.id, LOCAL).await?;
        Ok(account)
    }

    /// An account that people use.
    async fn anothers(&self, username: &str) -> Result<Account, AuthError> {
        let account = self.account(username).await?;
        // It would be made anew when the command line is used next. Nobody logs in with it, so it is no admin who could
        // stay behind either.
        if name::key(&account.user.name) == LOCAL {
            return Err(AuthError::LocalAccount);
        }
        Ok(account)
    }

    /// Groups by name, those after the name `after`.
    ///
    /// # Errors
    /// Only those of the store.
    pub async fn groups(&self, after: Option<&str>, limit: i64) -> Result<Vec<Group>, AuthError> {
        Ok(self.store.groups(after, limit).await?)
    }

    /// The group of this name.
    ///
    /// # Errors
    /// `NotFound`; those of the store.
    pub async fn group(&self, name: &str) -> Result<Group, AuthError> {
        Ok(self.store.group(name).await?)
    }

    /// Makes a group.
    ///
    /// # Errors
    /// `InvalidField` when it cannot be called so, `GroupTaken`; those of the store.
    pub async fn add_group(&self, name: &str, members: &[UserId]) -> Result<Group, AuthError> {
        name::check_group(name)?;
        match self.store.add_group(GroupId::at(self.clock.now()), name, members).await {
            Err(StoreError::Conflict(_)) => Err(AuthError::GroupTaken),
            added => Ok(added?),
        }
    }

    /// Renames a group, and lets users in and out; all of it or nothing. What its members may read changes with their
    /// next search.
    ///
    /// # Errors
    /// As [`add_group`](Self::add_group); `NotFound`.
    pub async fn change_group(&self, name: &str, change: &GroupChange) -> Result<Group, AuthError> {
        if let Some(name) = &change.name {
            name::check_group(name)?;
        }
        let group = self.store.group(name).await?;
        match self.store.change_group(group.id, change).await {
            Err(StoreError::Conflict(_)) if change.name.is_some() => Err(AuthError::GroupTaken),
            changed => Ok(changed?),
        }
    }

    /// Deletes a group: collections that named it are read by its members no more, unless they name them otherwise.
    ///
    /// # Errors
    /// `NotFound`; those of the store.
    pub async fn delete_group(&self, name: &str) -> Result<Group, AuthError> {
        let group = self.store.group(name).await?;
        self.store.delete_group(group.id).await?;
        Ok(group)
    }
}
