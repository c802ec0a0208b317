//! One server per run, one database per test.

use std::sync::atomic::{AtomicU32, Ordering};

use tenure_cluster::testing::{Template, TestCluster, TestDatabase};

use crate::private_fixture::{Owner, fill, notes, owner, query};

#[tokio::test]
async fn each_test_gets_its_own_copy_of_a_template_prepared_once() {
    let prepared = AtomicU32::new(0);
    let template = Template::new("private_it_once", [uuid::Uuid::new_v4().to_string()]);
    let prepare = async |url: String| {
        prepared.fetch_add(1, Ordering::SeqCst);
        fill(&url).await
    };
    let (one, two, three) = tokio::join!(
        TestDatabase::new(&template, prepare),
        TestDatabase::new(&template, prepare),
        TestDatabase::new(&template, prepare),
    );
    let (one, two, three) = (one.expect("one"), two.expect("two"), three.expect("three"));
    assert_eq!(prepared.load(Ordering::SeqCst), 1);
    one.connect()
        .await
        .expect("connect")
        .execute("update note set text = 'changed'", &[])
        .await
        .expect("update");
    assert_eq!(query(one.url(), "select text from note").await, "changed");
    assert_eq!(query(two.url(), "select text from note").await, "prepared");
    assert_eq!(query(three.url(), "select text from note").await, "prepared");

    // Dropped with its value, although somebody is still connected.
    let connected = two.connect().await.expect("connect");
    let names = [one.name().to_owned(), two.name().to_owned()];
    drop(one);
    two.close().await.expect("close");
    let list = names.map(|name| format!("'{name}'")).join(",");
    let left = query(
        three.url(),
        &format!("select count(*)::text from pg_database where datname in ({list})"),
    )
    .await;
    assert_eq!(left, "0");
    drop(connected);
}

#[tokio::test]
async fn a_template_of_older_sources_is_dropped() {
    let label = "private_it_older";
    let old = Template::new(label, [uuid::Uuid::new_v4().to_string()]);
    let new = Template::new(label, [uuid::Uuid::new_v4().to_string()]);
    let neighbour = Template::new("private_it_older_not", ["neighbour"]);
    for template in [&neighbour, &old, &new] {
        TestDatabase::new(template, async |url| fill(&url).await)
            .await
            .expect("database");
    }
    let probe = TestDatabase::empty().await.expect("database");
    let there = async |template: &Template| {
        let sql = format!(
            "select count(*)::text from pg_database where datname = '{}'",
            template.name()
        );
        query(probe.url(), &sql).await == "1"
    };
    assert!(!there(&old).await);
    assert!(there(&new).await);
    assert!(there(&neighbour).await);
}

#[tokio::test]
async fn a_failing_preparation_is_told_and_can_be_tried_again() {
    let template = Template::new("private_it_failing", [uuid::Uuid::new_v4().to_string()]);
    let refusal = TestDatabase::new(&template, async |_| Err("the migration failed"))
        .await
        .expect_err("fails");
    assert!(refusal.why.contains("the migration failed"), "{refusal}");
    TestDatabase::new(&template, async |url| fill(&url).await)
        .await
        .expect("second try");
}

#[tokio::test]
async fn processes_that_share_a_given_server_do_not_meet() {
    let server = TestCluster::shared().await.expect("shared").url("postgres");
    let binary = std::env::current_exe().expect("this binary");
    let spawn = || {
        let mut command = owner(&binary, "test-database");
        command.env("TENURE_TEST_DATABASE_URL", &server);
        Owner::spawn(command)
    };
    let mut owners = [spawn(), spawn(), spawn()];
    let mut urls: Vec<String> = owners.iter_mut().map(Owner::url).collect();
    for url in &urls {
        assert_eq!(query(url, "select text from note").await, "prepared");
    }
    urls.sort();
    urls.dedup();
    assert_eq!(urls.len(), 3);
    owners.iter_mut().for_each(Owner::finish);
    let probe = TestDatabase::new(&notes(), async |url| fill(&url).await)
        .await
        .expect("the template they left");
    assert_eq!(query(probe.url(), "select text from note").await, "prepared");
}
