//! Bearer tokens.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use espalier_keyspace::{Batch, Driver};
use espalier_service::identity::{
    NewToken, Scope, TOKEN_LIFETIME_MAX, TOKENS_MAX, Token, TokenError, TokenStore,
};
use espalier_store::{Store, Subspace, SystemClock};
use espalier_testkit::rows::rows;
use espalier_testkit::{process, seed};
use rand::Rng;

use crate::fixture::{NOW, after_seconds, driver};

fn request<'a>(user: &'a str, name: &'a str) -> NewToken<'a> {
    NewToken {
        user,
        name,
        scope: Scope::Full,
        lifetime: Duration::from_secs(3600),
    }
}

#[test]
fn a_token_is_created_verified_listed_and_revoked() {
    let tokens = TokenStore::new(driver());
    let new = NewToken {
        scope: Scope::ReadOnly,
        ..request("ann", "backup")
    };
    let (token, info) = tokens.create(new, NOW).unwrap();
    let text = token.reveal();
    assert_eq!(Token::parse(&text), Ok(token.clone()));
    assert_eq!((text.len(), &text[..4]), (85, "esp_"));
    assert_eq!(tokens.verify(&text, NOW).unwrap(), info);
    assert_eq!((&*info.user, &*info.name), ("ann", "backup"));
    assert_eq!(
        (info.scope, info.expires),
        (Scope::ReadOnly, after_seconds(3600))
    );
    let (other, other_info) = tokens.create(request("bob", ""), NOW).unwrap();
    let mut expected = vec![info, other_info];
    expected.sort_by_key(|info| info.id);
    assert_eq!(tokens.list().unwrap(), expected);
    assert!(tokens.revoke(token.id).unwrap());
    assert!(!tokens.revoke(token.id).unwrap());
    assert!(matches!(
        tokens.verify(&text, NOW),
        Err(TokenError::Invalid)
    ));
    assert!(tokens.verify(&other.reveal(), NOW).is_ok());
    let expired = tokens.verify(&other.reveal(), after_seconds(3600));
    assert!(matches!(expired, Err(TokenError::Expired)));
}

#[test]
fn tokens_of_a_user_and_expired_ones_are_removed() {
    let tokens = TokenStore::new(driver());
    let [one, two] = [(); 2].map(|()| tokens.create(request("ann", ""), NOW).unwrap().0);
    let kept = tokens
        .create(request("bob", ""), after_seconds(10))
        .unwrap()
        .0;
    let mut revoked = tokens.revoke_all_of("ann").unwrap();
    revoked.sort();
    let mut expected = vec![one.id, two.id];
    expected.sort();
    assert_eq!(revoked, expected);
    assert_eq!(tokens.remove_expired(after_seconds(3609)).unwrap(), []);
    assert_eq!(
        tokens.remove_expired(after_seconds(3610)).unwrap(),
        [kept.id]
    );
    assert_eq!(tokens.list().unwrap(), []);
}

#[test]
fn wrong_secrets_and_texts_are_rejected() {
    let tokens = TokenStore::new(driver());
    let (token, _) = tokens.create(request("ann", ""), NOW).unwrap();
    let (other, _) = tokens.create(request("ann", ""), NOW).unwrap();
    let text = token.reveal();
    let mixed = format!("{}{}", &text[..21], &other.reveal()[21..]);
    for wrong in [
        "",
        "esp_",
        "esp__",
        &text[1..],
        &text[..84],
        &format!("{text}0"),
        &text.to_uppercase(),
        &text.replace("esp_", "ESP_"),
        &format!("{}\u{fc}", &text[..83]),
        &mixed,
    ] {
        let error = tokens.verify(wrong, NOW).unwrap_err();
        assert!(matches!(error, TokenError::Invalid), "{wrong}");
    }
    seed::run("token texts", |random| {
        for _ in 0..1_000 {
            let mut bytes = text.clone().into_bytes();
            let place = random.random_range(0..bytes.len());
            bytes[place] = random.random_range(0x20..0x7f);
            let changed = String::from_utf8(bytes).unwrap();
            assert_eq!(
                tokens.verify(&changed, NOW).is_ok(),
                changed == text,
                "{changed}"
            );
        }
    });
}

