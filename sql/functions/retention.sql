-- Retention in two steps: past its retention a job is cleaned (emptied; a tombstone that still answers); past the tombstone period its partition goes.

-- Walks through the jobs in the order of their ids, at most p_limit rows a call, and cleans those whose time has come. It goes no further than the shortest
-- retention allows, and starts again from the front once a day for those it had to leave behind. The key goes first, then the data; what the runs of steps did is kept
-- for their execution before that. A tenant whose gate is closed is not touched.
create or replace function tenure.job_sweep(p_limit integer default 1000) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
  v_caller  tenure.caller_identity := tenure.caller();
  v_every   boolean := v_caller.scope = 'every';
  v_now     timestamptz := tenure.now();
  v_cursor  tenure.sweep_cursors;
  v_seen    integer;
  v_last    uuid;
  v_ids     uuid[];
  v_steps   uuid[];
  v_busy    uuid[];
  v_hashes  uuid[];
  v_counts  jsonb;
  v_letters integer;
  v_more    integer;
  v_shortest integer;
  v_tenants integer[];
  v_name    text := case when v_every then 'jobs' else 'jobs:' || v_caller.tenant_id end;
  v_state text; v_what text; v_why text; v_next text;
begin
  perform tenure.check_number('The limit', p_limit, 1, 10000);
  if not v_every then
    perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  end if;
  v_tenants := tenure.open_tenants(v_caller);
  -- Looks first: an insert would wait for a sweep at work even though it then does nothing.
  insert into tenure.sweep_cursors (name) select v_name where not exists (select from tenure.sweep_cursors c where c.name = v_name) on conflict (name) do nothing;
  select c.* into v_cursor from tenure.sweep_cursors c where c.name = v_name for update skip locked;
  if not found then
    return jsonb_build_object('examined', 0, 'cleaned', 0, 'dead_letters_removed', 0, 'why', 'another sweep is at work');
  end if;

  select least(min(k.retention_seconds), min(tenure.setting_integer(t.tenant_id, 'retention.succeeded_seconds')), min(tenure.setting_integer(t.tenant_id, 'retention.failed_seconds')))
    into v_shortest
    from tenure.tenants t left join tenure.kinds k on k.tenant_id = t.tenant_id
   where t.tenant_id = any (v_tenants);

  with examined as materialized (
    select j.job_id, j.tenant_id, j.kind, j.cleaned_at, j.source_system = 'tenure.execution' as of_step
      from tenure.jobs j
     where j.job_id > coalesce(v_cursor.job_id, '00000000-0000-0000-0000-000000000000'::uuid)
       and j.job_id < tenure.id_floor(v_now - make_interval(secs => v_shortest))
       and j.tenant_id = any (v_tenants)
     order by j.job_id
     limit p_limit
  ), due as (
    select x.job_id, x.of_step
      from examined x
      join tenure.attempts a on a.job_id = x.job_id and a.final
      left join tenure.kinds k on k.tenant_id = x.tenant_id and k.kind = x.kind
     where x.cleaned_at is null
       and a.ended_at < v_now - make_interval(secs => coalesce(k.retention_seconds,
             tenure.setting_integer(x.tenant_id, case when a.state in ('succeeded', 'cancelled') then 'retention.succeeded_seconds' else 'retention.failed_seconds' end)))
       and (a.state <> 'dead_letter' or not exists (select from tenure.dead_letters d where d.job_id = x.job_id and d.triage_status <> 'closed'))
  )
  select (select count(*) from examined), (select max(e.job_id::text)::uuid from examined e), (select array_agg(d.job_id order by d.job_id) from due d),
         (select array_agg(d.job_id) from due d where d.of_step)
    into v_seen, v_last, v_ids, v_steps;

  if v_ids is not null then
    -- An operator's retry locks the key, then the final record, and takes it back: lock both in that order, and look again.
    select array_agg(k.key_hash) into v_hashes
      from (select i.key_hash from tenure.idempotency i
             where i.key_hash = any (array(select tenure.key_hash(tenure.key_scope(j.tenant_id, j.kind), j.idempotency_key) from tenure.jobs j where j.job_id = any (v_ids) and j.idempotency_key is not null))
               and i.job_id = any (v_ids)
             order by i.key_hash for update) k;
    select array_agg(f.job_id) into v_ids
      from (select a.job_id from tenure.attempts a where a.job_id = any (v_ids) and a.final order by a.job_id for update) f;
    if v_steps is not null then
      v_busy := tenure.step_runs_keep(array(select x.job_id from unnest(v_steps) x (job_id) where x.job_id = any (v_ids)));
      v_ids := array(select x.job_id from unnest(v_ids) x (job_id) where x.job_id <> all (v_busy));
    end if;
    delete from tenure.idempotency i where i.key_hash = any (v_hashes) and i.job_id = any (v_ids);
    update tenure.attempts a set result = null, result_ref = null, error_message = null
     where a.job_id = any (v_ids) and (a.result is not null or a.result_ref is not null or a.error_message is not null);
    with emptied as (
      update tenure.jobs j set payload = '{}', source_ref = null, target_ref = null, payload_ref = null, cleaned_at = v_now
       where j.job_id = any (v_ids) and j.cleaned_at is null
      returning j.job_id, j.tenant_id, j.lane
    ), numbered as (
      select e.job_id, e.tenant_id, e.lane, (row_number() over (partition by e.tenant_id, e.lane order by e.job_id) - 1) / tenure.limit_of('batch_rows_max') as page from emptied e
    ), told as (
      insert into tenure.events (at, tenant_id, lane, kind, actor, job_ids)
      select v_now, n.tenant_id, n.lane, 'job.cleaned', 'retention', array_agg(n.job_id) from numbered n group by n.tenant_id, n.lane, n.page
    )
    select to_jsonb(count(*)) into v_counts from emptied;
  end if;

  delete from tenure.dead_letters d
   where d.ctid = any (array(
     select x.ctid from tenure.dead_letters x
      where x.triage_status = 'closed' and x.tenant_id = any (v_tenants)
        and x.triaged_at < v_now - make_interval(days => tenure.setting_integer(x.tenant_id, 'retention.dead_letters_days'))
      limit p_limit));
  get diagnostics v_letters = row_count;
  delete from tenure.execution_dead_letters d
   where d.execution_id = any (array(
     select x.execution_id
       from (select t.tenant_id, v_now - make_interval(days => tenure.setting_integer(t.tenant_id, 'retention.dead_letters_days')) as until from unnest(v_tenants) t (tenant_id) offset 0) t
       cross join lateral (select x.execution_id from tenure.execution_dead_letters x where x.tenant_id = t.tenant_id and x.triage_status = 'closed' and x.triaged_at < t.until limit p_limit) x
      limit p_limit));
  get diagnostics v_more = row_count;

  if v_seen < p_limit and coalesce(v_cursor.pass_began, '-infinity') < v_now - interval '1 day' then
    update tenure.sweep_cursors c set job_id = null, pass_began = v_now where c.name = v_name;
  elsif v_seen > 0 then
    update tenure.sweep_cursors c set job_id = v_last where c.name = v_name;
  end if;
  return jsonb_build_object('examined', v_seen, 'cleaned', coalesce(v_counts, '0'), 'dead_letters_removed', v_letters + v_more, 'end_of_pass', v_seen < p_limit);
