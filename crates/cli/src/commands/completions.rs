//! `espalier completions`.

use std::io::Write;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::settings::OutputOptions;
use espalier_terminal::Result;
use espalier_terminal::output::{self, Form};

/// Print the completions for a shell
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  espalier completions bash > ~/.local/share/bash-completion/completions/espalier
  espalier completions zsh > ~/.zfunc/_espalier
  espalier completions fish > ~/.config/fish/completions/espalier.fish")]
pub struct Completions {
    /// The shell
    shell: Shell,

    #[command(flatten)]
    pub output_options: OutputOptions,
}

impl Completions {
    /// Runs the command.
    pub fn run(&self) -> Result<()> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "espalier", &mut text);
        output::stdout(Form::Text).write_all(&text)?;
        Ok(())
    }
}
