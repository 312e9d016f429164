//! Every kind of credentials, through the authenticator.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use espalier_service::identity::{
    Anonymous, AuthenticationError, Authenticator, CertToName, Credentials, ExternalPasswords,
    FAILURES_FREE, Fingerprint, Identity, MapEntry, MapType, Method, NewToken, OsAccounts, Peer,
    Scheme, Scope, TokenStore, Users, hash_password,
};

use crate::certificates;
use crate::fixture::{NOW, after_seconds, driver, load, system_tree};

const REMOTE: Peer = Peer::Address(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)));
const SECRET: &str = "hunter2-hunter2";

struct NoAccounts;

impl OsAccounts for NoAccounts {
    fn name(&self, uid: u32) -> Option<String> {
        (uid == 1000).then(|| "ann".to_owned())
    }

    fn groups(&self, user: &str) -> io::Result<Vec<String>> {
        match user {
            "zoe" => Err(io::Error::other("no directory")),
            user => Ok(vec![format!("{user}s")]),
        }
    }
}

fn authenticator(anonymous: Anonymous) -> Authenticator {
    Authenticator::new(TokenStore::new(driver()), NoAccounts, anonymous).unwrap()
}

/// Users: ann and bob have passwords, eve has none, joe has a hash that is not accepted.
fn users(order: &str) -> Arc<Users> {
    let hash = |password| hash_password(password, Scheme::Yescrypt).unwrap();
    let text = format!(
        r#"{{"ietf-system:system":{{"authentication":{{"user-authentication-order":[{order}],"user":[
        {{"name":"ann","password":"{}"}},{{"name":"bob","password":"{}"}},{{"name":"eve"}},
        {{"name":"joe","password":"$0${SECRET}"}}]}}}}}}"#,
        hash(SECRET).as_str(),
        hash("other").as_str()
    );
    let tree = system_tree();
    load(&tree, &text);
    Arc::new(Users::read(&tree.view().unwrap()).unwrap())
}

