//! What the crate shows to programs that embed it stays small enough to learn.

use std::fs;
use std::path::Path;

/// Modules, types, traits, constants and functions that the documentation shows.
const ITEMS_MAX: usize = 70;
/// Methods of all of them.
const METHODS_MAX: usize = 200;

/// A module as the source declares it.
struct Module {
    name: String,
    hidden: bool,
}

/// What one file declares.
#[derive(Default)]
struct Surface {
    modules: Vec<Module>,
    items: Vec<String>,
    methods: Vec<String>,
}

/// Reads a formatted source file line by line: rustfmt puts every item, and every method, at the beginning of a line.
fn read(text: &str) -> Surface {
    let mut surface = Surface::default();
    let mut hidden_types: Vec<String> = Vec::new();
    let mut within: Option<String> = None;
    let mut hidden = false;
    for line in text.lines() {
        if line == "#[cfg(test)]" {
            // Tests come last.
            break;
        }
        let inner = line.trim_start();
        if inner.starts_with("#[doc(hidden)]") {
            hidden = true;
            continue;
        }
        if inner.starts_with("#[") || inner.starts_with("//") || inner.is_empty() {
            continue;
        }
        let outermost = line == inner;
        if outermost && line.starts_with("impl") && !line.ends_with('}') {
            within = Some(type_of_impl(line));
        } else if outermost && line.starts_with('}') {
            within = None;
        }
        let words: Vec<&str> = inner.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
        let public = inner.starts_with("pub ");
        if outermost && let Some(at) = words.iter().position(|word| *word == "mod") {
            surface.modules.push(Module {
                name: words[at + 1].to_owned(),
                hidden: hidden || inner.starts_with("pub("),
            });
        }
        let kinds = ["fn", "struct", "enum", "trait", "type", "const", "mod"];
        let named = kinds.iter().filter_map(|kind| {
            let at = words.iter().take(4).position(|word| word == kind)?;
            words.get(at + 1).filter(|name| **name != "fn")
        });
        if let (true, Some(name)) = (public, named.min_by_key(|name| name.as_ptr())) {
            let name = (*name).to_owned();
            let owner_hidden = within.as_ref().is_some_and(|owner| hidden_types.contains(owner));
            match (&within, hidden) {
                (_, true) => hidden_types.push(name),
                (Some(owner), false) if !owner_hidden => surface.methods.push(format!("{owner}::{name}")),
                (None, false) if outermost => surface.items.push(name),
                // Of a hidden type, or within the braces of a module that is not public.
                _ => {}
            }
        }
        hidden = false;
    }
    surface
}

/// The type that an `impl` is for.
fn type_of_impl(line: &str) -> String {
    let target = line.split(" for ").last().unwrap_or(line).trim_start_matches("impl");
    let target = match target.strip_prefix('<') {
        Some(generic) => generic.split_once("> ").map_or(generic, |(_, rest)| rest),
        None => target,
    };
    let name = target.trim_start().split(|c: char| !(c.is_alphanumeric() || c == '_'));
    name.into_iter().next().unwrap_or_default().to_owned()
}

/// Adds what the documentation shows of a file and of the modules below it.
fn add_shown(file: &Path, below: &Path, found: &mut Surface) {
    let Surface {
        modules,
        items,
        methods,
    } = read(&fs::read_to_string(file).expect("a source file"));
    found.items.extend(items);
    found.methods.extend(methods);
    // A module may be declared twice: public with a feature, private without.
    let hidden: Vec<&str> = modules
        .iter()
        .filter(|it| it.hidden)
        .map(|it| it.name.as_str())
        .collect();
    for module in modules.iter().filter(|module| !hidden.contains(&module.name.as_str())) {
        let alone = below.join(format!("{}.rs", module.name));
        let directory = below.join(&module.name);
        let file = if alone.exists() {
            alone
        } else {
            directory.join("mod.rs")
        };
        // One within braces has no file.
        if file.exists() {
            add_shown(&file, &directory, found);
        }
    }
}

/// What only the server and the command of this workspace use is `#[doc(hidden)]`.
#[test]
fn the_crate_shows_no_more_than_a_reader_can_learn() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Surface::default();
    add_shown(&source.join("lib.rs"), &source, &mut found);
    let Surface { items, methods, .. } = found;
    for (shown, is_shown) in [
        ("NewJob", true),
        ("Claim", false),
        ("Listener", false),
        ("store", false),
    ] {
        assert_eq!(items.iter().any(|item| item == shown), is_shown, "{shown}: {items:?}");
    }
    for (shown, is_shown) in [
        ("Client::enqueue", true),
        ("Context::complete_in", true),
        ("Listener::next", false),
    ] {
        assert_eq!(
            methods.iter().any(|method| method == shown),
            is_shown,
            "{shown}: {methods:?}"
        );
    }
    assert!(items.len() <= ITEMS_MAX, "{} items: {items:?}", items.len());
    assert!(methods.len() <= METHODS_MAX, "{} methods: {methods:?}", methods.len());
}
