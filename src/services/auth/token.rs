//! Access tokens: signed claims (JWT, HS256 and nothing else).

use std::time::Duration;

use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize};

use super::{AuthError, SigningSecret};
use crate::domain::{
    id::{Id, UserId},
    time::Millis,
    user::User,
};

const ISSUER: &str = "askback";
const AUDIENCE: &str = "askback";
/// Tells access tokens from any other that may be signed with the same secret.
const ACCESS: &str = "access";
/// How far in the future a token may have been issued: clocks of several processes differ.
const SKEW_SECONDS: i64 = 60;

/// What a token says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Claims {
    iss: String,
    aud: String,
    /// Whom it speaks for.
    pub(super) sub: UserId,
    /// Unix seconds.
    exp: i64,
    /// Unix seconds.
    iat: i64,
    jti: Id<Claims>,
    typ: String,
    /// The account's, when it was issued.
    pub(super) epoch: i64,
}

impl Claims {
    /// Claims of an access token for `user`, issued `now`.
    pub(super) fn access(user: &User, now: Millis, life: Duration) -> Self {
        Self {
            iss: ISSUER.into(),
            aud: AUDIENCE.into(),
            sub: user.id,
            exp: seconds(now + life),
            iat: seconds(now),
            jti: Id::at(now),
            typ: ACCESS.into(),
            epoch: user.auth_epoch,
        }
    }
}

/// Signs and verifies.
pub(super) struct Signer {
    encoding: EncodingKey,
    decoding: DecodingKey,
    validation: Validation,
}

impl Signer {
    pub(super) fn new(secret: &SigningSecret) -> Result<Self, AuthError> {
        let unusable = |_| AuthError::Internal("the signing secret cannot be used");
        let mut validation = Validation::new(Algorithm::HS256);
        validation.set_issuer(&[ISSUER]);
        validation.set_audience(&[AUDIENCE]);
        validation.set_required_spec_claims(&["iss", "aud", "sub", "exp"]);
        // The library asks the system's clock; times are checked below, by the clock of the service.
        validation.validate_exp = false;
        Ok(Self {
            encoding: EncodingKey::from_secret(secret.bytes()).map_err(unusable)?,
            decoding: DecodingKey::from_secret(secret.bytes()).map_err(unusable)?,
            validation,
        })
    }

    pub(super) fn sign(&self, claims: &Claims) -> Result<String, AuthError> {
        jsonwebtoken::encode(&Header::new(Algorithm::HS256), claims, &self.encoding)
            .map_err(|_| AuthError::Internal("signing a token failed"))
    }

    /// The claims of a token that this server issued and that has not expired.
    pub(super) fn verify(&self, token: &str, now: Millis) -> Result<Claims, AuthError> {
        let claims = jsonwebtoken::decode::<Claims>(token, &self.decoding, &self.validation)
            .map_err(|_| AuthError::InvalidToken)?
            .claims;
        let now = seconds(now);
        if claims.typ != ACCESS || claims.iat > now + SKEW_SECONDS {
            return Err(AuthError::InvalidToken);
        }
        if claims.exp <= now {
            return Err(AuthError::TokenExpired);
        }
        Ok(claims)
    }
}

const fn seconds(time: Millis) -> i64 {
    time.0.div_euclid(1000)
}

#[cfg(test)]
mod tests {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
    use serde_json::{Value, json};

    use super::*;
    use crate::domain::user::Role;

    const NOW: Millis = Millis(1_700_000_000_000);
    const HOUR: Duration = Duration::from_secs(3600);

    fn signer(secret: &str) -> Signer {
        Signer::new(&SigningSecret::new(secret.into()).unwrap()).unwrap()
    }

    fn ours() -> Signer {
        signer("0123456789abcdef0123456789abcdef")
    }

    fn claims() -> Claims {
        let user = User {
            id: UserId::from_uuid(uuid::Uuid::from_u128(1)),
            name: "ann".into(),
            role: Role::User,
            password_hash: String::new(),
            auth_epoch: 3,
            disabled_at: None,
            created_at: NOW,
        };
        Claims { jti: Id::from_uuid(uuid::Uuid::from_u128(2)), ..Claims::access(&user, NOW, HOUR) }
    }

    /// The claims with one of them changed (or removed, by null), signed with our secret by `algorithm`.
    fn forged(algorithm: Algorithm, field: &str, value: Value) -> String {
        let mut body = serde_json::to_value(claims()).unwrap();
        if value.is_null() {
            body.as_object_mut().unwrap().remove(field);
        } else {
            body[field] = value;
        }
        jsonwebtoken::encode(&Header::new(algorithm), &body, &ours().encoding).unwrap()
    }

    #[test]
    fn round_trip_until_it_expires() {
        let signer = ours();
        let token = signer.sign(&claims()).unwrap();
        assert_eq!(signer.verify(&token, NOW), Ok(claims()));
        assert_eq!(signer.verify(&token, NOW + HOUR), Err(AuthError::TokenExpired));
    }

    #[test]
    fn every_claim_is_checked() {
        let signer = ours();
        assert_eq!(signer.verify(&forged(Algorithm::HS256, "epoch", json!(3)), NOW), Ok(claims()));
        for (field, value) in [
            ("iss", json!("someone")),
            ("aud", json!("someone")),
            ("sub", json!("not an id")),
            ("typ", json!("refresh")),
            ("iat", json!(1_700_000_000 + 3600)),
        ] {
            assert_eq!(
                signer.verify(&forged(Algorithm::HS256, field, value), NOW),
                Err(AuthError::InvalidToken),
                "{field}"
            );
        }
        for field in ["iss", "aud", "sub", "exp", "iat", "jti", "typ", "epoch"] {
            let token = forged(Algorithm::HS256, field, Value::Null);
            assert_eq!(signer.verify(&token, NOW), Err(AuthError::InvalidToken), "without {field}");
        }
    }

    #[test]
    fn other_keys_and_algorithms_are_refused() {
        let signer = ours();
        let other = self::signer("fedcba9876543210fedcba9876543210").sign(&claims()).unwrap();
        let stronger = forged(Algorithm::HS512, "epoch", json!(3));
        let body = URL_SAFE_NO_PAD.encode(serde_json::to_vec(&claims()).unwrap());
        let none = format!("{}.{body}.", URL_SAFE_NO_PAD.encode(r#"{"alg":"none","typ":"JWT"}"#));
        for token in [other.as_str(), &stronger, &none, "", "a.b.c", "ä.ö.ü"] {
            assert_eq!(signer.verify(token, NOW), Err(AuthError::InvalidToken), "{token}");
        }
    }
}