exception when others then
  get stacked diagnostics v_state = returned_sqlstate, v_what = message_text, v_why = pg_exception_detail, v_next = pg_exception_hint;
  return tenure.refusal(v_state, v_what, v_why, v_next);
end
$$;

-- Which step a job is of: its key says so ('step', the execution, the number). Null for any other key.
create or replace function tenure.step_of_key(p_key text) returns integer
language sql immutable
as $$ select substring(p_key from '^step [-0-9a-f]{36} ([0-9]{1,9})$')::integer $$;

-- Copies what the runs of these jobs did to where it stays as long as the execution whose steps they are. Answers the jobs that must not be emptied yet: somebody has their execution to
-- themselves, most likely to archive it.
create or replace function tenure.step_runs_keep(p_job_ids uuid[]) returns uuid[]
language plpgsql
as $$
declare
  v_held uuid[];
begin
  -- Against whoever takes the execution away with all that hangs on it; nobody who only changes it is in the way, and nobody is waited for.
  v_held := array(
    select e.execution_id from tenure.executions e
     where e.execution_id in (select j.workflow_id from tenure.jobs j where j.job_id = any (p_job_ids)) order by e.execution_id for key share skip locked);
  insert into tenure.step_runs (execution_id, step_number, job_id, run, tenant_id, attempt, outcome, state, owner, holder, leased_at, started_at, ended_at, actor, reason, error_code, error_class,
    error_message, result, result_ref)
  select s.execution_id, s.step_number, r.job_id, r.run, r.tenant_id, r.attempt, r.outcome, r.state, r.owner, r.holder, r.leased_at, r.started_at, r.ended_at, r.actor, r.reason, r.error_code, r.error_class,
         r.error_message, r.result, r.result_ref
    from unnest(v_held) h (execution_id)
    join tenure.jobs j on j.workflow_id = h.execution_id and j.job_id = any (p_job_ids)
    join tenure.steps s on s.execution_id = h.execution_id and s.step_number = tenure.step_of_key(j.idempotency_key) and s.tenant_id = j.tenant_id
    join tenure.attempts r on r.job_id = j.job_id
   where j.enqueued_by = 'execution'
  on conflict (execution_id, step_number, job_id, run) do nothing;
  return array(
    select j.job_id from tenure.jobs j join tenure.executions e on e.execution_id = j.workflow_id
     where j.job_id = any (p_job_ids) and not exists (select from unnest(v_held) h (execution_id) where h.execution_id = e.execution_id));
