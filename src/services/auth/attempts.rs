//! Limits guessing: a bucket of attempts per name and address, in a map of bounded size.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use sha2::{Digest as _, Sha256};

use super::AuthError;
use crate::domain::time::Millis;

/// Most names and addresses that are remembered. Making room forgets the least guilty one, and filling the map with
/// others costs an attacker one password check each.
const CAPACITY: usize = 10_000;

type Key = [u8; 32];

struct Bucket {
    spent: u32,
    /// Refilling has been counted up to here.
    counted: Millis,
}

/// An attempt that was granted.
pub(super) struct Attempt(Key);

/// The buckets.
pub(super) struct Attempts {
    burst: u32,
    refill: Duration,
    buckets: Mutex<HashMap<Key, Bucket>>,
}

impl Attempts {
    pub(super) fn new(burst: u32, refill: Duration) -> Self {
        Self { burst: burst.max(1), refill: refill.max(Duration::from_millis(1)), buckets: Mutex::new(HashMap::new()) }
    }

    /// Takes an attempt before it is known how it ends, so that parallel ones count too.
    pub(super) fn take(&self, name: &str, address: IpAddr, now: Millis) -> Result<Attempt, AuthError> {
        let key =
            Sha256::new().chain_update(address.to_string()).chain_update([0]).chain_update(name).finalize().into();
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= CAPACITY && !buckets.contains_key(&key) {
            self.make_room(&mut buckets, now);
        }
        let bucket = buckets.entry(key).or_insert(Bucket { spent: 0, counted: now });
        self.count_refills(bucket, now);
        if bucket.spent >= self.burst {
            return Err(AuthError::TooManyAttempts { retry_after: (bucket.counted + self.refill).since(now) });
        }
        bucket.spent += 1;
        Ok(Attempt(key))
    }

    /// The attempt was no guess.
    pub(super) fn give_back(&self, attempt: Attempt) {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(bucket) = buckets.get_mut(&attempt.0) else { return };
        bucket.spent = bucket.spent.saturating_sub(1);
        if bucket.spent == 0 {
            buckets.remove(&attempt.0);
        }
    }

    fn count_refills(&self, bucket: &mut Bucket, now: Millis) {
        let grants = now.since(bucket.counted).as_millis() / self.refill.as_millis();
        let grants = u32::try_from(grants).unwrap_or(u32::MAX);
        bucket.spent = bucket.spent.saturating_sub(grants);
        if bucket.spent == 0 {
            bucket.counted = now;
        } else {
            bucket.counted = bucket.counted + self.refill.saturating_mul(grants);
        }
    }

    fn make_room(&self, buckets: &mut HashMap<Key, Bucket>, now: Millis) {
        for bucket in buckets.values_mut() {
            self.count_refills(bucket, now);
        }
        buckets.retain(|_, bucket| bucket.spent > 0);
        if buckets.len() < CAPACITY {
            return;
        }
        let least = buckets.iter().min_by_key(|(_, bucket)| bucket.spent).map(|(key, _)| *key);
        if let Some(key) = least {
            buckets.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const HOME: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
    const AWAY: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
    const REFILL: Duration = Duration::from_secs(10);

    #[test]
    fn a_burst_then_one_per_refill() {
        let attempts = Attempts::new(3, REFILL);
        let at = |seconds: u64| Millis(0) + Duration::from_secs(seconds);
        for _ in 0..3 {
            assert!(attempts.take("ann", HOME, at(0)).is_ok());
        }
        assert_eq!(
            attempts.take("ann", HOME, at(4)).map(drop),
            Err(AuthError::TooManyAttempts { retry_after: Duration::from_secs(6) })
        );
        assert!(attempts.take("bob", HOME, at(4)).is_ok(), "another name");
        assert!(attempts.take("ann", AWAY, at(4)).is_ok(), "another address");
        assert!(attempts.take("ann", HOME, at(10)).is_ok());
        assert!(attempts.take("ann", HOME, at(11)).is_err());
    }

    #[test]
    fn successes_are_free() {
        let attempts = Attempts::new(1, REFILL);
        for _ in 0..5 {
            let attempt = attempts.take("ann", HOME, Millis(0)).unwrap();
            attempts.give_back(attempt);
        }
    }

    #[test]
    fn the_map_is_bounded_and_keeps_the_guilty() {
        let attempts = Attempts::new(2, REFILL);
        for _ in 0..2 {
            assert!(attempts.take("ann", HOME, Millis(0)).is_ok());
        }
        for other in 0..CAPACITY + 10 {
            assert!(attempts.take(&other.to_string(), HOME, Millis(0)).is_ok());
        }
        assert_eq!(attempts.buckets.lock().unwrap().len(), CAPACITY);
        assert!(attempts.take("ann", HOME, Millis(0)).is_err());
    }
}
