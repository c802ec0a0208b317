-- What the jobs of steps did, kept as long as their execution: the jobs themselves are emptied and dropped long before that.

create table tenure.step_runs (
  execution_id  uuid        not null,
  step_number   integer     not null,
  job_id        uuid        not null,
  run           integer     not null,
  tenant_id     integer     not null,
  attempt       smallint    not null,
  outcome       text        not null,
  state         text        not null,
  owner         text,
  holder        text,
  leased_at     timestamptz,
  started_at    timestamptz,
  ended_at      timestamptz not null,
  actor         text        not null,
  reason        text,
  error_code    text,
  error_class   text,
  error_message text,
  result        jsonb,
  result_ref    text,
  primary key (execution_id, step_number, job_id, run),
  foreign key (execution_id, step_number) references tenure.steps
);
comment on table tenure.step_runs is
  'What the runs of steps did, results included, copied from tenure.attempts in the transaction that empties their job. They live as long as the execution, and in its evidence after that.';

create trigger step_runs_frozen before update on tenure.step_runs for each row execute function tenure.refuse_change();
create trigger step_runs_kept before delete on tenure.step_runs for each row execute function tenure.refuse_loss();

-- As for steps: not forced on the owner. Upkeep asks for all tenants at once whether everything was copied, whoever calls it; whoever reads stays behind the wall.
alter table tenure.step_runs enable row level security;
create policy own_tenant on tenure.step_runs using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));

-- Jobs that were emptied before this: their results are gone, but that they ran need not be lost as well.
insert into tenure.step_runs (execution_id, step_number, job_id, run, tenant_id, attempt, outcome, state, owner, holder, leased_at, started_at, ended_at, actor, reason, error_code, error_class, error_message,
  result, result_ref)
select s.execution_id, s.step_number, r.job_id, r.run, r.tenant_id, r.attempt, r.outcome, r.state, r.owner, r.holder, r.leased_at, r.started_at, r.ended_at, r.actor, r.reason, r.error_code, r.error_class,
       r.error_message, r.result, r.result_ref
  from tenure.jobs j
  join tenure.steps s on s.execution_id = j.workflow_id and s.tenant_id = j.tenant_id and j.idempotency_key = 'step ' || s.execution_id || ' ' || s.step_number
  join tenure.attempts r on r.job_id = j.job_id
 where j.cleaned_at is not null and j.workflow_id is not null and j.source_system = 'tenure.execution' and j.enqueued_by = 'execution';

-- What was closed long ago goes: the sweep looks for it every minute.
create index execution_dead_letters_closed on tenure.execution_dead_letters (tenant_id, triaged_at) where triage_status = 'closed';
