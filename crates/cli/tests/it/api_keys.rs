//! Who may do what over HTTP.

use serde_json::json;

use crate::api::{Api, key};
use crate::workbench::Workbench;

#[tokio::test]
async fn without_a_valid_key_nothing_is_done() {
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let good = key(&bench, "shop", &["--role", "producer"]);
    let short = key(&bench, "guest", &["--role", "producer", "--expires", "+1h"]);
    api.refused(api.raw("GET", "/v1/jobs", &[], None), 401, "unauthenticated");
    for wrong in [
        "",
        "Bearer",
        "Basic abc",
        "Bearer abc",
        &format!("Bearer {good}x"),
        &format!("Token {good}"),
    ] {
        api.refused(
            api.raw("GET", "/v1/jobs", &[("authorization", wrong)], None),
            401,
            "unauthenticated",
        );
    }
    assert_eq!(api.send(&good, "GET", "/v1/jobs", None).0, 200);
    assert_eq!(api.send(&short, "GET", "/v1/jobs", None).0, 200);
    bench.advance("2 hours").await;
    api.refused(api.send(&short, "GET", "/v1/jobs", None), 401, "key_invalid");
    let prefix = good.split('_').nth(1).expect("a prefix");
    bench.text(&["key", "revoke", prefix]);
    api.refused(api.send(&good, "GET", "/v1/jobs", None), 401, "key_invalid");

    // Whoever guesses has to wait; whoever is known has not.
    let known = key(&bench, "other", &["--role", "viewer"]);
    assert_eq!(api.send(&known, "GET", "/v1/jobs", None).0, 200);
    let guess = format!("tnr_{}_{}", &known.split('_').nth(1).expect("a prefix"), "a".repeat(52));
    let codes: Vec<String> = (0..12)
        .map(|_| {
            api.send(&guess, "GET", "/v1/jobs", None).1["code"]
                .as_str()
                .expect("a code")
                .to_owned()
        })
        .collect();
    assert_eq!(
        (codes[0].as_str(), codes[11].as_str()),
        ("unauthenticated", "too_many_attempts")
    );
    let fresh = key(&bench, "fresh", &["--role", "viewer"]);
    assert_eq!(
        api.send(&fresh, "GET", "/v1/jobs", None).0,
        200,
        "a valid key is never turned away"
    );
    assert_eq!(api.send(&known, "GET", "/v1/jobs", None).0, 200);
}

#[tokio::test]
async fn a_key_does_what_its_roles_may_and_nothing_else() {
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let role = |role: &str| key(&bench, role, &["--role", role]);
    let (viewer, producer, worker, operator) = (role("viewer"), role("producer"), role("worker"), role("operator"));
    let job = api.post(&producer, "/v1/jobs", json!({"kind": "a"}));
    let cancel = format!("/v1/jobs/{}/cancel", job["job_id"].as_str().expect("an id"));
    let (claim, why) = (json!({"worker": "w"}), json!({"reason": "no"}));
    for (key, path, body) in [
        (&viewer, "/v1/jobs", json!({"kind": "a"})),
        (&viewer, "/v1/jobs/claim", claim.clone()),
        (&producer, "/v1/jobs/claim", claim.clone()),
        (&operator, "/v1/jobs/claim", claim.clone()),
        (&producer, &cancel, why.clone()),
        (&worker, &cancel, why.clone()),
    ] {
        let body = api.refused(api.send(key, "POST", path, Some(&body)), 403, "not_permitted");
        assert!(
            body["why"]
                .as_str()
                .is_some_and(|why| why.contains("this takes one of")),
            "{body}"
        );
    }
    api.refused(
        api.send(&worker, "POST", "/v1/jobs", Some(&json!({"kind": "a"}))),
        403,
        "executor_not_driven",
    );
    assert_eq!(api.post(&operator, &cancel, why)["state"], "cancelled");
    assert_eq!(api.get(&viewer, "/v1/jobs")["items"].as_array().map(Vec::len), Some(1));
    // A key that is bound to kinds stays within them.
    let bound = key(&bench, "bound", &["--role", "producer", "--job-kind", "b"]);
    api.refused(
        api.send(&bound, "POST", "/v1/jobs", Some(&json!({"kind": "a"}))),
        403,
        "kind_not_allowed",
    );
    api.post(&bound, "/v1/jobs", json!({"kind": "b"}));
}

