//! `tenure login`: database logins, and what they are bound to.

use tenure_api::logins::{LoginBind, LoginUnbind};

use super::verb::{Command, Noun, Verb};

/// The verbs of `tenure login`.
pub(crate) struct Login;

impl Noun for Login {
    const VERBS: &'static [&'static dyn Command] = &[&BIND, &UNBIND];
}

const BIND: Verb<LoginBind> = Verb {
    places: &["login"],
    options: &[("tenant", "to"), ("executors", "executor"), ("kinds", "kind")],
    quiet: &["login"],
    ..Verb::fields("bind", &["login", "tenant", "principal"])
};

const UNBIND: Verb<LoginUnbind> = Verb {
    places: &["login"],
    quiet: &["login"],
    ..Verb::<LoginUnbind>::sentence("unbind", |_, done| {
        format!("The login {:?} has no binding any more.", done.login)
    })
};
