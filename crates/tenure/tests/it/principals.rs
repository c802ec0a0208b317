//! Principals and their keys: whoever acts for a key has its tenant and its rights, and nothing else.

use serde_json::{Value, json};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixture::{Db, enqueue, get, one, one_within, raised, rows, run, try_rows};
use crate::walls_calls::{Call, calls};
use crate::walls_picture::Picture;
use crate::walls_scene::{furnish, values};

const SECRET: &str = "sha256('secret')";

/// Makes a principal and a key with this prefix, as whoever the session acts for; answers the id.
async fn key(c: &Client, prefix: &str, roles: &str, more: &str) -> Uuid {
    one(
        c,
        &format!("select tenure.principal_create('of {prefix}', 'human')"),
        &[],
    )
    .await;
    let made = one(
        c,
        &format!("select tenure.key_create('of {prefix}', '{prefix}', {SECRET}, array[{roles}]{more})"),
        &[],
    )
    .await;
    assert_eq!(made["prefix"], prefix, "{made}");
    get(c, &format!("select tenure.key_check('{prefix}', {SECRET})"), &[]).await
}

/// Acts for a key from now on, in a transaction.
async fn begin_as(c: &Client, key: Uuid, function: &str) {
    run(c, "begin").await;
    rows(
        c,
        "select tenure.act_for_key($1, $2, null, 'GET /x 127.0.0.1')",
        &[&key, &function],
    )
    .await;
}

/// A server: trusted to act for keys.
async fn server(db: &Db) -> Client {
    db.login(&["tenure_server"], "default", None).await.1
}

/// Every function, tried with a key of another tenant by a server that could do anything.
/// Proves: S128.
/// Rule: 26.
#[tokio::test]
async fn a_key_of_a_foreign_tenant_sees_and_changes_nothing_with_any_function() {
    let db = Db::open().await;
    let c = db.direct().await;
    one(&c, "select tenure.tenant_create('beta')", &[]).await;
    let alpha = furnish(&db, &c).await;
    run(&c, "set tenure.tenant = 'beta'").await;
    let beta = key(
        &c,
        "betakey1",
        "'viewer', 'requester', 'producer', 'worker', 'operator', 'approver', 'admin'",
        ", p_approver_level => 3",
    )
    .await;
    run(&c, "reset tenure.tenant").await;
    let (server, _) = db.login(&["tenure_server"], "default", None).await;
    let picture = Picture::take(&c).await;
    let entering = |call: &Call| {
        let function = &call.function;
        let act = format!("select tenure.act_for_key('{beta}', '{function}', null, 'GET /x 127.0.0.1')");
        format!("set local session authorization {server}; {act}")
    };
    let calls: Vec<Call> = calls(&c, &values(&alpha)).await.into_values().flatten().collect();
    let holes = picture.holes(&c, entering, &calls, Some("alpha")).await;
    assert!(holes.is_empty(), "{}", holes.join("\n\n"));
}

