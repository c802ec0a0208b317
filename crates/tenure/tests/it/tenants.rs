//! Tenants, and the logins bound to them.

use serde_json::{Value, json};

use crate::fixture::{Db, enqueue, get, one, raised, refused, rows, run, told, try_rows};
use crate::walls_calls::calls;
use crate::walls_scene::{furnish, values};

/// Proves: S128.
/// Guards: D19.
#[tokio::test]
async fn a_tenant_is_made_once_and_by_the_installation_only() {
    let db = Db::open().await;
    let c = db.client().await;
    let made = one(&c, "select tenure.tenant_create('acme')", &[]).await;
    assert_eq!(made["name"], "acme");
    refused(
        &one(&c, "select tenure.tenant_create('acme')", &[]).await,
        "tenant_exists",
    );
    refused(&one(&c, "select tenure.tenant_create('*')", &[]).await, "name_invalid");
    refused(
        &one(&c, "select tenure.tenant_create(E'\\t\\n')", &[]).await,
        "name_blank",
    );
    let listed: Vec<String> = rows(&c, "select name from tenure.tenant_list()", &[])
        .await
        .iter()
        .map(|row| row.get(0))
        .collect();
    assert_eq!(
        listed,
        ["default", "acme"],
        "the row that stands for every tenant is not one"
    );

    let (_, admin) = db.login(&["tenure_admin"], "acme", None).await;
    refused(
        &one(&admin, "select tenure.tenant_create('third')", &[]).await,
        "not_permitted",
    );
    let seen: Vec<String> = rows(&admin, "select name from tenure.tenant_list()", &[])
        .await
        .iter()
        .map(|row| row.get(0))
        .collect();
    assert_eq!(seen, ["acme"], "an admin sees the own tenant only");
    let seen: i64 = get(&admin, "select count(*) from tenure.tenants", &[]).await;
    assert_eq!(seen, 1);
}

/// Proves: S89.
/// Guards: D20.
#[tokio::test]
async fn the_principal_of_a_login_is_what_its_binding_says() {
    let db = Db::open().await;
    let c = db.client().await;
    let (login, producer) = db.login(&["tenure_producer"], "default", None).await;
    let job = enqueue(&producer, "report").await;
    let by: String = get(&c, "select enqueued_by from tenure.jobs where job_id = $1", &[&job]).await;
    assert_eq!(by, login, "without a principal of its own, the login is the principal");
    let bound = one(
        &c,
        "select tenure.login_bind($1, p_principal => 'billing', p_kinds => array['report'], p_payload_access => 'restricted')",
        &[&login],
    )
    .await;
    assert_eq!(
        bound,
        json!({"login": login, "tenant": "default", "principal": "billing", "executors": null, "kinds": ["report"], "payload_access": "restricted"})
    );
    let job = enqueue(&producer, "report").await;
    let by: String = get(&c, "select enqueued_by from tenure.jobs where job_id = $1", &[&job]).await;
    assert_eq!(by, "billing");
    let told: Value = get(
        &c,
        "select data from tenure.events where kind = 'login.bound' and subject = $1 order by seq desc limit 1",
        &[&login],
    )
    .await;
    assert_eq!(told["principal"], "billing");
}

#[tokio::test]
async fn a_binding_needs_a_real_tenant_a_name_and_known_words() {
    let db = Db::open().await;
    let c = db.client().await;
    refused(
        &one(&c, "select tenure.login_bind('x', 'nowhere')", &[]).await,
        "tenant_unknown",
    );
    refused(
        &one(&c, "select tenure.login_bind('x', '*')", &[]).await,
        "tenant_unknown",
    );
    refused(&one(&c, "select tenure.login_bind(' ')", &[]).await, "name_blank");
    refused(
        &one(&c, "select tenure.login_bind('x', p_principal => E'\\n')", &[]).await,
        "name_blank",
    );
    refused(
        &one(&c, "select tenure.login_bind('x', p_payload_access => 'all')", &[]).await,
        "value_unknown",
    );
    refused(
        &one(&c, "select tenure.login_unbind('nobody')", &[]).await,
        "login_unbound",
    );
}

