//! A plan that runs to its end while workers and servers are killed at random.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use tenure::Pool;
use tenure::worker::{Context, Worker};
use tokio_postgres::Client;

use crate::evidence::written;
use crate::executions_ledger::{check_ledger, effect, look, make_world};
use crate::workbench::{Answer, Workbench, tenure, text_of};

/// Tells this test binary, run again, to be a worker on the database with this URL, under this name.
const WORKER: &str = "TENURE_TEST_STEP_WORKER";
const NAME: &str = "TENURE_TEST_STEP_WORKER_NAME";
/// Another course of events than the usual.
const SEED: &str = "TENURE_TEST_SEED";
const SEED_USUAL: u64 = 6;

const WORKERS: usize = 3;
const SERVERS: usize = 2;
const KILLS: usize = 24;
/// One process is killed whenever so many more steps are over.
const STEPS_PER_KILL: usize = 7;
/// What a crash costs, and no step takes longer.
const LEASE: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(170);

const WAVES: usize = 4;
const TARGETS: usize = 20;
const KIND: &str = "step.work";

/// A worker or a server in a process of its own; killed with this value.
struct Process {
    child: Child,
    name: String,
}

impl Process {
    /// A server. It is not waited for: on a busy machine the plan would be over before enough processes were killed.
    fn serve(bench: &Workbench) -> Process {
        let options = [
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--log",
            "warn",
            "--connections",
            "5",
        ];
        let mut command = bench.command(options);
        let child = command.stdout(Stdio::null()).spawn().expect("run a server");
        Process {
            child,
            name: "a server".to_owned(),
        }
    }

    fn start(url: &str, name: String) -> Process {
        let mut command = Command::new(std::env::current_exe().expect("this binary"));
        command.args([
            "--exact",
            "executions_killed::a_step_worker_works_until_its_parent_is_gone",
            "--nocapture",
        ]);
        command.env(WORKER, url).env(NAME, &name);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
        let child = child.expect("run the test binary again");
        Process { child, name }
    }
}

impl Drop for Process {
    /// SIGKILL: it cannot say another word.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Does nothing in an ordinary run; as another process of this binary it is a worker that is killed.
#[tokio::test]
async fn a_step_worker_works_until_its_parent_is_gone() {
    let Ok(url) = std::env::var(WORKER) else { return };
    let pool = Pool::new(&url, &Default::default()).expect("a pool");
    let own = pool.clone();
    let worker = Worker::builder(pool)
        .name(std::env::var(NAME).expect("a name"))
        .concurrency(6)
        .lease(LEASE)
        .poll_interval(Duration::from_millis(50))
        .drain(Duration::ZERO)
        .grace(Duration::ZERO)
        .handler(KIND, move |payload: Value, context: Context| {
            let pool = own.clone();
            let lasts = Duration::from_millis(payload["ms"].as_u64().unwrap_or_default());
            async move { effect(&pool, &context, lasts).await }
        });
    let parent_is_gone = async {
        let _ = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new())).await;
    };
    let worker = worker.build().expect("a worker");
    worker.run_until(parent_is_gone).await.expect("a report");
}

/// Two hundred steps: waves of changes that come once, changes that may come again at the same targets, and looks; between
/// the waves a step that needs them all.
fn plan(random: &mut StdRng) -> (Value, Vec<String>) {
    let (mut steps, mut once) = (Vec::new(), Vec::new());
    let mut add = |id: &str, more: Value, needs: &[String], random: &mut StdRng| {
        let mut step = json!({"id": id, "action": "work", "kind": KIND, "target_type": "host", "needs": needs,
                              "payload": {"ms": random.random_range(20..300)}});
        for (field, value) in more.as_object().expect("fields") {
            step[field] = value.clone();
        }
        steps.push(step);
    };
    let mut before = vec!["begin".to_owned()];
    let look = json!({"action_class": "read", "target_ref": "all", "attempts_max": 20});
    add("begin", look.clone(), &[], random);
    for wave in 0..WAVES {
        let mut here = Vec::new();
        for at in 0..TARGETS {
            let id = format!("change {wave}.{at}");
            let change = json!({"action_class": "modify", "target_ref": format!("host-{at}")});
            add(&id, change, &before, random);
            once.push(id.clone());
            here.push(id);
        }
        for at in 0..16 {
            let id = format!("set {wave}.{at}");
            let target = format!("host-{}", random.random_range(0..TARGETS));
            let set =
                json!({"action_class": "modify", "effects": "idempotent", "attempts_max": 20, "target_ref": target});
            add(&id, set, &before, random);
            here.push(id);
        }
        for at in 0..12 {
            let id = format!("look {wave}.{at}");
            add(&id, look.clone(), &before, random);
            here.push(id);
        }
        let id = format!("gather {wave}");
        add(&id, look.clone(), &here, random);
        before = vec![id];
    }
    for id in ["report", "tell", "end"] {
        add(id, look.clone(), &before, random);
        before = vec![id.to_owned()];
    }
    assert_eq!(steps.len(), 200);
    let plan = json!({"purpose": "survive", "sla_class": "long", "on_step_failure": "stop", "steps": steps});
    (plan, once)
}

