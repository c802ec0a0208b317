//! Trees, checkpoints and proofs: what was anchored verifies, and nothing else does.

use proptest::prelude::*;
use tenure_core::anchor::{
    Checkpoint, Fault, Finding, Hash, History, NO_PREVIOUS, Proof, check, leaf_hash, merkle_path, merkle_root,
    read_proof, root_of_path,
};
use tenure_core::evidence::{PublicKey, SecretKey};

const CHECKPOINTS: &str = include_str!("../../testdata/anchors/checkpoints.jsonl");
const HISTORY: &str = include_str!("../../testdata/anchors/history.jsonl");
const PROOF: &str = include_str!("../../testdata/anchors/proof.json");
const TREES: &str = include_str!("../../testdata/anchors/merkle.tsv");

/// The first key of RFC 8032, which signed the vectors.
pub(crate) fn key() -> PublicKey {
    PublicKey::parse("11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=").expect("a key")
}

fn hex(hash: &Hash) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn leaves(count: usize) -> Vec<Hash> {
    (0..count).map(|n| leaf_hash(format!("leaf {n}").as_bytes())).collect()
}

/// The history of the vectors, event by event.
fn story() -> (String, Vec<(String, String)>) {
    let mut lines = HISTORY
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    let head = lines.next().expect("a head");
    let events = lines.map(|line| {
        let body = line["body"].as_str().expect("a body").to_owned();
        let event: serde_json::Value = serde_json::from_str(&body).expect("JSON");
        (event["at"].as_str().expect("a time").to_owned(), body)
    });
    (
        head["execution_id"].as_str().expect("an id").to_owned(),
        events.collect(),
    )
}

fn history<'a>(id: &'a str, events: &'a [(String, String)], exported_at: &'a str) -> History<'a> {
    History {
        tenant: "default",
        execution_id: id,
        exported_at,
        is_older: false,
        events: events.iter().map(|(at, body)| (at.as_str(), body.as_str())).collect(),
    }
}

const LATER: &str = "2026-02-01T00:00:00Z";

fn vectors() -> Vec<Checkpoint> {
    CHECKPOINTS
        .lines()
        .map(|line| serde_json::from_str(line).expect("a checkpoint"))
        .collect()
}

fn file(checkpoints: &[Checkpoint]) -> String {
    checkpoints.iter().map(|one| one.line() + "\n").collect()
}

fn proof() -> Proof {
    read_proof(PROOF.as_bytes()).expect("a proof")
}

/// Signs a checkpoint anew.
fn resigned(mut checkpoint: Checkpoint, key: &SecretKey) -> Checkpoint {
    use base64::Engine;
    checkpoint.key_id = key.public_key().id();
    checkpoint.public_key = key.public_key().to_base64();
    let signature = key.sign(checkpoint.signed_text().as_bytes());
    checkpoint.signature = base64::prelude::BASE64_STANDARD.encode(signature);
    checkpoint
}

pub(crate) fn faults(findings: &[Finding]) -> Vec<(usize, Fault)> {
    findings.iter().map(|finding| (finding.line, finding.fault)).collect()
}

#[test]
fn roots_and_paths_are_those_that_python_worked_out() {
    for row in TREES.lines().skip(1) {
        let mut fields = row.split('\t');
        let mut next = || fields.next().expect("a field");
        let (count, place): (usize, i64) = (next().parse().expect("a count"), next().parse().expect("a place"));
        let (root, path) = (next(), next());
        let leaves = leaves(count);
        assert_eq!(hex(&merkle_root(&leaves)), root, "{count}");
        let Ok(place) = usize::try_from(place) else { continue };
        let found: Vec<String> = merkle_path(&leaves, place).iter().map(hex).collect();
        assert_eq!(found.join(" "), path, "{count} {place}");
    }
}

#[test]
fn the_vectors_verify_and_are_written_as_they_are_read() {
    assert_eq!(file(&vectors()), CHECKPOINTS);
    let chain = check(CHECKPOINTS.as_bytes(), &[key()]).expect("they verify");
    assert_eq!(chain.len(), 3);
    let (id, events) = story();
    let covered = chain
        .covered(&history(&id, &events, LATER), None)
        .expect("it is covered");
    assert_eq!((covered.checkpoint, covered.chain_length, covered.events), (2, 3, 3));
    assert_eq!((covered.agreeing, covered.range), (2, (1, 3)));
    assert_eq!(covered.event_at, "2026-01-05T10:00:03.000000Z");
}