/// Also for those that a server's login would have.
#[tokio::test]
async fn whoever_acts_for_a_key_has_its_rights_and_no_others() {
    let db = Db::open().await;
    let c = db.direct().await;
    let server = server(&db).await;
    let viewer = key(&c, "viewer11", "'viewer'", "").await;
    let worker = key(&c, "worker11", "'worker'", ", p_kinds => array['b']").await;
    for (key, function) in [
        (viewer, "job_enqueue"),
        (viewer, "key_list"),
        (worker, "job_cancel"),
        (worker, "nonsense"),
    ] {
        run(&server, "begin").await;
        raised(
            try_rows(
                &server,
                "select tenure.act_for_key($1, $2, null, 'x')",
                &[&key, &function],
            )
            .await,
            "not_permitted",
        );
        run(&server, "rollback").await;
    }
    begin_as(&server, viewer, "job_list").await;
    let who: String = get(&server, "select (tenure.caller()).principal", &[]).await;
    assert_eq!(who, "of viewer11");
    for trusted in [
        "tenure.acts_as('tenure_admin')",
        "tenure.may_see('restricted')",
        "tenure.is_every_tenant()",
    ] {
        assert!(
            !get::<bool>(&server, &format!("select {trusted}"), &[]).await,
            "{trusted}"
        );
    }
    run(&server, "set local tenure.tenant = '*'").await;
    assert!(
        !get::<bool>(&server, "select tenure.is_every_tenant()", &[]).await,
        "naming a tenant is for keys that have none"
    );
    run(&server, "commit").await;
    enqueue(&c, "a").await;
    begin_as(&server, worker, "job_claim_many").await;
    let claimed = rows(&server, "select job_id from tenure.job_claim_many('w')", &[]).await;
    assert!(claimed.is_empty(), "it is bound to another kind");
    run(&server, "commit").await;
    run(&server, "set tenure.tenant = '*'").await;
    let trusted: bool = get(&server, "select tenure.is_every_tenant()", &[]).await;
    assert!(trusted, "it ends with the transaction");
}

#[tokio::test]
async fn only_a_server_acts_for_a_key_and_only_for_a_valid_one() {
    let db = Db::open().await;
    let c = db.direct().await;
    let server = server(&db).await;
    let (_, admin) = db.login(&["tenure_admin", "tenure_worker"], "default", None).await;
    let valid = key(
        &c,
        "valid111",
        "'viewer'",
        ", p_expires_at => tenure.now() + interval '1 hour'",
    )
    .await;
    let act = "select tenure.act_for_key($1, 'job_list', null, 'x')";
    let refused = try_rows(&admin, act, &[&valid])
        .await
        .expect_err("an admin is no server");
    assert_eq!(refused.code().map(|code| code.code()), Some("42501"));
    run(&admin, &format!("set tenure.key = '{valid}'")).await;
    let who: String = get(&admin, "select (tenure.caller()).principal", &[]).await;
    assert!(
        who.starts_with("tenure_test_login"),
        "whoever is not trusted stays who it is: {who}"
    );

    rows(&server, act, &[&valid]).await;
    raised(try_rows(&server, act, &[&Uuid::new_v4()]).await, "key_invalid");
    db.advance("2 hours").await;
    raised(try_rows(&server, act, &[&valid]).await, "key_invalid");
    let other = key(&c, "other111", "'viewer'", "").await;
    rows(&server, act, &[&other]).await;
    one(&c, "select tenure.key_revoke('other111')", &[]).await;
    one(&c, "select tenure.key_revoke('other111')", &[]).await;
    raised(try_rows(&server, act, &[&other]).await, "key_invalid");
    let states = "select string_agg(prefix || ' ' || state, ', ' order by prefix) from tenure.key_list()";
    assert_eq!(
        get::<String>(&c, states, &[]).await,
        "other111 revoked, valid111 expired"
    );
    let revoked: i64 = get(&c, "select count(*) from tenure.events where kind = 'key.revoked'", &[]).await;
    assert_eq!(revoked, 1, "twice is once");
}

/// Neither the secret nor its digest is anywhere.
#[tokio::test]
async fn a_wrong_secret_finds_no_key_and_what_is_kept_does_not_tell_it() {
    let db = Db::open().await;
    let c = db.direct().await;
    key(&c, "prefix11", "'viewer'", "").await;
    for (prefix, digest) in [
        ("prefix11", "sha256('other')"),
        ("prefix12", SECRET),
        ("prefix11", "null"),
        ("prefix11", "hash"),
    ] {
        let found: Option<Uuid> = get(
            &c,
            &format!("select tenure.key_check('{prefix}', {digest}) from tenure.keys"),
            &[],
        )
        .await;
        assert_eq!(found, None, "{prefix} {digest}");
    }
    let kept: bool = get(
        &c,
        &format!("select bool_or(hash = {SECRET} or hash = sha256({SECRET})) from tenure.keys"),
        &[],
    )
    .await;
    assert!(!kept);
}

