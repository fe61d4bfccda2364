//! Limits guessing: a bucket of attempts per name and address, in a map of bounded size.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use sha2::{Digest as _, Sha256};

use super::{AuthError, line::Client};
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

/// Whoever may try now.
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

    /// Whether `name` may be tried from `address` now. Only what [`failed`](Self::failed) counts: those who know the
    /// password may come as often and as many at once as they like. Guesses that are checked at the same time all get
    /// through, but each is paid for, so that the next one has to wait the longer.
    pub(super) fn check(&self, name: &str, address: IpAddr, now: Millis) -> Result<Attempt, AuthError> {
        let Client(client) = Client::of(address);
        let key = Sha256::new().chain_update(client.to_be_bytes()).chain_update(name).finalize().into();
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(bucket) = buckets.get_mut(&key) else { return Ok(Attempt(key)) };
        self.count_refills(bucket, now);
        let too_many = bucket.spent.saturating_add(1).saturating_sub(self.burst);
        if too_many == 0 {
            return Ok(Attempt(key));
        }
        let granted = bucket.counted + self.refill.saturating_mul(too_many);
        Err(AuthError::TooManyAttempts { retry_after: granted.since(now) })
    }

    /// The attempt was a wrong guess.
    pub(super) fn failed(&self, attempt: Attempt, now: Millis) {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= CAPACITY && !buckets.contains_key(&attempt.0) {
            self.make_room(&mut buckets, now);
        }
        let bucket = buckets.entry(attempt.0).or_insert(Bucket { spent: 0, counted: now });
        self.count_refills(bucket, now);
        bucket.spent = bucket.spent.saturating_add(1);
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

    fn fail(attempts: &Attempts, name: &str, address: IpAddr, now: Millis) {
        let attempt = attempts.check(name, address, now).unwrap();
        attempts.failed(attempt, now);
    }

    #[test]
    fn a_burst_then_one_per_refill() {
        let attempts = Attempts::new(3, REFILL);
        let at = |seconds: u64| Millis(0) + Duration::from_secs(seconds);
        for _ in 0..3 {
            fail(&attempts, "ann", HOME, at(0));
        }
        assert_eq!(
            attempts.check("ann", HOME, at(4)).map(drop),
            Err(AuthError::TooManyAttempts { retry_after: Duration::from_secs(6) })
        );
        assert!(attempts.check("bob", HOME, at(4)).is_ok(), "another name");
        assert!(attempts.check("ann", AWAY, at(4)).is_ok(), "another address");
        fail(&attempts, "ann", HOME, at(10));
        assert!(attempts.check("ann", HOME, at(11)).is_err());
    }

    #[test]
    fn guesses_at_the_same_time_are_paid_for() {
        let attempts = Attempts::new(1, REFILL);
        let parallel: Vec<Attempt> = (0..3).map(|_| attempts.check("ann", HOME, Millis(0)).unwrap()).collect();
        parallel.into_iter().for_each(|attempt| attempts.failed(attempt, Millis(0)));
        assert_eq!(
            attempts.check("ann", HOME, Millis(0)).map(drop),
            Err(AuthError::TooManyAttempts { retry_after: REFILL * 3 })
        );
    }

    #[test]
    fn the_map_is_bounded_and_keeps_the_guilty() {
        let attempts = Attempts::new(2, REFILL);
        for _ in 0..2 {
            fail(&attempts, "ann", HOME, Millis(0));
        }
        for other in 0..CAPACITY + 10 {
            fail(&attempts, &other.to_string(), HOME, Millis(0));
        }
        assert_eq!(attempts.buckets.lock().unwrap().len(), CAPACITY);
        assert!(attempts.check("ann", HOME, Millis(0)).is_err());
    }
}
