//! Connections end when their clients could not log in any more.

use std::time::Duration;

use espalier_protocols::netconf::transport::ssh::SshTransport;
use espalier_service::identity::{Anonymous, Fingerprint, Scheme, hash_password, remove_user};
use espalier_service::{LoginPolicy, Service};
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::pki::{OpenSsl, Pki};
use crate::ssh_client::{Client, connect, netconf};
use crate::support::{PASSWORD, Server, configure, host_keys, limits, service_with};

/// Reads the users again, and closes the connections whose logins are not valid any more.
fn update(service: &Service) {
    service.accounts().refresh().unwrap();
    service.close_invalid_logins();
}

fn ann_with_password(password: &str) -> Value {
    let hash = hash_password(password, Scheme::Sha512).unwrap();
    json!({"ietf-system:system": {"authentication": {
        "user-authentication-order": ["local-users"],
        "user": [{"name": "ann", "password": hash.as_str()}],
    }}})
}

#[test]
fn those_of_a_removed_user_end_with_all_sessions() {
    let server = Server::ssh(limits());
    server.runtime.block_on(async {
        let client = connect(&server).await;
        let (mut first, mut second) = (netconf(&client).await, netconf(&client).await);
        configure(&server.service, &ann_with_password("another password"));
        update(&server.service);
        first.send("one\n").await;
        assert_eq!(first.next().await, "one", "a new password ends nothing");
        remove_user(server.service.configuration(), "ann", "test").unwrap();
        update(&server.service);
        first.ended().await;
        second.ended().await;
        assert!(client.channel_open_session().await.is_err());
    });
    server.assert_idle();
}

/// A client that was let in because there were no users is not exempt from the access rules when there are some.
#[test]
fn those_without_a_user_end_when_there_are_users() {
    let policy = LoginPolicy {
        anonymous: Anonymous::LocalWithoutUsers,
        ..LoginPolicy::default()
    };
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::silent(service_with(policy), limits(), folder);
    server.listen(SshTransport::new(server.context.clone(), host_keys()));
    server.runtime.block_on(async {
        let stream = TcpStream::connect(server.address).await.unwrap();
        let config = russh::client::Config::default();
        let client = russh::client::connect_stream(config.into(), stream, Client);
        let mut client = client.await.unwrap();
        assert!(client.authenticate_none("ann").await.unwrap().success());
        let mut channel = client.channel_open_session().await.unwrap();
        channel.request_subsystem(true, "netconf").await.unwrap();
        configure(&server.service, &ann_with_password(PASSWORD));
        update(&server.service);
        crate::ssh_client::ended(&mut channel).await;
    });
    server.assert_idle();
}

#[test]
fn those_of_a_certificate_end_when_its_name_changes() {
    let folder = tempfile::tempdir().unwrap();
    let pki = Pki::new(folder.path());
    let server = Server::tls(limits(), &pki, folder);
    pki.client("maria");
    let mut client = OpenSsl::connect(server.address.port(), &pki.certificate("maria"));
    assert_eq!(client.line(), "hello maria netconf-tls 127.0.0.1");
    let authority = pki.tls().client_authorities().remove(0);
    let fingerprint = Fingerprint::of(&authority).to_string();
    let map = |name: &str| {
        let entry = json!({
            "id": 1,
            "fingerprint": fingerprint,
            "map-type": "ietf-x509-cert-to-name:specified",
            "name": name,
        });
        let maps = json!({"cert-to-name": [entry]});
        let document =
            json!({"ietf-system:system": {"authentication": {"espalier-system:cert-maps": maps}}});
        configure(&server.service, &document);
        update(&server.service);
    };
    map("maria");
    std::thread::sleep(Duration::from_millis(50));
    client.send("one\n");
    assert_eq!(client.line(), "one");
    map("operator");
    assert_eq!(client.rest(), "");
    server.assert_idle();
    let mut again = OpenSsl::connect(server.address.port(), &pki.certificate("maria"));
    assert_eq!(again.line(), "hello operator netconf-tls 127.0.0.1");
}