#[tokio::test]
async fn one_tenant_never_sees_the_jobs_of_another() {
    let bench = Workbench::open().await;
    bench.text(&["tenant", "create", "other"]);
    bench.text(&["--tenant", "other", "gate", "open", "--all"]);
    let api = Api::start(&bench);
    let ours = key(
        &bench,
        "ann",
        &["--role", "producer", "--role", "worker", "--role", "operator"],
    );
    let theirs = bench
        .run([
            "--quiet", "--tenant", "other", "key", "create", "bob", "--role", "producer", "--role", "worker", "--role",
            "operator",
        ])
        .ok();
    let theirs = theirs.trim();
    let job = api.post(&ours, "/v1/jobs", json!({"kind": "a", "key": "k"}));
    let id = job["job_id"].as_str().expect("an id");
    assert_eq!(api.get(theirs, "/v1/jobs"), json!({"items": [], "next": null}));
    api.refused(
        api.send(theirs, "GET", &format!("/v1/jobs/{id}"), None),
        404,
        "job_not_found",
    );
    api.refused(
        api.send(
            theirs,
            "POST",
            &format!("/v1/jobs/{id}/cancel"),
            Some(&json!({"reason": "x"})),
        ),
        404,
        "job_not_found",
    );
    assert_eq!(
        api.post(theirs, "/v1/jobs/claim", json!({"worker": "w"})),
        json!({"jobs": []})
    );
    let same = api.post(theirs, "/v1/jobs", json!({"kind": "a", "key": "k"}));
    assert_eq!(same["duplicate"], false, "their keys are their own");
    // Naming the tenant is for keys that belong to none.
    let bearer = format!("Bearer {theirs}");
    let named = [("authorization", bearer.as_str()), ("tenure-tenant", bench.tenant)];
    api.refused(api.raw("GET", "/v1/jobs", &named, None), 403, "not_permitted");
    let admin = bench
        .run(["--quiet", "key", "create", "root", "--role", "viewer", "--installation"])
        .ok();
    let bearer = format!("Bearer {}", admin.trim());
    for (tenant, id) in [(bench.tenant, &job["job_id"]), ("other", &same["job_id"])] {
        let (_, listed) = api.raw(
            "GET",
            "/v1/jobs",
            &[("authorization", bearer.as_str()), ("tenure-tenant", tenant)],
            None,
        );
        assert_eq!(&listed["items"][0]["job_id"], id, "{tenant}");
    }
    let unknown = [("authorization", bearer.as_str()), ("tenure-tenant", "nobody")];
    api.refused(api.raw("GET", "/v1/jobs", &unknown, None), 404, "tenant_unknown");
}

/// Proves: S224.
#[tokio::test]
async fn admins_make_principals_and_keys_within_their_tenant() {
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let admin = key(&bench, "root", &["--role", "admin"]);
    let (status, made) = api.send(
        &admin,
        "POST",
        "/v1/principals",
        Some(&json!({"name": "ann", "kind": "human", "email": "ann@example.org"})),
    );
    assert_eq!((status, &made["email"]), (201, &json!("ann@example.org")));
    let listed = api.get(&admin, "/v1/principals")["items"].clone();
    let ann = listed
        .as_array()
        .and_then(|all| all.iter().find(|one| one["name"] == "ann"));
    assert_eq!(ann.map(|ann| &ann["email"]), Some(&json!("ann@example.org")));
    let (status, made) = api.send(
        &admin,
        "POST",
        "/v1/keys",
        Some(&json!({"principal": "ann", "roles": ["viewer"]})),
    );
    assert_eq!(status, 201, "{made}");
    let ann = made["key"].as_str().expect("a key");
    assert_eq!(api.get(ann, "/v1/jobs")["items"], json!([]));
    let keys = api.get(&admin, "/v1/keys");
    assert!(
        !keys.to_string().contains(ann.rsplit('_').next().expect("a secret")),
        "the secret is shown once"
    );
    let (status, _) = api.send(
        &admin,
        "DELETE",
        &format!("/v1/keys/{}", made["prefix"].as_str().expect("a prefix")),
        None,
    );
    assert_eq!(status, 200);
    api.refused(api.send(ann, "GET", "/v1/jobs", None), 401, "key_invalid");
    assert_eq!(api.get(&admin, "/v1/principals")["items"][0]["name"], "ann");
    assert_eq!(
        api.get(&admin, "/v1/tenants")["items"].as_array().map(Vec::len),
        Some(1)
    );
    api.refused(
        api.send(&admin, "POST", "/v1/tenants", Some(&json!({"name": "x"}))),
        403,
        "not_permitted",
    );
    let root = bench
        .run(["--quiet", "key", "create", "boss", "--role", "admin", "--installation"])
        .ok();
    let (status, _) = api.send(root.trim(), "POST", "/v1/tenants", Some(&json!({"name": "x"})));
    assert_eq!(status, 201);
}

