//! `espalier access`.

use clap::{Args, Subcommand, ValueEnum};
use espalier_service::Service;
use espalier_service::access::{AccessPolicy, AccessReason, Caller, Explanation};
use espalier_service::server_state::state_schema_of;
use espalier_store::{AccessOperation, Datastore, DenyMark, Tree};
use espalier_yang::InstancePath;
use serde_json::json;

use super::import_permissions::ImportPermissions;
use super::user_store::UserStore;
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
The rules are those of ietf-netconf-acm (RFC 8341). For `exec`, PATH is the name of an operation, with its module.

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
        let schema = match self.operation {
            Operation::Exec => None,
            _ => state_schema_of(tree.schema(), &self.path)?,
        };
        let schema = schema.as_ref().unwrap_or(tree.schema());
        let policy = service.access_policy(&tree, schema)?;
        let caller = Caller {
            user: self.user.clone(),
            groups: self.group.clone(),
            ..Caller::default()
        };
        let explanation = self.explain(&policy, &caller)?;
        let reason = reason_text(&explanation.reason);
        let word = match explanation.is_permitted {
            true => "permitted",
            false => "denied",
        };
        let mut answer = json!({"permitted": explanation.is_permitted, "reason": reason});
        if let AccessReason::Rule { rule_list, rule } = &explanation.reason {
            answer["rule-list"] = json!(rule_list);
            answer["rule"] = json!(rule);
        }
        let is_json = self.user_store.output_options().json;
        output::print_result(
            is_json,
            &answer,
            &output::escaped(&format!("{word}: {reason}")),
        )
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

    fn explain(&self, policy: &AccessPolicy, caller: &Caller) -> Result<Explanation> {
        let operation = match self.operation {
            Operation::Read => AccessOperation::Read,
            Operation::Create => AccessOperation::Create,
            Operation::Update => AccessOperation::Update,
            Operation::Delete => AccessOperation::Delete,
            Operation::Exec => {
                let name = self.path.trim_start_matches('/');
                let (module, name) = name.split_once(':').ok_or_else(|| {
                    Failure::usage("an operation is named with its module")
                        .hint("as in ietf-netconf:edit-config")
                })?;
                return Ok(policy.explain_operation(caller, module, name));
            }
        };
        let path = InstancePath::parse_cli_path(policy.schema(), &self.path)?;
        Ok(policy.explain(caller, operation, &path))
    }
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
        AccessReason::Default(leaf) => format!("no rule matches: {leaf}"),
    }
}
