//! Accounts: who a caller is, and how they prove it.
//!
//! Passwords are hashed with argon2id on a bounded pool; access tokens are short-lived signed claims, checked against
//! the account on every request; refresh tokens are random, stored as hashes, and good for one use. API keys are random
//! and stored as hashes too; programs use them at the doors of other APIs.

mod attempts;
mod keys;
mod line;
mod manage;
mod name;
mod password;
mod secret;
mod token;

use std::{net::IpAddr, sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use self::{
    attempts::Attempts,
    line::Client,
    password::Hasher,
    token::{Claims, Signer},
};
pub use self::{
    keys::{MAX_KEYS, NewKey},
    password::{Hashing, MAX_BYTES as MAX_PASSWORD_BYTES, MIN_CHARS as MIN_PASSWORD_CHARS},
    secret::{SigningSecret, WeakSecret, new_invite_code, new_signing_secret},
};
use crate::domain::{
    error::StoreError,
    id::UserId,
    time::{Clock, Millis},
    user::{FamilyId, RefreshToken, Role, Spent, User, UserStore},
};

/// The name of the account that the command line acts as.
const LOCAL: &str = "local";

/// What boot decides about accounts.
pub struct AuthConfig {
    /// Signs access tokens.
    pub secret: SigningSecret,
    /// Whoever knows it may register as an admin.
    pub invite_code: SecretString,
    /// What a password check costs.
    pub hashing: Hashing,
    /// Life of an access token.
    pub access_ttl: Duration,
    /// Life of an unused refresh token.
    pub refresh_ttl: Duration,
    /// Failed logins in a row that one name may have from one address before it has to wait.
    pub login_burst: u32,
    /// After this span one more attempt is granted.
    pub login_refill: Duration,
}

/// Why an account could not be made or used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// A field is not what it must be; the sentence is for people.
    #[error("{field}: {message}")]
    InvalidField {
        /// Which.
        field: &'static str,
        /// What it must be.
        message: &'static str,
    },
    /// The password would be guessed; the sentence says why.
    #[error("weak password: {0}")]
    WeakPassword(&'static str),
    /// The invite code is missing or wrong.
    #[error("wrong invite code")]
    InvalidAdminCode,
    /// Another account has this name, or one that reads the same.
    #[error("the name is taken")]
    UsernameTaken,
    /// Nobody would be left to manage the others.
    #[error("the last admin")]
    LastAdmin,
    /// The command line's own account is not changed by anyone.
    #[error("the account of the command line")]
    LocalAccount,
    /// Another group has this name.
    #[error("the group's name is taken")]
    GroupTaken,
    /// A user has as many API keys as may be.
    #[error("too many keys")]
    TooManyKeys,
    /// Unknown name, wrong password or disabled account: not told apart.
    #[error("wrong name or password")]
    InvalidCredentials,
    /// Too many attempts.
    #[error("too many attempts")]
    TooManyAttempts {
        /// When the next one is granted.
        retry_after: Duration,
    },
    /// The refresh token had been used before; its whole family is revoked now.
    #[error("refresh token reused")]
    RefreshReused,
    /// Not a token of this server, or its account is gone.
    #[error("invalid token")]
    InvalidToken,
    /// Good once, no longer.
    #[error("token expired")]
    TokenExpired,
    /// Too many passwords are being checked at once.
    #[error("too many passwords are being checked")]
    Overloaded,
    /// See [`StoreError`].
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A defect of askback.
    #[error("internal error: {0}")]
    Internal(&'static str),
}

/// What a successful login gives.
#[derive(Clone, PartialEq, Eq)]
pub struct Grant {
    /// Whose it is.
    pub user: User,
    /// For the `Authorization` header.
    pub access_token: String,
    /// Life of the access token.
    pub expires_in: Duration,
    /// Good for one refresh.
    pub refresh_token: String,
}

/// A wish for an account.
#[derive(Debug, Clone)]
pub struct Registration {
    /// 1–64 characters.
    pub username: String,
    /// At least [`MIN_PASSWORD_CHARS`] characters, at most [`MAX_PASSWORD_BYTES`] bytes.
    pub password: SecretString,
    /// What the account may do.
    pub role: Role,
    /// Needed for admins.
    pub admin_code: Option<SecretString>,
}

/// The accounts service.
pub struct Accounts {
    store: Arc<dyn UserStore>,
    clock: Arc<dyn Clock>,
    hasher: Hasher,
    signer: Signer,
    invite_code: SecretString,
    access_ttl: Duration,
    refresh_ttl: Duration,
    attempts: Attempts,
}

impl Accounts {
    /// Accounts in `store`, by the rules of `config`.
    ///
    /// # Errors
    /// [`AuthError::Internal`] when hashing does not work at all.
    pub fn new(store: Arc<dyn UserStore>, clock: Arc<dyn Clock>, config: AuthConfig) -> Result<Self, AuthError> {
        Ok(Self {
            store,
            clock,
            hasher: Hasher::new(config.hashing)?,
            signer: Signer::new(&config.secret)?,
            invite_code: config.invite_code,
            access_ttl: config.access_ttl,
            refresh_ttl: config.refresh_ttl,
            attempts: Attempts::new(config.login_burst, config.login_refill),
        })
    }

    /// Makes an account for someone at `address` and logs it in.
    ///
    /// # Errors
    /// `InvalidField`, `WeakPassword`, `InvalidAdminCode`, `UsernameTaken`; wrong invite codes, and how many accounts are
    /// made at a time, are limited like logins.
    pub async fn register(&self, wish: Registration, address: IpAddr) -> Result<Grant, AuthError> {
        name::check(&wish.username)?;
        // Whoever had it would read what the owner of the data folder asks on the command line.
        if name::key(&wish.username) == LOCAL {
            return Err(AuthError::UsernameTaken);
        }
        if wish.role == Role::Admin {
            self.check_invite(wish.admin_code.as_ref(), address)?;
        }
        let user = self.add(&wish.username, wish.password, wish.role, Client::of(address)).await?;
        self.grant(user, None).await
    }

    /// Logs in.
    ///
    /// # Errors
    /// `InvalidCredentials` after the same work for unknown names, wrong passwords and disabled accounts;
    /// `TooManyAttempts` per name and address, after wrong guesses and for too many at a time.
    pub async fn login(&self, username: &str, password: SecretString, address: IpAddr) -> Result<Grant, AuthError> {
        let key = name::key(username);
        self.attempts.check(&key, address, self.clock.now())?;
        let user = match self.store.user_by_name(&key).await {
            Ok(user) => Some(user),
            Err(StoreError::NotFound) => None,
            Err(error) => return Err(error.into()),
        };
        let turn = self.hasher.turn(Client::of(address), &key).await?;
        // Others may have been wrong while this one waited.
        let attempt = self.attempts.check(&key, address, self.clock.now())?;
        let right = self.hasher.verify(turn, password, user.as_ref().map(|user| user.password_hash.clone())).await?;
        match user {
            Some(user) if right && user.disabled_at.is_none() => self.grant(user, None).await,
            _ => {
                self.attempts.failed(attempt, self.clock.now());
                Err(AuthError::InvalidCredentials)
            }
        }
    }

    /// Exchanges a refresh token for a new pair.
    ///
    /// # Errors
    /// `RefreshReused`, and then no token of that login works any more; `InvalidToken`.
    pub async fn refresh(&self, token: &str) -> Result<Grant, AuthError> {
        match self.store.spend_refresh(&digest(token), self.clock.now()).await? {
            Spent::Ok(family, user) => {
                let user = self.living(user).await?;
                self.grant(user, Some(family)).await
            }
            Spent::Reused => Err(AuthError::RefreshReused),
            Spent::Invalid => Err(AuthError::InvalidToken),
        }
    }

    /// Ends the login that a refresh token came from. Unknown tokens are no error: they are out already.
    ///
    /// # Errors
    /// Only those of the store.
    pub async fn logout(&self, token: &str) -> Result<(), AuthError> {
        Ok(self.store.revoke_refresh(&digest(token), self.clock.now()).await?)
    }

    /// Who an access token speaks for. The account is read every time, so that disabling it works at once.
    ///
    /// # Errors
    /// `InvalidToken`, `TokenExpired`.
    pub async fn authenticate(&self, token: &str) -> Result<User, AuthError> {
        let claims = self.signer.verify(token, self.clock.now())?;
        let user = self.living(claims.sub).await?;
        if user.auth_epoch != claims.epoch {
            return Err(AuthError::InvalidToken);
        }
        Ok(user)
    }

    /// Makes an account on behalf of whoever owns the data folder: no invite code is asked for.
    ///
    /// # Errors
    /// As [`register`](Self::register).
    pub async fn create(&self, username: &str, password: SecretString, role: Role) -> Result<User, AuthError> {
        name::check(username)?;
        self.add(username, password, role, Client::LOCAL).await
    }

    /// The local admin that the command line acts as, made when it is not there. Nobody knows its password.
    ///
    /// # Errors
    /// `InvalidToken` when it was disabled; those of the store.
    pub async fn local_admin(&self) -> Result<User, AuthError> {
        match self.store.user_by_name(LOCAL).await {
            Ok(user) => return self.living(user.id).await,
            Err(StoreError::NotFound) => {}
            Err(error) => return Err(error.into()),
        }
        self.create(LOCAL, random_token().into(), Role::Admin).await
    }

    /// The account of this name, whichever way it is written.
    ///
    /// # Errors
    /// Only those of the store.
    pub async fn find(&self, username: &str) -> Result<Option<User>, AuthError> {
        match self.store.user_by_name(&name::key(username)).await {
            Ok(user) => Ok(Some(user)),
            Err(StoreError::NotFound) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// An access token for an account, for the owner of the data folder.
    ///
    /// # Errors
    /// `InvalidToken` when the account is gone or disabled.
    pub async fn access_token(&self, id: UserId) -> Result<String, AuthError> {
        let user = self.living(id).await?;
        self.sign(&user, self.clock.now())
    }

    async fn add(&self, username: &str, password: SecretString, role: Role, client: Client) -> Result<User, AuthError> {
        password::check(password.expose_secret(), username)?;
        let key = name::key(username);
        // Asked first so that a taken name costs no hashing; the unique index decides.
        match self.store.user_by_name(&key).await {
            Ok(_) => return Err(AuthError::UsernameTaken),
            Err(StoreError::NotFound) => {}
            Err(error) => return Err(error.into()),
        }
        let turn = self.hasher.turn(client, &key).await?;
        let password_hash = self.hasher.hash(turn, password).await?;
        let now = self.clock.now();
        let user = User {
            id: UserId::at(now),
            name: username.to_owned(),
            role,
            password_hash,
            auth_epoch: 0,
            disabled_at: None,
            created_at: now,
        };
        match self.store.add_user(&user, &key).await {
            Ok(()) => Ok(user),
            Err(StoreError::Conflict(_)) => Err(AuthError::UsernameTaken),
            Err(error) => Err(error.into()),
        }
    }

    fn check_invite(&self, code: Option<&SecretString>, address: IpAddr) -> Result<(), AuthError> {
        // An empty key is no one's name: wrong codes share one allowance per address.
        let attempt = self.attempts.check("", address, self.clock.now())?;
        let Some(code) = code else { return Err(AuthError::InvalidAdminCode) };
        // Digests have one length, so that the comparison's time tells nothing of the code's.
        let right = digest(code.expose_secret()).ct_eq(&digest(self.invite_code.expose_secret()));
        if bool::from(right) {
            return Ok(());
        }
        self.attempts.failed(attempt, self.clock.now());
        Err(AuthError::InvalidAdminCode)
    }

    /// The account, if it may still be used.
    async fn living(&self, id: UserId) -> Result<User, AuthError> {
        match self.store.user(id).await {
            Ok(user) if user.disabled_at.is_none() => Ok(user),
            Ok(_) | Err(StoreError::NotFound) => Err(AuthError::InvalidToken),
            Err(error) => Err(error.into()),
        }
    }

    async fn grant(&self, user: User, family: Option<FamilyId>) -> Result<Grant, AuthError> {
        let now = self.clock.now();
        let refresh_token = random_token();
        self.store
            .add_refresh(&RefreshToken {
                hash: digest(&refresh_token),
                family: family.unwrap_or_else(|| FamilyId::at(now)),
                user: user.id,
                issued_at: now,
                expires_at: now + self.refresh_ttl,
            })
            .await?;
        let access_token = self.sign(&user, now)?;
        Ok(Grant { user, access_token, expires_in: self.access_ttl, refresh_token })
    }

    fn sign(&self, user: &User, now: Millis) -> Result<String, AuthError> {
        self.signer.sign(&Claims::access(user, now, self.access_ttl))
    }
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

/// 256 random bits as text.
fn random_token() -> String {
    URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>())
}
