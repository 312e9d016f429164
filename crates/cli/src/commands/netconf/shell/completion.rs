//! What Tab offers: names of operations, options and their values, modules and files.

use std::fs;
use std::path::Path;

use clap::{Arg, CommandFactory};

use super::line::Line;

/// The maximum number of files that are offered.
const FILES_MAX: usize = 1000;

/// The options and arguments whose values are datastores.
const DATASTORES_OF: [&str; 4] = ["source", "target", "first", "second"];

/// The arguments whose values are files.
const FILES_OF: [&str; 4] = ["file", "out", "subtree", "all"];

/// The datastores of RFC 6241.
const DATASTORES: [&str; 3] = ["running", "candidate", "startup"];

/// Those of RFC 8342.
const NMDA_DATASTORES: [&str; 5] = ["running", "candidate", "startup", "intended", "operational"];

/// A word that is offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    pub word: String,
    pub description: String,
    /// Whether a space follows: not after a folder.
    pub is_whole: bool,
}

/// The words that can stand at the end of the begin of a line.
pub fn completions(line_begin: &str, modules: &[String]) -> Vec<Offer> {
    let mut command = Line::command();
    // Gives the operations the options that all have.
    command.build();
    let mut words: Vec<&str> = line_begin.split_whitespace().collect();
    let last = match line_begin.ends_with(char::is_whitespace) {
        true => "",
        false => words.pop().unwrap_or_default(),
    };
    let Some((first, others)) = words.split_first() else {
        let commands = command.get_subcommands();
        let mut found: Vec<_> = commands
            .map(|one| offer(one.get_name(), one.get_about()))
            .filter(|one| one.word.starts_with(last))
            .collect();
        found.sort_by(|one, other| one.word.cmp(&other.word));
        return found;
    };
    let Some(command) = command.find_subcommand(first) else {
        return Vec::new();
    };
    let option = |word: &str| {
        let name = word.strip_prefix("--")?;
        let mut all = command.get_arguments();
        all.find(|one| one.get_long() == Some(name))
    };
    let takes_value = |one: &&Arg| one.get_action().takes_values();
    if let Some(open) = others
        .last()
        .and_then(|word| option(word))
        .filter(takes_value)
    {
        return values(open, last, modules);
    }
    if last.starts_with('-') {
        let options = command.get_arguments().filter_map(|argument| {
            let name = format!("--{}", argument.get_long()?);
            name.starts_with(last)
                .then(|| offer(&name, argument.get_help()))
        });
        return options.collect();
    }
    let mut is_value = false;
    let given = others.iter().filter(|word| {
        let is_position = !is_value && !word.starts_with("--");
        is_value = option(word).as_ref().is_some_and(takes_value);
        is_position
    });
    let given = given.count();
    let position = command.get_positionals().nth(given);
    position.map_or_else(Vec::new, |argument| values(argument, last, modules))
}

fn offer(word: &str, about: Option<&clap::builder::StyledStr>) -> Offer {
    Offer {
        word: word.to_owned(),
        description: about.map(ToString::to_string).unwrap_or_default(),
        is_whole: true,
    }
}

/// The values of an argument that begin with a word.
fn values(argument: &Arg, begin: &str, modules: &[String]) -> Vec<Offer> {
    let of_names = |names: &mut dyn Iterator<Item = &str>| {
        let names = names.filter(|name| name.starts_with(begin));
        names.map(|name| offer(name, None)).collect()
    };
    let id = argument.get_id().as_str();
    let possible = argument.get_possible_values();
    if !possible.is_empty() {
        return of_names(&mut possible.iter().map(clap::builder::PossibleValue::get_name));
    }
    match id {
        "datastore" => of_names(&mut NMDA_DATASTORES.into_iter()),
        "name" => of_names(&mut modules.iter().map(String::as_str)),
        id if DATASTORES_OF.contains(&id) => of_names(&mut DATASTORES.into_iter()),
        id if FILES_OF.contains(&id) => files(begin),
        _ => Vec::new(),
    }
}

/// The files and folders whose paths begin with a text.
fn files(begin: &str) -> Vec<Offer> {
    let (folder, name) = match begin.rfind('/') {
        Some(end) => begin.split_at(end + 1),
        None => ("", begin),
    };
    let place = match folder {
        "" => Path::new("."),
        folder => Path::new(folder),
    };
    let Ok(entries) = fs::read_dir(place) else {
        return Vec::new();
    };
    let found = entries.filter_map(|entry| {
        let entry = entry.ok()?;
        let own = entry.file_name().into_string().ok()?;
        let is_hidden = own.starts_with('.') && !name.starts_with('.');
        // The words of a line end at white space.
        let is_wanted = own.starts_with(name) && !is_hidden && !own.contains(char::is_whitespace);
        let is_folder = is_wanted && entry.path().is_dir();
        is_wanted.then(|| Offer {
            word: format!("{folder}{own}{}", if is_folder { "/" } else { "" }),
            description: String::new(),
            is_whole: !is_folder,
        })
    });
    let mut found: Vec<_> = found.take(FILES_MAX).collect();
    found.sort_by(|one, other| one.word.cmp(&other.word));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(line: &str) -> Vec<String> {
        let modules = ["ietf-a".to_owned(), "ietf-b".to_owned(), "m".to_owned()];
        let found = completions(line, &modules).into_iter();
        found.map(|one| one.word).collect()
    }

    #[test]
    fn names_and_options_are_completed() {
        assert_eq!(names("ed"), ["edit-config", "edit-data"]);
        assert!(names("").contains(&"help".to_owned()));
        assert_eq!(names("commit --persist"), ["--persist", "--persist-id"]);
        assert!(names("nothing --").is_empty());
    }

    #[test]
    fn values_are_completed() {
        assert_eq!(names("get-config --source c"), ["candidate"]);
        assert_eq!(names("edit-config a.xml --target "), DATASTORES);
        assert_eq!(names("lock r"), ["running"]);
        assert_eq!(names("copy-config running s"), ["startup"]);
        assert_eq!(names("get-data --datastore o"), ["operational"]);
        assert_eq!(names("get-schema i"), ["ietf-a", "ietf-b"]);
        assert_eq!(names("get-config --output j"), ["json"]);
        assert_eq!(names("edit-config a --default-operation m"), ["merge"]);
        assert!(names("lock running r").is_empty());
    }

    #[test]
    fn files_are_completed() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("a.xml"), "").expect("written");
        fs::create_dir(folder.path().join("ab")).expect("a folder");
        let begin = format!("{}/", folder.path().display());
        let found = names(&format!("edit-config {begin}a"));
        assert_eq!(found, [format!("{begin}a.xml"), format!("{begin}ab/")]);
        assert_eq!(names(&format!("rpc {begin}a.")), [format!("{begin}a.xml")]);
        assert!(names(&format!("edit-config {begin}none/")).is_empty());
    }
}
