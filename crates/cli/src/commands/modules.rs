//! `espalier modules`.

use clap::{Args, Subcommand};
use espalier_yang::schema::{Features as Enabled, Module};
use serde_json::{Value, json};

use crate::endpoint::{self, Invocation};
use crate::modules;
use crate::settings::{Access, OutputOptions, Settings};
use espalier_terminal::document::Format;
use espalier_terminal::output;
use espalier_terminal::{Failure, Result};

/// List the modules of an anchor, install, update and remove some, and switch features
#[derive(Args, Debug)]
#[command(after_help = "\
All other modules stay as they are; `espalier upgrade` replaces all of them. As with it, all stored data must be valid \
under the new modules, --dry-run lists what is not, and --fill gives a value to leaves that become mandatory; see \
docs/guide/upgrading.md. A server invokes the operation espalier-modules:change-modules, so any client can.

Examples:
  espalier modules --store embedded:data
  espalier modules install ietf-netconf-acm --dry-run --store embedded:data
  espalier modules features ietf-ip --disable ipv6-privacy-autoconf --store embedded:data
  espalier modules install ietf-netconf-acm --server http://127.0.0.1:8080")]
pub struct ModulesCommand {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    access: Access,

    #[command(flatten)]
    pub output_options: OutputOptions,
}

#[derive(Subcommand, Debug)]
enum Command {
    Install(Install),
    Remove(Remove),
    Features(Features),
}

/// Install modules, or update those of the same names
#[derive(Args, Debug)]
struct Install {
    /// YANG files, folders of them, or names of built-in modules
    #[arg(required = true, value_name = "MODULE")]
    modules: Vec<String>,

    /// The modules only serve for imports of others
    #[arg(long)]
    import_only: bool,

    #[command(flatten)]
    access: Access,

    #[command(flatten)]
    output_options: OutputOptions,
}

/// Remove modules. Those that others import stay, but have no data
#[derive(Args, Debug)]
struct Remove {
    /// Their names
    #[arg(required = true, value_name = "MODULE")]
    modules: Vec<String>,

    #[command(flatten)]
    access: Access,

    #[command(flatten)]
    output_options: OutputOptions,
}

/// Enable and disable features of a module
#[derive(Args, Debug)]
struct Features {
    /// The module
    module: String,

    /// A feature to enable. May be repeated
    #[arg(
        long,
        value_name = "FEATURE",
        value_delimiter = ',',
        required_unless_present = "disable"
    )]
    enable: Vec<String>,

    /// A feature to disable. May be repeated
    #[arg(long, value_name = "FEATURE", value_delimiter = ',')]
    disable: Vec<String>,

    #[command(flatten)]
    access: Access,

    #[command(flatten)]
    output_options: OutputOptions,
}

impl ModulesCommand {
    /// Whether results and errors are printed as JSON.
    pub fn wants_json(&self) -> bool {
        let own = self.output_options.json;
        own || match &self.command {
            None => false,
            Some(Command::Install(command)) => command.output_options.json,
            Some(Command::Remove(command)) => command.output_options.json,
            Some(Command::Features(command)) => command.output_options.json,
        }
    }

    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let outer = Settings::from(&self.access).over(settings);
        let (access, input) = match &self.command {
            None => return self.list(&outer),
            Some(Command::Install(command)) => (&command.access, command.input()?),
            Some(Command::Remove(command)) => (&command.access, json!({"remove": command.modules})),
            Some(Command::Features(command)) => (&command.access, command.input()),
        };
        let named = [&self.access, access].iter().any(|of| !of.yang.is_empty());
        if named {
            return Err(
                Failure::usage("--yang names all modules of an anchor").hint(
                    "use `espalier upgrade`, or name modules to add: `espalier modules install`",
                ),
            );
        }
        let settings = Settings::from(access).over(outer);
        change(settings, input, self.wants_json())
    }

    fn list(&self, settings: &Settings) -> Result<()> {
        let schema = endpoint::open_existing(settings)?.schema()?;
        let modules = schema.own_modules();
        let listed: Vec<Value> = modules
            .iter()
            .map(|module| {
                json!({
                    "name": module.name,
                    "revision": module.revision,
                    "implemented": module.is_implemented,
                    "features": module.features,
                })
            })
            .collect();
        let lines: Vec<String> = modules.iter().map(line).collect();
        let text = output::escaped_lines(&lines.join("\n"));
        output::print_result(self.wants_json(), &json!({"modules": listed}), &text)
    }
}

fn line(module: &Module) -> String {
    let mut line = module.name.to_string();
    if let Some(revision) = &module.revision {
        line.extend(["@", revision]);
    }
    if !module.is_implemented {
        line.push_str(" (for imports)");
    }
    if !module.features.is_empty() {
        line.extend([" features ", &module.features.join(", ")]);
    }
    line
}

impl Install {
    fn input(&self) -> Result<Value> {
        let source = modules::schema(&self.modules, Vec::new(), &[])?;
        let install: Vec<Value> = source
            .modules
            .iter()
            .map(|module| match self.import_only {
                true => json!({"text": module.text, "import-only": [null]}),
                false => json!({"text": module.text}),
            })
            .collect();
        let mut features = Vec::new();
        for module in &source.modules {
            // Those of a built-in module that the server does not have.
            if let Some(Enabled::Only(supported)) = source.features.get(&module.name) {
                let mut unsupported = module.features();
                unsupported.retain(|feature| !supported.contains(feature));
                features.push(json!({"module": module.name, "disable": unsupported}));
            }
        }
        Ok(json!({"install": install, "features": features}))
    }
}

impl Features {
    fn input(&self) -> Value {
        json!({"features": [{
            "module": self.module,
            "enable": self.enable,
            "disable": self.disable,
        }]})
    }
}

/// Invokes the operation, and prints what it did.
fn change(mut settings: Settings, mut input: Value, is_json: bool) -> Result<()> {
    let fills = std::mem::take(&mut settings.fill);
    let fills = fills.iter();
    let fills: Vec<Value> = fills
        .map(|fill| json!({"path": fill.path, "value": fill.value}))
        .collect();
    input["fill"] = json!(fills);
    input["drop-unknown"] = json!(std::mem::take(&mut settings.drop_unknown));
    let is_trial = std::mem::take(&mut settings.dry_run);
    input["dry-run"] = json!(is_trial);
    input["author"] = json!(settings.author.clone().unwrap_or_default());
    input["comment"] = json!(settings.comment.clone().unwrap_or_default());
    // Those of the settings file are the modules of a new store.
    settings.yang.clear();
    let document = json!({"espalier-modules:input": input}).to_string();
    let invocation = Invocation {
        path: "/espalier-modules:change-modules".to_owned(),
        arguments: Vec::new(),
        document: Some((document.into_bytes(), Format::Json)),
        format: Format::Json,
    };
    let mut printed = Vec::new();
    endpoint::open_existing(&settings)?
        .invoke(&invocation, &mut printed)
        .map_err(Failure::hint_of_modules)?;
    let report = match printed.is_empty() {
        true => json!({"datastore": []}),
        false => {
            let mut output: Value =
                serde_json::from_slice(&printed).map_err(std::io::Error::from)?;
            output["espalier-modules:output"].take()
        }
    };
    let mut text = endpoint::upgrade_text(&report);
    if is_trial {
        text.push_str("\nnothing was changed");
    }
    output::print_result(is_json, &report, &text)
}