#[test]
fn a_proof_covers_where_the_checkpoint_names_no_leaves() {
    let mut checkpoints = vectors();
    checkpoints.iter_mut().for_each(|one| one.heads = None);
    let chain = check(file(&checkpoints).as_bytes(), &[key()]).expect("they verify");
    let (id, events) = story();
    let history = history(&id, &events, LATER);
    let findings = chain.covered(&history, None).expect_err("nothing names it");
    assert_eq!(faults(&findings), [(0, Fault::NotAnchored)]);
    let covered = chain.covered(&history, Some(&proof())).expect("the proof leads there");
    assert_eq!((covered.checkpoint, covered.chain_length), (2, 3));

    let mut wrong = proof();
    wrong.path[0] = NO_PREVIOUS.to_owned();
    let findings = chain.covered(&history, Some(&wrong)).expect_err("another root");
    assert_eq!(faults(&findings), [(2, Fault::ProofWrong)]);
    for change in [
        |proof: &mut Proof| proof.place = 1,
        |proof: &mut Proof| proof.path.truncate(1),
        |proof: &mut Proof| proof.path.push(NO_PREVIOUS.to_owned()),
        |proof: &mut Proof| proof.path[0] = "not a hash".to_owned(),
        |proof: &mut Proof| proof.chain_length = 2,
        |proof: &mut Proof| proof.tenant = "acme".to_owned(),
        |proof: &mut Proof| proof.execution_id = "019c1d2e-0000-7000-9000-000000000002".to_owned(),
    ] {
        let mut wrong = proof();
        change(&mut wrong);
        assert!(chain.covered(&history, Some(&wrong)).is_err(), "{wrong:?}");
    }
    // The checkpoint within the proof is not believed: only one that lies outside is.
    let mut missing = proof();
    missing.checkpoint.number = 9;
    let findings = chain.covered(&history, Some(&missing)).expect_err("no such checkpoint");
    assert_eq!(faults(&findings), [(0, Fault::CheckpointMissing)]);
    assert!(read_proof(b"{}").is_err());
    assert!(read_proof(PROOF.replace("\"version\":1", "\"version\":2").as_bytes()).is_err());
}

#[test]
fn a_history_that_was_rewritten_contradicts_each_checkpoint_that_names_it() {
    let chain = check(CHECKPOINTS.as_bytes(), &[key()]).expect("they verify");
    let (id, mut events) = story();
    events[1].1 = events[1].1.replace("ada", "bob");
    let findings = chain
        .covered(&history(&id, &events, LATER), None)
        .expect_err("it was rewritten");
    // The first event is as it was, so the first checkpoint still agrees.
    assert_eq!(faults(&findings), [(2, Fault::AnchorDiffers)]);
    let anchored = vectors()[1].heads.as_ref().expect("heads")[2].chain_hash.clone();
    assert!(
        findings[0].what.contains("Checkpoint 2") && findings[0].what.contains(&anchored),
        "{findings:?}"
    );
    let findings = chain
        .covered(&history(&id, &events, LATER), Some(&proof()))
        .expect_err("the proof is of the other");
    assert_eq!(
        faults(&findings),
        [(2, Fault::AnchorDiffers), (2, Fault::AnchorDiffers)]
    );

    events[0].1 = events[0].1.replace("ada", "bob");
    let findings = chain
        .covered(&history(&id, &events, LATER), None)
        .expect_err("it was rewritten");
    assert_eq!(
        faults(&findings),
        [(1, Fault::AnchorDiffers), (2, Fault::AnchorDiffers)]
    );
}

