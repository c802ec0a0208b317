//! What `tenure dev` prints when it is ready: where it is, and what to try. Every line works when copied.

use std::env;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::api::Api;
use super::people::{APPROVER, REQUESTER};
use crate::connect::{Choice, URL_VARIABLE};

/// The text below the steps, ended by the line that scripts wait for.
pub(super) fn welcome(
    choice: &Choice,
    url: &str,
    tcp_url: Option<&str>,
    gates: &[String],
    api: &Api,
    worker: bool,
) -> String {
    let tenure = command(choice);
    let psql = match choice {
        Choice::Private { .. } => format!("psql '{url}'"),
        Choice::Given { .. } => format!("psql \"${URL_VARIABLE}\""),
    };
    let mut text = format!("\nTenure {} is running.\n\n", env!("CARGO_PKG_VERSION"));
    let mut line = |title: &str, value: &str| {
        writeln!(text, "  {title:<9} {value}").expect("writing to a string does not fail");
    };
    line("database", url);
    if let Some(tcp) = tcp_url {
        line("also", tcp);
    }
    match choice {
        Choice::Private { data_dir, .. } => line("data", &format!("{} (stays when this ends)", data_dir.display())),
        Choice::Given { by, .. } => line("server", &format!("named by {by}; it is used, not managed")),
    }
    line("gates", &format!("open: {}", gates.join(", ")));
    line(
        "actions",
        "open mode: a plan's own word counts for actions without a registration (executions.actions.open)",
    );
    match api.url() {
        Some(url) => line("api", &format!("{url}, explained at {url}/docs")),
        None => line("api", "not served: this login is no member of tenure_server"),
    }
    match &api.key {
        Some(key) => line(
            "key",
            &format!(
                "{} (shown this once; send it as Authorization: Bearer KEY)",
                key.reveal()
            ),
        ),
        None => line("key", &format!("{tenure} key create NAME --role ROLE makes one")),
    }
    line(
        "services",
        "scheduler, executions, reaper, retention, archive, anchor, subscriptions and webhooks run here",
    );
    let (enqueue, wait) = match worker {
        true => {
            line("worker", "one for jobs of the kind hello runs here");
            ("Enqueue a job. The worker here runs it at once", " --wait 10")
        }
        false => ("Enqueue a job. No worker runs it (--no-worker)", ""),
    };
    // The people are there only in a database of our own, and only the worker here knows how to say hello.
    let (plan, last) = match (choice, worker) {
        (Choice::Private { .. }, true) => (plan(&tenure), 5),
        _ => (String::new(), 4),
    };
    write!(
        text,
        r#"
Try this in another terminal:

  1. {enqueue}:
     {tenure} job enqueue hello --payload '{{"name": "world"}}'{wait}
     {tenure} job list

  2. Be the worker of another kind: claim its job and complete it.
     {tenure} job enqueue greet --payload '{{"name": "you"}}'
     {tenure} --quiet job claim --kind greet --start | while read -r job token payload; do
       {tenure} job complete "$job" "$token" --result '{{"said": "good morning"}}'
     done

  3. See what happened:
     {tenure} event list

{plan}  {last}. The same with nothing but SQL:
     {tenure} psql -- -c "select tenure.job_enqueue('hello')"
     {psql}

Ctrl-C stops it.
"#
    )
    .expect("writing to a string does not fail");
    text
}

/// A plan that one person asks for and another allows.
fn plan(tenure: &str) -> String {
    format!(
        r#"  4. Run a plan that {REQUESTER} asks for and {APPROVER} allows; nobody allows a plan of their own:
     plan='{{"purpose": "greet everybody", "sla_class": "long", "steps": [{{"id": "greet", "action": "greet", "action_class": "modify",
       "target_type": "room", "target_ref": "hall", "kind": "hello", "payload": {{"name": "everybody"}}}}]}}'
     id=$(echo "$plan" | {tenure} --quiet --as {REQUESTER} execution submit -)
     {tenure} --as {APPROVER} execution approve "$id" --hash "$(echo "$plan" | {tenure} plan hash -)"
     {tenure} execution watch "$id"

"#
    )
}

/// How to call this program on this database from another terminal.
fn command(choice: &Choice) -> String {
    let program = program();
    match choice {
        Choice::Private { default: true, .. } => program,
        Choice::Private { data_dir, .. } => format!("{program} --data-dir {}", quoted(&data_dir.to_string_lossy())),
        // A URL may hold a password, which does not belong on a screen or in a history.
        Choice::Given { .. } => format!("{program} --database-url \"${URL_VARIABLE}\""),
    }
}

/// `tenure` where the shell finds this very program by that name, else its path.
fn program() -> String {
    let Ok(own) = env::current_exe().and_then(|path| path.canonicalize()) else {
        return "tenure".to_owned();
    };
    let named: Option<PathBuf> = env::var_os("PATH").and_then(|path| {
        env::split_paths(&path)
            .map(|dir| dir.join("tenure"))
            .find(|path| path.is_file())
    });
    if named.is_some_and(|path| path.canonicalize().is_ok_and(|path| path == own)) {
        return "tenure".to_owned();
    }
    let short = env::current_dir()
        .ok()
        .and_then(|dir| own.strip_prefix(dir.canonicalize().ok()?).ok().map(Path::to_path_buf));
    match short {
        Some(path) if path.components().count() > 1 => quoted(&path.to_string_lossy()),
        _ => quoted(&own.to_string_lossy()),
    }
}

/// Quoted for a shell where it must be.
pub(crate) fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:,@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_survive_a_shell() {
        assert_eq!(quoted("/var/lib/tenure"), "/var/lib/tenure");
        assert_eq!(quoted("/a b/it's"), r"'/a b/it'\''s'");
    }
}
