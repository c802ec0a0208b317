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

-- Partitions of jobs and attempts (same bounds) and of events: made ahead, split while the last one is still
-- empty, and dropped when their time is over. A partition with a job that is not cleaned yet waits, and the
-- answer says so. No caller fails because of it: it looks without locks for something to do, then takes its
-- table locks before it changes anything, in one order, and waits for each a tenth of deadlock_timeout at
-- most. When one is not free it changes nothing and answers gave_way: call again later, in a new transaction.
-- p_table: this table alone. Services do one table per transaction: no lock is held while another is awaited.
-- The one function with dynamic SQL.
create or replace function tenure.partition_upkeep(p_table text default null) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '100ms'
set timezone = 'UTC'
as $$
declare
  v_now      timestamptz := tenure.now();
  v_days     integer := tenure.setting_integer(0, 'retention.partition_days');
  v_tables   text[] := array['jobs', 'attempts', 'events'];
  v_made     text[] := '{}';
  v_dropped  text[] := '{}';
  v_waiting  text[] := '{}';
  v_over     text[] := '{}';
  v_behind   integer[] := '{}';
  v_gave_way boolean := false;
  -- The subscriptions that have not read all that is meant for them in a partition of events.
  v_lost     constant text := 'select coalesce(array_agg(s.subscription_id), ''{}'')
     from tenure.subscriptions s
    where ($1 is null or s.subscription_id = any ($1))
      and exists (select from tenure.%I e where e.tenant_id = s.tenant_id
                     and (e.epoch, e.txid, e.seq) > (s.epoch, s.txid, s.seq)
                     and tenure.is_kind_of(e.kind, s.event_kinds))';
  v_found    integer[];
  v_part     record;
  v_table    text;
  v_new      text;
  v_bound    timestamptz;
begin
  if p_table is not null then
    perform tenure.check_word('value_unknown', 'partitioned table', p_table, v_tables);
    v_tables := array[p_table];
  end if;
  -- Also where deadlock_timeout was made short: this function gives up before the deadlock check of a caller
  -- could find the two waiting for each other, and fail the caller.
  perform set_config('lock_timeout', greatest(1, least(100, s.setting::integer / 10))::text, true)
     from pg_settings s where s.name = 'deadlock_timeout';
  <<work>>
  begin
    -- 1. Without a table lock: what is there to do?
    for v_part in
      select p.table_name, p.name, p.lower_at, p.upper_at from tenure.partitions_over(v_tables, v_now, '{}') p
    loop
      if v_part.table_name = 'jobs' then
        -- Granted when those who wrote into it have committed, and given back at once. What is cleaned stays
        -- cleaned and new ids are of today, so what is seen after that holds until it is dropped.
        begin
          execute format('lock table only tenure.%I in share mode', v_part.name);
          raise exception 'given back';
        exception when raise_exception then null;
        end;
        if tenure.partition_in_use(v_part.lower_at, v_part.upper_at) then
          v_waiting := v_waiting || v_part.name;
          continue;
        end if;
      elsif v_part.table_name = 'events' then
        execute format(v_lost, v_part.name) into v_found using null::integer[];
        v_behind := v_behind || v_found;
      end if;
      v_over := v_over || v_part.name;
    end loop;
    if v_tables @> array['jobs', 'attempts'] then
      v_over := v_over || array(select p.name from tenure.partitions_over(array['attempts'], v_now, v_over) p
                                 where p.name <> all (v_over));
    end if;
    exit work when v_over = '{}' and not exists (
      select from unnest(v_tables) t (name)
       where tenure.partition_split_at(t.name, v_now, v_days) is not null);

    -- 2. All locks. One upkeep at a time: a second would only hold up callers once more. Below a locked
    -- parent only vacuum is at work, which takes longer than is waited here.
    perform from tenure.sweep_cursors c where c.name = 'partitions' for update nowait;
    foreach v_table in array v_tables loop
      execute format('lock table only tenure.%I in access exclusive mode', v_table);
    end loop;
    foreach v_new in array v_over loop
      execute format('lock table only tenure.%I in access exclusive mode nowait', v_new);
    end loop;

    -- 3. Ahead: the last partition has no end and begins at least two periods from now, so that it is empty
    -- when it is split. What another upkeep has done meanwhile is seen here.
    foreach v_table in array v_tables loop
      loop
        v_bound := tenure.partition_split_at(v_table, v_now, v_days);
        exit when v_bound is null;
        select p.name, tenure.partition_bound(v_table, p.lower_at) as lower,
               tenure.partition_bound(v_table, v_bound) as upper
          into v_part from tenure.partition_list(v_table) p where p.upper_at = 'infinity';
        v_new := v_table || '_p' || to_char(v_bound at time zone 'UTC', 'YYYYMMDD');
        execute format('alter table tenure.%I detach partition tenure.%I', v_table, v_part.name);
        execute format('alter table tenure.%I attach partition tenure.%I for values from (%s) to (%s)',
          v_table, v_part.name, v_part.lower, v_part.upper);
        execute format('create table tenure.%I partition of tenure.%I for values from (%s) to (maxvalue)',
          v_new, v_table, v_part.upper);
        execute format('alter table tenure.%I enable row level security', v_new);
        if v_table <> 'jobs' then
          execute format('alter table tenure.%I set (autovacuum_vacuum_insert_scale_factor = 0.5)', v_new);
        end if;
        v_made := v_made || v_new;
      end loop;
    end loop;

    -- 4. Behind. A subscription that has not read so far loses what is in the partition: an event says so.
    foreach v_new in array v_over loop
      if v_new ^@ 'events' and v_behind <> '{}' then
        execute format(v_lost, v_new) into v_found using v_behind;
        perform tenure.emit(v_now, s.tenant_id, 'subscription.lost', 'retention', null, s.name,
                  jsonb_build_object('partition', v_new, 'until', p.upper_at))
           from tenure.subscriptions s, tenure.partition_list('events') p
          where s.subscription_id = any (v_found) and p.name = v_new
          order by s.subscription_id;
      end if;
      execute format('drop table tenure.%I', v_new);
      v_dropped := v_dropped || v_new;
    end loop;
  exception when lock_not_available or undefined_table then
    v_made := '{}';
    v_dropped := '{}';
    v_gave_way := true;
  end;
  -- Not while it holds locks on whole tables: the next turn comes soon.
  if 'jobs' = any (v_tables) and v_made = '{}' and v_dropped = '{}' then
    perform tenure.ready_marks_mend();
  end if;
  return jsonb_build_object(
    'made', v_made, 'dropped', v_dropped, 'waiting', v_waiting, 'gave_way', v_gave_way);
