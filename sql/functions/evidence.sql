-- Evidence: the story of an execution as lines of text that a program signs, and the archive where it stays when the rows go.

-- What the runs of an execution's steps did, each once: as it was kept when their job was emptied, and as it is written of jobs that are not. Also of jobs that a step had before.
create or replace function tenure.step_runs_of(p_execution_id uuid) returns setof tenure.step_runs
language sql stable
as $$
  select k.* from tenure.step_runs k where k.execution_id = p_execution_id
  union all
  select s.execution_id, s.step_number, r.job_id, r.run, r.tenant_id, r.attempt, r.outcome, r.state, r.owner, r.holder, r.leased_at, r.started_at, r.ended_at, r.actor, r.reason, r.error_code, r.error_class,
         r.error_message, r.result, r.result_ref
    from tenure.steps s
    join tenure.jobs j on j.workflow_id = p_execution_id and j.tenant_id = s.tenant_id and j.source_system = 'tenure.execution' and j.enqueued_by = 'execution'
     and j.idempotency_key = 'step ' || p_execution_id || ' ' || s.step_number
    join tenure.attempts r on r.job_id = j.job_id
   where s.execution_id = p_execution_id
     and not exists (select from tenure.step_runs k where k.execution_id = p_execution_id and k.step_number = s.step_number and k.job_id = r.job_id and k.run = r.run)
$$;

