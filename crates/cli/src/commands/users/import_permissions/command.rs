//! `espalier access import-permissions`.

use std::io::Read;

use clap::Args;
use espalier_service::ChangeNote;
use espalier_service::access::{NACM_MODULE, NacmConfig};
use espalier_terminal::document::{self, Format};
use espalier_terminal::output;
use espalier_terminal::{Failure, Result};
use serde_json::{Value as Json, json};

use super::listing::{self, ModulePermissions};
use super::rules::{PREFIX, PermissionRules};
use crate::commands::users::user_store::{OpenService, UserStore};
use crate::endpoint::{EditParameters, annotated_tree};
use crate::settings::Settings;

/// The maximum size of a listing.
const LISTING_BYTES_MAX: u64 = 16 << 20;

/// Give users the access to modules that they have in sysrepo
#[derive(Args, Debug)]
#[command(after_help = "\
Reads the table that `sysrepoctl --list` prints, and writes groups, rule lists and rules of ietf-netconf-acm that give \
the same access to data: the owner of a module has the rights of the first digit of its mode, its group those of the \
second, all other users those of the third; 4 is to read, 2 to create, update and delete. The lists are appended to \
those that there are, and replace those of an earlier import: their names begin with `sysrepo-`. The groups have the \
names of sysrepo's, so that they are those of the operating system for users of `serve --pam-service`; add other \
users with `espalier user add NAME --group GROUP`.

Examples:
  espalier access import-permissions - --dry-run --store embedded:data < modules.txt
  espalier access import-permissions modules.txt --store embedded:data")]
pub struct ImportPermissions {
    /// The table; `-` is standard input
    file: String,

    /// Print the rules as JSON, and change nothing
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    pub user_store: UserStore,
}

impl ImportPermissions {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let in_file = |failure: Failure| failure.in_file(document::display_name(&self.file));
        let modules = listing::parse(&self.listing()?).map_err(in_file)?;
        let author = settings.author().to_owned();
        let open = self.user_store.service(settings)?;
        let served = open.service.configuration().served();
        let schema = served.as_ref().map(|tree| &**tree.schema());
        let rules = PermissionRules::new(&modules, schema);
        if self.dry_run {
            let document = rules.document();
            return output::print_result(true, &document, "");
        }
        write(&open, &rules, &author)?;
        self.report(&modules, &rules)
    }

    fn listing(&self) -> Result<String> {
        let (input, _) = document::open(&self.file)?;
        let mut text = String::new();
        let read = input.take(LISTING_BYTES_MAX + 1).read_to_string(&mut text);
        let problem = match read {
            Ok(length) if length as u64 <= LISTING_BYTES_MAX => return Ok(text),
            Ok(_) => format!("a listing has at most {LISTING_BYTES_MAX} bytes"),
            Err(error) => error.to_string(),
        };
        Err(Failure::data(problem).in_file(document::display_name(&self.file)))
    }

    fn report(&self, modules: &[ModulePermissions], rules: &PermissionRules) -> Result<()> {
        let differing = modules.iter().filter_map(|module| {
            let startup = module.startup_mode?;
            let ModulePermissions { module, mode, .. } = module;
            Some(format!(
                "{module}: the mode {mode:03o} of running is that of all datastores; startup had {startup:03o}"
            ))
        });
        let mut notes: Vec<String> = differing.collect();
        if rules.denies_reads {
            notes.push("read-default is deny: users without a group read nothing".to_owned());
        }
        let (count, lists) = (rules.count(), rules.rule_lists.len());
        let answer = json!({
            "modules": modules.len(), "rules": count, "rule-lists": lists, "notes": notes,
        });
        let mut text = format!(
            "{} modules: {count} rules in {lists} rule lists",
            modules.len()
        );
        for note in &notes {
            text.push('\n');
            text.push_str(note);
        }
        let is_json = self.user_store.output_options().json;
        output::print_result(is_json, &answer, &text)
    }
}

/// Writes the rules in one commit, in place of those of an earlier import.
fn write(open: &OpenService, rules: &PermissionRules, author: &str) -> Result<()> {
    let earlier = open.service.access_config()?;
    let tree = open.service.configuration().for_writing(NACM_MODULE)?;
    let text = with_operations(rules.document(), &earlier).to_string();
    let edits = annotated_tree(tree.schema(), text.as_bytes(), Format::Json)?;
    let note = ChangeNote {
        author,
        comment: "permissions of sysrepo",
    };
    let datastore = open.service.datastore(&open.session, tree);
    EditParameters::default().apply(&datastore, edits, note)?;
    Ok(())
}

/// The document as an edit: the lists are last, in order, and those of an earlier import are removed.
fn with_operations(mut document: Json, earlier: &NacmConfig) -> Json {
    let nacm = &mut document["ietf-netconf-acm:nacm"];
    let mut new = Vec::new();
    for list in nacm["rule-list"].as_array_mut().into_iter().flatten() {
        list["@"] = json!({"ietf-netconf:operation": "replace", "yang:insert": "last"});
        new.push(list["name"].clone());
    }
    let is_replaced = |name: &String| name.starts_with(PREFIX) && !new.contains(&json!(name));
    let removed = |name: &String| json!({"@": {"ietf-netconf:operation": "remove"}, "name": name});
    let lists = earlier.rule_lists.iter().map(|list| &list.name);
    let lists = lists.filter(|name| is_replaced(name)).map(removed);
    let lists: Vec<Json> = lists.collect();
    if let Some(all) = nacm["rule-list"].as_array_mut() {
        all.extend(lists);
    }
    document
}