/// Whoever rewrites an execution could let the service cover what they wrote: the checkpoint before still names the other.
#[test]
fn anchoring_the_rewritten_history_once_more_does_not_help() {
    let own = SecretKey::from_seed(&[7; 32]);
    let (id, mut events) = story();
    events[0].1 = events[0].1.replace("ada", "bob");
    let rewritten = history(&id, &events, LATER);
    let mut all: Vec<Checkpoint> = vectors();
    let mut again = all[1].clone();
    (again.number, again.previous) = (4, all[2].hash());
    let mut hash: [u8; 32] = sha256(format!("tenure/execution/{id}").as_bytes());
    for (_, body) in &events {
        hash = sha256(&[&hash[..], body.as_bytes()].concat());
    }
    let heads = again.heads.as_mut().expect("heads");
    heads[2].chain_hash = hex(&hash);
    again.root = hex(&merkle_root(
        &heads.iter().map(|head| head.leaf_hash()).collect::<Vec<_>>(),
    ));
    all.push(resigned(again, &own));
    let chain = check(file(&all).as_bytes(), &[key(), own.public_key()]).expect("each by itself is sound");
    let findings = chain.covered(&rewritten, None).expect_err("two histories");
    assert_eq!(
        faults(&findings),
        [(1, Fault::AnchorDiffers), (2, Fault::AnchorDiffers)]
    );
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    use sha2::Digest;
    sha2::Sha256::digest(bytes).into()
}

#[test]
fn an_earlier_export_may_have_fewer_events_and_a_later_one_may_not() {
    let chain = check(CHECKPOINTS.as_bytes(), &[key()]).expect("they verify");
    let (id, events) = story();
    let mut earlier = history(&id, &events[..1], "2026-01-05T10:00:01.5+00:00");
    let findings = chain.covered(&earlier, None).expect_err("the second covers more");
    assert_eq!(faults(&findings), [(2, Fault::OlderExport)]);
    earlier.is_older = true;
    let covered = chain.covered(&earlier, None).expect("the first checkpoint covers it");
    assert_eq!((covered.checkpoint, covered.chain_length, covered.events), (1, 1, 1));
    let findings = chain
        .covered(&history(&id, &events[..2], LATER), None)
        .expect_err("one is missing");
    assert_eq!(faults(&findings), [(2, Fault::EventsMissing)]);
    let none = Vec::new();
    let findings = chain
        .covered(&history("another", &none, LATER), None)
        .expect_err("nothing covers it");
    assert_eq!(faults(&findings), [(0, Fault::NotAnchored)]);
}

#[test]
fn a_checkpoint_that_was_changed_removed_moved_or_forged_is_found() {
    let all = vectors();
    let of =
        |checkpoints: &[Checkpoint], keys: &[PublicKey]| check(file(checkpoints).as_bytes(), keys).expect_err("wrong");
    let mut changed = all.clone();
    changed[1].root = NO_PREVIOUS.to_owned();
    // Its own signature, its leaves, and what follows it.
    assert_eq!(
        faults(&of(&changed, &[key()])),
        [(2, Fault::SignatureWrong), (3, Fault::ChainBroken)]
    );
    let mut leaf = all.clone();
    leaf[1].heads.as_mut().expect("heads")[0].chain_length += 1;
    assert_eq!(faults(&of(&leaf, &[key()])), [(2, Fault::RootWrong)]);
    let missing = [all[0].clone(), all[2].clone()];
    assert_eq!(faults(&of(&missing, &[key()])), [(2, Fault::ChainBroken)]);
    let moved = [all[1].clone(), all[0].clone(), all[2].clone()];
    assert_eq!(
        faults(&of(&moved, &[key()])),
        [(2, Fault::ChainBroken), (3, Fault::ChainBroken)]
    );
    let own = SecretKey::from_seed(&[7; 32]);
    let mut forged = all.clone();
    forged[2] = resigned(forged[2].clone(), &own);
    assert_eq!(faults(&of(&forged, &[key()])), [(3, Fault::OtherKey)]);
    let mut named = forged[2].clone();
    named.key_id = key().id();
    assert_eq!(
        faults(&of(&[all[0].clone(), all[1].clone(), named], &[key()])),
        [(3, Fault::SignatureWrong)]
    );
    let mut elsewhere = forged[2].clone();
    elsewhere.installation = "another".to_owned();
    let elsewhere = resigned(elsewhere, &own);
    let found = of(&[all[0].clone(), all[1].clone(), elsewhere], &[key(), own.public_key()]);
    assert_eq!(faults(&found), [(3, Fault::OtherInstallation)]);
    let mut newer = all[0].clone();
    newer.version = 2;
    assert_eq!(faults(&of(&[newer], &[key()])), [(1, Fault::VersionUnknown)]);
    let cut = check(&CHECKPOINTS.as_bytes()[..CHECKPOINTS.len() - 1], &[key()]).expect_err("cut off");
    assert_eq!(faults(&cut), [(3, Fault::Truncated)]);
    let other = check(b"a shopping list\n", &[key()]).expect_err("no checkpoints");
    assert_eq!(faults(&other), [(1, Fault::Malformed)]);
    let mut last = all[0].clone();
    last.number = u64::MAX;
    let last = [resigned(last, &own), all[1].clone()];
    let found = of(&last, &[key(), own.public_key()]);
    assert_eq!(faults(&found), [(2, Fault::ChainBroken)], "there is no number after it");
}