-- The lines of the evidence of one execution, unsigned, in their order.
create or replace function tenure.execution_evidence(p_execution_id uuid) returns table (n integer, line text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant integer := tenure.current_tenant();
  v_now    timestamptz := tenure.now();
  v_row    tenure.executions;
begin
  select e.* into v_row from tenure.executions e where e.execution_id = p_execution_id and (e.tenant_id = v_tenant or tenure.is_every_tenant());
  if not found then
    perform tenure.refuse_execution(p_execution_id);
  end if;
  return query
    select (row_number() over (order by l.part, l.place, l.then))::integer, l.line::text
      from (
        select 1 as part, 0::bigint as place, ''::text as then, jsonb_build_object('kind', 'evidence', 'version', 1, 'execution_id', v_row.execution_id, 'tenant', (select t.name from tenure.tenants t where t.tenant_id = v_row.tenant_id),
                 'plan_hash', v_row.plan_hash, 'state', v_row.state, 'exported_at', v_now, 'events', v_row.chain_length) as line
        union all
        select 2, 0, '', jsonb_build_object('kind', 'plan', 'plan', p.plan) from tenure.plans p where p.execution_id = p_execution_id
        union all
        select 3, 0, '', jsonb_build_object('kind', 'execution') || (to_jsonb(v_row) - array['tenant_id', 'chain_hash', 'takes_locks']) || jsonb_build_object('chain_hash', encode(v_row.chain_hash, 'hex'))
        union all
        select 4, s.step_number, '', jsonb_strip_nulls(to_jsonb(s) - array['tenant_id', 'execution_id', 'payload', 'kind']) || jsonb_build_object('kind', 'step', 'job_kind', s.kind) from tenure.steps s where s.execution_id = p_execution_id
        union all
        select 5, 0, a.created_at || a.approval_id::text, jsonb_build_object('kind', 'approval') || (to_jsonb(a) - array['tenant_id', 'execution_id']) from tenure.approvals a where a.execution_id = p_execution_id
        union all
        select 6, 0, v.at || v.principal, jsonb_build_object('kind', 'vote') || (to_jsonb(v) - 'tenant_id')
          from tenure.approvals a join tenure.approval_votes v on v.approval_id = a.approval_id where a.execution_id = p_execution_id
        union all
        select 7, s.step_number, r.job_id || lpad(r.run::text, 9, '0'), jsonb_build_object('kind', 'attempt', 'step', s.step_id) || jsonb_strip_nulls(jsonb_build_object('job_id', r.job_id, 'run', r.run, 'attempt', r.attempt,
                 'outcome', r.outcome, 'state', r.state, 'worker', r.owner, 'holder', r.holder, 'leased_at', r.leased_at, 'started_at', r.started_at, 'ended_at', r.ended_at, 'actor', r.actor, 'reason', r.reason,
                 'error_code', r.error_code, 'error_class', r.error_class, 'error_message', r.error_message, 'result', r.result, 'result_ref', r.result_ref))
          from tenure.step_runs_of(p_execution_id) r
          join tenure.steps s on s.execution_id = r.execution_id and s.step_number = r.step_number
        union all
        select 8, v.seq, '', jsonb_build_object('kind', 'event', 'body', v.body, 'hash', encode(v.hash, 'hex')) from tenure.execution_events v where v.execution_id = p_execution_id) l
     order by 1;
end
$$;

-- Adds a key pair; the newest signs. Who comes second with the first key of an installation is told so by the answer.
create or replace function tenure.evidence_key_add(p_key_id text, p_public_key bytea, p_secret_key bytea, p_first boolean default false) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz := tenure.now();
  v_there  text;
begin
  if p_key_id !~ '^[0-9a-f]{16}$' or octet_length(p_public_key) <> 32 or octet_length(p_secret_key) not between 32 and 4096
     or p_key_id <> left(encode(sha256(p_public_key), 'hex'), 16) then
    perform tenure.refuse('value_unknown', 'This is no key of Ed25519 with its id.', 'The public key has 32 bytes, and the id is the first 16 digits of its SHA-256.', 'Make one with: tenure evidence key create.');
  end if;
  lock table tenure.evidence_keys in share row exclusive mode;
  select k.key_id into v_there from tenure.evidence_keys k order by k.created_at desc, k.key_id limit 1;
  if p_first and v_there is not null then
    return jsonb_build_object('key_id', v_there, 'added', false);
  end if;
  if v_there <> p_key_id and exists (select from tenure.evidence_keys k where k.key_id = p_key_id) then
    perform tenure.refuse('state_conflict', format('The key %s is there already, and was followed by %s, which signs.', p_key_id, v_there), 'The newest key signs; one that was followed by another stays to verify what it signed.',
      'Make a new one: tenure evidence key create.');
  end if;
  insert into tenure.evidence_keys (key_id, public_key, created_at, created_by) values (p_key_id, p_public_key, v_now, v_caller.principal) on conflict (key_id) do nothing;
  insert into tenure.secrets (name, value) values ('evidence:' || p_key_id, p_secret_key) on conflict (name) do nothing;
  return jsonb_build_object('key_id', p_key_id, 'added', true);
end
$$;

-- The key that signs now, with its secret: for servers alone.
create or replace function tenure.evidence_key_current() returns table (key_id text, public_key bytea, secret_key bytea)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
    select k.key_id, k.public_key, s.value from tenure.evidence_keys k join tenure.secrets s on s.name = 'evidence:' || k.key_id order by k.created_at desc, k.key_id limit 1;
  if not found then
    perform tenure.refuse('evidence_key_missing', 'There is no key to sign evidence with.', 'Nobody has made one yet.', 'Make one: tenure evidence key create.');
  end if;
end
$$;

create or replace function tenure.evidence_key_list() returns table (key_id text, public_key bytea, created_at timestamptz, created_by text, signs boolean)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
    select k.key_id, k.public_key, k.created_at, k.created_by, row_number() over (order by k.created_at desc, k.key_id) = 1 from tenure.evidence_keys k order by k.created_at desc, k.key_id;
end
$$;

-- Executions that ended so long ago that they are to be archived, rejected ones included. A partially failed one waits until somebody has closed or retried it.
create or replace function tenure.execution_archive_due(p_limit integer default 10) returns table (tenant text, execution_id uuid)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller  tenure.caller_identity := tenure.caller();
  v_now     timestamptz := tenure.now();
  v_tenants integer[] := tenure.open_tenants(v_caller);
begin
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('batch_rows_max'));
  return query
    select t.name, e.execution_id
      from tenure.tenants t
      cross join lateral (select x.execution_id, x.ended_at from tenure.executions x
                           where x.tenant_id = t.tenant_id and x.ended_at <= v_now - make_interval(days => tenure.setting_integer(t.tenant_id, 'retention.executions_days')) and not (x.state = 'partially_failed' and x.key_held)
                           order by x.ended_at limit p_limit) e
     where t.tenant_id = any (v_tenants)
     order by e.ended_at limit p_limit;
