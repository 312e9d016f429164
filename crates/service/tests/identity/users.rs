//! Users of ietf-system.

use espalier_service::identity::{
    AuthorizedKeyError, CLEAR_PASSWORDS_MAX, PasswordError, PasswordHashing, Scheme, Users,
    hash_password, password_scheme,
};

use espalier_store::{Error, LoadOptions};
use espalier_testkit::seed;
use espalier_yang::data::{ParseOptions, PrintOptions, Root, TreeBuilder, json, xml};
use rand::Rng;

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

/// Loads JSON through the sink that hashes passwords.
fn load_hashing(tree: &espalier_store::Tree, text: &str) -> espalier_store::Result<usize> {
    let mut hashed = 0;
    let (schema, options) = (tree.schema(), ParseOptions::default());
    tree.load(LoadOptions::default(), &mut |sink| {
        let mut sink = PasswordHashing::new(schema, sink);
        json::parse(
            schema,
            Root::Datastore,
            text.as_bytes(),
            &mut sink,
            &options,
        )
        .map_err(Error::from)?;
        hashed = sink.finish().map_err(Error::from)?;
        Ok(())
    })?;
    Ok(hashed)
}

fn document(passwords: &[String]) -> String {
    let user = |(number, password)| format!(r#"{{"name":"u{number}","password":"{password}"}}"#);
    let users: Vec<String> = passwords.iter().enumerate().map(user).collect();
    format!(
        r#"{{"ietf-system:system":{{"location":"$0$here","authentication":{{"user":[{}]}}}}}}"#,
        users.join(",\n")
    )
}

#[test]
fn clear_text_is_hashed_on_its_way_into_a_datastore() {
    for (tree, scheme) in [
        (system_tree(), Scheme::Yescrypt),
        (tree(&["ietf-system"], &[]), Scheme::Sha512),
    ] {
        let stored = hash_password("stored", Scheme::Sha256).unwrap();
        let text = document(&["$0$hunter2".to_owned(), stored.as_str().to_owned()]);
        assert_eq!(load_hashing(&tree, &text).unwrap(), 1);
        let view = tree.view().unwrap();
        let users = Users::read(&view).unwrap();
        let hash = |name: &str| users.get(name).unwrap().password.clone().unwrap().unwrap();
        assert_eq!(hash("u0").scheme(), scheme);
        assert!(hash("u0").is_hash_of(b"hunter2"));
        assert_eq!(hash("u1"), stored);
        let mut printer = json::Printer::new(tree.schema(), Vec::new(), PrintOptions::default());
        let root = espalier_yang::InstancePath::root();
        view.read(&root, &Default::default(), &mut printer).unwrap();
        let printed = String::from_utf8(printer.finish().unwrap()).unwrap();
        assert!(printed.contains("$0$here") && !printed.contains("hunter2"));
    }
}

#[test]
fn passwords_that_cannot_be_stored_are_all_reported_without_their_text() {
    let tree = tree(&["ietf-system"], &[]);
    let md5 = "$1$abcdefgh$1234567890123456789012".to_owned();
    let text = document(&[
        md5,
        "$0$".to_owned(),
        format!("$0${}", "hunter2".repeat(100)),
    ]);
    let Err(Error::Data(errors)) = load_hashing(&tree, &text) else {
        panic!("the load must fail");
    };
    let shown: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(shown.len(), 3, "{shown:?}");
    assert!(shown[0].starts_with("line 1: /ietf-system:system/authentication/user/password: "));
    assert!(shown[0].contains("MD5") && shown[1].contains("empty"));
    assert!(shown[2].contains("PASSWORD_BYTES_MAX") && !shown[2].contains("hunter2"));
    assert!(Users::read(&tree.view().unwrap()).unwrap().is_empty());
}

#[test]
fn the_number_of_passwords_to_hash_is_bounded() {
    let tree = tree(&["ietf-system"], &[]);
    let text = document(&vec!["$0$".to_owned(); CLEAR_PASSWORDS_MAX + 1]);
    let Err(Error::Data(errors)) = load_hashing(&tree, &text) else {
        panic!("the load must fail");
    };
    let last = errors.iter().last().unwrap().to_string();
    assert!(last.contains("CLEAR_PASSWORDS_MAX"), "{last}");
}

#[test]
fn without_passwords_the_sink_changes_nothing() {
    let tree = system_tree();
    seed::run("documents without passwords", |random| {
        let names: Vec<String> = (0..20)
            .map(|_| random.random::<u64>().to_string())
            .collect();
        let users: String = names
            .iter()
            .map(|name| format!("<user><name>{name}</name></user>"))
            .collect();
        let text = format!(
            "<system xmlns='urn:ietf:params:xml:ns:yang:ietf-system'><hostname>h</hostname>\
             <authentication xmlns:nc='urn:ietf:params:xml:ns:netconf:base:1.0'>{users}\
             <user nc:operation='delete'><name>x</name></user>\
             </authentication></system>"
        );
        let parse = |sink: &mut dyn espalier_yang::Sink| {
            let options = ParseOptions::default();
            xml::parse(
                tree.schema(),
                Root::Datastore,
                text.as_bytes(),
                sink,
                &options,
            )
            .unwrap();
        };
        let (mut direct, mut through) = (TreeBuilder::new(), TreeBuilder::new());
        parse(&mut direct);
        let mut hashing = PasswordHashing::new(tree.schema(), &mut through);
        parse(&mut hashing);
        assert_eq!(hashing.finish(), Ok(0));
        assert_eq!(direct.finish().unwrap(), through.finish().unwrap());
    });
}
