//! Password hashes.

use std::process::Command;

use espalier_service::identity::{
    PASSWORD_BYTES_MAX, PasswordError, PasswordHash, Scheme, clear_text, hash_password,
    hash_to_store,
};
use espalier_testkit::seed;
use rand::Rng;

/// Passwords and their hashes by libxcrypt 4.4.33.
const VECTORS: [(&str, &str, Scheme); 8] = [
    (
        "Hello world!",
        "$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5",
        Scheme::Sha256,
    ),
    (
        "Hello world!",
        "$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI\
         68u4OTLiBFdcbYEdFCoEOfaS35inz1",
        Scheme::Sha512,
    ),
    (
        "Hello world!",
        "$5$rounds=10000$saltstringsaltst$3xv.VbSHBb41AL9AvLeujZkZRBAwqFMz2.opqey6IcA",
        Scheme::Sha256,
    ),
    (
        "Hello world!",
        "$6$rounds=10000$saltstringsaltst$OW1/O6BYHV6BcXZu8QVeXbDWra3Oeqh0sbHbbMCVNSnCM/\
         UrjmM0Dp8vOuZeHBy/YTBmSK6H9qs/y3RnOaw5v.",
        Scheme::Sha512,
    ),
    (
        "Hello world!",
        "$6$short$5LDNaXtCEHSCdHwfOGbSZlgt54YFW6U0FaxKkvo/rhpm86r2NwXmd8IEQYNV2IJSS.\
         IH8jaJUBAk3K5xRDBXw.",
        Scheme::Sha512,
    ),
    (
        "Hello world!",
        "$y$j75$abcd./12$MSFS7oxn1KC8qScfKz/2hbU6916I2/KpVKl1ih87aj2",
        Scheme::Yescrypt,
    ),
    (
        "Hello world!",
        "$y$j9T$QzJkVw3bXfHr0sUe6yTn51$AqOWXTicw5bh5YlueONsHd/J/TezoBMwEgV0JmMuSj3",
        Scheme::Yescrypt,
    ),
    (
        "a",
        "$y$j9T$LdJMENpBABJJ3hIHjB1Bi.$GFxnbKnR8WaEdBMGMctf6JGMs56hU5dYcy6UrKGWr62",
        Scheme::Yescrypt,
    ),
];

#[test]
fn test_vectors_verify() {
    for (password, text, scheme) in VECTORS {
        let hash = PasswordHash::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!((hash.scheme(), hash.as_str()), (scheme, text));
        assert!(hash.is_hash_of(password.as_bytes()), "{text}");
        for wrong in ["", "hello world!", "Hello world!\0", "Hello world"] {
            assert!(!hash.is_hash_of(wrong.as_bytes()), "{text} {wrong:?}");
        }
    }
}

#[test]
fn what_is_not_an_accepted_hash_is_rejected_with_its_reason() {
    let sha512 = "a".repeat(86);
    check_rejected(&[
        (&format!("$6$salt${sha512}"), PasswordError::Malformed),
        ("", PasswordError::Unsupported),
        ("x", PasswordError::Unsupported),
        ("!$6$a$b", PasswordError::Unsupported),
        ("$0$secret", PasswordError::ClearText),
        ("$0$se$cr$et", PasswordError::ClearText),
        ("$1$abcdefgh$1234567890123456789012", PasswordError::Md5),
        ("$2b$10$abcdefghijklmnopqrstuv", PasswordError::Unsupported),
        ("$7$CU..../....$x", PasswordError::Unsupported),
        ("$6$", PasswordError::Malformed),
        ("$6$$", PasswordError::Malformed),
        ("$6$salt$short", PasswordError::Malformed),
        (&format!("$6$salt:${sha512}"), PasswordError::Malformed),
        (
            &format!("$6$saltsaltsaltsalts${sha512}"),
            PasswordError::Malformed,
        ),
        (
            &format!("$6$rounds=999$salt${sha512}"),
            PasswordError::Rounds,
        ),
        (
            &format!("$6$rounds=1000001$salt${sha512}"),
            PasswordError::Rounds,
        ),
        (
            &format!("$6$rounds=99999999999$salt${sha512}"),
            PasswordError::Rounds,
        ),
        (
            &format!("$6$rounds=+2000$salt${sha512}"),
            PasswordError::Malformed,
        ),
        (
            &format!("$6$rounds=02000$salt${sha512}"),
            PasswordError::Malformed,
        ),
        (&format!("$6$salt${sha512}$"), PasswordError::Malformed),
        (&format!("$5$salt${sha512}"), PasswordError::Malformed),
    ]);
}

