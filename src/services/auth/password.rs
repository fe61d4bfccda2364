//! Passwords: which are refused, and how the others are kept.

use std::sync::Arc;

use argon2::{
    Algorithm, Argon2, Params, Version,
    password_hash::{PasswordHasher as _, PasswordVerifier as _, phc::PasswordHash},
};
use secrecy::{ExposeSecret as _, SecretString};

use super::{
    AuthError,
    line::{Client, Line, Turn},
    name, random_token,
};

/// Fewest characters of a password.
pub const MIN_CHARS: usize = 8;
/// Most bytes of a password.
pub const MAX_BYTES: usize = 1024;

/// How much work a guess costs. The defaults are OWASP's first choice for argon2id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hashing {
    /// Memory of one hash, KiB.
    pub memory_kib: u32,
    /// Passes over it.
    pub passes: u32,
    /// Hashes at a time. Each takes a core for some ten milliseconds: two leave room for everything else.
    pub concurrency: usize,
}

impl Default for Hashing {
    fn default() -> Self {
        Self { memory_kib: Params::DEFAULT_M_COST, passes: Params::DEFAULT_T_COST, concurrency: 2 }
    }
}

/// Passwords that every guessing list begins with, as far as they are long enough to be typed here. Folded.
const COMMON: &[&str] = &[
    "00000000",
    "01234567",
    "0123456789",
    "11111111",
    "1111111111",
    "11223344",
    "12121212",
    "123123123",
    "12341234",
    "12344321",
    "12345678",
    "123456789",
    "1234567890",
    "1q2w3e4r",
    "1q2w3e4r5t",
    "1qaz2wsx",
    "22222222",
    "5201314520",
    "55555555",
    "66666666",
    "66668888",
    "77777777",
    "87654321",
    "88888888",
    "987654321",
    "9876543210",
    "99999999",
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
    "p@ssw0rd",
    "p@ssword",
    "passw0rd",
    "password",
    "password1",
    "password12",
    "password123",
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
    "woaini1314",
    "woaini520",
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
    argon2: Argon2<'static>,
    /// A real hash of a password that nobody has: unknown names are verified against it, so that they take as long.
    decoy: Arc<str>,
    workers: Line,
}

impl Hasher {
    pub(super) fn new(hashing: Hashing) -> Result<Self, AuthError> {
        let params = Params::new(hashing.memory_kib, hashing.passes, 1, None)
            .map_err(|_| AuthError::Internal("the parameters of argon2 are out of its bounds"))?;
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        Ok(Self { decoy: hash(&argon2, &random_token())?.into(), argon2, workers: Line::new(hashing.concurrency) })
    }

    /// Waits for a worker.
    ///
    /// # Errors
    /// See [`Line::turn`].
    pub(super) async fn turn(&self, client: Client, name: &str) -> Result<Turn, AuthError> {
        self.workers.turn(client, name).await
    }

    /// The PHC string of a password.
    pub(super) async fn hash(&self, turn: Turn, password: SecretString) -> Result<String, AuthError> {
        let argon2 = self.argon2.clone();
        work(turn, move || hash(&argon2, password.expose_secret())).await?
    }

    /// Whether `password` is the one of `hash`; without a hash the same work is done and the answer is no.
    pub(super) async fn verify(
        &self,
        turn: Turn,
        password: SecretString,
        hash: Option<String>,
    ) -> Result<bool, AuthError> {
        let (argon2, decoy) = (self.argon2.clone(), Arc::clone(&self.decoy));
        work(turn, move || {
            let known = hash.is_some();
            let right = matches(&argon2, password.expose_secret(), hash.as_deref().unwrap_or(&decoy))?;
            Ok(known && right)
        })
        .await?
    }
}

async fn work<T: Send + 'static>(turn: Turn, job: impl FnOnce() -> T + Send + 'static) -> Result<T, AuthError> {
    // The turn goes with the work: a client that leaves does not make room for more of it.
    let done = tokio::task::spawn_blocking(move || {
        let result = job();
        drop(turn);
        result
    });
    done.await.map_err(|_| AuthError::Internal("hashing panicked"))
}

fn hash(argon2: &Argon2<'_>, password: &str) -> Result<String, AuthError> {
    let hash = argon2.hash_password(password.as_bytes()).map_err(|_| AuthError::Internal("argon2 failed to hash"))?;
    Ok(hash.to_string())
}

fn matches(argon2: &Argon2<'_>, password: &str, hash: &str) -> Result<bool, AuthError> {
    let hash = PasswordHash::new(hash).map_err(|_| AuthError::Internal("a stored password hash cannot be read"))?;
    // No account has a longer one; checked here so that it costs the same.
    let fits = password.len() <= MAX_BYTES;
    let shown = if fits { password.as_bytes() } else { &[] };
    Ok(argon2.verify_password(shown, &hash).is_ok() && fits)
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
        let hasher = Hasher::new(Hashing { memory_kib: 64, passes: 1, concurrency: 1 }).unwrap();
        let turn = async || hasher.turn(Client::LOCAL, "ann").await.unwrap();
        let hash = hasher.hash(turn().await, "correct horse".into()).await.unwrap();
        assert!(hash.starts_with("$argon2id$"), "{hash}");
        assert_eq!(hasher.verify(turn().await, "correct horse".into(), Some(hash.clone())).await, Ok(true));
        assert_eq!(hasher.verify(turn().await, "correct horsf".into(), Some(hash)).await, Ok(false));
        assert_eq!(hasher.verify(turn().await, "correct horse".into(), None).await, Ok(false));
    }
}
