//! Jobs that gave up.

use crate::workbench::{Workbench, text_of};

const NOBODY: &str = "01890000-0000-7000-8000-000000000000";

fn give_up(bench: &Workbench) -> (String, String) {
    let job = text_of(
        &bench.json(&["job", "enqueue", "k", "--payload", r#"{"order": 7}"#]),
        "job_id",
    );
    let (_, token) = bench.claim("k");
    bench.json(&[
        "job",
        "fail",
        &job,
        &token,
        "--message",
        "no such order",
        "--permanent",
        "--code",
        "gone",
    ]);
    let letters = bench.lines(&["dead-letter", "list", "--kind", "k", "--status", "pending"]);
    (job, text_of(&letters[0], "dead_letter_id"))
}

#[tokio::test]
async fn a_dead_letter_is_triaged_previewed_and_replayed_once() {
    let bench = Workbench::open().await;
    let (job, letter) = give_up(&bench);
    let shown = bench.json(&["dead-letter", "show", &letter]);
    assert_eq!(shown["job_id"], job.as_str());
    assert_eq!(shown["final_error"], "no such order");
    assert_eq!(shown["payload"]["order"], 7);

    bench.refused(&["dead-letter", "replay", &letter], "replay_needs_triage");
    let triaged = bench.json(&[
        "dead-letter",
        "triage",
        &letter,
        "manual_replay",
        "--note",
        "order is back",
    ]);
    assert_eq!(triaged["triage_status"], "manual_replay");
    let preview = bench.json(&["dead-letter", "replay", &letter, "--preview"]);
    assert_eq!(preview["job"]["kind"], "k");
    assert_eq!(bench.lines(&["job", "list", "--state", "queued"]).len(), 0);

    let replayed = bench.json(&["dead-letter", "replay", &letter]);
    assert_eq!(replayed["replay_of"], job.as_str());
    let made = text_of(&replayed, "job_id");
    assert_eq!(bench.json(&["job", "show", &made])["payload"]["order"], 7);
    bench.refused(&["dead-letter", "replay", &letter], "already_replayed");
}

#[tokio::test]
async fn dead_letters_are_listed_by_status_and_fingerprint() {
    let bench = Workbench::open().await;
    let (_, letter) = give_up(&bench);
    let shown = bench.json(&["dead-letter", "show", &letter]);
    let fingerprint = text_of(&shown, "fingerprint");
    assert_eq!(
        bench
            .lines(&["dead-letter", "list", "--fingerprint", &fingerprint])
            .len(),
        1
    );
    assert_eq!(bench.lines(&["dead-letter", "list", "--status", "closed"]).len(), 0);
    let people = bench.text(&["dead-letter", "list"]);
    assert!(people.contains(&letter) && people.contains("no such order"), "{people}");
}

#[tokio::test]
async fn a_dead_letter_that_never_was_and_a_status_that_is_none_are_refused() {
    let bench = Workbench::open().await;
    bench.refused(&["dead-letter", "show", NOBODY], "dead_letter_not_found");
    bench.refused(&["dead-letter", "triage", NOBODY, "closed"], "dead_letter_not_found");
    bench.refused(&["dead-letter", "replay", NOBODY], "dead_letter_not_found");
    bench.refused(&["dead-letter", "replay", NOBODY, "--preview"], "dead_letter_not_found");
    bench.refused(&["dead-letter", "list", "--status", "open"], "value_unknown");
    let (_, letter) = give_up(&bench);
    bench.refused(&["dead-letter", "triage", &letter, "ignored"], "value_unknown");
}

#[tokio::test]
async fn a_page_of_dead_letters_says_how_the_next_is_asked_for() {
    let bench = Workbench::open().await;
    let (_, older) = give_up(&bench);
    give_up(&bench);
    let answer = bench.run(["dead-letter", "list", "--limit", "1"]);
    let (_, more) = answer.err.trim().split_once("There may be more: ").expect("a hint");
    let more: Vec<&str> = ["dead-letter", "list"].into_iter().chain(more.split(' ')).collect();
    let rest = bench.lines(&more);
    assert_eq!(rest.len(), 1);
    assert_eq!(text_of(&rest[0], "dead_letter_id"), older);
}
