//! The field `Authorization`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use espalier_service::identity::{
    AUTHORIZATION_BYTES_MAX, Credentials, HttpCredentialsError, parse_authorization,
};
use espalier_testkit::seed;
use rand::Rng;

fn basic(credentials: &[u8]) -> String {
    format!("Basic {}", STANDARD.encode(credentials))
}

#[test]
fn basic_and_bearer_are_parsed() {
    let password = |user: &str, password: &str| Credentials::Password {
        user: user.to_owned(),
        password: password.to_owned(),
    };
    for (value, expected) in [
        // The examples of RFC 7617 §2 and §2.1.
        (
            "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
            password("Aladdin", "open sesame"),
        ),
        ("basic dGVzdDoxMjPCow==", password("test", "123£")),
        ("BASIC   Og== ", password("", "")),
        (&basic(b"a:b:c"), password("a", "b:c")),
        (
            "Bearer mF_9.B5f-4.1JqM",
            Credentials::Token("mF_9.B5f-4.1JqM".to_owned()),
        ),
    ] {
        assert_eq!(
            parse_authorization(value.as_bytes()),
            Ok(expected),
            "{value}"
        );
    }
}

#[test]
fn bad_values_are_rejected_and_not_repeated() {
    let long = "Bearer ".to_owned() + &"a".repeat(AUTHORIZATION_BYTES_MAX);
    for (value, expected) in [
        ("", HttpCredentialsError::Scheme),
        ("Digest hunter2", HttpCredentialsError::Scheme),
        ("Basichunter2", HttpCredentialsError::Scheme),
        ("Basic", HttpCredentialsError::Form),
        ("Bearer ", HttpCredentialsError::Form),
        ("Bearer hunter2 hunter3", HttpCredentialsError::Form),
        ("Bearer hunter2\"", HttpCredentialsError::Token),
        ("Bearer hunter2ü", HttpCredentialsError::Token),
        ("Basic hunter2!", HttpCredentialsError::Base64),
        (&basic(b"hunter2"), HttpCredentialsError::Colon),
        (&basic(b"hunter2:\xff"), HttpCredentialsError::Utf8),
        (&basic(b"hunter2:\n"), HttpCredentialsError::Control),
        (&long, HttpCredentialsError::TooLong),
    ] {
        let error = parse_authorization(value.as_bytes()).unwrap_err();
        assert_eq!(error, expected, "{value:.60}");
        assert!(!error.to_string().contains("hunter2"));
    }
}

#[test]
fn debug_output_has_no_secret() {
    for value in ["Bearer hunter2", &basic(b"ann:hunter2")] {
        let credentials = parse_authorization(value.as_bytes()).unwrap();
        assert!(!format!("{credentials:?} {credentials:#?}").contains("hunter2"));
    }
}

#[test]
fn no_value_makes_the_parser_panic() {
    seed::run("authorization", |random| {
        for _ in 0..5_000 {
            let length = random.random_range(0..30);
            let rest: Vec<u8> = (0..length).map(|_| random.random()).collect();
            let start: &[u8] = [&b"Basic "[..], b"Bearer ", b""][random.random_range(0..3)];
            let _ = parse_authorization(&[start, &rest].concat());
            let _ = parse_authorization(basic(&rest).as_bytes());
        }
    });
}