#[tokio::test]
async fn what_makes_no_sense_in_a_key_is_refused() {
    let db = Db::open().await;
    let c = db.client().await;
    one(
        &c,
        "select tenure.principal_create('ann', 'human', 'ann@example.org')",
        &[],
    )
    .await;
    one(&c, "select tenure.principal_create('bot', 'agent')", &[]).await;
    let make = |arguments: &str| format!("select tenure.key_create({arguments})");
    for (sql, code) in [
        (
            "select tenure.principal_create('ann', 'human')".to_owned(),
            "principal_exists",
        ),
        (
            "select tenure.principal_create('x', 'robot')".to_owned(),
            "value_unknown",
        ),
        ("select tenure.principal_create(' ', 'human')".to_owned(), "name_blank"),
        (
            "select tenure.principal_create('x', 'human', 'nowhere')".to_owned(),
            "text_invalid",
        ),
        (
            make("'nobody', 'prefix11', sha256('s'), array['viewer']"),
            "principal_unknown",
        ),
        (make("'ann', 'prefix11', sha256('s'), array[]::text[]"), "value_unknown"),
        (make("'ann', 'prefix11', sha256('s'), array['viwer']"), "value_unknown"),
        (
            make("'ann', 'prefix11', sha256('s'), array['approver']"),
            "arguments_mismatched",
        ),
        (
            make("'ann', 'prefix11', sha256('s'), array['viewer'], 1"),
            "arguments_mismatched",
        ),
        (
            make("'ann', 'prefix11', sha256('s'), array['approver'], 4"),
            "number_out_of_range",
        ),
        (
            make("'bot', 'prefix11', sha256('s'), array['approver'], 1"),
            "not_permitted",
        ),
        (
            make("'ann', 'prefix11', sha256('s'), array['viewer'], p_executors => array['Nobody']"),
            "executor_unknown",
        ),
        (
            make("'ann', 'prefix11', sha256('s'), array['viewer'], p_kinds => array[null]"),
            "name_blank",
        ),
        (
            make("'ann', 'prefix11', sha256('s'), array['viewer'], p_payload_access => 'all'"),
            "value_unknown",
        ),
        (
            make("'ann', 'prefix11', sha256('s'), array['viewer'], p_expires_at => tenure.now()"),
            "number_out_of_range",
        ),
        (
            make("'ann', 'prefix11', sha256('s'), array['viewer'], p_expires_at => 'infinity'"),
            "number_out_of_range",
        ),
        (make("'ann', 'Prefix', sha256('s'), array['viewer']"), "name_invalid"),
        (make("'ann', 'prefix11', 'short', array['viewer']"), "name_invalid"),
        ("select tenure.key_revoke('prefix11')".to_owned(), "key_not_found"),
    ] {
        let answer = one(&c, &sql, &[]).await;
        assert_eq!(answer["code"], code, "{sql}: {answer}");
    }
    let made: i64 = get(&c, "select count(*) from tenure.key_list()", &[]).await;
    assert_eq!(made, 0);
    one(&c, &make("'ann', 'prefix11', sha256('s'), array['viewer']"), &[]).await;
    let again = one(&c, &make("'ann', 'prefix11', sha256('t'), array['viewer']"), &[]).await;
    assert_eq!(again["code"], "id_taken");
}

