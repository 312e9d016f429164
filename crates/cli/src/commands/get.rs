//! `espalier get`.

use clap::{Args, ValueEnum};
use espalier_store::{Content, PageParameters, WithDefaults, WithOrigin};

use crate::endpoint::{self, Read};
use crate::settings::{Access, OutputOptions, Settings};
use espalier_terminal::document::{Format, Found};
use espalier_terminal::output;
use espalier_terminal::path;
use espalier_terminal::{Failure, Result};

/// Print the node at a path
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier get '/ietf-interfaces:interfaces/interface=to-core-1' --store embedded:data
  espalier get \"/ietf-interfaces:interfaces/interface[name='to-core-1']/enabled\" \\
      --with-defaults report-all --store embedded:data
  espalier get / --depth 2 --server http://127.0.0.1:8080
  espalier get /ietf-interfaces:interfaces --datastore operational --with-origin \\
      --store embedded:data
  espalier get '/ietf-interfaces:interfaces' --at 1 --store embedded:data

In the first form of a path, the characters / , and % in keys are percent-encoded (RFC 8040); in the second \
form keys are quoted.")]
pub struct Get {
    /// The path; `/` is everything
    path: String,

    /// How it is printed
    #[arg(long, default_value = "json")]
    format: Format,

    /// The number of levels; the node at the path is the first
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=65535))]
    depth: Option<u32>,

    /// Configuration, state, or both
    #[arg(long, default_value = "all")]
    content: ContentChoice,

    /// The nodes to select below it, as in `name;ipv4(address/ip;mtu)` (RFC 8040 §4.8.3)
    #[arg(long, value_name = "EXPRESSION")]
    fields: Option<String>,

    /// How default values are reported (RFC 6243)
    #[arg(long, value_name = "MODE", default_value = "explicit")]
    with_defaults: DefaultsChoice,

    /// Show the origin of values (--datastore operational; RFC 8342 §5.3.4)
    #[arg(long)]
    with_origin: bool,

    #[command(flatten)]
    page: PageOptions,

    /// Read this earlier version; `espalier history` lists them
    #[arg(long, value_name = "VERSION")]
    at: Option<u64>,

    #[command(flatten)]
    access: Access,

    #[command(flatten)]
    pub output_options: OutputOptions,
}

/// The page of a list or leaf-list to print.
#[derive(Args, Debug)]
#[command(next_help_heading = "Pages of a list or leaf-list")]
struct PageOptions {
    /// The maximum number of entries
    #[arg(long, value_name = "NUMBER")]
    limit: Option<String>,

    /// The number of entries before the page
    #[arg(long, value_name = "NUMBER")]
    offset: Option<String>,

    /// Where the page begins: `next` or `previous` of another page
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,

    /// Only entries for which this XPath expression is true, as in `mtu > 1500`
    #[arg(long = "where", value_name = "EXPRESSION")]
    condition: Option<String>,

    /// The order: of this leaf, as in `statistics/in-octets`
    #[arg(long, value_name = "LEAF")]
    sort_by: Option<String>,

    /// `forwards` or `backwards`
    #[arg(long, value_name = "DIRECTION")]
    direction: Option<String>,

    /// The maximum number of entries of each list and leaf-list below
    #[arg(long, value_name = "NUMBER")]
    sublist_limit: Option<String>,
}

impl PageOptions {
    fn parameters(&self) -> Result<PageParameters> {
        let mut parameters = PageParameters::default();
        let values = [
            ("limit", &self.limit),
            ("offset", &self.offset),
            ("cursor", &self.cursor),
            ("where", &self.condition),
            ("sort-by", &self.sort_by),
            ("direction", &self.direction),
            ("sublist-limit", &self.sublist_limit),
        ];
        for (name, value) in values {
            if let Some(value) = value {
                parameters.set(name, value)?;
            }
        }
        Ok(parameters)
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ContentChoice {
    All,
    Config,
    Nonconfig,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DefaultsChoice {
    /// What was set
    Explicit,
    /// What was set, and the defaults of what was not
    ReportAll,
    /// What differs from its default
    Trim,
    /// As report-all, with defaults marked
    ReportAllTagged,
}

impl Get {
    /// Runs the command.
    pub fn run(&self, settings: Settings) -> Result<()> {
        let settings = Settings::from(&self.access).over(settings);
        let pages = self.page.parameters()?;
        let endpoint = endpoint::open_existing(&settings)?;
        let schema = endpoint.schema_of_path(&self.path, self.at)?;
        let path = path::parse(&schema, &self.path)?;
        let read = Read {
            schema: &schema,
            path: &path,
            depth: self.depth,
            content: self.content.into(),
            fields: self.fields.as_deref(),
            with_defaults: self.with_defaults.into(),
            with_origin: match self.with_origin {
                true => WithOrigin::Shown,
                false => WithOrigin::default(),
            },
            pages: &pages,
            format: self.format,
            at: self.at,
        };
        match endpoint.read(&read, &mut output::stdout(self.format.form()))? {
            Found::Something => Ok(()),
            Found::Nothing => {
                let place = path.to_instance_identifier(&schema);
                Err(Failure::nothing_at(&self.path, place))
            }
        }
    }
}

impl From<ContentChoice> for Content {
    fn from(choice: ContentChoice) -> Self {
        match choice {
            ContentChoice::All => Self::All,
            ContentChoice::Config => Self::Config,
            ContentChoice::Nonconfig => Self::NonConfig,
        }
    }
}

impl From<DefaultsChoice> for WithDefaults {
    fn from(choice: DefaultsChoice) -> Self {
        match choice {
            DefaultsChoice::Explicit => Self::Explicit,
            DefaultsChoice::ReportAll => Self::ReportAll,
            DefaultsChoice::Trim => Self::Trim,
            DefaultsChoice::ReportAllTagged => Self::ReportAllTagged,
        }
    }
}