/// Rule: 26.
#[tokio::test]
async fn an_admin_binds_and_unbinds_within_the_own_tenant_only() {
    let db = Db::open().await;
    let c = db.client().await;
    one(&c, "select tenure.tenant_create('acme')", &[]).await;
    let (foreign, _) = db.login(&["tenure_worker"], "default", None).await;
    let (_, admin) = db.login(&["tenure_admin"], "acme", None).await;
    refused(
        &one(&admin, "select tenure.login_bind($1)", &[&foreign]).await,
        "not_permitted",
    );
    refused(
        &one(&admin, "select tenure.login_bind('new', 'default')", &[]).await,
        "not_permitted",
    );
    refused(
        &one(&admin, "select tenure.login_bind('*')", &[]).await,
        "not_permitted",
    );
    refused(
        &one(&admin, "select tenure.login_unbind($1)", &[&foreign]).await,
        "login_unbound",
    );
    refused(
        &one(&admin, "select tenure.login_unbind('*')", &[]).await,
        "login_unbound",
    );
    // A login without a binding works within the tenant of the star, and is not for others to take.
    refused(
        &one(&admin, "select tenure.login_bind('acme_app')", &[]).await,
        "not_permitted",
    );
    refused(
        &one(&admin, "select tenure.login_bind('new', 'no such tenant')", &[]).await,
        "not_permitted",
    );
    one(&c, "select tenure.login_unbind('*')", &[]).await;
    let bound = one(&admin, "select tenure.login_bind('acme_app')", &[]).await;
    assert_eq!(bound["tenant"], "acme", "a login that works nowhere is free");
    let again = one(
        &admin,
        "select tenure.login_bind('acme_app', p_principal => 'app')",
        &[],
    )
    .await;
    assert_eq!(again["principal"], "app");
    let gone = one(&admin, "select tenure.login_unbind('acme_app')", &[]).await;
    assert_eq!(gone["unbound"], true);
}

/// Rule: 26.
#[tokio::test]
async fn an_unbound_login_follows_the_star_and_is_refused_without_it() {
    let db = Db::open().await;
    let c = db.client().await;
    let (login, producer) = db.login(&["tenure_producer"], "default", None).await;
    one(&c, "select tenure.login_unbind($1)", &[&login]).await;
    let job = enqueue(&producer, "report").await;
    let tenant: i32 = get(&c, "select tenant_id from tenure.jobs where job_id = $1", &[&job]).await;
    assert_eq!(tenant, 1, "the star is bound to default");

    one(&c, "select tenure.login_unbind('*')", &[]).await;
    refused(
        &one(&producer, "select tenure.job_enqueue('report')", &[]).await,
        "login_unbound",
    );
    raised(
        try_rows(&producer, "select count(*) from tenure.job_queue", &[]).await,
        "login_unbound",
    );

    // Whoever runs the installation names the tenant of the transaction, and binds the star elsewhere.
    let c = db.direct().await;
    run(&c, "begin; set local tenure.tenant = '*'").await;
    one(&c, "select tenure.tenant_create('acme')", &[]).await;
    one(&c, "select tenure.login_bind('*', 'acme')", &[]).await;
    run(&c, "commit").await;
    let tenant: i32 = get(&producer, "select tenure.current_tenant()", &[]).await;
    assert_eq!(tenant, 2, "it follows");
}

/// Rule: 26.
#[tokio::test]
async fn a_server_that_names_no_tenant_gets_a_refusal_and_never_a_broken_call() {
    let db = Db::open().await;
    let c = db.direct().await;
    let alpha = furnish(&db, &c).await;
    let (_, server) = db.login(&["tenure_server"], "default", None).await;
    for call in calls(&c, &values(&alpha)).await.values().flatten() {
        run(&server, "begin; set local tenure.tenant = '*'").await;
        if let Err(error) = try_rows(&server, &call.sql(), &[]).await {
            let code = error
                .as_db_error()
                .map(|it| it.code().code().to_owned())
                .unwrap_or_default();
            assert!(code.starts_with("TN"), "{call}: {}", told(&error));
        }
        run(&server, "rollback").await;
    }
}

/// A binding has as many kinds and executors as a key may have, and names that are names.
#[tokio::test]
async fn the_lists_of_a_binding_are_bounded() {
    let db = Db::open().await;
    let c = db.client().await;
    for (kinds, code) in [
        (
            "array(select 'k' || n from generate_series(1, 101) n)",
            "number_out_of_range",
        ),
        ("array[' ']", "name_blank"),
        ("array[repeat('k', 201)]", "name_invalid"),
    ] {
        let bind = format!("select tenure.login_bind('somebody', p_kinds => {kinds})");
        refused(&one(&c, &bind, &[]).await, code);
    }
    let most = "select tenure.login_bind('somebody', p_kinds => array(select 'k' || n from generate_series(1, 100) n))";
    assert_eq!(one(&c, most, &[]).await["login"], "somebody");
}