/// What runs, what was killed, and who decides about what nobody knows.
struct Scene {
    // In this order: who works on the database goes before it.
    workers: Vec<Process>,
    servers: Vec<Process>,
    client: Client,
    bench: Workbench,
    random: StdRng,
    killed: Vec<String>,
    verdicts: Vec<String>,
}

impl Scene {
    /// Kills a server or a worker at random, preferably one in the middle of what may not come twice, and starts another in
    /// its place.
    async fn kill_one(&mut self) {
        if self.random.random_ratio(1, 3) {
            let at = self.random.random_range(0..self.servers.len());
            self.killed.push(self.servers.remove(at).name.clone());
            self.servers.push(Process::serve(&self.bench));
            return;
        }
        let (at, step) = match self.busy("").await {
            Some((at, step)) => (at, step),
            None => (self.random.random_range(0..WORKERS), "nothing".to_owned()),
        };
        self.kill_worker(at, &step);
    }

    /// Kills a worker in the middle of a change, which may not come twice, if there is one.
    async fn kill_in_a_change(&mut self) {
        if let Some((at, step)) = self.busy("change").await {
            self.kill_worker(at, &step);
        }
    }

    fn kill_worker(&mut self, at: usize, step: &str) {
        let name = self.workers.remove(at).name.clone();
        self.killed.push(format!("{name} in {step}"));
        let name = format!("heir-{}", self.killed.len());
        self.workers.push(Process::start(self.bench.database.url(), name));
    }

    /// A worker in the middle of a step whose id begins so, and the step; changes first.
    async fn busy(&self, begins: &str) -> Option<(usize, String)> {
        let busy = "select b.worker, b.step from world.lines b
                     where b.what = 'began' and b.worker = any ($1) and starts_with(b.step, $2)
                       and not exists (select from world.lines e
                                        where e.job_id = b.job_id and e.run = b.run and e.what <> 'began')
                     order by starts_with(b.step, 'change') desc, b.line limit 1";
        let names: Vec<&str> = self.workers.iter().map(|worker| worker.name.as_str()).collect();
        let row = self.client.query_opt(busy, &[&names, &begins]).await;
        let row = row.expect("who is busy")?;
        let (name, step): (String, String) = (row.get(0), row.get(1));
        let at = self.workers.iter().position(|worker| worker.name == name)?;
        Some((at, step))
    }

    /// As an operator does: what has ended succeeded; what began without an end is finished by hand, for it may not be done
    /// again; and what never began is done once more.
    async fn decide(&mut self, execution: &str) {
        let unknown = "select s.step_id, s.target_ref, s.fence from tenure.step_rows s where s.state = 'unknown' order by s.step_number";
        for row in self.client.query(unknown, &[]).await.expect("what is unknown") {
            let (step, target, fence): (String, String, i64) = (row.get(0), row.get(1), row.get(2));
            let seen = look(&self.client, &step, &target, fence).await;
            let verdict = if seen == "never" { "retry" } else { "succeeded" };
            let reason = format!("the ledger says: {seen}");
            let options = [
                "--as",
                "operator",
                "execution",
                "resolve",
                execution,
                &step,
                "--verdict",
                verdict,
                "--reason",
                &reason,
            ];
            let said = self.bench.run(options);
            // Somebody else is busy with it, or was killed while it was: the next look asks again.
            assert!(
                said.exit == 0 || said.err.starts_with("busy_try_again"),
                "{step}: {said:?}"
            );
            self.verdicts.push(format!("{step}: {seen}"));
        }
    }

    /// Each with its state and the runs of its job: why an execution ended early.
    async fn steps_that_did_not_succeed(&self) -> Vec<String> {
        let sql =
            "select format('%s: %s, %s', s.step_id, s.state, (select jsonb_agg(to_jsonb(r)) from tenure.attempts r
                                                                      where r.job_id = s.job_id))
                     from tenure.step_rows s
                    where s.state not in ('succeeded', 'skipped', 'cancelled')";
        let rows = self.client.query(sql, &[]).await.expect("steps");
        rows.iter().map(|row| row.get(0)).collect()
    }

    async fn count(&self, sql: &str) -> i64 {
        self.client.query_one(sql, &[]).await.expect(sql).get(0)
    }
}