end
$$;

-- The partitions of these tables whose time is over. Attempts have no time of their own: they go when no
-- partition of jobs has their range any more; those in p_gone are not counted.
create or replace function tenure.partitions_over(p_tables text[], p_now timestamptz, p_gone text[])
  returns table (table_name text, name text, lower_at timestamptz, upper_at timestamptz)
language sql
set search_path = pg_catalog, pg_temp
as $$
  select t.name, p.name, p.lower_at, p.upper_at
    from unnest(p_tables) with ordinality t (name, n)
    cross join lateral tenure.partition_list(t.name) p
   where case t.name
           when 'attempts' then
             not exists (
               select from tenure.partition_list('jobs') j
                where j.lower_at < p.upper_at and j.upper_at > p.lower_at and j.name <> all (p_gone))
           when 'events' then
             p.upper_at < p_now - make_interval(days => tenure.setting_integer(0, 'retention.events_days'))
           else
             p.upper_at < p_now - make_interval(days => tenure.setting_integer(0, 'retention.tombstone_days'))
         end
   order by t.n, p.upper_at
$$;

-- Where the open-ended last partition of a table is to be split; null while it begins late enough, and when
-- there are as many partitions as there may be. Attempts are split where jobs are.
create or replace function tenure.partition_split_at(p_table text, p_now timestamptz, p_days integer)
  returns timestamptz
language sql
set search_path = pg_catalog, pg_temp
as $$
  select case
           when p_table = 'attempts' then
             (select min(j.lower_at) from tenure.partition_list('jobs') j
               where j.lower_at > p.lower_at and j.lower_at >= b.earliest)
           when p.lower_at < p_now + make_interval(days => 2 * p_days) then
             greatest(b.earliest, p.lower_at + make_interval(days => p_days))
         end
    from tenure.partition_list(p_table) p
    -- Beyond every row there is: not even an id of a caller's own clock comes that far.
    cross join (
      select date_trunc('day', p_now, 'UTC') + make_interval(days => greatest(p_days, 2)) as earliest) b
   where p.upper_at = 'infinity' and p.total < 16
$$;

-- Whether a job of this range of time is not cleaned yet, or is a step whose runs its execution would lose.
create or replace function tenure.partition_in_use(p_lower timestamptz, p_upper timestamptz) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_first uuid := case when isfinite(p_lower) then tenure.id_floor(p_lower)
                       else '00000000-0000-0000-0000-000000000000' end;
  v_after uuid := tenure.id_floor(p_upper);
begin
  if exists (
    select from tenure.jobs j where j.job_id >= v_first and j.job_id < v_after and j.cleaned_at is null)
  then
    return true;
  end if;
  return exists (
    select from tenure.jobs j
      join tenure.steps s on s.execution_id = j.workflow_id and s.tenant_id = j.tenant_id
                         and s.step_number = tenure.step_of_key(j.idempotency_key)
      join tenure.attempts r on r.job_id = j.job_id
     where j.job_id >= v_first and j.job_id < v_after
       and j.workflow_id is not null and j.source_system = 'tenure.execution' and j.enqueued_by = 'execution'
       and not exists (select from tenure.step_runs k
                        where k.execution_id = s.execution_id and k.step_number = s.step_number
                          and k.job_id = r.job_id and k.run = r.run));
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
