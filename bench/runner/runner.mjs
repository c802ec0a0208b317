// The phases of the benchmark, the same for every peer on Node. See bench/README.md for the protocol, and src/phases.rs
// for the same in Rust.
//
// A peer is { system, unfinished, settings(), open(options), batch(n), enqueueMany(batch), enqueueOne(), work() }.

import { readFileSync } from "node:fs";
import pg from "pg";

const LAST_POLL_MS = 1;
const START_SECONDS_MAX = 30;
const WARM_UP = 5;

const beside = (name) => readFileSync(new URL(name, import.meta.url), "utf8");
export const payload = JSON.parse(beside("payload.json"));
const counters = beside("counters.sql");

let count = 0;
let first;
let target = Infinity;
let reached = () => {};
let tellStart;

/** Called by the handler as its whole work. */
export function handled(jobs = 1) {
  const now = performance.now();
  first ??= now;
  tellStart?.(now);
  count += jobs;
  if (count >= target) reached();
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function readOptions(words) {
  const options = { phase: words[0], jobs: 0, batch: 1000, seconds: 60, segments: 6, backlog: 2000 };
  for (let at = 1; at < words.length; at += 2) {
    const name = words[at].slice(2);
    options[name] = name === "url" ? words[at + 1] : Number(words[at + 1]);
  }
  return options;
}

async function enqueue(peer, { jobs, batch }) {
  const batches = [];
  for (let left = jobs; left > 0; left -= batch) batches.push(peer.batch(Math.min(left, batch)));
  const started = performance.now();
  for (const part of batches) await peer.enqueueMany(part);
  return { jobs, batch, seconds: (performance.now() - started) / 1000 };
}

async function oneByOne(peer, { jobs }) {
  const started = performance.now();
  for (let at = 0; at < jobs; at += 1) await peer.enqueueOne();
  return { jobs, seconds: (performance.now() - started) / 1000 };
}

function start(peer) {
  Promise.resolve(peer.work()).catch((error) => {
    console.error("the worker ended by itself:", error);
    process.exit(1);
  });
}

async function drain(peer, { jobs, url }) {
  const watch = new pg.Client({ connectionString: url });
  await watch.connect();
  const serverCounters = async () => (await watch.query(counters)).rows[0];
  const unfinished = async () => (await watch.query(`select (${peer.unfinished}) as left`)).rows[0].left;
  target = jobs;
  const all = new Promise((resolve) => (reached = resolve));
  const before = await serverCounters();
  const started = performance.now();
  start(peer);
  await all;
  while (await unfinished()) await sleep(LAST_POLL_MS);
  const seconds = (performance.now() - started) / 1000;
  const after = await serverCounters();
  return {
    jobs,
    seconds,
    first_start_seconds: (first - started) / 1000,
    handled: count,
    wal_bytes: after.wal_bytes - before.wal_bytes,
    transactions: after.transactions - before.transactions,
  };
}

async function latency(peer, { jobs }) {
  start(peer);
  await sleep(1000);
  const [fromCommit, fromCall] = [[], []];
  for (let round = 0; round < WARM_UP + jobs; round += 1) {
    const begun = new Promise((resolve) => (tellStart = resolve));
    const called = performance.now();
    await peer.enqueueOne();
    const committed = performance.now();
    const late = setTimeout(() => {
      console.error("the job did not start in time");
      process.exit(1);
    }, START_SECONDS_MAX * 1000);
    const at = await begun;
    clearTimeout(late);
    if (round >= WARM_UP) {
      fromCommit.push(Math.max(0, at - committed));
      fromCall.push(at - called);
    }
    await sleep(15 + ((round * 7) % 20));
  }
  return { jobs, commit_ms: percentiles(fromCommit), call_ms: percentiles(fromCall) };
}

async function sustained(peer, { seconds, segments, backlog, batch }) {
  let enqueued = 0;
  let over = false;
  start(peer);
  const producer = (async () => {
    while (!over) {
      if (enqueued > count + backlog) await sleep(1);
      else {
        await peer.enqueueMany(peer.batch(batch));
        enqueued += batch;
      }
    }
  })();
  const started = performance.now();
  const rates = [];
  let [total, at] = [0, started];
  for (let segment = 1; segment <= segments; segment += 1) {
    await sleep(started + (seconds * 1000 * segment) / segments - performance.now());
    const [now, seen] = [performance.now(), count];
    rates.push((seen - total) / ((now - at) / 1000));
    [total, at] = [seen, now];
  }
  over = true;
  await producer;
  return { jobs: total, seconds: (at - started) / 1000, rates, backlog };
}

function percentiles(values) {
  values.sort((a, b) => a - b);
  const at = (part) => values[Math.min(values.length - 1, Math.floor(values.length * part))];
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}

/** Runs the phase that the command line names and prints its JSON line. */
export async function main(peer) {
  const options = readOptions(process.argv.slice(2));
  const phases = { enqueue, one_by_one: oneByOne, drain, latency, sustained };
  await peer.open(options);
  const told = await phases[options.phase](peer, options);
  const line = { system: peer.system, phase: options.phase, settings: peer.settings(), ...told };
  // Its timers have nothing left to do.
  process.stdout.write(`${JSON.stringify(line)}\n`, () => process.exit(0));
}