fn with_users() -> Authenticator {
    let authenticator = authenticator(Anonymous::LocalWithoutUsers);
    authenticator.set_users(users(r#""local-users""#));
    authenticator
}

fn password(user: &str, password: &str) -> Credentials {
    Credentials::Password {
        user: user.to_owned(),
        password: password.to_owned(),
    }
}

fn user_and_method(identity: &Identity) -> (&str, Method) {
    (&identity.user, identity.method)
}

#[test]
fn passwords() {
    let authenticator = with_users();
    let log_in =
        |user: &str, word: &str, peer| authenticator.authenticate(&password(user, word), peer, NOW);
    let identity = log_in("ann", SECRET, REMOTE).unwrap();
    assert_eq!(user_and_method(&identity), ("ann", Method::Password));
    assert!(!identity.is_recovery && !identity.is_read_only && identity.groups.is_empty());
    let cases = [
        ("ann", "other"),
        ("bob", SECRET),
        ("eve", SECRET),
        ("eve", ""),
        ("joe", SECRET),
        ("nobody", SECRET),
        ("", ""),
    ];
    for (number, (user, word)) in (1..).zip(cases) {
        // A separate address each, because the limit is not tested here.
        let peer = Peer::Address(Ipv4Addr::from_bits(number).into());
        let error = log_in(user, word, peer).unwrap_err();
        assert!(
            matches!(error, AuthenticationError::Password),
            "{user} {word}: {error}"
        );
        assert_eq!(error.to_string(), "the user name or the password is wrong");
    }
}

#[test]
fn a_changed_password_is_in_force_at_once() {
    let authenticator = with_users();
    let ann = password("ann", SECRET);
    authenticator.authenticate(&ann, REMOTE, NOW).unwrap();
    authenticator.authenticate(&ann, REMOTE, NOW).unwrap();
    authenticator.set_users(users(r#""local-users""#));
    authenticator.authenticate(&ann, REMOTE, NOW).unwrap();
    authenticator.set_users(users(""));
    let error = authenticator.authenticate(&ann, REMOTE, NOW).unwrap_err();
    assert!(matches!(error, AuthenticationError::PasswordsNotAccepted));
    authenticator.set_users(Arc::default());
    assert!(authenticator.authenticate(&ann, REMOTE, NOW).is_err());
}

#[test]
fn a_verified_password_costs_no_second_hash() {
    let authenticator = with_users();
    let ann = password("ann", SECRET);
    authenticator.authenticate(&ann, REMOTE, NOW).unwrap();
    let start = std::time::Instant::now();
    for _ in 0..2_000 {
        authenticator.authenticate(&ann, REMOTE, NOW).unwrap();
    }
    assert!(
        start.elapsed() < Duration::from_secs(10),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn failures_delay_also_when_they_are_concurrent() {
    let authenticator = with_users();
    let wrong = password("ann", "wrong");
    let verified = thread::scope(|scope| {
        let log_in = || authenticator.authenticate(&wrong, REMOTE, NOW).unwrap_err();
        let threads: Vec<_> = (0..24).map(|_| scope.spawn(log_in)).collect();
        let errors = threads.into_iter().map(|thread| thread.join().unwrap());
        errors
            .filter(|error| matches!(error, AuthenticationError::Password))
            .count()
    });
    let free = usize::try_from(FAILURES_FREE).unwrap();
    let most = free + espalier_service::identity::VERIFICATIONS_MAX;
    assert!((free + 1..=most).contains(&verified), "{verified}");
    let right = password("ann", SECRET);
    let error = authenticator.authenticate(&right, REMOTE, NOW).unwrap_err();
    let AuthenticationError::TooManyFailures { retry_after } = error else {
        panic!("{error}");
    };
    assert!(retry_after >= Duration::from_secs(1));
    authenticator
        .authenticate(&right, REMOTE, after_seconds(60))
        .unwrap();
}

#[test]
fn parallel_logins_of_one_user_all_succeed() {
    let authenticator = with_users();
    let ann = password("ann", SECRET);
    thread::scope(|scope| {
        for _ in 0..24 {
            scope.spawn(|| authenticator.authenticate(&ann, REMOTE, NOW).unwrap());
        }
    });
}

#[derive(Debug)]
struct OfSystem;

impl ExternalPasswords for OfSystem {
    fn is_password_of(&self, user: &str, password: &str) -> bool {
        assert!(!user.is_empty() && !password.contains('\0') && password.len() < 1_000);
        user != "ann" && password == "system"
    }
}

#[test]
fn passwords_that_are_kept_elsewhere() {
    let authenticator =
        authenticator(Anonymous::Rejected).with_external_passwords(Arc::new(OfSystem));
    let try_all = |cases: &[(&str, &str, bool)]| {
        for (number, (user, word, is_correct)) in (1..).zip(cases) {
            let peer = Peer::Address(Ipv4Addr::from_bits(number).into());
            let now = after_seconds(3600 * u64::from(number));
            let result = authenticator.authenticate(&password(user, word), peer, now);
            assert_eq!(result.is_ok(), *is_correct, "{user} {word:.20}");
        }
    };
    let long = "x".repeat(1_000);
    try_all(&[
        ("yan", "system", true),
        ("yan", "wrong", false),
        ("yan", "", false),
        ("", "system", false),
        ("yan", "system\0", false),
        ("yan", &long, false),
    ]);
    // Users of ietf-system have their passwords there, or none.
    authenticator.set_users(users(r#""local-users""#));
    try_all(&[
        ("yan", "system", true),
        ("ann", SECRET, true),
        ("bob", "system", false),
        ("eve", "system", false),
    ]);
    authenticator.set_users(users(""));
    try_all(&[("yan", "system", true), ("ann", SECRET, false)]);
}

#[test]
fn users_of_the_operating_system_have_its_groups() {
    let groups = |authenticator: &Authenticator, user| {
        let credentials = password(user, "system");
        let identity = authenticator.authenticate(&credentials, REMOTE, NOW);
        identity.map(|identity| identity.groups)
    };
    let external = authenticator(Anonymous::Rejected).with_external_passwords(Arc::new(OfSystem));
    assert_eq!(groups(&external, "yan").unwrap(), ["yans"]);
    let peer = Credentials::UnixPeer { uid: 1000 };
    let of_peer = |authenticator: &Authenticator| {
        let identity = authenticator.authenticate(&peer, Peer::Local, NOW);
        identity.unwrap().groups
    };
    assert_eq!(of_peer(&external), ["anns"]);
    // A user whose groups are unknown could do more than intended.
    let error = groups(&external, "zoe").unwrap_err();
    assert!(matches!(error, AuthenticationError::Groups(_)), "{error}");
    // A user of ietf-system has those of ietf-netconf-acm only.
    external.set_users(users(r#""local-users""#));
    assert!(of_peer(&external).is_empty());
    assert!(of_peer(&authenticator(Anonymous::Rejected)).is_empty());
}

#[test]
fn tokens() {
    let authenticator = authenticator(Anonymous::Rejected);
    let create = |user, scope| {
        let new = NewToken {
            user,
            name: "",
            scope,
            lifetime: Duration::from_secs(60),
        };
        let (token, _) = authenticator.tokens().create(new, NOW).unwrap();
        (token.id, Credentials::Token(token.reveal()))
    };
    let (id, ann) = create("ann", Scope::Full);
    let (_, zoe) = create("zoe", Scope::ReadOnly);
    let identity = authenticator.authenticate(&ann, REMOTE, NOW).unwrap();
    assert_eq!(user_and_method(&identity), ("ann", Method::Token));
    assert!(!identity.is_read_only && !identity.is_recovery);
    assert!(
        authenticator
            .authenticate(&zoe, REMOTE, NOW)
            .unwrap()
            .is_read_only
    );
    // Once there are users, a token must be of one of them.
    authenticator.set_users(users(""));
    assert!(authenticator.authenticate(&ann, REMOTE, NOW).is_ok());
    let error = authenticator.authenticate(&zoe, REMOTE, NOW).unwrap_err();
    assert!(matches!(error, AuthenticationError::Token));
    let error = authenticator
        .authenticate(&ann, REMOTE, after_seconds(60))
        .unwrap_err();
    assert!(matches!(error, AuthenticationError::TokenExpired));
    assert!(authenticator.tokens().revoke(id).unwrap());
    // Tokens cannot be guessed, so their failures delay no client at this address.
    for _ in 0..20 {
        let error = authenticator.authenticate(&ann, REMOTE, NOW).unwrap_err();
        assert!(matches!(error, AuthenticationError::Token));
    }
}

#[test]
fn certificates() {
    let authenticator = authenticator(Anonymous::LocalWithoutUsers);
    let root = certificates::authority("root");
    let certificate = certificates::client(&certificates::parameters("ann"), &root);
    let credentials = Credentials::Certificate(vec![certificate]);
    let log_in = || authenticator.authenticate(&credentials, REMOTE, NOW);
    assert!(matches!(
        log_in(),
        Err(AuthenticationError::UnmappedCertificate)
    ));
    let entry = MapEntry {
        id: 1,
        fingerprint: Fingerprint::of(root.der()),
        map_type: MapType::CommonName,
    };
    let map = CertToName::new(vec![entry], vec![root.der().to_vec()]).unwrap();
    authenticator.set_certificates(Arc::new(map));
    assert_eq!(
        user_and_method(&log_in().unwrap()),
        ("ann", Method::Certificate)
    );
    let empty = Credentials::Certificate(Vec::new());
    let error = authenticator.authenticate(&empty, REMOTE, NOW).unwrap_err();
    assert!(matches!(error, AuthenticationError::Certificate(_)));
}

#[test]
fn peers_of_unix_sockets() {
    let authenticator = with_users();
    let log_in = |uid| authenticator.authenticate(&Credentials::UnixPeer { uid }, Peer::Local, NOW);
    let root = log_in(0).unwrap();
    assert_eq!(user_and_method(&root), ("root", Method::UnixPeer));
    assert!(root.is_recovery);
    let ann = log_in(1000).unwrap();
    assert_eq!(user_and_method(&ann), ("ann", Method::UnixPeer));
    assert!(!ann.is_recovery);
    assert!(matches!(log_in(7), Err(AuthenticationError::UnknownUid(7))));
}

#[test]
fn nothing() {
    let local = Peer::Address(Ipv4Addr::LOCALHOST.into());
    let mapped = Peer::Address(Ipv4Addr::LOCALHOST.to_ipv6_mapped().into());
    for (anonymous, has_users, peer, is_permitted) in [
        (Anonymous::Rejected, false, Peer::Local, false),
        (Anonymous::LocalWithoutUsers, false, Peer::Local, true),
        (Anonymous::LocalWithoutUsers, false, local, true),
        (Anonymous::LocalWithoutUsers, false, mapped, true),
        (Anonymous::LocalWithoutUsers, false, REMOTE, false),
        (Anonymous::LocalWithoutUsers, true, Peer::Local, false),
    ] {
        let authenticator = authenticator(anonymous);
        if has_users {
            authenticator.set_users(users(""));
        }
        let result = authenticator.authenticate(&Credentials::None, peer, NOW);
        match result {
            Ok(identity) => {
                assert!(is_permitted);
                assert_eq!(user_and_method(&identity), ("anonymous", Method::Anonymous));
                assert!(!identity.is_recovery);
            }
            Err(error) => {
                assert!(!is_permitted);
                assert!(matches!(error, AuthenticationError::Required));
            }
        }
    }
}

#[test]
fn no_error_and_no_debug_output_has_a_secret() {
    let authenticator = with_users();
    let token = "esp_0123456789abcdef_".to_owned() + &"abcd".repeat(16);
    for credentials in [
        password("ann", "wrong-hunter2-hunter2"),
        password("joe", SECRET),
        Credentials::Token(token.clone()),
        Credentials::Token(SECRET.to_owned()),
        Credentials::Certificate(vec![SECRET.as_bytes().to_vec()]),
    ] {
        let error = authenticator
            .authenticate(&credentials, REMOTE, NOW)
            .unwrap_err();
        let shown = format!("{credentials:?} {error} {error:?}");
        assert!(
            !shown.contains("hunter2") && !shown.contains("abcdabcd"),
            "{shown}"
        );
    }
    let identity = authenticator.authenticate(&password("ann", SECRET), Peer::Local, NOW);
    assert!(!format!("{identity:?} {:?}", authenticator.users()).contains("hunter2"));
}

#[test]
fn public_keys_are_those_of_the_user_whatever_signature_algorithm_is_named() {
    let blob = |last: u8| [&[0, 0, 0, 7][..], b"ssh-rsa", &[0, 0, 0, 1, last]].concat();
    let text = |blob: &[u8]| base64::Engine::encode(&base64::prelude::BASE64_STANDARD, blob);
    let user = |name: &str, last| {
        let data = text(&blob(last));
        format!(
            r#"{{"name":"{name}","authorized-key":[{{"name":"k","algorithm":"ssh-rsa","key-data":"{data}"}}]}}"#
        )
    };
    let document = format!(
        r#"{{"ietf-system:system":{{"authentication":{{"user":[{},{}]}}}}}}"#,
        user("ann", 1),
        user("bob", 2)
    );
    let tree = system_tree();
    load(&tree, &document);
    let authenticator = authenticator(Anonymous::LocalWithoutUsers);
    authenticator.set_users(Arc::new(Users::read(&tree.view().unwrap()).unwrap()));
    let log_in = |user: &str, algorithm: &str, last| {
        let credentials = Credentials::PublicKey {
            user: user.to_owned(),
            algorithm: algorithm.to_owned(),
            data: blob(last),
        };
        authenticator.authenticate(&credentials, REMOTE, NOW)
    };
    for algorithm in ["ssh-rsa", "rsa-sha2-256", "rsa-sha2-512"] {
        let identity = log_in("ann", algorithm, 1).unwrap();
        assert_eq!(user_and_method(&identity), ("ann", Method::PublicKey));
    }
    // Failures do not delay: a key cannot be guessed.
    for (user, algorithm, last) in [
        ("ann", "ssh-rsa", 2),
        ("ann", "ssh-ed25519", 1),
        ("nobody", "ssh-rsa", 1),
        ("", "ssh-rsa", 1),
    ]
    .repeat(10)
    {
        let error = log_in(user, algorithm, last).unwrap_err();
        assert!(matches!(error, AuthenticationError::PublicKey), "{error}");
    }
    assert!(log_in("bob", "ssh-rsa", 2).is_ok());
}
