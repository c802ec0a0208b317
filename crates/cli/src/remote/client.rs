//! The server that a command works with: the client of `tenure-client`, and what only a command does with it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use tenure_api::{Effect, Operation};
use tenure_client::{Client, connect};
use tenure_core::api_key::ApiKey;
use uuid::Uuid;

use super::trouble::in_words_of_the_command;
use crate::connect::Scope;
use crate::errors::Outcome;
use crate::output::Output;

/// A server, and who asks it.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    /// Without a slash at its end.
    pub(crate) url: String,
    /// The saved context that it comes from.
    pub(crate) context: Option<String>,
    pub(crate) key: ApiKey,
    pub(crate) tenant: Option<String>,
    /// Authorities to trust instead of the system's.
    pub(crate) ca_file: Option<PathBuf>,
    /// A mistake there does no harm.
    pub(crate) development: bool,
    /// The key may travel in the clear.
    pub(crate) plaintext: bool,
    /// How long an answer may take.
    pub(crate) timeout: Duration,
}

/// A server that can be asked.
pub(crate) struct Remote {
    client: Client,
    target: Target,
    out: Output,
    /// Whether it was said where changes go.
    is_announced: AtomicBool,
}

impl Target {
    /// The URL in its plain form, or why it is none.
    pub(crate) fn url_of(given: &str) -> Outcome<String> {
        tenure_client::server_url(given).map_err(in_words_of_the_command)
    }

    /// Whether a change there needs no word: it was marked as harmless, or is on this machine and not a tunnel that was
    /// saved under a name.
    fn is_harmless(&self) -> bool {
        let is_here = || self.url.parse().is_ok_and(|uri| connect::is_loopback(&uri));
        self.development || (self.context.is_none() && is_here())
    }

    /// The server, its context and tenant, for people.
    fn described(&self) -> String {
        let context = self.context.as_ref().map(|name| format!("context {name}"));
        let tenant = self.tenant.as_ref().map(|name| format!("tenant {name}"));
        let parts: Vec<String> = context.into_iter().chain(tenant).collect();
        match parts.is_empty() {
            true => self.url.clone(),
            false => format!("{} ({})", self.url, parts.join(", ")),
        }
    }

    fn client(&self) -> Outcome<Client> {
        let mut builder = Client::builder(&self.url, &self.key.reveal())
            .timeout(self.timeout)
            .allow_plaintext(self.plaintext)
            .user_agent(concat!("tenure/", env!("CARGO_PKG_VERSION")));
        if let Some(name) = &self.tenant {
            builder = builder.tenant(name);
        }
        if let Some(path) = &self.ca_file {
            builder = builder.ca_file(path);
        }
        builder.build().map_err(in_words_of_the_command)
    }
}

impl Remote {
    /// Nothing is sent yet.
    pub(crate) fn new(target: Target, out: Output) -> Outcome<Remote> {
        Ok(Remote {
            client: target.client()?,
            target,
            out,
            is_announced: AtomicBool::new(false),
        })
    }

    /// Acts for all tenants from now on.
    pub(crate) fn for_every_tenant(&mut self) {
        self.client = self.client.for_installation();
        self.target.tenant = Some("*".to_owned());
    }

    /// Carries an operation out. Answers what the type knows, and everything that came.
    pub(crate) async fn perform<O: Operation>(&self, scope: Scope<'_>, operation: &O) -> Outcome<(O::Answer, Value)> {
        self.announce::<O>();
        let client = match scope {
            Scope::Session => &self.client,
            Scope::Installation => &self.client.for_installation(),
            Scope::Tenant(name) => &self.client.in_tenant(name),
        };
        client.perform_whole(operation).await.map_err(in_words_of_the_command)
    }

    /// Carries an operation out. Answers everything that came, whether it fits the type or not.
    pub(crate) async fn perform_json<O: Operation>(&self, operation: &O) -> Outcome<Value> {
        self.announce::<O>();
        self.client
            .perform_json(operation)
            .await
            .map_err(in_words_of_the_command)
    }

    /// The evidence of an execution, as the whole file.
    pub(crate) async fn execution_evidence(&self, execution_id: Uuid) -> Outcome<String> {
        let path = format!("/v1/executions/{execution_id}/evidence");
        self.client
            .get(&path, "application/x-ndjson")
            .await
            .map_err(in_words_of_the_command)
    }

    /// Says once where changes go, unless they do no harm there.
    fn announce<O: Operation>(&self) {
        let is_change = O::EFFECT != Effect::Reads;
        if is_change && !self.target.is_harmless() && !self.is_announced.swap(true, Ordering::Relaxed) {
            self.out.whereto(&self.target.described());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(url: &str, context: Option<&str>, development: bool) -> Target {
        Target {
            url: url.to_owned(),
            context: context.map(str::to_owned),
            key: ApiKey::new([7; tenure_core::api_key::RANDOM_BYTES]),
            tenant: None,
            ca_file: None,
            development,
            plaintext: false,
            timeout: Duration::from_secs(10),
        }
    }

    /// A saved server at this machine may be a tunnel to another.
    #[test]
    fn a_change_goes_silently_only_where_it_does_no_harm() {
        for local in ["http://127.0.0.1:7373", "http://localhost", "http://[::1]:1/base"] {
            assert!(target(local, None, false).is_harmless(), "{local}");
            assert!(!target(local, Some("prod"), false).is_harmless(), "{local}");
        }
        for other in ["http://tenure.example", "http://127.0.0.1.example", "http://10.0.0.1"] {
            assert!(!target(other, None, false).is_harmless(), "{other}");
            assert!(target(other, Some("test"), true).is_harmless(), "{other}");
        }
    }

    #[test]
    fn a_key_is_in_no_description() {
        let target = target("https://tenure.example", None, false);
        let secret = target.key.reveal();
        let secret = secret.rsplit('_').next().expect("a secret");
        assert!(!format!("{target:?} {}", target.described()).contains(secret));
    }
}
