// Enqueues a job, does it as a worker, and looks at it: with the types that openapi-typescript makes of openapi.json.

import createClient from "openapi-fetch";
import type { components, paths } from "./openapi.js";

type Problem = components["schemas"]["Problem"];
type JobState = components["schemas"]["JobState"];

function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
}

const tenure = createClient<paths>({
  baseUrl: setting("TENURE_URL"),
  headers: { Authorization: `Bearer ${setting("TENURE_KEY")}` },
});

/** The answer, or an error with what a refusal says. */
function expect<Answer>({ data, error }: { data?: Answer; error?: Problem }): Answer {
  if (error) throw new Error(`${error.code}: ${error.what} ${error.why} ${error.next}`);
  if (data === undefined) throw new Error("the answer is empty");
  return data;
}

const enqueued = expect(await tenure.POST("/v1/jobs", {
  params: { header: { "Idempotency-Key": "report-2026-02" } },
  body: { kind: "report", payload: { month: "2026-02", pages: [1, 2] }, priority: "urgent" },
}));

const { jobs } = expect(await tenure.POST("/v1/jobs/claim", {
  body: { worker: "report.ts", kinds: ["report"], wait_seconds: 10 },
}));
const job = jobs[0];
if (job?.job_id !== enqueued.job_id) throw new Error("another job was claimed");
const params = { path: { job_id: job.job_id } };

const alive = expect(await tenure.POST("/v1/jobs/{job_id}/heartbeat", { params, body: { token: job.token } }));
if (alive.status !== "ok") throw new Error(`the job is not ours any more: ${alive.status}`);

// What a payload holds is known to its producer alone.
const { month, pages } = job.payload;
if (typeof month !== "string" || !Array.isArray(pages)) throw new Error("the payload is not one of a report");
const ended = expect(await tenure.POST("/v1/jobs/{job_id}/complete", {
  params,
  body: { token: job.token, result: { month, pages: pages.length } },
}));
if (ended.status !== "ended") throw new Error(`the job did not end: ${ended.status}`);

const shown = expect(await tenure.GET("/v1/jobs/{job_id}", { params }));
const state: JobState = shown.state;
const { job_id, attempts, priority, result } = shown;
console.log(JSON.stringify({ job_id, state, attempts, priority, result }));
