//! Tests of the binary, run as users run it.

mod access_control;
mod access_lists;
mod anchors;
mod audit;
#[cfg(feature = "bench")]
mod bench;
#[cfg(feature = "bench")]
mod bench_load;
mod clock;
mod collections;
mod commands;
mod configuration;
mod configured_subscriptions;
mod datastores;
mod disk_faults;
mod errors;
mod example;
mod file_engine;
mod guide;
mod help;
mod history;
mod interfaces_data;
mod inventory;
mod kill;
mod modules;
mod netconf;
mod netconf_arguments;
mod netconf_client;
mod netconf_kill;
mod netconf_reload;
mod netconf_session;
mod netconf_shell;
mod netconf_transports;
mod netconf_users;
mod notifications;
mod overwriting;
#[cfg(feature = "pam")]
mod pages;
mod pam;
mod permissions;
mod private_files;
mod process;
mod providers;
mod secrets;
mod server_certificates;
mod server_engines;
mod serving;
mod sql_tables;
mod stats;
mod terminal_text;
mod transfer;
mod two_servers;
mod upgrade;
mod users;