/// Steps as short as the lease, so that a crash is soon seen.
fn prepare(bench: &Workbench, directory: &std::path::Path) {
    for class in ["read", "modify"] {
        let limits = ["--step", "2s", "--lease", "2s", "--renewals-max", "100"];
        let set = ["timeout-policy", "set", "long", class];
        bench.run(set.iter().chain(&limits)).ok();
    }
    // Other eyes than those of the requester give the verdicts.
    bench.run(["principal", "create", "operator", "--kind", "human"]).ok();
    let rule = json!({"position": 1, "target_types": ["host"], "level": 0, "note": "a sandbox"}).to_string();
    let rule = written(directory, "rule.json", rule);
    bench.run(["approval", "rule", "set", "sandbox", &rule]).ok();
    bench.run(["kind", "set", KIND, "--backoff-base-seconds", "1"]).ok();
}

#[tokio::test]
async fn a_plan_of_two_hundred_steps_survives_the_death_of_workers_and_servers() {
    let seed = std::env::var(SEED).map_or(SEED_USUAL, |seed| seed.parse().expect("a number"));
    eprintln!("{SEED}={seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let directory = tempfile::tempdir().expect("a directory");
    let bench = Workbench::open().await;
    prepare(&bench, directory.path());
    let client = bench.database.connect().await.expect("connect");
    make_world(&client).await;
    let (plan, once) = plan(&mut random);
    let plan = written(directory.path(), "plan.json", plan.to_string());
    let mut scene = Scene {
        workers: (0..WORKERS)
            .map(|n| Process::start(bench.database.url(), format!("first-{n}")))
            .collect(),
        servers: (0..SERVERS).map(|_| Process::serve(&bench)).collect(),
        bench,
        client,
        random,
        killed: Vec::new(),
        verdicts: Vec::new(),
    };
    let execution = text_of(&scene.bench.json(&["execution", "submit", &plan]), "execution_id");

    let began = Instant::now();
    loop {
        scene.decide(&execution).await;
        let over = scene
            .count("select count(*) from tenure.step_rows where ended_at is not null")
            .await;
        while scene.killed.len() < KILLS && over as usize >= (scene.killed.len() + 1) * STEPS_PER_KILL {
            scene.kill_one().await;
        }
        // Changes run first in each wave: often none is in the middle at such a moment.
        if scene.killed.len() < KILLS && !scene.killed.iter().any(|it| it.contains(" in change")) {
            scene.kill_in_a_change().await;
        }
        if scene
            .count("select count(*) from tenure.execution_rows where ended_at is null")
            .await
            == 0
        {
            break;
        }
        let told = (&scene.killed, &scene.verdicts);
        assert!(began.elapsed() < PATIENCE, "{over} steps are over; {told:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    eprintln!(
        "{:?}: killed {:?}; decided {:?}",
        began.elapsed(),
        scene.killed,
        scene.verdicts
    );
    let failed = scene.steps_that_did_not_succeed().await;
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(scene.killed.len() >= 20, "{:?}", scene.killed);

    check_ledger(&scene.client, &once).await;
    let shown = scene.bench.json(&["execution", "show", &execution]);
    assert_eq!(shown["state"], "succeeded", "{shown}");
    assert_eq!(shown["counts"]["succeeded"], 200, "{shown}");
    for left in [
        "select count(*) from tenure.lock_list()",
        "select count(*) from tenure.follow_ups",
        "select count(*) from tenure.step_rows where state <> 'succeeded'",
        "select count(*) from tenure.execution_rows where (steps_open, steps_succeeded, steps_unknown) is distinct from (0, 200, 0)",
        // The work of whoever was killed is not left lying anywhere.
        "select count(*) from tenure.active",
    ] {
        assert_eq!(scene.count(left).await, 0, "{left}");
    }
    assert!(
        !scene.verdicts.is_empty(),
        "somebody died in the middle of what may not come twice"
    );
    let evidence = directory.path().join("evidence");
    let evidence = evidence.to_str().expect("a path");
    scene
        .bench
        .run(["execution", "export", &execution, "--out", evidence])
        .ok();
    let key = text_of(&scene.bench.lines(&["evidence", "key", "list"])[0], "public_key");
    let verify = ["evidence", "verify", evidence, "--public-key", &key, "--json"];
    let verified: Value = serde_json::from_str(&Answer::of(tenure().args(verify)).ok()).expect("JSON");
    assert_eq!(verified["state"], "succeeded", "{verified}");
}
