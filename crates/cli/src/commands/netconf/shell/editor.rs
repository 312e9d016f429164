//! The line editor, with history and completion.

use std::env;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use espalier_terminal::{Failure, Result};
use reedline::{
    ColumnarMenu, Completer, CompletionResult, Emacs, FileBackedHistory, KeyCode, KeyModifiers,
    MenuBuilder, Prompt, PromptEditMode, PromptHistorySearch, Reedline, ReedlineEvent,
    ReedlineMenu, Signal, Span, Suggestion, default_emacs_keybindings,
};

use super::completion::completions;

/// The number of lines that the history keeps.
const HISTORY_LINES_MAX: usize = 1000;

/// The name of the menu of completions.
const MENU: &str = "completions";

/// Reads lines from a terminal.
pub struct Editor {
    editor: Reedline,
    prompt: SessionPrompt,
}

/// What a person typed.
pub enum Typed {
    Line(String),
    /// Ctrl-c: the line was discarded.
    Discarded,
    /// Ctrl-d.
    End,
}

impl Editor {
    /// An editor with a prompt, and the modules of the server.
    pub fn new(prompt: String, modules: Vec<String>) -> Self {
        let menu = ColumnarMenu::default().with_name(MENU);
        let mut keys = default_emacs_keybindings();
        let complete = ReedlineEvent::UntilFound(vec![
            ReedlineEvent::Menu(MENU.to_owned()),
            ReedlineEvent::MenuNext,
        ]);
        keys.add_binding(KeyModifiers::NONE, KeyCode::Tab, complete);
        let mut editor = Reedline::create()
            .with_completer(Box::new(Names(modules)))
            .with_menu(ReedlineMenu::EngineCompleter(Box::new(menu)))
            .with_quick_completions(true)
            .with_partial_completions(true)
            .with_edit_mode(Box::new(Emacs::new(keys)));
        if let Some(history) = history() {
            editor = editor.with_history(Box::new(history));
        }
        Self {
            editor,
            prompt: SessionPrompt(prompt),
        }
    }

    /// The next line.
    ///
    /// # Errors
    /// The terminal cannot be used.
    pub fn next(&mut self) -> Result<Typed> {
        match self.editor.read_line(&self.prompt) {
            Ok(Signal::Success(line)) => Ok(Typed::Line(line)),
            Ok(Signal::CtrlD) => Ok(Typed::End),
            Ok(_) => Ok(Typed::Discarded),
            Err(error) => Err(Failure::data(format!(
                "the terminal cannot be used: {error}"
            ))),
        }
    }
}

/// The history, in a file that only its owner reads; `None` without a home.
fn history() -> Option<FileBackedHistory> {
    let state = env::var_os("XDG_STATE_HOME").filter(|folder| !folder.is_empty());
    let folder = match state {
        Some(folder) => PathBuf::from(folder),
        None => env::home_dir()?.join(".local/state"),
    };
    let folder = folder.join("espalier");
    fs::create_dir_all(&folder).ok()?;
    let file = folder.join("netconf_history");
    // The editor would create it for everybody.
    let created = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(&file);
    created.ok()?;
    FileBackedHistory::with_file(HISTORY_LINES_MAX, file).ok()
}

/// Completes words; the names are those of modules.
struct Names(Vec<String>);

impl Completer for Names {
    fn complete(&mut self, line: &str, position: usize) -> CompletionResult {
        let begin = line.get(..position).unwrap_or(line);
        let word = begin
            .rfind(char::is_whitespace)
            .map_or(0, |space| space + 1);
        let found = completions(begin, &self.0).into_iter();
        let found: Vec<_> = found
            .map(|offer| Suggestion {
                value: offer.word,
                description: Some(offer.description),
                span: Span::new(word, position),
                append_whitespace: offer.is_whole,
                ..Suggestion::default()
            })
            .collect();
        CompletionResult::fresh(found)
    }
}

struct SessionPrompt(String);

impl Prompt for SessionPrompt {
    fn render_prompt_left(&self) -> std::borrow::Cow<'_, str> {
        self.0.as_str().into()
    }

    fn render_prompt_right(&self) -> std::borrow::Cow<'_, str> {
        "".into()
    }

    fn render_prompt_indicator(&self, _: PromptEditMode) -> std::borrow::Cow<'_, str> {
        "> ".into()
    }

    fn render_prompt_multiline_indicator(&self) -> std::borrow::Cow<'_, str> {
        "".into()
    }

    fn render_prompt_history_search_indicator(
        &self,
        search: PromptHistorySearch,
    ) -> std::borrow::Cow<'_, str> {
        format!("(history: {}) ", search.term).into()
    }
}
