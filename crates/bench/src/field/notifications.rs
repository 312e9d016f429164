//! Notifications: sending one, alone and to many subscribers of a stream.

use std::time::Duration;

use espalier_service::SessionDatastore;
use espalier_service::notifications::{Delivery, Notification, Subscription, SubscriptionOptions};

use super::hosts::Hosts;
use super::report::Report;
use crate::dataset::expect;
use crate::harness::{Repetitions, Timing, measure};
use espalier_terminal::Result;

/// The number of hosts in the store.
const HOSTS: u64 = 1000;

/// The largest number of notifications of a row.
const SENT_MAX: u64 = 2000;

/// The longest wait for an event.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// Measures the case with a number of subscribers.
pub fn run(report: &mut Report<'_>, subscribers: u64) -> Result<()> {
    let hosts = Hosts::load(report, HOSTS)?;
    let running = running(&hosts)?;
    let alone = sent(&running, &mut [])?;
    let row = report.row(
        &hosts.store,
        "notifications: send, nobody receives",
        subscribers,
    );
    report.emit(&row.timed(&alone))?;
    let mut receivers = (0..subscribers)
        .map(|_| running.subscribe(SubscriptionOptions::default()))
        .collect::<espalier_store::Result<Vec<_>>>()?;
    let timing = sent(&running, &mut receivers)?;
    let name = "notifications: send one, all subscribers take it";
    let row = report.row(&hosts.store, name, subscribers).timed(&timing);
    let rate = subscribers as f64 / timing.median_s;
    let cost = timing.median_s - alone.median_s;
    let without_send = subscribers as f64 / cost.max(f64::EPSILON);
    report.emit(&row.note(format!(
        "{rate:.0} deliveries per second, {without_send:.0} without the time of sending"
    )))
}

fn running(hosts: &Hosts) -> Result<SessionDatastore> {
    Ok(SessionDatastore::of_program(hosts.store.tree.clone())?)
}

/// Sends notifications, each of which every receiver takes before the next one is sent.
fn sent(running: &SessionDatastore, receivers: &mut [Subscription]) -> Result<Timing> {
    let plan = Repetitions::many(SENT_MAX);
    let notifications = (0..plan.calls_max()).map(|call| {
        let document = format!(
            r#"{{"espalier-bench-hosts:unreachable":{{"host":"host-{call:08}","attempts":{call}}}}}"#
        );
        Notification::parse_json(running.schema(), "", document.as_bytes(), None)
    });
    let notifications = notifications.collect::<espalier_store::Result<Vec<_>>>()?;
    measure(
        plan,
        |call| {
            running.notify(notifications[call as usize].clone())?;
            let mut taken = 0;
            for receiver in &mut *receivers {
                let delivery = receiver.next(WAIT_MAX)?;
                taken += u64::from(matches!(delivery, Some(Delivery::Event(_))));
            }
            Ok((taken, receivers.len() as u64))
        },
        |call, (taken, wanted)| {
            expect(taken == wanted, || {
                format!("{taken} of {wanted} subscribers got notification {call}")
            })
        },
    )
}
