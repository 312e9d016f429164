//! Who reaches the address that is served, and whether they must prove who they are.

use std::net::SocketAddr;

use espalier_service::Service;
use espalier_terminal::{Failure, Result};

use crate::commands::serve::listen_options::has_tls;
use crate::endpoint::{self, OpenMode};
use crate::settings::Settings;

/// Rejects an address beyond loopback unless clients are authenticated over TLS, or the settings permit it.
pub fn check(settings: &Settings, address: &str, addresses: &[SocketAddr]) -> Result<()> {
    if settings.client_ca.is_some() {
        return Ok(());
    }
    if is_insecure(settings) {
        tracing::warn!(
            "--insecure-no-authentication: everybody who reaches {address} can read and change everything"
        );
        return Ok(());
    }
    let mut beyond = addresses.iter().filter(|address| !is_loopback(address));
    if beyond.next().is_none() {
        return Ok(());
    }
    if settings.pam_service.is_none() && !has_users(settings)? {
        let store = espalier_drivers::redacted_url(settings.store.as_deref().unwrap_or_default());
        return Err(Failure::usage(format!(
            "--listen {address} is reached from other machines, and nobody would have to prove who they are: the store has no users"
        ))
        .hint(format!(
            "add one with `espalier user add NAME --admin --store {store}` and serve with --tls-cert FILE --tls-key FILE (or --tls-self-signed DIR), or require client certificates with --client-ca FILE; --insecure-no-authentication serves everybody"
        )));
    }
    if has_tls(settings) {
        return Ok(());
    }
    if settings.insecure_no_tls == Some(true) {
        tracing::warn!(
            "--insecure-no-tls: passwords, tokens and data can be read on the way to {address}"
        );
        return Ok(());
    }
    Err(Failure::usage(format!(
        "--listen {address} is reached from other machines, and without TLS passwords, tokens and data can be read on the way"
    ))
    .hint("add --tls-cert FILE --tls-key FILE, or --tls-self-signed DIR to try it; --insecure-no-tls is for a network or a proxy that encrypts"))
}

/// Whether everybody is served.
pub fn is_insecure(settings: &Settings) -> bool {
    settings.insecure_no_authentication == Some(true)
}

fn is_loopback(address: &SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

/// Whether the store of the settings has users, before anything of it is changed.
fn has_users(settings: &Settings) -> Result<bool> {
    let settings = Settings {
        yang: Vec::new(),
        validation: None,
        ..settings.clone()
    };
    let Ok(store) = endpoint::open_store_for_command(&settings, OpenMode::Existing) else {
        // There is no store yet; if it cannot be opened, serving it fails with the reason.
        return Ok(false);
    };
    let tree = endpoint::tree_of(&store, &settings).ok();
    let service = Service::offline(store, tree)?;
    service.accounts().refresh()?;
    Ok(!service.accounts().is_empty())
}