/// Whatever is taken from a true key, it is none unless it is whole.
#[tokio::test]
async fn a_forged_key_opens_nothing() {
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let (ours, theirs) = (
        key(&bench, "ann", &["--role", "viewer"]),
        key(&bench, "root", &["--role", "admin"]),
    );
    let parts = |key: &str| {
        let mut parts = key.splitn(3, '_').map(str::to_owned);
        parts.next();
        (parts.next().expect("a prefix"), parts.next().expect("a secret"))
    };
    let ((prefix, secret), (foreign, _)) = (parts(&ours), parts(&theirs));
    let other = if secret.ends_with('a') { 'b' } else { 'a' };
    let forged = [
        format!("tnr_{foreign}_{secret}"),
        format!("tnr_{prefix}_{}{other}", &secret[..secret.len() - 1]),
        format!("tnr_{prefix}_{}", &secret[1..]),
        format!("tnr_{prefix}_"),
        format!("TNR_{prefix}_{secret}"),
        format!("tnr_{prefix}_{}", secret.to_uppercase()),
        "eyJhbGciOiJub25lIn0.eyJyb2xlIjoiYWRtaW4ifQ.".to_owned(),
    ];
    for key in &forged {
        api.refused(api.send(key, "GET", "/v1/keys", None), 401, "unauthenticated");
    }
    // Only the header counts, and nobody else's word.
    for headers in [
        vec![("x-api-key", theirs.as_str())],
        vec![("cookie", theirs.as_str())],
        vec![("tenure-principal", "root")],
    ] {
        api.refused(api.raw("GET", "/v1/keys", &headers, None), 401, "unauthenticated");
    }
    let bearer = format!("Bearer {ours}");
    let claims = [
        ("authorization", bearer.as_str()),
        ("tenure-principal", "root"),
        ("tenure-role", "admin"),
    ];
    api.refused(api.raw("GET", "/v1/keys", &claims, None), 403, "not_permitted");
    assert_eq!(api.send(&theirs, "GET", "/v1/keys", None).0, 200);
}

/// A right that ends while a request waits ends the waiting.
#[tokio::test]
async fn a_key_that_is_revoked_while_it_waits_gets_no_job() {
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let (worker, producer) = (
        key(&bench, "packer", &["--role", "worker"]),
        key(&bench, "shop", &["--role", "producer"]),
    );
    let prefix = worker.split('_').nth(1).expect("a prefix");
    let claim = json!({"worker": "w", "kinds": ["a"], "wait_seconds": 30});
    let reply = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| api.send(&worker, "POST", "/v1/jobs/claim", Some(&claim)));
        bench.text(&["key", "revoke", prefix]);
        api.post(&producer, "/v1/jobs", json!({"kind": "a"}));
        waiting.join().expect("an answer")
    });
    api.refused(reply, 401, "key_invalid");
    assert_eq!(api.get(&producer, "/v1/jobs")["items"][0]["state"], "queued");
}

/// By another identity an agent would approve; so it makes none.
#[tokio::test]
async fn an_agent_with_the_key_of_an_admin_makes_no_keys_no_principals_and_no_bindings() {
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let robot = key(&bench, "robot", &["--kind", "agent", "--role", "admin"]);
    let person = key(&bench, "ann", &["--kind", "human", "--role", "admin"]);
    let (binding, new) = (json!({"principal": "ann"}), json!({"name": "bob", "kind": "human"}));
    let strong = json!({"principal": "ann", "roles": ["approver"], "approver_level": 3});
    let weak = json!({"principal": "robot", "roles": ["viewer"]});
    for (method, path, body) in [
        ("PUT", "/v1/logins/robot", Some(&binding)),
        ("DELETE", "/v1/logins/robot", None),
        ("POST", "/v1/principals", Some(&new)),
        ("POST", "/v1/keys", Some(&strong)),
        ("POST", "/v1/keys", Some(&weak)),
    ] {
        let told = api.refused(api.send(&robot, method, path, body), 403, "not_permitted");
        assert_eq!(told["what"], "robot is an agent.", "{method} {path}: {told}");
    }
    assert_eq!(api.send(&person, "POST", "/v1/principals", Some(&new)).0, 201);
    assert_eq!(api.send(&person, "POST", "/v1/keys", Some(&weak)).0, 201);
}