#[test]
fn limits_are_errors() {
    let driver = driver();
    let tokens = TokenStore::new(Arc::clone(&driver));
    let lifetime = |lifetime| NewToken {
        lifetime,
        ..request("ann", "")
    };
    let long = "x".repeat(257);
    for (new, part) in [
        (request("", ""), "USER_NAME_BYTES_MAX"),
        (request(&long, ""), "USER_NAME_BYTES_MAX"),
        (request("ann", &long), "TOKEN_NAME_BYTES_MAX"),
        (request("ann", "a\nb"), "control"),
        (lifetime(Duration::ZERO), "TOKEN_LIFETIME_MAX"),
        (
            lifetime(TOKEN_LIFETIME_MAX + Duration::from_secs(1)),
            "TOKEN_LIFETIME_MAX",
        ),
    ] {
        let error = tokens.create(new, NOW).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
    // The count, as if there were that many rows.
    let mut batch = Batch::new();
    let mut count = Vec::new();
    espalier_keyspace::compact_encoding::put_number(&mut count, TOKENS_MAX - 1);
    batch.put(vec![0x40, 0x01, 0x00], count);
    driver.commit(batch).unwrap();
    let (last, _) = tokens.create(request("ann", ""), NOW).unwrap();
    let error = tokens.create(request("ann", ""), NOW).unwrap_err();
    assert!(matches!(error, TokenError::TooMany));
    assert!(tokens.revoke(last.id).unwrap());
    tokens.create(request("ann", ""), NOW).unwrap();
}

#[test]
fn no_secret_is_stored_or_shown() {
    let driver = driver();
    let tokens = TokenStore::new(Arc::clone(&driver));
    let (token, info) = tokens.create(request("ann", "n"), NOW).unwrap();
    let secret = token.reveal()[21..].to_owned();
    let bytes: Vec<u8> = (0..32)
        .map(|byte| u8::from_str_radix(&secret[2 * byte..][..2], 16).unwrap())
        .collect();
    let rows = rows(&*driver, &Subspace::Service.range());
    assert_eq!(rows.len(), 2);
    for (key, value) in &rows {
        for stored in [key, value] {
            assert!(!stored.windows(32).any(|window| window == bytes));
            assert!(!String::from_utf8_lossy(stored).contains(&secret));
        }
    }
    let wrong = format!("{}0", &token.reveal()[..84]);
    let shown = format!(
        "{token:?} {token:#?} {info:?} {:?}",
        tokens.verify(&wrong, NOW)
    );
    assert!(!shown.contains(&secret[..16]) && !shown.contains(&format!("{bytes:?}")[1..20]));
}

#[test]
fn a_row_of_a_later_version_is_an_error() {
    let driver = driver();
    let tokens = TokenStore::new(Arc::clone(&driver));
    let (token, _) = tokens.create(request("ann", ""), NOW).unwrap();
    let (key, value) = rows(&*driver, &Subspace::Service.range()).pop().unwrap();
    let later = String::from_utf8(value)
        .unwrap()
        .replace("\"format\":1", "\"format\":2");
    let mut batch = Batch::new();
    batch.put(key, later);
    driver.commit(batch).unwrap();
    let unreadable = |error| matches!(error, TokenError::Unreadable(id) if id == token.id);
    assert!(unreadable(tokens.verify(&token.reveal(), NOW).unwrap_err()));
    assert!(unreadable(tokens.list().unwrap_err()));
    assert!(tokens.revoke(token.id).unwrap());
    assert_eq!(tokens.list().unwrap(), []);
}

#[test]
fn a_verification_after_a_revocation_fails_while_others_commit() {
    let driver = driver();
    let tokens = TokenStore::new(Arc::clone(&driver));
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_done.load(Ordering::SeqCst) {
                    let (token, _) = tokens.create(request("noise", ""), NOW).unwrap();
                    assert!(tokens.revoke(token.id).unwrap());
                }
            });
        }
        for _ in 0..50 {
            let (token, _) = tokens.create(request("ann", ""), NOW).unwrap();
            let text = token.reveal();
            let is_revoked = AtomicBool::new(false);
            thread::scope(|scope| {
                scope.spawn(|| {
                    // The order of the two reads matters: a revocation between them is not seen as one before.
                    loop {
                        let was_revoked = is_revoked.load(Ordering::SeqCst);
                        let is_valid = tokens.verify(&text, NOW).is_ok();
                        assert!(!(was_revoked && is_valid));
                        if was_revoked {
                            break;
                        }
                    }
                });
                assert!(tokens.revoke(token.id).unwrap());
                is_revoked.store(true, Ordering::SeqCst);
            });
        }
        is_done.store(true, Ordering::SeqCst);
    });
    assert_eq!(tokens.list().unwrap(), []);
    // The count is exact.
    let counts = rows(&*driver, &Subspace::Service.range());
    assert_eq!(counts, [(vec![0x40, 0x01, 0x00], vec![0])]);
}

#[test]
fn of_concurrent_revocations_one_revokes() {
    let tokens = TokenStore::new(driver());
    for _ in 0..20 {
        let (token, _) = tokens.create(request("ann", ""), NOW).unwrap();
        let revoked = thread::scope(|scope| {
            let threads = [(); 3].map(|()| scope.spawn(|| tokens.revoke(token.id).unwrap()));
            threads.map(|thread| thread.join().unwrap())
        });
        assert_eq!(revoked.iter().filter(|&&revoked| revoked).count(), 1);
    }
}

#[test]
fn tokens_of_a_store_leave_it_sound() {
    let driver = driver();
    let store = Store::open(Arc::clone(&driver), Arc::new(SystemClock)).unwrap();
    let tokens = TokenStore::new(Arc::clone(store.driver()));
    tokens.create(request("ann", ""), NOW).unwrap();
    assert_eq!(store.check(&mut |_| {}).unwrap(), []);
}

fn open(url: &str) -> Arc<dyn Driver> {
    espalier_drivers::open(url).unwrap()
}

/// Creates a token, sends its text, and returns after the parent has revoked it.
#[test]
fn child_that_shares_a_store() {
    let Some(url) = process::argument() else {
        return;
    };
    let tokens = TokenStore::new(open(&url));
    let (token, _) = tokens.create(request("ann", "child"), NOW).unwrap();
    let text = token.reveal();
    process::say(&text);
    while tokens.verify(&text, NOW).is_ok() {
        thread::sleep(Duration::from_millis(1));
    }
    process::say("revoked");
}

#[test]
fn two_processes_share_the_tokens_of_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("embedded:{}", folder.path().join("store").display());
    let tokens = TokenStore::new(open(&url));
    let mut child = process::Part::start("tokens::child_that_shares_a_store", &url);
    let text = child.line().unwrap();
    let info = tokens.verify(&text, NOW).unwrap();
    assert_eq!((&*info.user, &*info.name), ("ann", "child"));
    assert!(tokens.revoke(info.id).unwrap());
    assert_eq!(child.line().as_deref(), Some("revoked"));
    child.finish();
    assert_eq!(tokens.list().unwrap(), []);
}
