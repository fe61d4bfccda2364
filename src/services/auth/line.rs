//! Waiting for a worker that checks a password. Checks are dear, and anyone may ask for them: so clients take turns, and
//! the names that one client tries do too. A flood makes itself wait, and its neighbours for one check each.

use std::{
    collections::{HashMap, HashSet},
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::oneshot;

use super::AuthError;

/// Most that wait in all.
const MOST: usize = 512;
/// Most of one client.
const PER_CLIENT: usize = 256;
/// Most of one name of a client.
const PER_NAME: usize = 16;
/// When a client that has too many in line is to come back: some are done by then.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Who stands behind an address: in IPv6 whoever has its network of 64 bits, for they have all of its addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Client(pub(super) u128);

impl Client {
    /// Whoever owns the data folder.
    pub(super) const LOCAL: Self = Self(0);

    pub(super) fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(v4) => Self(v4.to_ipv6_mapped().to_bits()),
            IpAddr::V6(v6) => Self(v6.to_bits() & !u128::from(u64::MAX)),
        }
    }
}

/// The line.
#[derive(Debug)]
pub(super) struct Line(Arc<Mutex<Waiting>>);

/// The right to one worker. Dropped, it goes to whoever is next.
#[derive(Debug)]
pub(super) struct Turn(Option<Arc<Mutex<Waiting>>>);

#[derive(Debug)]
struct Waiting {
    /// Workers without work; when there are any, nobody waits.
    free: usize,
    /// In the order in which they came.
    line: Vec<Waiter>,
    /// Turns that were given.
    given: u64,
    /// Of each client that waits, and of each of its names that do, which turn it had last; those who had none count
    /// from when they came.
    last: HashMap<(Client, Option<String>), u64>,
}

#[derive(Debug)]
struct Waiter {
    client: Client,
    name: String,
    turn: oneshot::Sender<Turn>,
}

impl Line {
    pub(super) fn new(workers: usize) -> Self {
        let waiting = Waiting { free: workers.max(1), line: Vec::new(), given: 0, last: HashMap::new() };
        Self(Arc::new(Mutex::new(waiting)))
    }

    /// Waits for a worker that checks a password of `name` (its key) for `client`.
    ///
    /// # Errors
    /// `TooManyAttempts` when the client has too many in line, `Overloaded` when all have.
    pub(super) async fn turn(&self, client: Client, name: &str) -> Result<Turn, AuthError> {
        let turn = {
            let mut waiting = lock(&self.0);
            if waiting.free > 0 {
                waiting.free -= 1;
                return Ok(Turn(Some(Arc::clone(&self.0))));
            }
            waiting.join(client, name)?
        };
        // Whoever leaves drops the channel, with the turn if it came meanwhile.
        turn.await.map_err(|_| AuthError::Internal("the line for the workers is gone"))
    }
}

impl Waiting {
    fn join(&mut self, client: Client, name: &str) -> Result<oneshot::Receiver<Turn>, AuthError> {
        self.line.retain(|waiter| !waiter.turn.is_closed());
        let of_client = self.line.iter().filter(|waiter| waiter.client == client);
        let of_name = of_client.clone().filter(|waiter| waiter.name == name).count();
        if of_name >= PER_NAME || of_client.count() >= PER_CLIENT {
            return Err(AuthError::TooManyAttempts { retry_after: RETRY_AFTER });
        }
        if self.line.len() >= MOST {
            return Err(AuthError::Overloaded);
        }
        let (turn, receiver) = oneshot::channel();
        let waiter = Waiter { client, name: name.to_owned(), turn };
        for key in waiter.keys() {
            self.last.entry(key).or_insert(self.given);
        }
        self.line.push(waiter);
        Ok(receiver)
    }

    /// Whose turn it is: of the client that has waited for one the longest, and of its names so too.
    fn next(&mut self) -> Option<Waiter> {
        self.line.retain(|waiter| !waiter.turn.is_closed());
        let waited = |waiter: &Waiter| waiter.keys().map(|key| self.last.get(&key).copied());
        let place = (0..self.line.len()).min_by_key(|&place| waited(&self.line[place]))?;
        let waiter = self.line.remove(place);
        self.given += 1;
        for key in waiter.keys() {
            self.last.insert(key, self.given);
        }
        let waiting: HashSet<_> = self.line.iter().flat_map(Waiter::keys).collect();
        self.last.retain(|key, _| waiting.contains(key));
        Some(waiter)
    }
}

impl Waiter {
    fn keys(&self) -> [(Client, Option<String>); 2] {
        [(self.client, None), (self.client, Some(self.name.clone()))]
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let Some(waiting) = self.0.take() else { return };
        loop {
            let Some(next) = ({
                let mut waiting = lock(&waiting);
                let next = waiting.next();
                waiting.free += usize::from(next.is_none());
                next
            }) else {
                return;
            };
            match next.turn.send(Self(Some(Arc::clone(&waiting)))) {
                Ok(()) => return,
                // They left at this very moment: it is still this one's to pass on.
                Err(mut turn) => turn.0 = None,
            }
        }
    }
}

