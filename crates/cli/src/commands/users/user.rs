//! `espalier user`.

use std::io::IsTerminal;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use espalier_service::identity::{ADMINISTRATORS, AuthorizedKey, NewUser, UserPassword};
use serde_json::json;

use super::user_store::{OpenService, UserStore};
use crate::settings::Settings;
use espalier_terminal::output::{self, escaped};
use espalier_terminal::{Failure, Result, read_password};

/// Add, list and delete the users of a server
#[derive(Args, Debug)]
#[command(after_help = "\
A store without users serves everybody on this machine, and nobody else. With the first user, every client must log \
in. Users are data of ietf-system, groups and rules of ietf-netconf-acm (RFC 8341): in the served anchor where its \
models have these modules, else in an anchor of the server. A running server knows a change after a second at most.

Examples:
  espalier user add maria --admin --store embedded:data          # prompts for the password
  espalier user add reader --store embedded:data < password.txt  # reads, changes nothing
  espalier user add robot --no-password --key ~/.ssh/id_ed25519.pub --store embedded:data
  espalier user list --store embedded:data
  espalier user delete reader --store embedded:data")]
pub struct User {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Add(Add),
    List(List),
    Delete(Delete),
}

impl User {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        match &self.command {
            Command::Add(command) => command.run(settings),
            Command::List(command) => command.run(settings),
            Command::Delete(command) => command.run(settings),
        }
    }

    /// Whether results and errors are printed as JSON.
    pub fn wants_json(&self) -> bool {
        let user_store = match &self.command {
            Command::Add(command) => &command.user_store,
            Command::List(command) => &command.user_store,
            Command::Delete(command) => &command.user_store,
        };
        user_store.output_options().json
    }
}

/// Add a user, or change its password. The password is read from the terminal, without echo, or from standard input
#[derive(Args, Debug)]
struct Add {
    /// The name
    name: String,

    /// Permit everything: adds the user to the group `admin`, and a rule for the group
    #[arg(long)]
    admin: bool,

    /// A group of ietf-netconf-acm to add the user to. May be repeated
    #[arg(long, value_name = "GROUP")]
    group: Vec<String>,

    /// Set no password: for users with tokens, certificates or keys
    #[arg(long)]
    no_password: bool,

    /// A file with public keys for NETCONF over SSH, a line each, such as ~/.ssh/id_ed25519.pub or authorized_keys. A key
    /// is named by its comment. May be repeated
    #[arg(long, value_name = "FILE", conflicts_with = "external")]
    key: Vec<PathBuf>,

    /// Only add the user to groups: the server verifies its password with PAM (`serve --pam-service`)
    #[arg(long, conflicts_with = "no_password")]
    external: bool,

    #[command(flatten)]
    user_store: UserStore,
}

impl Add {
    fn run(&self, settings: Settings) -> Result<()> {
        let password = match self.no_password || self.external {
            true => None,
            false => Some(self.new_password()?),
        };
        let mut groups = self.group.clone();
        if self.admin {
            groups.push(ADMINISTRATORS.to_owned());
        }
        if self.external && groups.is_empty() {
            return Err(Failure::usage("--external adds the user to groups only")
                .hint("add --group GROUP or --admin; any user that PAM accepts may log in"));
        }
        let keys = self.keys()?;
        let author = settings.author().to_owned();
        let open = self.user_store.new_service(settings)?;
        let user = NewUser {
            keys: &keys,
            name: &self.name,
            password: match &password {
                Some(password) => UserPassword::Clear(password),
                None if self.external => UserPassword::External,
                None => UserPassword::Unchanged,
            },
            groups: &groups,
            author: &author,
        };
        open.service.set_user(&open.session, user)?;
        let text = match self.admin {
            true => format!("{} may do everything", escaped(&self.name)),
            false => format!(
                "{} may read, and change what rules permit",
                escaped(&self.name)
            ),
        };
        let answer = json!({"user": self.name, "groups": groups, "added-keys": keys.len()});
        output::print_result(self.user_store.output_options().json, &answer, &text)
    }