#[test]
fn checkpoints_may_begin_anywhere_come_twice_and_come_by_webhook() {
    let all = vectors();
    let keys = [key()];
    assert_eq!(check(file(&all[1..]).as_bytes(), &keys).expect("a part").len(), 2);
    let twice = [all[0].clone(), all[0].clone(), all[1].clone()];
    assert_eq!(check(file(&twice).as_bytes(), &keys).expect("at least once").len(), 2);
    let late = [
        all[0].clone(),
        all[1].clone(),
        all[0].clone(),
        all[2].clone(),
        all[1].clone(),
    ];
    assert_eq!(check(file(&late).as_bytes(), &keys).expect("late").len(), 3);
    let own = SecretKey::from_seed(&[7; 32]);
    let other = [all[0].clone(), all[1].clone(), resigned(all[0].clone(), &own)];
    let findings = check(file(&other).as_bytes(), &[key(), own.public_key()]).expect_err("another first");
    assert_eq!(faults(&findings), [(3, Fault::ChainBroken)]);
    let bodies: String = all
        .iter()
        .map(|one| {
            let event = serde_json::json!({"cursor": "1.2.3", "actor": "server", "subject": "1", "data": one});
            serde_json::json!({"type": "evidence.anchored", "timestamp": one.at, "data": event}).to_string() + "\n"
        })
        .collect();
    assert_eq!(check(bodies.as_bytes(), &keys).expect("webhooks").len(), 3);
    let empty = check(b"", &keys).expect("nothing");
    assert!(empty.is_empty());
    let findings = empty.covered(&history("any", &[], LATER), None).expect_err("nothing");
    assert_eq!(findings[0].what, "The file has no checkpoint.");
}

/// The heads of a webhook are those of one tenant: they contradict, and they do not prove.
#[test]
fn leaves_of_one_tenant_alone_contradict_but_do_not_cover() {
    let mut checkpoints = vectors();
    for one in &mut checkpoints {
        one.heads
            .as_mut()
            .expect("heads")
            .retain(|head| head.tenant == "default");
    }
    let chain = check(file(&checkpoints).as_bytes(), &[key()]).expect("they verify");
    let (id, mut events) = story();
    let findings = chain
        .covered(&history(&id, &events, LATER), None)
        .expect_err("unproved");
    assert_eq!(faults(&findings), [(0, Fault::NotAnchored)]);
    chain
        .covered(&history(&id, &events, LATER), Some(&proof()))
        .expect("proved");
    events[2].1 = events[2].1.replace("succeeded", "failed");
    let findings = chain
        .covered(&history(&id, &events, LATER), None)
        .expect_err("a contradiction");
    assert_eq!(faults(&findings), [(2, Fault::AnchorDiffers)]);
}

/// Only leaves that lead to the root are signed; a list of others, or of some, must not pass for all of them.
#[test]
fn leaves_that_were_added_or_left_out_are_noticed() {
    let all = vectors();
    let (id, events) = story();
    let mut more = all.clone();
    let copy = more[1].heads.as_ref().expect("heads")[0].clone();
    more[1].heads.as_mut().expect("heads").push(copy);
    let findings = check(file(&more).as_bytes(), &[key()]).expect_err("five of four leaves");
    assert_eq!(faults(&findings), [(2, Fault::RootWrong)]);

    let mut fewer = all.clone();
    fewer[1].heads.as_mut().expect("heads").remove(2);
    let chain = check(file(&fewer).as_bytes(), &[key()]).expect("some are named");
    let covered = chain
        .covered(&history(&id, &events, LATER), None)
        .expect("by the first");
    assert_eq!((covered.checkpoint, covered.incomplete), (1, vec![2]));

    // A copy without its leaves does not hide the one with them.
    let mut bare = all[1].clone();
    bare.heads = None;
    for twice in [[bare.clone(), all[1].clone()], [all[1].clone(), bare]] {
        let lines = [&all[..1], &twice, &all[2..]].concat();
        let chain = check(file(&lines).as_bytes(), &[key()]).expect("they verify");
        let covered = chain
            .covered(&history(&id, &events, LATER), None)
            .expect("by the second");
        assert_eq!((covered.checkpoint, covered.incomplete), (2, Vec::new()));
        let cut = chain
            .covered(&history(&id, &events[..2], LATER), None)
            .expect_err("one is missing");
        assert_eq!(faults(&cut)[0].1, Fault::EventsMissing);
    }
}

