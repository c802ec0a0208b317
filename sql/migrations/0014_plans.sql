-- Plans: the frozen text that an execution runs.

create table tenure.plans (
  execution_id       uuid    primary key,
  tenant_id          integer not null,
  plan               text    not null,
  plan_hash          text    not null generated always as (tenure.text_hash(plan)) stored,
  plan_snapshot      jsonb   not null generated always as (plan::jsonb) stored,
  plan_snapshot_hash text    not null generated always as (tenure.text_hash(plan::jsonb::text)) stored,
  unique (execution_id, plan_hash)
);
comment on table tenure.plans is
  'The text of a plan, which never changes. The database computes its hash and its queryable form.';
create trigger plans_frozen before update on tenure.plans
  for each row execute function tenure.refuse_change();
create trigger plans_kept before delete on tenure.plans
  for each row execute function tenure.refuse_loss();
alter table tenure.plans enable row level security, force row level security;
create policy own_tenant on tenure.plans
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));

-- One step of a plan, with its defaults filled in.
create type tenure.plan_step as (
  step_number       integer,
  step_id           text,
  action            text,
  action_class      text,
  target_type       text,
  target_ref        text,
  kind              text,
  executor          text,
  payload           jsonb,
  payload_ref       text,
  needs             text[],
  timeout_seconds   integer,
  effects           text,
  attempts_max      integer,
  lock_scope        text,
  lock_target       text,
  lock_action       text,
  compensation_note text
);
