//! Users of ietf-system.

use espalier_service::identity::{
    AuthorizedKeyError, PasswordError, Scheme, Users, hash_password, password_scheme,
};

use crate::fixture::{load, merge, system_tree, tree};

/// The data of a key of algorithm ssh-ed25519, in base64.
const KEY: &str = "AAAAC3NzaC1lZDI1NTE5AAAAIKFaP8kUoSBySkz8dQ4vJdPm0qmhjTkDrQzXm4cMyXNT";

#[test]
fn users_are_read_with_passwords_and_keys() {
    let tree = system_tree();
    let yescrypt = hash_password("secret", Scheme::Yescrypt).unwrap();
    let text = format!(
        r#"{{"ietf-system:system":{{"contact":"c","hostname":"h.example","location":"l",
        "authentication":{{"user-authentication-order":["local-users"],"user":[
        {{"name":"ann","password":"{}","authorized-key":[
          {{"name":"laptop","algorithm":"ssh-ed25519","key-data":"{KEY}"}},
          {{"name":"bad","algorithm":"ssh-rsa","key-data":"{KEY}"}}]}},
        {{"name":"bob","password":"$0$clear"}},{{"name":"eve"}}]}}}}}}"#,
        yescrypt.as_str()
    );
    load(&tree, &text);
    let users = Users::read(&tree.view().unwrap()).unwrap();
    let names: Vec<&str> = users.iter().map(|user| &*user.name).collect();
    assert_eq!(names, ["ann", "bob", "eve"]);
    assert!(users.accepts_passwords() && !users.is_empty());
    let ann = users.get("ann").unwrap();
    assert_eq!(ann.password, Some(Ok(yescrypt)));
    let [Err(AuthorizedKeyError::OtherAlgorithm), Ok(key)] = &ann.authorized_keys[..] else {
        panic!("{ann:?}");
    };
    assert_eq!((&*key.name, key.algorithm()), ("laptop", "ssh-ed25519"));
    assert!(ann.has_key("ssh-ed25519", key.data()));
    assert!(!ann.has_key("ssh-rsa", key.data()) && !ann.has_key("ssh-ed25519", b""));
    let bob = users.get("bob").unwrap();
    assert_eq!(bob.password, Some(Err(PasswordError::ClearText)));
    assert_eq!(users.get("eve").unwrap().password, None);
    assert_eq!(users.get("ANN"), None);
    assert!(!format!("{users:?}").contains("$y$"));
}

#[test]
fn without_the_module_its_features_or_data_there_are_no_users() {
    for (implement, features) in [
        (&["ietf-x509-cert-to-name"][..], &[][..]),
        (&["ietf-system"], &[("ietf-system", &[][..])]),
        (
            &["ietf-system"],
            &[("ietf-system", &["authentication"][..])],
        ),
        (&["ietf-system"], &[]),
    ] {
        let users = Users::read(&tree(implement, features).view().unwrap()).unwrap();
        assert!(
            users.is_empty() && !users.accepts_passwords(),
            "{implement:?} {features:?}"
        );
    }
}

#[test]
fn the_deviation_accepts_yescrypt_and_rejects_md5() {
    let user = |hash: &str| {
        format!(
            r#"{{"ietf-system:system":{{"authentication":{{"user":[{{"name":"u","password":"{hash}"}}]}}}}}}"#
        )
    };
    let md5 = user("$1$abcdefgh$1234567890123456789012");
    let yescrypt = user(hash_password("x", Scheme::Yescrypt).unwrap().as_str());
    let sha512 = user(hash_password("x", Scheme::Sha512).unwrap().as_str());
    let (plain, deviated) = (tree(&["ietf-system"], &[]), system_tree());
    assert_eq!(password_scheme(plain.schema()), Scheme::Sha512);
    assert_eq!(password_scheme(deviated.schema()), Scheme::Yescrypt);
    for (tree, text, is_accepted) in [
        (&plain, &md5, true),
        (&plain, &yescrypt, false),
        (&plain, &sha512, true),
        (&deviated, &md5, false),
        (&deviated, &yescrypt, true),
        (&deviated, &sha512, true),
    ] {
        assert_eq!(merge(tree, text).is_ok(), is_accepted, "{text}");
    }
}

#[test]
fn the_decoy_has_the_cost_of_the_users_hashes() {
    let tree = system_tree();
    let sha512 = hash_password("x", Scheme::Sha512).unwrap();
    let text = format!(
        r#"{{"ietf-system:system":{{"authentication":{{"user":[{{"name":"a"}},{{"name":"u","password":"{}"}}]}}}}}}"#,
        sha512.as_str()
    );
    assert_eq!(Users::default().decoy().scheme(), Scheme::Yescrypt);
    load(&tree, &text);
    let users = Users::read(&tree.view().unwrap()).unwrap();
    assert_eq!(users.decoy(), sha512);
    assert!(!users.accepts_passwords());
}