/// What two tenants received names all leaves together, in whatever order it came.
#[test]
fn leaves_of_two_deliveries_are_put_together() {
    let own = SecretKey::from_seed(&[7; 32]);
    let mut whole = vectors().remove(1);
    let heads = whole.heads.as_mut().expect("heads");
    heads.sort_by(|a, b| a.execution_id.cmp(&b.execution_id));
    let hashes: Vec<Hash> = heads.iter().map(|head| head.leaf_hash()).collect();
    whole.root = hex(&merkle_root(&hashes));
    let whole = resigned(whole, &own);
    let part = |tenant: &str| {
        let mut part = whole.clone();
        part.heads.as_mut().expect("heads").retain(|head| head.tenant == tenant);
        part
    };
    let (id, events) = story();
    let lines = [part("default"), part("acme"), part("default")];
    let chain = check(file(&lines).as_bytes(), &[own.public_key()]).expect("they verify");
    let covered = chain
        .covered(&history(&id, &events, LATER), None)
        .expect("it is covered");
    assert_eq!((covered.checkpoint, covered.incomplete), (2, Vec::new()));
    let mut wrong = part("acme");
    wrong.heads.as_mut().expect("heads")[0].chain_length += 1;
    let findings = check(file(&[part("default"), wrong]).as_bytes(), &[own.public_key()]).expect_err("not of the tree");
    assert_eq!(faults(&findings), [(2, Fault::RootWrong)]);
}

proptest! {
    #[test]
    fn the_proof_of_every_leaf_verifies_and_any_change_fails(
        count in 1_usize..200,
        place in any::<prop::sample::Index>(),
        other in any::<prop::sample::Index>(),
        bit in 0_usize..256,
    ) {
        let leaves = leaves(count);
        let (root, place) = (merkle_root(&leaves), place.index(count));
        let path = merkle_path(&leaves, place);
        let lead = |leaf: Hash, place: usize, count: usize, path: &[Hash]| {
            root_of_path(leaf, place as u64, count as u64, path) == Some(root)
        };
        prop_assert!(lead(leaves[place], place, count, &path));
        let flipped = |mut hash: Hash| { hash[bit / 8] ^= 1 << (bit % 8); hash };
        prop_assert!(!lead(flipped(leaves[place]), place, count, &path), "another leaf");
        let wrong = other.index(count);
        prop_assert!(wrong == place || !lead(leaves[place], wrong, count, &path), "another place");
        prop_assert!(!lead(leaves[place], place, place, &path), "a smaller tree");
        let longer = [&path[..], &[root]].concat();
        prop_assert!(!lead(leaves[place], place, count, &longer), "a longer path");
        if !path.is_empty() {
            let mut changed = path.clone();
            let at = other.index(changed.len());
            changed[at] = flipped(changed[at]);
            prop_assert!(!lead(leaves[place], place, count, &changed), "another path");
            prop_assert!(!lead(leaves[place], place, count, &path[1..]), "a shorter path");
        }
    }

    #[test]
    fn a_leaf_more_less_or_changed_is_another_root(count in 1_usize..100, at in any::<prop::sample::Index>()) {
        let all = leaves(count + 1);
        let root = merkle_root(&all[..count]);
        prop_assert_ne!(root, merkle_root(&all));
        prop_assert_ne!(root, merkle_root(&all[..count - 1]));
        let mut changed = all[..count].to_vec();
        changed[at.index(count)] = leaf_hash(b"another");
        prop_assert_ne!(root, merkle_root(&changed));
    }
}
