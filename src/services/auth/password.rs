//! Passwords: which are refused, and how the others are kept.

use std::sync::Arc;

use argon2::{
    Argon2,
    password_hash::{PasswordHasher as _, PasswordVerifier as _, phc::PasswordHash},
};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::sync::Semaphore;

use super::{AuthError, name, random_token};

/// Fewest characters of a password.
pub const MIN_CHARS: usize = 8;
/// Most bytes of a password.
pub const MAX_BYTES: usize = 1024;

/// Hashing takes 19 MiB and one core for some ten milliseconds: two at a time leave room for everything else.
const WORKERS: usize = 2;
/// Most that work or wait; more are told to come back.
const QUEUE: usize = 64;

/// Passwords that every guessing list begins with, as far as they are long enough to be typed here. Folded.
const COMMON: &[&str] = &[
    "00000000",
    "01234567",
    "0123456789",
    "11111111",
    "1111111111",
    "11223344",
    "12121212",
    "12341234",
    "12344321",
    "12345678",
    "123456789",
    "1234567890",
    "123123123",
    "1q2w3e4r",
    "1q2w3e4r5t",
    "1qaz2wsx",
    "22222222",
    "55555555",
    "5201314520",
    "66666666",
    "66668888",
    "77777777",
    "87654321",
    "88888888",
    "99999999",
    "987654321",
    "9876543210",
    "a1234567",
    "a12345678",
    "a123456789",
    "aa123456",
    "aa12345678",
    "abc12345",
    "abcd1234",
    "abcdefgh",
    "admin123",
    "adminadmin",
    "administrator",
    "asdfasdf",
    "asdfghjk",
    "asdfghjkl",
    "baseball",
    "changeme",
    "changeme123",
    "computer",
    "football",
    "iloveyou",
    "internet",
    "letmein1",
    "letmein123",
    "michelle",
    "password",
    "password1",
    "password12",
    "password123",
    "passw0rd",
    "p@ssw0rd",
    "p@ssword",
    "princess",
    "qazwsxedc",
    "qq123456",
    "qwer1234",
    "qwerasdf",
    "qwerty12",
    "qwerty123",
    "qwertyui",
    "qwertyuiop",
    "starwars",
    "sunshine",
    "superman",
    "test1234",
    "trustno1",
    "welcome1",
    "welcome123",
    "woaini520",
    "woaini1314",
    "zxcvbnm1",
    "zxcvbnm123",
    "zxcvbnma",
];

/// Refuses passwords that are too short, too long, the account's name, or on every guessing list.
pub(super) fn check(password: &str, username: &str) -> Result<(), AuthError> {
    if password.len() > MAX_BYTES {
        return Err(AuthError::InvalidField { field: "password", message: "must have at most 1024 bytes" });
    }
    if password.contains('\0') {
        return Err(AuthError::InvalidField { field: "password", message: "must not hold NUL" });
    }
    if password.chars().nth(MIN_CHARS - 1).is_none() {
        return Err(AuthError::WeakPassword("A password needs at least 8 characters."));
    }
    let folded = password.to_lowercase();
    if COMMON.binary_search(&folded.as_str()).is_ok() {
        return Err(AuthError::WeakPassword("This password is one of the first that anyone would try."));
    }
    if name::key(password) == name::key(username) {
        return Err(AuthError::WeakPassword("The password must not be the user name."));
    }
    Ok(())
}

/// Hashes and verifies off the runtime's threads, a bounded number at a time.
pub(super) struct Hasher {
    /// A real hash of a password that nobody has: unknown names are verified against it, so that they take as long.
    decoy: Arc<str>,
    queue: Arc<Semaphore>,
    workers: Arc<Semaphore>,
}

impl Hasher {
    pub(super) fn new() -> Result<Self, AuthError> {
        Ok(Self {
            decoy: hash(&random_token())?.into(),
            queue: Arc::new(Semaphore::new(QUEUE)),
            workers: Arc::new(Semaphore::new(WORKERS)),
        })
    }

    /// The PHC string of a password.
    pub(super) async fn hash(&self, password: SecretString) -> Result<String, AuthError> {
        self.work(move || hash(password.expose_secret())).await?
    }

    /// Whether `password` is the one of `hash`; without a hash the same work is done and the answer is no.
    pub(super) async fn verify(&self, password: SecretString, hash: Option<String>) -> Result<bool, AuthError> {
        let decoy = Arc::clone(&self.decoy);
        self.work(move || {
            let known = hash.is_some();
            let right = matches(password.expose_secret(), hash.as_deref().unwrap_or(&decoy))?;
            Ok(known && right)
        })
        .await?
    }

    async fn work<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Result<T, AuthError> {
        let place = Arc::clone(&self.queue).try_acquire_owned().map_err(|_| AuthError::Overloaded)?;
        let worker = Arc::clone(&self.workers)
            .acquire_owned()
            .await
            .map_err(|_| AuthError::Internal("the hashing pool is closed"))?;
        // The permits go with the work: a client that leaves does not make room for more of it.
        let done = tokio::task::spawn_blocking(move || {
            let result = job();
            drop((worker, place));
            result
        });
        done.await.map_err(|_| AuthError::Internal("hashing panicked"))
    }
}

fn hash(password: &str) -> Result<String, AuthError> {
    let hash = Argon2::default()
        .hash_password(password.as_bytes())
        .map_err(|_| AuthError::Internal("argon2 failed to hash"))?;
    Ok(hash.to_string())
}

fn matches(password: &str, hash: &str) -> Result<bool, AuthError> {
    let hash = PasswordHash::new(hash).map_err(|_| AuthError::Internal("a stored password hash cannot be read"))?;
    // No account has a longer one; checked here so that it costs the same.
    let fits = password.len() <= MAX_BYTES;
    let shown = if fits { password.as_bytes() } else { &[] };
    Ok(Argon2::default().verify_password(shown, &hash).is_ok() && fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_common_ones_are_sorted_and_long_enough_to_matter() {
        assert!(COMMON.is_sorted());
        assert!(COMMON.iter().all(|word| word.chars().count() >= MIN_CHARS && word.to_lowercase() == *word));
    }

    #[test]
    fn weak_passwords_are_refused() {
        for (password, name) in [("short7!", "ann"), ("Password123", "ann"), ("Ｗａｎｇｘｉａｏ", "wangxiao")] {
            assert!(matches!(check(password, name), Err(AuthError::WeakPassword(_))), "{password}");
        }
        assert_eq!(check("正确的马电池订书钉", "ann"), Ok(()));
        assert_eq!(check(&"x".repeat(MAX_BYTES), "ann"), Ok(()));
        assert!(matches!(check(&"x".repeat(MAX_BYTES + 1), "ann"), Err(AuthError::InvalidField { .. })));
    }

    #[tokio::test]
    async fn only_the_right_password_matches() {
        let hasher = Hasher::new().unwrap();
        let hash = hasher.hash("correct horse".into()).await.unwrap();
        assert!(hash.starts_with("$argon2id$"), "{hash}");
        assert_eq!(hasher.verify("correct horse".into(), Some(hash.clone())).await, Ok(true));
        assert_eq!(hasher.verify("correct horsf".into(), Some(hash)).await, Ok(false));
        assert_eq!(hasher.verify("correct horse".into(), None).await, Ok(false));
    }
}