#[test]
fn yescrypt_with_other_parameters_is_rejected_with_its_reason() {
    let yescrypt = "a".repeat(43);
    check_rejected(&[
        (&format!("$y$jDT$salt${yescrypt}"), PasswordError::Memory),
        (&format!("$y$jjj$salt${yescrypt}"), PasswordError::Memory),
        (
            &format!("$y$j95.0$salt${yescrypt}"),
            PasswordError::Unsupported,
        ),
        (
            &format!("$y$.9T$salt${yescrypt}"),
            PasswordError::Unsupported,
        ),
        (
            &format!("$y$jzz$salt${yescrypt}"),
            PasswordError::Unsupported,
        ),
        (
            &format!("$y$j9ü$salt${yescrypt}"),
            PasswordError::Unsupported,
        ),
        (&format!("$y$j9T$${yescrypt}"), PasswordError::Malformed),
        ("$y$j9T$salt$short", PasswordError::Malformed),
        (&format!("$y$j9T$salt${yescrypt}"), PasswordError::Malformed),
        (
            &format!("$y$j9T$salts${yescrypt:.42}."),
            PasswordError::Malformed,
        ),
    ]);
}

fn check_rejected(cases: &[(&str, PasswordError)]) {
    for (text, expected) in cases {
        assert_eq!(PasswordHash::parse(text), Err(*expected), "{text}");
    }
}

#[test]
fn every_accepted_hash_costs_its_computation() {
    let hash = PasswordHash::parse(&format!("$6$rounds=1000000$s${}", ".".repeat(86))).unwrap();
    let start = std::time::Instant::now();
    assert!(!hash.is_hash_of(b"x"));
    let costly = start.elapsed();
    assert!(costly > std::time::Duration::from_millis(20), "{costly:?}");
    let (yescrypt, empty) = ("$y$j9T$saltsalt", ".".repeat(43));
    let hash = PasswordHash::parse(&format!("{yescrypt}${empty}")).unwrap();
    let start = std::time::Instant::now();
    assert!(!hash.is_hash_of(b"x"));
    let costly = start.elapsed();
    assert!(costly > std::time::Duration::from_millis(2), "{costly:?}");
}

#[test]
fn new_hashes_verify_and_differ() {
    for scheme in [Scheme::Sha256, Scheme::Sha512, Scheme::Yescrypt] {
        let [one, two] = [(); 2].map(|()| hash_password("pässword", scheme).unwrap());
        assert_ne!(one, two);
        assert_eq!(one.scheme(), scheme);
        assert!(one.is_hash_of("pässword".as_bytes()) && !one.is_hash_of(b"password"));
    }
    assert_eq!(hash_password("", Scheme::Sha512), Err(PasswordError::Empty));
    let long = "x".repeat(PASSWORD_BYTES_MAX + 1);
    assert_eq!(
        hash_password(&long, Scheme::Sha512),
        Err(PasswordError::TooLong)
    );
    assert!(!PasswordHash::decoy().is_hash_of(long.as_bytes()));
}

