//! The README's commands, run for real.
//!
//! A block marked `sh run` runs in one shell, a block marked `sql NAME` in the psql session of that name. A comment
//! `<!-- prints: TEXT -->` after a block promises that its output contains the text.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::dev::{Dev, data_dir, with_psql};
use crate::workbench::tenure;

const README: &str = include_str!("../../../../README.md");
const END: &str = "end-of-the-block";

#[derive(Debug)]
pub(crate) struct Block {
    /// `sh run` or `sql NAME`.
    pub(crate) info: String,
    pub(crate) text: String,
    prints: Vec<String>,
}

/// The blocks in their order, with what they promise.
pub(crate) fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut open = false;
    for line in text.lines() {
        if let Some(info) = line.strip_prefix("```") {
            open = !open;
            if open {
                blocks.push(Block {
                    info: info.to_owned(),
                    text: String::new(),
                    prints: Vec::new(),
                });
            }
        } else if open {
            let block = blocks.last_mut().expect("an open block");
            block.text.push_str(line);
            block.text.push('\n');
        } else if let Some(promise) = line
            .strip_prefix("<!-- prints: ")
            .and_then(|rest| rest.strip_suffix(" -->"))
        {
            blocks
                .last_mut()
                .expect("a block before the promise")
                .prints
                .push(promise.to_owned());
        }
    }
    blocks
}

/// A shell or a psql that takes one block after the other.
struct Prompt {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    mark: &'static str,
}

impl Prompt {
    fn open(mut command: Command, mark: &'static str) -> Prompt {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("run");
        Prompt {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().expect("its output")),
            child,
            mark,
        }
    }

    /// What the block prints.
    fn run(&mut self, text: &str) -> String {
        let input = self.input.as_mut().expect("its input");
        write!(input, "{text}\n{}\n", self.mark).expect("it reads");
        input.flush().expect("it reads");
        let mut printed = String::new();
        loop {
            let mut line = String::new();
            let read = self.output.read_line(&mut line).expect("its output");
            assert_ne!(
                read, 0,
                "it ended in the middle of:\n{text}\nafter printing:\n{printed}"
            );
            if line.trim() == END {
                return printed;
            }
            printed.push_str(&line);
        }
    }
}

impl Drop for Prompt {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

/// A shell as a reader of the README has it: the program in its PATH, and a database that runs.
fn shell(dev: &Dev, directory: &Path) -> Prompt {
    let mut command = Command::new("sh");
    let program = Path::new(env!("CARGO_BIN_EXE_tenure")).parent().expect("a directory");
    let path = std::env::join_paths(
        std::iter::once(program.to_owned()).chain(std::env::split_paths(&std::env::var_os("PATH").expect("PATH"))),
    );
    command.arg("-e").current_dir(directory);
    command
        .env("PATH", with_psql(&path.expect("a path")))
        .env("DATABASE_URL", &dev.url)
        .env("TZ", "UTC");
    // On a line of its own, also behind an answer over HTTP, which does not end its last line.
    Prompt::open(command, "printf '\\n%s\\n' end-of-the-block")
}

fn psql(dev: &Dev) -> Prompt {
    let mut command = tenure();
    command.args(["--database-url", &dev.url, "psql", "--", "-X", "-v", "ON_ERROR_STOP=1"]);
    Prompt::open(command, "\\echo end-of-the-block\n\\! true")
}

#[test]
fn the_commands_of_the_readme_do_what_it_says() {
    let dir = data_dir();
    let dev = Dev::on(dir.path());
    let elsewhere = tempfile::tempdir().expect("a directory");
    let mut shell = shell(&dev, elsewhere.path());
    let mut sessions: BTreeMap<String, Prompt> = BTreeMap::new();
    let mut ran = 0;
    let has_curl = std::env::split_paths(&std::env::var_os("PATH").expect("PATH")).any(|it| it.join("curl").is_file());
    for mut block in blocks(README) {
        if block.info == "sh run" && block.text.contains("curl") {
            if !has_curl {
                println!("There is no curl here: the commands over HTTP were not run.");
                continue;
            }
            // Another server may have the usual port here.
            block.text = block.text.replace("http://127.0.0.1:7373", &dev.api());
        }
        let printed = match block.info.split_once(' ') {
            Some(("sh", "run")) => shell.run(&block.text),
            Some(("sql", session)) => sessions
                .entry(session.to_owned())
                .or_insert_with(|| psql(&dev))
                .run(&block.text),
            _ => {
                assert!(
                    block.prints.is_empty(),
                    "a promise of a block that is not run: {block:?}"
                );
                continue;
            }
        };
        ran += 1;
        for promise in &block.prints {
            assert!(
                printed.contains(promise.as_str()),
                "{promise:?} is not printed by:\n{}\nbut:\n{printed}",
                block.text
            );
        }
    }
    assert!(ran >= 9, "only {ran} blocks were run");
    assert_eq!(sessions.len(), 2, "two psql sessions");
    let left = std::fs::read_dir(elsewhere.path()).expect("a directory").count();
    assert_eq!(left, 0, "the commands leave files where they are run");
}

#[test]
fn the_readme_knows_every_command_and_every_exit_code() {
    for (code, meaning) in tenure_core::codes::EXITS {
        assert!(README.contains(&format!("| {code} | {meaning} |")), "exit code {code}");
    }
    for command in [
        "dev",
        "init",
        "migrate",
        "job",
        "dead-letter",
        "event",
        "schedule",
        "kind",
        "executor",
        "tenant",
        "login",
        "config",
        "context",
        "gate",
        "reap",
        "sweep",
        "health",
        "doctor",
        "bench",
        "psql",
        "errors",
        "completions",
    ] {
        assert!(README.contains(command), "{command}");
    }
}

#[test]
fn every_link_of_the_readme_leads_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let targets = README.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    for target in targets.filter(|target| !target.starts_with("http")) {
        let (file, heading) = target.split_once('#').unwrap_or((target, ""));
        let text = fs::read_to_string(root.join(file)).unwrap_or_else(|error| panic!("{target}: {error}"));
        let mut headings = text
            .lines()
            .filter(|line| line.starts_with('#'))
            .map(|line| line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-"));
        assert!(heading.is_empty() || headings.any(|it| it == heading), "{target}");
    }
}
