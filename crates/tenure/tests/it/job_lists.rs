//! Finding jobs by what is known of them, narrowing a claim by priority, and asking which of many have ended.

use uuid::Uuid;

use crate::fixture::{Db, claim, claim_with, enqueue, enqueue_with, get, raised, rows, try_rows, verb};

async fn listed(c: &tokio_postgres::Client, arguments: &str) -> Vec<Uuid> {
    let sql = format!("select job_id from tenure.job_list({arguments})");
    rows(c, &sql, &[]).await.iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn jobs_are_found_by_when_they_were_enqueued_and_how_they_failed() {
    let db = Db::open().await;
    let c = db.client().await;
    let early = enqueue(&c, "a").await;
    let between: String = get(&c, "select clock_timestamp()::text", &[]).await;
    db.advance("3 days").await;
    let late = enqueue(&c, "a").await;
    let after = format!("p_created_after => '{between}'");
    let before = format!("p_created_before => '{between}'");
    assert_eq!(listed(&c, &after).await, [late]);
    assert_eq!(listed(&c, &before).await, [early]);
    assert_eq!(listed(&c, &format!("'{{queued}}', {after}")).await, [late]);
    assert_eq!(listed(&c, &format!("'{{queued}}', {before}")).await, [early]);
    assert!(listed(&c, &format!("{after}, {before}")).await.is_empty());
    for absurd in [
        "p_created_after => '-infinity', p_created_before => 'infinity'",
        "p_created_after => '4713-01-01 BC', p_created_before => '290000-01-01'",
    ] {
        assert_eq!(listed(&c, absurd).await, [late, early], "{absurd}");
    }

    let first = claim(&c, "w").await;
    verb(&c, "job_fail", &first, ", 'no disk', p_code => 'disk_full'").await;
    let second = claim(&c, "w").await;
    verb(&c, "job_fail", &second, ", 'no net', 'permanent', 'unreachable'").await;
    assert_eq!(listed(&c, "p_error_code => 'disk_full'").await, [first.job_id]);
    assert_eq!(
        listed(&c, "'{retry_waiting}', p_error_code => 'disk_full'").await,
        [first.job_id]
    );
    assert_eq!(
        listed(&c, "'{dead_letter}', p_error_code => 'unreachable'").await,
        [second.job_id]
    );
    assert!(
        listed(&c, "'{dead_letter}', p_error_code => 'disk_full'")
            .await
            .is_empty()
    );
}

/// A job that is made while somebody turns pages is newer than the first page, so it moves no other.
#[tokio::test]
async fn pages_never_skip_nor_repeat_a_job_whatever_is_enqueued_meanwhile() {
    let db = Db::open().await;
    let c = db.client().await;
    let mut there = Vec::new();
    for n in 0..25 {
        there.push(enqueue(&c, if n % 2 == 0 { "even" } else { "odd" }).await);
    }
    for filter in ["", "p_kind => 'even', ", "p_state => '{queued,in_progress}', "] {
        let (mut seen, mut before) = (Vec::new(), "null".to_owned());
        loop {
            let page = listed(&c, &format!("{filter}p_limit => 4, p_before => {before}")).await;
            enqueue(&c, "even").await;
            let Some(last) = page.last() else { break };
            before = format!("'{last}'");
            seen.extend(page);
        }
        let mut sorted = seen.clone();
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        sorted.dedup();
        assert_eq!(seen, sorted, "{filter} newest first, none twice");
        let wanted = there.iter().step_by(if filter.contains("even") { 2 } else { 1 });
        let missing = wanted.filter(|job| !seen.contains(job));
        assert_eq!(missing.count(), 0, "{filter} none left out");
    }
}

#[tokio::test]
async fn a_claim_takes_nothing_below_its_lowest_priority() {
    let db = Db::open().await;
    let c = db.client().await;
    let mut jobs = Vec::new();
    for (kind, priority) in [("a", 5), ("a", 0), ("b", -3), ("b", 7), ("a", 5), ("c", -9)] {
        jobs.push(
            enqueue_with(
                &c,
                kind,
                &format!(", p_priority => '{priority}', p_affinity_key => 'k'"),
            )
            .await,
        );
    }
    let none = claim_with(&c, "w", ", p_limit => 10, p_priority_min => 8").await;
    assert!(none.is_empty());
    let ids = |held: &[crate::fixture::Claimed]| {
        let mut ids: Vec<Uuid> = held.iter().map(|job| job.job_id).collect();
        ids.sort_unstable();
        ids
    };
    let high = claim_with(
        &c,
        "w",
        ", p_limit => 10, p_priority_min => 5, p_affinity_key => 'k', p_kinds => array['a']",
    )
    .await;
    assert_eq!(ids(&high), [jobs[0], jobs[4]]);
    let high = claim_with(&c, "w", ", p_limit => 10, p_priority_min => 0").await;
    assert_eq!(ids(&high), [jobs[1], jobs[3]]);
    let rest = claim_with(&c, "w", ", p_limit => 10, p_priority_min => -32768").await;
    assert_eq!(ids(&rest), [jobs[2], jobs[5]]);
    for absurd in ["40000", "-40000", "2147483647", "-2147483648"] {
        let sql = format!("select * from tenure.job_claim_many('w', p_priority_min => {absurd})");
        raised(try_rows(&c, &sql, &[]).await, "number_out_of_range");
    }
}

#[tokio::test]
async fn of_many_jobs_those_that_have_ended_are_told_and_no_others() {
    let db = Db::open().await;
    let c = db.client().await;
    let (done, waiting) = (enqueue(&c, "a").await, enqueue(&c, "b").await);
    let held = claim_with(&c, "w", ", p_kinds => array['a']").await.remove(0);
    let ended = "select tenure.job_ended(array[$1, $2, gen_random_uuid()]::uuid[])";
    assert!(get::<Vec<Uuid>>(&c, ended, &[&done, &waiting]).await.is_empty());
    verb(&c, "job_complete", &held, "").await;
    assert_eq!(get::<Vec<Uuid>>(&c, ended, &[&done, &waiting]).await, [done]);
    let many = "select tenure.job_ended(array_fill(gen_random_uuid(), array[1001]))";
    raised(try_rows(&c, many, &[]).await, "batch_too_large");
}