#[test]
fn a_password_in_clear_text_is_hashed_and_a_hash_is_kept() {
    let stored = hash_to_store("$0$se$cret", Scheme::Sha512).unwrap();
    assert!(stored.is_hash_of(b"se$cret"));
    let (_, text, _) = VECTORS[0];
    assert_eq!(
        hash_to_store(text, Scheme::Yescrypt).unwrap().as_str(),
        text
    );
    assert_eq!(clear_text(text), None);
    assert_eq!(
        hash_to_store("$1$a$b", Scheme::Sha512),
        Err(PasswordError::Md5)
    );
    assert_eq!(
        hash_to_store("$0$", Scheme::Sha512),
        Err(PasswordError::Empty)
    );
}

#[test]
fn debug_output_has_no_hash() {
    for (_, text, _) in VECTORS {
        let shown = format!("{:?}", PasswordHash::parse(text).unwrap());
        assert!(shown.len() < 60 && !shown.contains(&text[4..]), "{shown}");
    }
}

#[test]
fn the_decoy_costs_a_whole_verification() {
    let time = |hash: &PasswordHash| {
        let start = std::time::Instant::now();
        assert!(!hash.is_hash_of(b"wrong"));
        start.elapsed()
    };
    let (_, known, _) = VECTORS[6];
    let known = PasswordHash::parse(known).unwrap();
    let best = |hash| (0..5).map(|_| time(hash)).min().unwrap();
    let (known, decoy) = (best(&known), best(&PasswordHash::decoy()));
    assert!(
        decoy * 3 > known,
        "{decoy:?} for the decoy, {known:?} for a user"
    );
}

/// Runs a program that prints the `crypt(3)` hash of a password, if the program is there.
fn hash_of_program(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim();
    text.starts_with('$').then(|| text.to_owned())
}

#[test]
fn random_passwords_hash_as_openssl_and_libxcrypt_do() {
    const CRYPT: &str = "import crypt, sys; print(crypt.crypt(sys.argv[1], sys.argv[2]))";
    seed::run("passwords", |random| {
        for _ in 0..5 {
            let length = random.random_range(1..40);
            let password: String = (0..length).map(|_| random.random_range('!'..'~')).collect();
            for (scheme, option) in [(Scheme::Sha256, "-5"), (Scheme::Sha512, "-6")] {
                let theirs = hash_of_program("openssl", &["passwd", option, "--", &password]);
                let Some(theirs) = theirs else { continue };
                let theirs = PasswordHash::parse(&theirs).unwrap();
                assert_eq!(theirs.scheme(), scheme);
                assert!(
                    theirs.is_hash_of(password.as_bytes()),
                    "{password:?} {scheme:?}"
                );
            }
            for scheme in [Scheme::Sha512, Scheme::Yescrypt] {
                let ours = hash_password(&password, scheme).unwrap();
                let arguments = ["-W", "ignore", "-c", CRYPT, &password, ours.as_str()];
                if let Some(theirs) = hash_of_program("python3", &arguments) {
                    assert_eq!(theirs, ours.as_str(), "{password:?}");
                }
            }
        }
    });
}

#[test]
fn no_text_makes_the_parser_or_a_verification_panic() {
    seed::run("hash texts", |random| {
        for _ in 0..2_000 {
            let (_, text, _) = VECTORS[random.random_range(0..VECTORS.len())];
            let mut bytes = text.as_bytes().to_vec();
            for _ in 0..random.random_range(1..4) {
                let place = random.random_range(0..bytes.len());
                match random.random_range(0..3) {
                    0 => drop(bytes.remove(place)),
                    1 => bytes.insert(place, random.random_range(0x20..0x7f)),
                    _ => bytes[place] = b"$./=9Tjz"[random.random_range(0..8)],
                }
            }
            let text = String::from_utf8(bytes).unwrap();
            if let Ok(hash) = PasswordHash::parse(&text)
                && random.random_range(0..20) == 0
            {
                hash.is_hash_of(b"x");
            }
        }
    });
}
