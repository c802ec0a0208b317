-- Locks across several steps, one fencing number for each run, and starts of steps that are not in their
-- chain yet.

-- The number of a later run. The first run of a job has the number of its step.
alter table tenure.active add column fence bigint;
comment on column tenure.active.fence is
  'The fencing number of this run, where its step has another: a later run of a step that locks its target.';
comment on column tenure.steps.fence is
  'The fencing number of the run that may act on the target, or was the last: greater than all before it.';

alter table tenure.steps add column section text;
comment on column tenure.steps.section is
  'The section of the plan that it belongs to: steps that hold one lock together, one after the other.';
create index steps_section on tenure.steps (execution_id, section) where section is not null;

alter table tenure.locks add column section text;
alter table tenure.locks add check (section is null or execution_id is not null);
comment on column tenure.locks.section is
  'The section that holds it, until its last step is over; step_number is the step that came last.';
create index locks_section on tenure.locks (execution_id) where section is not null;

-- A run that was claimed and never started leaves no line, but its number was given out.
create table tenure.step_fences (
  execution_id uuid    not null,
  step_number  integer not null,
  tenant_id    integer not null,
  fence        bigint  not null,
  primary key (execution_id, step_number)
);
comment on table tenure.step_fences is
  'The greatest fencing number that a later run of a step was given when it was claimed.';
-- As for step_marks: claims write it, and filter by tenant themselves.
alter table tenure.step_fences enable row level security;
create policy own_tenant on tenure.step_fences
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));

-- Starts that could not be written into the chain at once because another transaction held the execution.
create table tenure.step_starts (
  job_id     uuid        not null,
  run        integer     not null,
  tenant_id  integer     not null,
  worker     text        not null,
  actor      text        not null,
  fence      bigint,
  started_at timestamptz not null,
  primary key (job_id, run)
);
create index step_starts_tenant on tenure.step_starts (tenant_id, started_at);
comment on table tenure.step_starts is
  'Starts of steps while another transaction held their execution: the end or the next tick tells them.';
-- As for step_marks: claims write it, and filter by tenant themselves.
alter table tenure.step_starts enable row level security;
create policy own_tenant on tenure.step_starts
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));

-- Each step has the line step_queued too; none of the three is looked for by its kind.
drop index tenure.execution_events_kind;
create index execution_events_kind on tenure.execution_events (tenant_id, kind, at)
  where kind not in ('step_queued', 'step_started', 'step_completed');
