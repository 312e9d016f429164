//! Which endpoint is tried next, and the pause before it.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use super::client::{CallHomeClient, StartWith};

/// The state of the tries to reach a client.
pub(super) struct EndpointOrder {
    current: usize,
    /// Failed tries of the current endpoint.
    attempts: u32,
    /// Endpoints that have failed since the start.
    failed: usize,
    /// How often all endpoints have failed.
    rounds: u32,
    last_connected: Option<usize>,
}

impl EndpointOrder {
    pub fn new(client: &CallHomeClient) -> Self {
        let mut order = Self {
            current: 0,
            attempts: 0,
            failed: 0,
            rounds: 0,
            last_connected: None,
        };
        order.start(client);
        order
    }

    /// The endpoint to try.
    pub fn current(&self) -> usize {
        self.current
    }

    /// Begins anew, after a session has ended.
    pub fn start(&mut self, client: &CallHomeClient) {
        self.rounds = 0;
        self.begin_round(client);
    }

    fn begin_round(&mut self, client: &CallHomeClient) {
        (self.attempts, self.failed) = (0, 0);
        self.current = match client.start_with {
            StartWith::FirstListed => 0,
            StartWith::LastConnected => self.last_connected.unwrap_or(0),
            StartWith::RandomSelection => random_index(client.endpoints.len()),
        };
    }

    /// Records a session with the current endpoint.
    pub fn connected(&mut self) {
        self.last_connected = Some(self.current);
    }

    /// Records a failed try of the current endpoint. Returns the pause before the next try.
    pub fn failed(&mut self, client: &CallHomeClient) -> Duration {
        let pause = client
            .pause_first
            .saturating_mul(2_u32.saturating_pow(self.rounds))
            .min(client.pause_max);
        self.attempts += 1;
        if self.attempts < client.attempts_max.max(1) {
            return pause;
        }
        self.attempts = 0;
        self.failed += 1;
        self.current = (self.current + 1) % client.endpoints.len().max(1);
        if self.failed >= client.endpoints.len() {
            self.rounds = self.rounds.saturating_add(1);
            self.begin_round(client);
        }
        pause
    }
}

/// A random number below `length`; 0 if that is 0. `RandomState` has random keys.
fn random_index(length: usize) -> usize {
    let random = RandomState::new().build_hasher().finish();
    usize::try_from(random % length.max(1) as u64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::client::{Endpoint, Protocol};
    use super::*;

    fn client(start_with: StartWith) -> CallHomeClient {
        let endpoint = |host: &str| Endpoint {
            protocol: Protocol::Ssh,
            host: host.to_owned(),
            port: 4334,
        };
        CallHomeClient {
            start_with,
            attempts_max: 2,
            pause_first: Duration::from_secs(1),
            pause_max: Duration::from_secs(3),
            ..CallHomeClient::new("c", ["a", "b", "c"].map(endpoint).to_vec())
        }
    }

    #[test]
    fn endpoints_in_order_with_pauses_that_grow_up_to_a_limit() {
        let client = client(StartWith::FirstListed);
        let mut order = EndpointOrder::new(&client);
        let mut tries = Vec::new();
        for _ in 0..14 {
            let endpoint = order.current();
            tries.push((endpoint, order.failed(&client).as_secs()));
        }
        let round = |pause| [0, 0, 1, 1, 2, 2].map(|endpoint| (endpoint, pause));
        let expected = [&round(1)[..], &round(2), &round(3)[..2]].concat();
        assert_eq!(tries, expected);
        order.start(&client);
        assert_eq!((order.current(), order.failed(&client).as_secs()), (0, 1));
    }

    #[test]
    fn the_endpoint_of_the_last_session_is_first() {
        let client = client(StartWith::LastConnected);
        let mut order = EndpointOrder::new(&client);
        order.failed(&client);
        order.failed(&client);
        assert_eq!(order.current(), 1);
        order.connected();
        order.start(&client);
        let next = [1, 1, 2, 2, 0, 0, 1];
        for expected in next {
            assert_eq!(order.current(), expected);
            order.failed(&client);
        }
    }

    #[test]
    fn random_selections_reach_every_endpoint() {
        let client = client(StartWith::RandomSelection);
        let first = |_| EndpointOrder::new(&client).current();
        let mut seen: Vec<usize> = (0..500).map(first).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, [0, 1, 2]);
    }
}
