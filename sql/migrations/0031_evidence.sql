-- Evidence of version 2 follows from the chained lines. It shows the payload of a step, or only its SHA-256
-- where the payload is restricted; that is decided when the plan is submitted, and chained.
comment on column tenure.steps.payload_classification is
  'Of its payload. Where it is restricted, evidence shows only the SHA-256, in the step and in the plan.';