/// Nobody gives by a key what their own does not reach.
#[tokio::test]
async fn a_key_makes_no_key_that_reaches_further_than_itself() {
    let db = Db::open().await;
    let c = db.direct().await;
    let server = server(&db).await;
    let bound = key(&c, "bound111", "'admin'", ", p_kinds => array['a', 'b']").await;
    begin_as(&server, bound, "key_create").await;
    let make = |prefix: &str, kinds: &str| {
        format!("select tenure.key_create('of bound111', '{prefix}', {SECRET}, array['viewer']{kinds})")
    };
    for kinds in ["", ", p_kinds => array['c']", ", p_kinds => array['a', 'c']"] {
        assert_eq!(
            one_within(&server, &make("wider111", kinds), &[]).await["code"],
            "not_permitted",
            "{kinds}"
        );
    }
    let made = one(&server, &make("within11", ", p_kinds => array['b']"), &[]).await;
    assert_eq!(made["prefix"], "within11", "{made}");
    run(&server, "commit").await;

    one(&c, "select tenure.principal_create('bot', 'agent')", &[]).await;
    one(
        &c,
        &format!("select tenure.key_create('bot', 'botkey11', {SECRET}, array['admin'])"),
        &[],
    )
    .await;
    let bot: Uuid = get(&c, &format!("select tenure.key_check('botkey11', {SECRET})"), &[]).await;
    begin_as(&server, bot, "key_create").await;
    for roles in ["array['approver'], 3", "array['viewer', 'admin']", "array['viewer']"] {
        let made = one_within(
            &server,
            &format!("select tenure.key_create('of bound111', 'person11', {SECRET}, {roles})"),
            &[],
        )
        .await;
        assert_eq!(made["code"], "not_permitted", "{roles}");
    }
    run(&server, "commit").await;
}

#[tokio::test]
async fn a_key_of_the_installation_is_trusted_only_as_an_admins() {
    let db = Db::open().await;
    let c = db.direct().await;
    let server = server(&db).await;
    run(&c, "set tenure.tenant = '*'").await;
    let worker = key(&c, "instwork", "'worker'", "").await;
    let admin = key(&c, "instadmi", "'admin', 'producer'", "").await;
    run(&c, "reset tenure.tenant").await;
    begin_as(&server, worker, "job_enqueue").await;
    let refused = one(&server, "select tenure.job_enqueue('a')", &[]).await;
    assert_eq!(
        refused["code"], "executor_not_driven",
        "a worker enqueues for the executors it is bound to"
    );
    run(&server, "commit").await;
    begin_as(&server, admin, "tenant_create").await;
    let made = one(&server, "select tenure.tenant_create('new')", &[]).await;
    assert_eq!(made["name"], "new");
    run(&server, "commit").await;
}

/// Whoever is no server cannot make an event look like a request.
#[tokio::test]
async fn only_what_came_over_http_says_so() {
    let db = Db::open().await;
    let c = db.direct().await;
    let (_, producer) = db.login(&["tenure_producer"], "default", None).await;
    let valid = key(&c, "valid111", "'producer'", "").await;
    run(
        &producer,
        &format!("set tenure.key = '{valid}'; set tenure.via = 'DELETE /v1/keys/x 10.0.0.9'"),
    )
    .await;
    one(&producer, "select tenure.job_enqueue('a')", &[]).await;
    let forged: i64 = get(&c, "select count(*) from tenure.events where via is not null", &[]).await;
    assert_eq!(forged, 0);
    let server = server(&db).await;
    begin_as(&server, valid, "job_enqueue").await;
    one(&server, "select tenure.job_enqueue('a')", &[]).await;
    run(&server, "commit").await;
    let via: String = get(&c, "select via from tenure.events where via is not null", &[]).await;
    assert_eq!(via, "GET /x 127.0.0.1");
}

#[tokio::test]
async fn a_role_that_is_named_twice_is_shown_once() {
    let db = Db::open().await;
    let c = db.client().await;
    one(&c, "select tenure.principal_create('ann', 'human')", &[]).await;
    let make = format!("select tenure.key_create('ann', 'twice111', {SECRET}, array['worker', 'viewer', 'worker'])");
    let made = one(&c, &make, &[]).await;
    assert_eq!(made["roles"], json!(["worker", "viewer"]));
    let event: Value = get(
        &c,
        "select e.data from tenure.events e where e.kind = 'key.created'",
        &[],
    )
    .await;
    assert_eq!(event["roles"], made["roles"]);
}