    fn keys(&self) -> Result<Vec<AuthorizedKey>> {
        let mut keys: Vec<AuthorizedKey> = Vec::new();
        for path in &self.key {
            let failed = |line: usize, message: String| {
                let place = path.display();
                Failure::data(format!("{place}, line {line}: {message}"))
            };
            let text = std::fs::read_to_string(path)
                .map_err(|error| Failure::data(format!("{}: {error}", path.display())))?;
            for (line, text) in (1..).zip(text.lines()) {
                let key = AuthorizedKey::parse_line(text)
                    .map_err(|error| failed(line, error.to_string()))?;
                let Some(mut key) = key else {
                    continue;
                };
                if key.name.is_empty() {
                    key.name = format!("key-{}", keys.len() + 1).into();
                }
                if keys.iter().any(|other| other.name == key.name) {
                    let message = format!("two keys have the comment {:?}", &*key.name);
                    return Err(failed(line, message));
                }
                keys.push(key);
            }
        }
        match keys.is_empty() && !self.key.is_empty() {
            true => Err(Failure::data("the files of --key have no keys")),
            false => Ok(keys),
        }
    }

    fn new_password(&self) -> Result<String> {
        let password = read_password(&format!("New password of {}: ", escaped(&self.name)))?;
        if password.is_empty() {
            return Err(Failure::usage("the password is empty")
                .hint("write it to standard input, or use --no-password"));
        }
        if std::io::stdin().is_terminal() && read_password("Again: ")? != password {
            return Err(Failure::usage("the two passwords differ"));
        }
        Ok(password)
    }
}

/// List the users with their groups
#[derive(Args, Debug)]
struct List {
    #[command(flatten)]
    user_store: UserStore,
}

impl List {
    fn run(&self, settings: Settings) -> Result<()> {
        let is_json = self.user_store.output_options().json;
        let service = self.user_store.service(settings)?.service;
        let config = service.access_config()?;
        let users = service.accounts().authenticator().users();
        for user in users.iter() {
            let of_user = config
                .groups
                .iter()
                .filter(|(_, users)| users.contains(&*user.name));
            let of_user: Vec<&str> = of_user.map(|(group, _)| group.as_str()).collect();
            let has_password = user.password.is_some();
            let answer = json!({
                "user": user.name, "groups": of_user, "has-password": has_password,
                "authorized-keys": user.authorized_keys.len(),
            });
            let login = match has_password {
                true => "",
                false => "  (no password)",
            };
            let text = format!(
                "{}  {}{login}",
                escaped(&user.name),
                escaped(&of_user.join(" "))
            );
            output::print_result(is_json, &answer, text.trim_end())?;
        }
        Ok(())
    }
}

/// Delete a user with its tokens, and remove it from all groups
#[derive(Args, Debug)]
struct Delete {
    /// The name
    name: String,

    #[command(flatten)]
    user_store: UserStore,
}

impl Delete {
    fn run(&self, settings: Settings) -> Result<()> {
        let author = settings.author().to_owned();
        let OpenService { service, session } = self.user_store.service(settings)?;
        let accounts = service.accounts();
        let tokens = service.revoke_tokens(&session, |tokens| tokens.revoke_all_of(&self.name));
        let tokens = tokens.map_err(|error| Failure::data(error.to_string()))?;
        let is_removed = service.remove_user(&session, &self.name, &author)?;
        if !is_removed && tokens.is_empty() {
            return Err(Failure::data(format!("there is no user {:?}", self.name))
                .hint("`espalier user list` lists the users"));
        }
        accounts.refresh()?;
        let answer = json!({"user": self.name, "revoked-tokens": tokens.len()});
        let text = match accounts.is_empty() {
            true => "there are no users any more: everybody on this machine is served",
            false => "",
        };
        output::print_result(self.user_store.output_options().json, &answer, text)
    }
}