end
$$;

-- Keeps the evidence of an execution, and removes its rows: all in one transaction, or nothing.
create or replace function tenure.execution_archive(p_execution_id uuid, p_evidence text) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz := tenure.now();
  v_row    tenure.executions;
begin
  select e.* into v_row from tenure.executions e where e.execution_id = p_execution_id and (e.tenant_id = v_caller.tenant_id or v_caller.scope = 'every') for update skip locked;
  if not found then
    if exists (select from tenure.executions e where e.execution_id = p_execution_id and (e.tenant_id = v_caller.tenant_id or v_caller.scope = 'every')) then
      perform tenure.refuse('busy_try_again', format('Somebody is busy with execution %s.', p_execution_id), 'A transaction that holds it has not ended.', 'Try again.');
    end if;
    perform tenure.refuse_execution(p_execution_id);
  end if;
  if v_row.ended_at is null or v_row.ended_at > v_now - make_interval(days => tenure.setting_integer(v_row.tenant_id, 'retention.executions_days')) then
    perform tenure.refuse('state_conflict', format('Execution %s is not to be archived yet.', p_execution_id), 'That comes a while after its end (retention.executions_days).', 'Export it as often as you like.');
  end if;
  -- Whoever made it must have seen the whole story.
  if strpos(p_evidence, encode(v_row.chain_hash, 'hex')) = 0 then
    perform tenure.refuse('state_conflict', format('The evidence is not that of execution %s as it is now.', p_execution_id), 'Its last event is missing.', 'Make it anew, and try again.');
  end if;
  insert into tenure.execution_archives (execution_id, tenant_id, purpose, plan_hash, state, requested_by, created_at, ended_at, archived_at, evidence)
  values (v_row.execution_id, v_row.tenant_id, v_row.purpose, v_row.plan_hash, v_row.state, v_row.requested_by, v_row.created_at, v_row.ended_at, v_now, p_evidence);
  delete from tenure.approval_votes v using tenure.approvals a where a.execution_id = p_execution_id and v.approval_id = a.approval_id;
  delete from tenure.approvals a where a.execution_id = p_execution_id;
  delete from tenure.execution_events v where v.execution_id = p_execution_id;
  delete from tenure.step_runs r where r.execution_id = p_execution_id;
  delete from tenure.step_needs n where n.execution_id = p_execution_id;
  delete from tenure.steps s where s.execution_id = p_execution_id;
  delete from tenure.executions e where e.execution_id = p_execution_id;
  delete from tenure.plans p where p.execution_id = p_execution_id;
  perform tenure.emit(v_now, v_row.tenant_id, 'execution.archived', v_caller.principal, null, p_execution_id::text, jsonb_build_object('bytes', octet_length(p_evidence)));
  return jsonb_build_object('execution_id', p_execution_id, 'archived', true);
end
$$;

-- The evidence of an archived execution.
create or replace function tenure.execution_archive_show(p_execution_id uuid) returns text
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_text text;
begin
  select a.evidence into v_text from tenure.execution_archives a where a.execution_id = p_execution_id and a.tenant_id = tenure.current_tenant();
  if not found then
    perform tenure.refuse_execution(p_execution_id);
  end if;
  return v_text;
end
$$;
