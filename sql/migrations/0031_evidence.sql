-- Evidence of version 2 follows from the chained lines. It shows the payload of a step, or only its SHA-256
-- where the payload is restricted; that is decided when the plan is submitted, and chained.
comment on column tenure.steps.payload_classification is
  'Of its payload. Where it is restricted, evidence shows only the SHA-256, in the step and in the plan.';

-- A dead letter outlives the steps that say so.
alter table tenure.execution_dead_letters add column plan_restricted boolean not null default false;
comment on column tenure.execution_dead_letters.plan_restricted is
  'Whether a payload in the plan is restricted; the plan is then shown only to those who may see it.';