fn lock(waiting: &Mutex<Waiting>) -> MutexGuard<'_, Waiting> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt as _, future::BoxFuture};

    use super::*;

    const HOME: Client = Client(1);
    const AWAY: Client = Client(2);

    type Wait<'l> = BoxFuture<'l, Result<Turn, AuthError>>;

    /// Gets in line; what is ready at once is given back ready.
    fn join<'l>(line: &'l Line, client: Client, name: &'l str) -> Wait<'l> {
        let mut wait = line.turn(client, name).boxed();
        match (&mut wait).now_or_never() {
            Some(ready) => std::future::ready(ready).boxed(),
            None => wait,
        }
    }

    fn is_ready(wait: &mut Wait<'_>) -> bool {
        wait.now_or_never().is_some()
    }

    /// Gives turn after turn; who got them, in order.
    fn order(mut turn: Turn, mut waits: Vec<(&'static str, Wait<'_>)>) -> Vec<&'static str> {
        let mut order = Vec::new();
        loop {
            drop(turn);
            let got = waits.iter_mut().enumerate().find_map(|(at, (_, wait))| Some((at, wait.now_or_never()?)));
            let Some((at, next)) = got else { return order };
            order.push(waits.remove(at).0);
            turn = next.unwrap();
        }
    }

    #[test]
    fn clients_take_turns_and_so_do_their_names() {
        let line = Line::new(1);
        let first = line.turn(HOME, "ann").now_or_never().unwrap().unwrap();
        let waits = [
            ("ann1", HOME, "ann"),
            ("ann2", HOME, "ann"),
            ("ann3", HOME, "ann"),
            ("bob1", HOME, "bob"),
            ("away1", AWAY, "ann"),
            ("away2", AWAY, "ann"),
            ("ann4", HOME, "ann"),
        ]
        .map(|(who, client, name)| (who, join(&line, client, name)))
        .into();
        assert_eq!(order(first, waits), ["ann1", "away1", "bob1", "away2", "ann2", "ann3", "ann4"]);
        let waiting = lock(&line.0);
        assert_eq!((waiting.free, waiting.last.len()), (1, 0), "nothing is remembered");
    }

    #[test]
    fn a_flood_is_refused_and_shuts_nobody_out() {
        let line = Line::new(2);
        let names: Vec<String> = (0..900).map(|no| format!("n{no}")).collect();
        let mut flood: Vec<Wait<'_>> = (0..900).map(|_| join(&line, HOME, "ann")).collect();
        let refused = |flood: &mut Vec<Wait<'_>>| {
            let is_refused = |wait: &mut Wait<'_>| match wait.now_or_never() {
                Some(Err(AuthError::TooManyAttempts { retry_after })) => retry_after == RETRY_AFTER,
                Some(other) => panic!("{other:?}"),
                None => false,
            };
            flood.iter_mut().skip(2).map(is_refused).filter(|refused| *refused).count()
        };
        assert_eq!(refused(&mut flood), 900 - 2 - PER_NAME);
        let mut neighbour = join(&line, HOME, "bob");
        let mut other = join(&line, AWAY, "ann");
        assert!(!is_ready(&mut neighbour) && !is_ready(&mut other));
        let mut names: Vec<Wait<'_>> = names.iter().map(|name| join(&line, HOME, name)).collect();
        assert_eq!(names.iter_mut().map(is_ready).filter(|ready| *ready).count(), 900 - (PER_CLIENT - PER_NAME - 1));
        // Two workers end their work. One of them goes on with the flood.
        drop(flood.drain(..2));
        assert!(is_ready(&mut other));
        assert!(is_ready(&mut neighbour), "as soon as the other is done");
    }

    #[test]
    fn who_leaves_is_passed_over_and_no_turn_is_lost() {
        let line = Line::new(1);
        let turn = line.turn(HOME, "ann").now_or_never().unwrap().unwrap();
        let (gone, mut stays) = (join(&line, HOME, "ann"), join(&line, HOME, "ann"));
        drop(gone);
        drop(turn);
        let turn = (&mut stays).now_or_never().expect("the next one has it").unwrap();
        let told = join(&line, AWAY, "ann");
        drop(turn);
        drop(told);
        assert_eq!(lock(&line.0).free, 1, "given to one who left without taking it");
    }

    #[test]
    fn whoever_owns_a_network_is_one_client() {
        let client = |address: &str| Client::of(address.parse().unwrap());
        assert_eq!(client("2001:db8:0:1::1"), client("2001:db8:0:1:ffff::2"));
        assert_ne!(client("2001:db8:0:1::1"), client("2001:db8:0:2::1"));
        assert_eq!(client("::ffff:10.0.0.1"), client("10.0.0.1"));
        assert_ne!(client("10.0.0.1"), client("10.0.0.2"));
        assert_ne!(client("::1"), client("127.0.0.1"));
    }
}
