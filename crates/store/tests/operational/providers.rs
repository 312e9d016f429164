//! Providers: they are called when their part is read; if one fails, only its part is missing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use espalier_store::{Content, PROVIDER_CALLS_MAX, Provider, Selection, WarningReason, WithOrigin};
use espalier_yang::data::Origin;
use espalier_yang::path::Fields;

use crate::fixture::{Fixture, parse};

/// A provider with a constant answer, and its number of calls.
fn constant(text: &'static str) -> (Provider, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let provider = Provider::new("constant", move |request| {
        counted.fetch_add(1, Ordering::SeqCst);
        Ok(parse(&request.schema, text))
    });
    (provider, calls)
}

#[test]
fn provided_state_is_part_of_a_read() {
    let fixture = Fixture::new();
    fixture.configure(r#"{"m:e":[{"name":"x","v":"1"}],"m:o":[{"k":"a","v":"1"}]}"#);
    fixture.push(r#"{"m:e":[{"name":"x","w":"2"}],"m:o":[{"k":"b"}]}"#);
    let (provider, calls) =
        constant(r#"{"m:e":[{"name":"x","state":{"up":true}},{"name":"z","state":{"up":false}}]}"#);
    let kept = fixture
        .operational
        .provide(fixture.path("/m:e"), provider)
        .expect("a provider");
    let (ordered, _) = constant(r#"{"m:o":[{"k":"c"},{"k":"b","w":"3"},{"k":"a","w":"4"}]}"#);
    let ordered = fixture
        .operational
        .provide(fixture.path("/m:o"), ordered)
        .expect("a provider");
    fixture.check(
        "/",
        concat!(
            r#"{"m:e":[{"name":"x","v":"1","w":"2","state":{"up":true}},{"name":"z","state":{"up":false}}],"#,
            r#""m:o":[{"k":"a","v":"1","w":"4"},{"k":"b","w":"3"},{"k":"c"}]}"#
        ),
    );
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    fixture.check("/m:o[k='c']", r#"{"m:o":[{"k":"c"}]}"#);
    fixture.check("/m:o[k='b']/w", r#"{"m:w":"3"}"#);
    fixture.check("/m:e[name='z']/state/up", r#"{"m:up":false}"#);
    let view = fixture.operational.view().expect("a view");
    assert_eq!(view.count(&fixture.path("/m:o")).expect("a count"), 3);
    assert!(
        view.exists(&fixture.path("/m:e[name='z']"))
            .expect("an answer")
    );
    drop((kept, ordered));
    fixture.check("/m:e[name='z']", "");
}

#[test]
fn only_providers_within_the_selection_are_called() {
    let fixture = Fixture::new();
    fixture.configure(r#"{"m:top":"t","m:plain":{"a":"1"}}"#);
    let (provider, calls) = constant(r#"{"m:plain":{"inner":{"x":"1"}}}"#);
    let kept = fixture
        .operational
        .provide(fixture.path("/m:plain/inner"), provider)
        .expect("a provider");
    let is_called = |path: &str, selection: &Selection| {
        let before = calls.load(Ordering::SeqCst);
        fixture.read(path, selection);
        calls.load(Ordering::SeqCst) > before
    };
    let all = Selection::default();
    let depth = |depth| Selection {
        depth: Some(depth),
        ..Selection::default()
    };
    let fields = |text| Selection {
        fields: Some(Fields::parse(fixture.schema(), None, text).expect("fields")),
        ..Selection::default()
    };
    let state = Selection {
        content: Content::NonConfig,
        ..Selection::default()
    };
    assert!(is_called("/", &all));
    assert!(is_called("/m:plain", &all));
    assert!(is_called("/m:plain/inner", &all));
    assert!(is_called("/m:plain/inner/x", &all));
    assert!(!is_called("/m:top", &all));
    assert!(!is_called("/m:plain/a", &all));
    assert!(!is_called("/", &depth(2)) && is_called("/", &depth(3)));
    assert!(!is_called("/m:plain", &depth(1)) && is_called("/m:plain", &depth(2)));
    assert!(!is_called("/", &fields("m:top")) && is_called("/", &fields("m:plain/inner")));
    assert!(!is_called("/", &state));
    drop(kept);
}

#[test]
fn a_provider_gets_the_requested_path() {
    let fixture = Fixture::new();
    let (sender, receiver) = std::sync::mpsc::channel();
    let sender = std::sync::Mutex::new(sender);
    let provider = Provider::new("listener", move |request| {
        let path = request.path.to_instance_identifier(&request.schema);
        sender
            .lock()
            .expect("a lock")
            .send(path)
            .expect("a listener");
        Ok(parse(&request.schema, "{}"))
    });
    let kept = fixture
        .operational
        .provide(fixture.path("/m:e"), provider)
        .expect("a provider");
    for (read, requested) in [
        ("/", "/m:e"),
        ("/m:e", "/m:e"),
        ("/m:e[name='x']", "/m:e[name='x']"),
        ("/m:e[name='x']/state", "/m:e[name='x']/state"),
    ] {
        fixture.read(read, &Selection::default());
        assert_eq!(receiver.try_recv().expect("a call"), requested);
    }
    drop(kept);
}

/// Reads with one failing provider and one that works; returns the reason of the warning.
#[track_caller]
fn read_with_failing_provider(provider: Provider) -> WarningReason {
    let fixture = Fixture::new();
    fixture.configure(r#"{"m:top":"t"}"#);
    let (sound, _) = constant(r#"{"m:event":[{"text":"one"}]}"#);
    let sound = fixture
        .operational
        .provide(fixture.path("/m:event"), sound)
        .expect("a provider");
    let failing = fixture
        .operational
        .provide(fixture.path("/m:plain"), provider)
        .expect("a provider");
    fixture.check("/", r#"{"m:top":"t","m:event":[{"text":"one"}]}"#);
    let view = fixture.operational.view().expect("a view");
    let mut builder = espalier_yang::data::TreeBuilder::new();
    let path = fixture.path("/");
    let read = view.read(&path, &Selection::default(), &mut builder);
    assert!(read.expect("a reading"));
    let mut warnings = view.take_warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(view.take_warnings().is_empty());
    drop((sound, failing));
    let warning = warnings.remove(0);
    assert_eq!(warning.path, "/m:plain");
    warning.reason
}

#[test]
fn a_failing_provider_affects_only_its_part() {
    let failing = Provider::new("failing", |_| Err("the sensor is gone".into()));
    let reason = read_with_failing_provider(failing);
    assert!(matches!(reason, WarningReason::Failed(message) if message == "the sensor is gone"));
}

#[test]
fn a_panicking_provider_affects_only_its_part() {
    let panicking = Provider::new("panicking", |_| panic!("at the disco"));
    let reason = read_with_failing_provider(panicking);
    assert!(matches!(reason, WarningReason::Panicked(message) if message == "at the disco"));
}

#[test]
fn a_slow_provider_times_out() {
    let slow = Provider::new("slow", |request| {
        std::thread::sleep(Duration::from_secs(30));
        Ok(parse(&request.schema, r#"{"m:plain":{"a":"late"}}"#))
    });
    let begun = Instant::now();
    let reason = read_with_failing_provider(slow.with_timeout(Duration::from_millis(30)));
    assert!(begun.elapsed() < Duration::from_secs(25));
    assert!(matches!(reason, WarningReason::TimedOut(time) if time == Duration::from_millis(30)));
}

#[test]
fn data_outside_the_providers_path_is_rejected() {
    let (stray, _) = constant(r#"{"m:plain":{"a":"1"},"m:top":"not mine"}"#);
    assert!(matches!(
        read_with_failing_provider(stray),
        WarningReason::Invalid(_)
    ));
}

#[test]
fn hanging_calls_are_limited() {
    let fixture = Fixture::new();
    let stuck = Provider::new("stuck", |request| {
        std::thread::sleep(Duration::from_secs(2));
        Ok(parse(&request.schema, "{}"))
    });
    let stuck = stuck.with_timeout(Duration::ZERO);
    let kept = fixture
        .operational
        .provide(fixture.path("/m:plain"), stuck)
        .expect("a provider");
    for _ in 0..PROVIDER_CALLS_MAX {
        fixture.read("/", &Selection::default());
    }
    let view = fixture.operational.view().expect("a view");
    let mut builder = espalier_yang::data::TreeBuilder::new();
    let path = fixture.path("/");
    view.read(&path, &Selection::default(), &mut builder)
        .expect("a reading");
    let warnings = view.take_warnings();
    assert!(
        matches!(warnings[0].reason, WarningReason::Busy),
        "{warnings:?}"
    );
    drop(kept);
}

#[test]
fn provided_data_is_cached_while_it_is_valid() {
    let fixture = Fixture::new();
    let (provider, calls) = constant(r#"{"m:plain":{"s":"on"}}"#);
    let provider = provider.with_validity(Duration::from_secs(10));
    let kept = fixture
        .operational
        .provide(fixture.path("/m:plain"), provider)
        .expect("a provider");
    for _ in 0..3 {
        fixture.check("/m:plain", r#"{"m:plain":{"s":"on"}}"#);
    }
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    fixture.check("/m:plain/s", r#"{"m:s":"on"}"#);
    assert_eq!(calls.load(Ordering::SeqCst), 2);
    fixture.clock.advance(10_000);
    fixture.check("/m:plain", r#"{"m:plain":{"s":"on"}}"#);
    assert_eq!(calls.load(Ordering::SeqCst), 3);
    kept.invalidate();
    fixture.check("/m:plain", r#"{"m:plain":{"s":"on"}}"#);
    assert_eq!(calls.load(Ordering::SeqCst), 4);
    drop(kept);
}

#[test]
fn provided_data_has_the_origin_of_its_provider() {
    let fixture = Fixture::new();
    fixture.configure(r#"{"m:e":[{"name":"x","v":"1"}]}"#);
    let (provider, _) =
        constant(r#"{"m:e":[{"name":"x","v":"2","state":{"up":true}},{"name":"y"}]}"#);
    let provider = provider.with_origin(Origin::Learned);
    let kept = fixture
        .operational
        .provide(fixture.path("/m:e"), provider)
        .expect("a provider");
    let selection = Selection {
        with_origin: WithOrigin::Shown,
        ..Selection::default()
    };
    let found = fixture.read("/m:e", &selection);
    let expected = concat!(
        r#"{"m:e":[{"@":{"or":"intended"},"name":"x","v":"2","@v":{"or":"learned"},"state":{"up":true}},"#,
        r#"{"@":{"or":"learned"},"name":"y"}]}"#
    );
    let found = found
        .replace("ietf-origin:origin", "or")
        .replace("ietf-origin:", "");
    assert_eq!(found, expected);
    drop(kept);
}

#[test]
fn providers_of_unknown_nodes_are_rejected() {
    let lost = Provider::new("lost", |_| {
        let content = espalier_yang::data::Content::Inner(Vec::new());
        let node = espalier_yang::data::DataNode::new(espalier_yang::NodeId(9_999), content);
        Ok(espalier_yang::data::DataTree { nodes: vec![node] })
    });
    assert!(matches!(
        read_with_failing_provider(lost),
        WarningReason::Invalid(_)
    ));
    let fixture = Fixture::new();
    let nowhere = fixture
        .path("/m:top")
        .child(espalier_yang::NodeId(9_999), Default::default());
    let (provider, _) = constant("{}");
    assert!(fixture.operational.provide(nowhere, provider).is_err());
}
