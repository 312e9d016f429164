//! Public keys of users.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use espalier_service::identity::{AuthorizedKey, AuthorizedKeyError, KEY_DATA_BYTES_MAX};
use espalier_testkit::seed;
use rand::Rng;

fn data(algorithm: &str, rest: &[u8]) -> Vec<u8> {
    let length = u32::try_from(algorithm.len()).unwrap();
    [&length.to_be_bytes(), algorithm.as_bytes(), rest].concat()
}

fn line(algorithm: &str, data: &[u8], comment: &str) -> String {
    format!("{algorithm} {} {comment}", STANDARD.encode(data))
}

#[test]
fn lines_are_parsed() {
    for algorithm in [
        "ssh-ed25519",
        "ssh-rsa",
        "ecdsa-sha2-nistp256",
        "sk-ssh-ed25519@openssh.com",
    ] {
        let data = data(algorithm, b"key");
        let text = line(algorithm, &data, "ann@laptop, second floor");
        let key = AuthorizedKey::parse_line(&format!("  {text}\r\n"))
            .unwrap()
            .unwrap();
        assert_eq!(&*key.name, "ann@laptop, second floor");
        assert_eq!((key.algorithm(), key.data()), (algorithm, &*data));
        assert_eq!(key.to_line(), text);
        assert!(key.is_key(algorithm, &data));
        assert!(!key.is_key(algorithm, &data[..data.len() - 1]));
    }
    for empty in ["", " \t", "# ssh-rsa AAAA", "\n"] {
        assert_eq!(AuthorizedKey::parse_line(empty), Ok(None));
    }
}

#[test]
fn a_key_for_rsa_signatures_is_an_rsa_key() {
    let data = data("ssh-rsa", b"key");
    let key = AuthorizedKey::new("", "rsa-sha2-512", &data).unwrap();
    assert_eq!(key.algorithm(), "ssh-rsa");
    assert!(key.is_key("rsa-sha2-256", &data) && key.is_key("ssh-rsa", &data));
    assert_eq!(key.to_line(), line("ssh-rsa", &data, "").trim_end());
}

#[test]
fn bad_lines_are_rejected_with_their_reason() {
    let ed25519 = data("ssh-ed25519", b"key");
    let good = line("ssh-ed25519", &ed25519, "c");
    let long = data("ssh-rsa", &vec![0; KEY_DATA_BYTES_MAX]);
    for (text, expected) in [
        ("ssh-ed25519", AuthorizedKeyError::Incomplete),
        (
            &format!("command=\"x\" {good}"),
            AuthorizedKeyError::Options,
        ),
        (
            &format!("no-pty,from=\"10.0.0.1\" {good}"),
            AuthorizedKeyError::Options,
        ),
        ("ssh-ed25519 !!", AuthorizedKeyError::Base64),
        ("ssh-ed25519 AAAA", AuthorizedKeyError::Malformed),
        ("ssh-ed25519 ", AuthorizedKeyError::Incomplete),
        (
            &line("ssh-rsa", &ed25519, ""),
            AuthorizedKeyError::OtherAlgorithm,
        ),
        (
            &line("ssh-rsa", b"\xff\xff\xff\xffssh-rsa", ""),
            AuthorizedKeyError::Malformed,
        ),
        (
            &line("ssh-rsa", b"\0\0\0\x07ssh-rsa", ""),
            AuthorizedKeyError::Malformed,
        ),
        (
            &line("ssh-rsa", b"\0\0\0\x02\xff\xfe..", ""),
            AuthorizedKeyError::Malformed,
        ),
        (&line("ssh-rsa", &long, ""), AuthorizedKeyError::TooLong),
        (
            &format!("ssh-rsa {}", "A".repeat(20_000)),
            AuthorizedKeyError::TooLong,
        ),
    ] {
        assert_eq!(AuthorizedKey::parse_line(text), Err(expected), "{text:.80}");
    }
}

#[test]
fn no_line_makes_the_parser_panic() {
    seed::run("authorized_keys", |random| {
        let good = line("ssh-ed25519", &data("ssh-ed25519", b"key"), "c");
        for _ in 0..2_000 {
            let mut characters: Vec<char> = good.chars().collect();
            for _ in 0..random.random_range(0..5) {
                let place = random.random_range(0..characters.len());
                characters[place] = random.random_range('\0'..'\u{2ff}');
            }
            characters.truncate(random.random_range(0..=characters.len()));
            let text: String = characters.into_iter().collect();
            if let Ok(Some(key)) = AuthorizedKey::parse_line(&text) {
                assert_eq!(AuthorizedKey::parse_line(&key.to_line()), Ok(Some(key)));
            }
        }
    });
}
