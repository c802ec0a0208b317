// pg-boss with large batches fetched in bursts, and woken by notification.

import { PgBoss } from "pg-boss";
import { handled, main, payload } from "./runner.mjs";

const QUEUE = "noop";
const BATCH = 1000;
const WORKERS = 2;

let boss;

await main({
  system: "pg-boss",
  unfinished: "exists (select from pgboss.job where name = 'noop' and state < 'completed')",
  settings: () => `${WORKERS} workers, batches of ${BATCH} in bursts, LISTEN/NOTIFY on`,

  async open({ url }) {
    boss = new PgBoss({ connectionString: url, useListenNotify: true });
    boss.on("error", (error) => console.error(error));
    await boss.start();
    await boss.createQueue(QUEUE, { notify: true });
  },

  batch: (jobs) => Array.from({ length: jobs }, () => ({ data: payload })),
  enqueueMany: (jobs) => boss.insert(QUEUE, jobs),
  enqueueOne: () => boss.send(QUEUE, payload),

  async work() {
    const options = {
      batchSize: BATCH,
      localConcurrency: WORKERS,
      pollingIntervalSeconds: 0.5,
      notifyPollingIntervalSeconds: 0.5,
      burstWhenBatchFull: true,
    };
    await boss.work(QUEUE, options, async (jobs) => handled(jobs.length));
  },
});
