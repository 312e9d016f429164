//! `espalier access`.

use std::sync::Arc;

use clap::{Args, Subcommand, ValueEnum};
use espalier_service::Service;
use espalier_service::access::{AccessPolicy, AccessReason, Caller};
use espalier_service::server_state::state_schema_of;
use espalier_store::{AccessOperation, Datastore, DenyMark, Tree};
use espalier_yang::{InstancePath, Schema};
use serde_json::json;

use super::import_permissions::ImportPermissions;
use super::user_store::UserStore;
use crate::endpoint::resolve_operation;
use crate::settings::{DEFAULT_NAME, Settings};
use espalier_terminal::output;
use espalier_terminal::{Failure, Result};

/// Show which access rule decides, or make rules of the permissions of sysrepo
#[derive(Args, Debug)]
pub struct AccessCommand {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Explain(Explain),
    ImportPermissions(ImportPermissions),
}

impl AccessCommand {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        match &self.command {
            Command::Explain(command) => command.run(settings),
            Command::ImportPermissions(command) => command.run(settings),
        }
    }

    /// Whether results and errors are printed as JSON.
    pub fn wants_json(&self) -> bool {
        let user_store = match &self.command {
            Command::Explain(command) => &command.user_store,
            Command::ImportPermissions(command) => &command.user_store,
        };
        user_store.output_options().json
    }
}

/// What a user wants to do.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Operation {
    Read,
    Create,
    Update,
    Delete,
    Exec,
}

/// Print the rule that decides whether a user may do something
#[derive(Args, Debug)]
#[command(after_help = "\
The rules are those of ietf-netconf-acm (RFC 8341). For `exec`, PATH is that of an operation: its name, or that of an
action after the path of the entry that it stands in.

Examples:
  espalier access explain maria '/espalier-network:network/device=core-1' update \\
      --store embedded:data
  espalier access explain maria ietf-netconf:edit-config exec --store embedded:data --json
  espalier access explain maria /ietf-system:system read --of-dataspace espalier \\
      --of-anchor server --store embedded:data")]
struct Explain {
    /// The user
    user: String,

    /// The data node, or the operation
    path: String,

    /// What the user wants to do
    #[arg(value_enum)]
    operation: Operation,

    /// A group that the transport reports for the user. May be repeated
    #[arg(long, value_name = "GROUP")]
    group: Vec<String>,

    /// The dataspace of PATH, if it is not the one that is served by default
    #[arg(long, value_name = "NAME")]
    of_dataspace: Option<String>,

    /// The anchor of PATH, if it is not the one that is served by default
    #[arg(long, value_name = "NAME")]
    of_anchor: Option<String>,

    #[command(flatten)]
    user_store: UserStore,
}

impl Explain {
    fn run(&self, settings: Settings) -> Result<()> {
        let service = self.user_store.service(settings)?.service;
        let tree = self.tree(&service)?;
        let (schema, path) = self.resolve(tree.schema())?;
        let policy = service.access_policy(&tree, &schema)?;
        let caller = Caller {
            user: self.user.clone(),
            groups: self.group.clone(),
            ..Caller::default()
        };
        let explanation = match self.operation {
            Operation::Exec => policy.explain_operation(&caller, &path),
            Operation::Read => policy.explain(&caller, AccessOperation::Read, &path),
            Operation::Create => policy.explain(&caller, AccessOperation::Create, &path),
            Operation::Update => policy.explain(&caller, AccessOperation::Update, &path),
            Operation::Delete => policy.explain(&caller, AccessOperation::Delete, &path),
        };
        let reason = reason_text(&explanation.reason);
        let word = match explanation.is_permitted {
            true => "permitted",
            false => "denied",
        };
        let is_configured = is_configured(&service, &policy, &caller);
        let mut answer = json!({
            "permitted": explanation.is_permitted,
            "reason": reason,
            "user-is-configured": is_configured,
        });
        if let AccessReason::Rule { rule_list, rule } = &explanation.reason {
            answer["rule-list"] = json!(rule_list);
            answer["rule"] = json!(rule);
        }
        let mut text = output::escaped(&format!("{word}: {reason}")).into_owned();
        if !is_configured {
            text.push_str("\nno user and no member of a group has this name");
        }
        let is_json = self.user_store.output_options().json;
        output::print_result(is_json, &answer, &text)
    }

    /// The data tree of the path.
    fn tree(&self, service: &Service) -> Result<Tree> {
        let configuration = service.configuration();
        if self.of_dataspace.is_none() && self.of_anchor.is_none() {
            return configuration.served().ok_or_else(|| {
                Failure::data("there is no such anchor in the store")
                    .hint("add --of-anchor NAME, or --anchor NAME if it is the one that is served")
            });
        }
        let name = |name: &Option<String>| name.clone().unwrap_or_else(|| DEFAULT_NAME.to_owned());
        let (dataspace, anchor) = (name(&self.of_dataspace), name(&self.of_anchor));
        let store = configuration.store();
        Ok(store.tree(&dataspace, &anchor, Datastore::Running)?)
    }

    /// The node at the path, in the models of the anchor or in those of the server.
    fn resolve(&self, schema: &Arc<Schema>) -> Result<(Arc<Schema>, InstancePath)> {
        if let Operation::Exec = self.operation {
            return resolve_operation(schema, &self.path);
        }
        let own = state_schema_of(schema, &self.path)?;
        let schema = own.unwrap_or_else(|| Arc::clone(schema));
        let path = InstancePath::parse_cli_path(&schema, &self.path)?;
        Ok((schema, path))
    }
}

/// Whether a user, or a member of a group, has the caller's name. Users of certificates and of PAM need not be configured.
fn is_configured(service: &Service, policy: &AccessPolicy, caller: &Caller) -> bool {
    let users = service.accounts().authenticator().users();
    users.get(&caller.user).is_some() || !policy.config().groups_of(&caller.user, &[]).is_empty()
}

fn reason_text(reason: &AccessReason) -> String {
    match reason {
        AccessReason::Disabled => "access control is disabled (enable-nacm)".to_owned(),
        AccessReason::Recovery => "the session is exempt".to_owned(),
        AccessReason::Rule { rule_list, rule } => {
            format!("rule {rule:?} of the rule list {rule_list:?}")
        }
        AccessReason::Mark(DenyMark::All) => {
            "no rule matches, and the model marks the node with default-deny-all".to_owned()
        }
        AccessReason::Mark(DenyMark::Write) => {
            "no rule matches, and the model marks the node with default-deny-write".to_owned()
        }
        AccessReason::Parent(parent) => format!(
            "no rule matches, and the node that encloses it cannot be read: {}",
            reason_text(parent)
        ),
        AccessReason::CloseSession => "everybody may close their session".to_owned(),
        AccessReason::Default(leaf) => format!("no rule matches: {leaf}"),
    }
}
