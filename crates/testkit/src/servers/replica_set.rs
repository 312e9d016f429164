//! A replica set of MongoDB: several servers, one of which is the primary.

use std::sync::atomic::{AtomicU64, Ordering};

use super::mongo::Mongo;
use super::process::wait_until;

/// The name of the replica set.
const NAME: &str = "rs";

/// The time after which an unresponsive primary is replaced.
const ELECTION_MS: i32 = 1000;

/// A running replica set.
pub struct ReplicaSet {
    members: Vec<Mongo>,
    names: AtomicU64,
}

impl ReplicaSet {
    /// A set with this many members; on return any of them can become primary. `None` if the run excludes
    /// MongoDB.
    pub fn start(count: usize) -> Option<Self> {
        let option = format!("--replSet={NAME}");
        let members: Option<Vec<_>> = (0..count)
            .map(|_| Mongo::start_with(&[&option, "--oplogSize=64"]))
            .collect();
        let set = Self {
            members: members?,
            names: AtomicU64::new(0),
        };
        let members = set.members.iter().zip(0_i32..);
        let members = members.map(
            |(member, id)| bson::doc! { "_id": id, "host": format!("127.0.0.1:{}", member.port()) },
        );
        let config = bson::doc! {
            "_id": NAME,
            "members": members.collect::<Vec<_>>(),
            "settings": { "electionTimeoutMillis": ELECTION_MS },
        };
        let initiate = bson::doc! { "replSetInitiate": config };
        let response = set.members[0].send("admin", initiate).expect("a response");
        assert_eq!(response.get_f64("ok").ok(), Some(1.0), "{response}");
        set.wait_until_replicated();
        Some(set)
    }

    /// Waits until there is a primary and all others have its data.
    fn wait_until_replicated(&self) {
        let has_all =
            |member: &Mongo| has_role(member, "secondary") || has_role(member, "isWritablePrimary");
        let waited = wait_until(|| match self.members.iter().all(has_all) {
            true => Ok(()),
            false => Err("members have not copied everything yet".to_owned()),
        });
        waited.expect("a replica set");
        self.primary();
    }

    /// The URL of an empty key space in it, with options for the driver.
    pub fn url(&self, options: &str) -> String {
        let hosts = self.members.iter();
        let hosts = hosts.map(|member| format!("127.0.0.1:{}", member.port()));
        let hosts = hosts.collect::<Vec<_>>().join(",");
        let number = self.names.fetch_add(1, Ordering::Relaxed);
        format!("mongodb://{hosts}/test{number}?replicaSet={NAME}&{options}")
    }

    /// The members, for fault injection.
    pub fn members(&self) -> &[Mongo] {
        &self.members
    }

    /// Waits for a primary and returns it.
    pub fn primary(&self) -> &Mongo {
        let mut found = None;
        let is_found = wait_until(|| {
            let primary = |member: &&Mongo| has_role(member, "isWritablePrimary");
            found = self.members.iter().find(primary);
            found
                .map(drop)
                .ok_or_else(|| "there is no primary".to_owned())
        });
        match (found, is_found) {
            (Some(primary), Ok(())) => primary,
            (_, problem) => panic!("{problem:?}\n{}", self.members[0].process().log()),
        }
    }

    /// Makes the primary step down at once.
    pub fn step_down(&self) {
        let step =
            bson::doc! { "replSetStepDown": 1, "secondaryCatchUpPeriodSecs": 0, "force": true };
        // It may close the connection instead of responding.
        let _ = self.primary().send("admin", step);
    }
}

/// Whether a member reports this property of itself.
fn has_role(member: &Mongo, what: &str) -> bool {
    let hello = member.send("admin", bson::doc! { "hello": 1 });
    hello.is_ok_and(|hello| hello.get_bool(what).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::super::Signal;
    use super::*;

    #[test]
    fn another_member_becomes_primary() {
        let Some(set) = ReplicaSet::start(3) else {
            return;
        };
        let first = set.primary();
        first.process().stop(Signal::Kill);
        let second = set.primary();
        assert_ne!(first.port(), second.port());
        assert!(set.url("").contains(&second.port().to_string()));
        assert_eq!(set.members().len(), 3);
    }
}