end
$$;

-- Partitions of jobs and attempts (same bounds) and of events: made ahead, split while the last one is still empty, and dropped when their time is over.
-- The one function with dynamic SQL. A partition with a job that is not cleaned yet waits, and the answer says so; so does one with runs of steps that their execution would lose. Waits at most two seconds for a lock.
create or replace function tenure.partition_upkeep() returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
set timezone = 'UTC'
as $$
declare
  v_now     timestamptz := tenure.now();
  v_days    integer := tenure.setting_integer(0, 'retention.partition_days');
  v_table   text;
  v_made    text[] := '{}';
  v_dropped text[] := '{}';
  v_waiting text[] := '{}';
  v_part    record;
  v_bound   timestamptz;
  v_new     text;
  v_blocked boolean;
  v_behind  integer[];
begin
  -- 1. Ahead: the open-ended last partition begins at least two periods from now, so that it is empty when it is split.
  foreach v_table in array array['jobs', 'attempts', 'events'] loop
    loop
      select p.name, p.lower_at, p.total into v_part from tenure.partition_list(v_table) p where p.upper_at = 'infinity';
      exit when v_part.lower_at >= v_now + make_interval(days => 2 * v_days) or v_part.total >= 16;
      -- Never earlier than what an id of a caller's own clock may bring.
      v_bound := greatest(date_trunc('day', v_now, 'UTC') + make_interval(days => greatest(v_days, 2)), v_part.lower_at + make_interval(days => v_days));
      v_new := v_table || '_p' || to_char(v_bound at time zone 'UTC', 'YYYYMMDD');
      execute format('alter table tenure.%I detach partition tenure.%I', v_table, v_part.name);
      execute format('alter table tenure.%I attach partition tenure.%I for values from (%s) to (%s)', v_table, v_part.name,
        tenure.partition_bound(v_table, v_part.lower_at), tenure.partition_bound(v_table, v_bound));
      execute format('create table tenure.%I partition of tenure.%I for values from (%s) to (maxvalue)', v_new, v_table, tenure.partition_bound(v_table, v_bound));
      execute format('alter table tenure.%I enable row level security', v_new);
      if v_table <> 'jobs' then
        execute format('alter table tenure.%I set (autovacuum_vacuum_insert_scale_factor = 0.5)', v_new);
      end if;
      v_made := v_made || v_new;
    end loop;
  end loop;

  -- 2. Behind: a partition of jobs goes with its attempts when every job in it is cleaned, checked under lock.
  for v_part in
    select p.name, p.upper_at from tenure.partition_list('jobs') p
     where p.upper_at < v_now - make_interval(days => tenure.setting_integer(0, 'retention.tombstone_days'))
     order by p.upper_at
  loop
    execute format('lock table tenure.%I in share mode', v_part.name);
    execute format('select exists (select from tenure.%I j where j.cleaned_at is null)', v_part.name) into v_blocked;
    if not v_blocked then
      execute format($sql$
        select exists (
          select from tenure.%I j
            join tenure.steps s on s.execution_id = j.workflow_id and s.step_number = tenure.step_of_key(j.idempotency_key) and s.tenant_id = j.tenant_id
            join tenure.attempts r on r.job_id = j.job_id
           where j.workflow_id is not null and j.source_system = 'tenure.execution' and j.enqueued_by = 'execution'
             and not exists (select from tenure.step_runs k where k.execution_id = s.execution_id and k.step_number = s.step_number and k.job_id = r.job_id and k.run = r.run))$sql$, v_part.name) into v_blocked;
    end if;
    if v_blocked then
      v_waiting := v_waiting || v_part.name::text;
      continue;
    end if;
    execute format('drop table tenure.%I', v_part.name);
    v_dropped := v_dropped || v_part.name::text;
    select p.name into v_new from tenure.partition_list('attempts') p where p.upper_at = v_part.upper_at;
    if found then
      execute format('drop table tenure.%I', v_new);
      v_dropped := v_dropped || v_new;
    end if;
  end loop;
  for v_part in
    select p.name, p.upper_at from tenure.partition_list('events') p where p.upper_at < v_now - make_interval(days => tenure.setting_integer(0, 'retention.events_days'))
  loop
    -- Who has not come so far loses what is in it, and should know.
    execute format('select array_agg(s.subscription_id order by s.subscription_id) from tenure.subscriptions s
                     where exists (select from tenure.%I e where e.tenant_id = s.tenant_id and (e.epoch, e.txid, e.seq) > (s.epoch, s.txid, s.seq) and tenure.is_kind_of(e.kind, s.event_kinds))', v_part.name) into v_behind;
    perform tenure.emit(v_now, s.tenant_id, 'subscription.lost', 'retention', null, s.name, jsonb_build_object('partition', v_part.name, 'until', v_part.upper_at))
       from tenure.subscriptions s where s.subscription_id = any (v_behind);
    execute format('drop table tenure.%I', v_part.name);
    v_dropped := v_dropped || v_part.name::text;
  end loop;
  return jsonb_build_object('made', v_made, 'dropped', v_dropped, 'waiting', v_waiting);
end
$$;

-- The partitions of a table with their bounds in time, read from the catalogue.
create or replace function tenure.partition_list(p_table text) returns table (name text, lower_at timestamptz, upper_at timestamptz, total bigint)
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select b.relname::text,
         case when b.lower_text is null then '-infinity'::timestamptz when p_table = 'events' then b.lower_text::timestamptz else tenure.id_time(b.lower_text::uuid) end,
         case when b.upper_text is null then 'infinity'::timestamptz when p_table = 'events' then b.upper_text::timestamptz else tenure.id_time(b.upper_text::uuid) end,
         count(*) over ()
    from (select c.relname,
                 substring(pg_get_expr(c.relpartbound, c.oid) from $re$FROM \('([^']+)'\)$re$) as lower_text,
                 substring(pg_get_expr(c.relpartbound, c.oid) from $re$TO \('([^']+)'\)$re$) as upper_text
            from pg_inherits i
            join pg_class c on c.oid = i.inhrelid
           where i.inhparent = to_regclass('tenure.' || p_table)) b
   order by 2
$$;

create or replace function tenure.partition_bound(p_table text, p_at timestamptz) returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select case when p_at = '-infinity' then 'minvalue' when p_table = 'events' then quote_literal(p_at) else quote_literal(tenure.id_floor(p_at)) end
$$;
