-- Kinds: their policies, whether only plans make their jobs (governed kinds), and pausing them.

-- Every policy of the caller's tenant. A null field is decided by the configuration.
-- granted to: all
create or replace function tenure.kind_list() returns table (
  kind text, executor text, event_domain text, only_by_plan boolean, attempts_max smallint,
  backoff_base_seconds integer, backoff_jitter_percent smallint, on_exhausted text, lease_seconds integer,
  lease_seconds_max integer, renewals_max integer, run_timeout_seconds integer, concurrency_max integer,
  paused_at timestamptz, paused_by text, pause_note text, catch_up text, retention_seconds integer,
  key_keep_seconds integer, description text, updated_at timestamptz, updated_by text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant integer := tenure.current_tenant();
begin
  return query
    select k.kind, k.executor, k.event_domain, k.only_by_plan, k.attempts_max, k.backoff_base_seconds,
           k.backoff_jitter_percent, k.on_exhausted, k.lease_seconds, k.lease_seconds_max, k.renewals_max,
           k.run_timeout_seconds, k.concurrency_max, k.paused_at, k.paused_by, k.pause_note, k.catch_up,
           k.retention_seconds, k.key_keep_seconds, k.description, k.updated_at, k.updated_by
      from tenure.kinds k
     where k.tenant_id = v_tenant
     order by k.kind;
end
$$;

-- The policy in force for a kind, with every default filled in; known says whether it has one of its own.
-- Refuses with kind_not_found when it has no policy and no lane.
-- granted to: all
create or replace function tenure.kind_show(p_kind text) returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant integer := tenure.current_tenant();
  v_kind   tenure.kinds;
  v_known  boolean;
begin
  select k.* into v_kind from tenure.kinds k where k.tenant_id = v_tenant and k.kind = p_kind;
  v_known := found;
  if not v_known
     and not exists (select from tenure.lanes l where l.tenant_id = v_tenant and l.kind = p_kind) then
    perform tenure.refuse('kind_not_found', format('There is no kind %L.', p_kind),
      'It has no policy, and no job of it was ever enqueued.',
      coalesce('Did you mean ' || tenure.nearest_word(p_kind, array(
          select k.kind from tenure.kinds k where k.tenant_id = v_tenant
          union select l.kind from tenure.lanes l where l.tenant_id = v_tenant
          limit tenure.limit_of('list_rows_max'))) || '? ', '')
        || format('See tenure.kind_list(), or set a policy with tenure.kind_set(%L, policy).', p_kind));
  end if;
  return jsonb_build_object(
    'kind', p_kind, 'known', v_known,
    'executor', coalesce(v_kind.executor, 'external_worker'),
    'event_domain', coalesce(v_kind.event_domain, 'job'),
    'attempts_max', coalesce(v_kind.attempts_max,
      tenure.setting_integer(v_tenant, 'queue.retry.max_attempts_default')),
    'backoff_base_seconds', coalesce(v_kind.backoff_base_seconds,
      tenure.setting_integer(v_tenant, 'queue.retry.backoff_base_sec')),
    'backoff_jitter_percent', coalesce(v_kind.backoff_jitter_percent,
      tenure.setting_integer(v_tenant, 'queue.retry.jitter_percent')),
    'lease_seconds', coalesce(v_kind.lease_seconds,
      tenure.setting_integer(v_tenant, 'queue.lease.duration_sec')),
    'lease_seconds_max', coalesce(v_kind.lease_seconds_max,
      tenure.setting_integer(v_tenant, 'queue.lease.duration_sec_max')),
    'renewals_max', v_kind.renewals_max,
    'run_timeout_seconds', v_kind.run_timeout_seconds,
    'retention_seconds', coalesce(v_kind.retention_seconds,
      tenure.setting_integer(v_tenant, 'retention.succeeded_seconds')),
    'on_exhausted', coalesce(v_kind.on_exhausted, 'dead_letter'),
    'only_by_plan', coalesce(v_kind.only_by_plan, false),
    'waiting_without_plan', case when v_kind.only_by_plan then tenure.kind_unplanned(v_tenant, p_kind) end,
    'concurrency_max', v_kind.concurrency_max,
    'key_keep_seconds', v_kind.key_keep_seconds,
    'catch_up', coalesce(v_kind.catch_up, case
      when v_kind.event_domain = 'agent'
        or exists (select from tenure.executors e where e.name = v_kind.executor and e.nature = 'agent')
        then 'none'
      else 'latest_only'
    end),
    'paused_at', v_kind.paused_at, 'paused_by', v_kind.paused_by, 'pause_note', v_kind.pause_note,
    'description', coalesce(v_kind.description, ''),
    'updated_at', v_kind.updated_at, 'updated_by', v_kind.updated_by);
end
$$;

-- Refuses a policy object with an unknown field or a number out of range. Returns the object with its whole
-- numbers as integers.
create or replace function tenure.check_kind_policy(p_policy jsonb) returns jsonb
language plpgsql stable
as $$
declare
  v_field text;
  v_value jsonb;
begin
  if jsonb_typeof(p_policy) is distinct from 'object' then
    perform tenure.refuse('payload_not_object', 'The policy is not a JSON object.',
      'It names the fields to set.', 'Give an object such as {"attempts_max": 3}.');
  end if;
  for v_field, v_value in select f.key, f.value from jsonb_each(p_policy) f loop
    perform tenure.check_word('value_unknown', 'field of a policy', v_field, array[
      'executor', 'event_domain', 'attempts_max', 'backoff_base_seconds', 'backoff_jitter_percent',
      'lease_seconds', 'lease_seconds_max', 'renewals_max', 'run_timeout_seconds', 'retention_seconds',
      'concurrency_max', 'catch_up', 'on_exhausted', 'description', 'key_keep_seconds', 'only_by_plan']);
    if v_field in ('attempts_max', 'backoff_base_seconds', 'backoff_jitter_percent', 'lease_seconds',
        'lease_seconds_max', 'renewals_max', 'run_timeout_seconds', 'retention_seconds', 'concurrency_max',
        'key_keep_seconds')
       and jsonb_typeof(v_value) <> 'null' then
      if jsonb_typeof(v_value) <> 'number' or v_value::numeric <> trunc(v_value::numeric)
         or abs(v_value::numeric) > 9e15 then
        perform tenure.refuse('number_out_of_range', format('%s is %s.', v_field, v_value),
          'It must be a whole number.', 'Give a whole number.');
      end if;
      perform tenure.check_number(v_field, v_value::bigint,
        case v_field
          when 'backoff_jitter_percent' then 0
          when 'renewals_max' then 0
          when 'retention_seconds' then tenure.limit_of('retention_seconds_min')
          else 1
        end,
        case v_field
          when 'attempts_max' then tenure.limit_of('attempts_max')
          when 'backoff_jitter_percent' then 100
          when 'renewals_max' then tenure.limit_of('renewals_max')
          when 'concurrency_max' then tenure.limit_of('concurrency_max')
          when 'run_timeout_seconds' then tenure.limit_of('run_timeout_seconds_max')
          when 'retention_seconds' then tenure.limit_of('retention_seconds_max')
          when 'key_keep_seconds' then tenure.limit_of('retention_seconds_max')
          when 'backoff_base_seconds' then tenure.limit_of('backoff_base_seconds_max')
          else tenure.limit_of('lease_seconds_max')
        end);
      p_policy := jsonb_set(p_policy, array[v_field], to_jsonb(v_value::bigint));
    end if;
  end loop;
  return p_policy;
end
$$;

-- The policy of a kind with the fields of p_policy set. Refuses a result that contradicts itself.
create or replace function tenure.kind_merge(p_tenant_id integer, p_old tenure.kinds, p_policy jsonb)
returns tenure.kinds
language plpgsql stable
as $$
declare
  v_new  tenure.kinds := jsonb_populate_record(p_old, p_policy);
  v_kept integer;
begin
  v_new.only_by_plan := coalesce(v_new.only_by_plan, false);
  v_new.executor := coalesce(v_new.executor, 'external_worker');
  v_new.event_domain := coalesce(v_new.event_domain, 'job');
  v_new.on_exhausted := coalesce(v_new.on_exhausted, 'dead_letter');
  v_new.description := coalesce(v_new.description, '');
  perform tenure.check_executor(v_new.executor);
  perform tenure.check_word('value_unknown', 'event domain', v_new.event_domain,
    (select array_agg(d.domain order by d.domain) from tenure.event_domains d));
  perform tenure.check_word('value_unknown', 'on_exhausted', v_new.on_exhausted,
    array['dead_letter', 'fail']);
  if v_new.catch_up is not null then
    perform tenure.check_word('value_unknown', 'catch_up', v_new.catch_up,
      array['latest_only', 'every_plan', 'none']);
  end if;
  if v_new.lease_seconds > v_new.lease_seconds_max then
    perform tenure.refuse('lease_seconds_out_of_range',
      format('lease_seconds is %s, lease_seconds_max only %s.', v_new.lease_seconds, v_new.lease_seconds_max),
      'The usual lease of a kind cannot be longer than its longest.',
      'Raise lease_seconds_max or lower lease_seconds.');
  end if;
  v_kept := coalesce(v_new.retention_seconds, least(
    tenure.setting_integer(p_tenant_id, 'retention.succeeded_seconds'),
    tenure.setting_integer(p_tenant_id, 'retention.failed_seconds')));
  if v_new.key_keep_seconds > v_kept then
    perform tenure.refuse('number_out_of_range',
      format('key_keep_seconds is %s; finished jobs of the kind are kept for %s seconds.',
        v_new.key_keep_seconds, v_kept),
      'A job keeps its key no longer than it is kept itself.',
      'Lower key_keep_seconds, or raise retention_seconds.');
  end if;
  return v_new;
end
$$;

-- Sets the fields named in the policy object and keeps the others; null resets a field to the configuration.
-- Where the tenant requires it, a change of only_by_plan waits for a second admin: the answer is then the
-- pending change, and nothing of the policy is in force before its approval.
-- granted to: admin
create or replace function tenure.kind_set(p_kind text, p_policy jsonb default '{}',
  p_on_behalf_of text default null) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_old    tenure.kinds;
begin
  perform tenure.check_tenant(v_caller.tenant_id);
  perform tenure.check_name('kind', p_kind);
  p_policy := tenure.check_kind_policy(p_policy);
  if p_policy ? 'only_by_plan' then
    -- Locked before the row, in the order of governance_change.
    perform tenure.config_lock(v_caller.tenant_id);
  end if;
  select k.* into v_old from tenure.kinds k where k.tenant_id = v_caller.tenant_id and k.kind = p_kind;
  if tenure.check_governing(v_caller, p_policy -> 'only_by_plan', coalesce(v_old.only_by_plan, false))
     and tenure.governance_needs_approval(v_caller.tenant_id) then
    perform tenure.kind_merge(v_caller.tenant_id, v_old, p_policy);
    return tenure.governance_change(v_caller, 'kind', p_kind, 'set', p_policy, p_on_behalf_of);
  end if;
  perform tenure.kind_write(v_caller.tenant_id, tenure.now(), v_caller.principal, p_on_behalf_of, p_kind,
    p_policy);
  return tenure.kind_show(p_kind);
end
$$;

-- Puts a policy into force. Callers check p_policy with tenure.check_kind_policy first. p_approval names the
-- approved change, if any.
create or replace function tenure.kind_write(p_tenant_id integer, p_now timestamptz, p_author text,
  p_on_behalf_of text, p_kind text, p_policy jsonb, p_approval jsonb default '{}') returns void
language plpgsql
as $$
declare
  v_old tenure.kinds;
  v_new tenure.kinds;
begin
  select k.* into v_old
    from tenure.kinds k
   where k.tenant_id = p_tenant_id and k.kind = p_kind
     for update;
  v_new := tenure.kind_merge(p_tenant_id, v_old, p_policy);
  insert into tenure.kinds (tenant_id, kind, executor, event_domain, attempts_max, backoff_base_seconds,
    backoff_jitter_percent, lease_seconds, lease_seconds_max, renewals_max, run_timeout_seconds,
    retention_seconds, concurrency_max, catch_up, on_exhausted, description, updated_at, updated_by,
    key_keep_seconds, only_by_plan)
  values (p_tenant_id, p_kind, v_new.executor, v_new.event_domain, v_new.attempts_max,
    v_new.backoff_base_seconds, v_new.backoff_jitter_percent, v_new.lease_seconds, v_new.lease_seconds_max,
    v_new.renewals_max, v_new.run_timeout_seconds, v_new.retention_seconds, v_new.concurrency_max,
    v_new.catch_up, v_new.on_exhausted, v_new.description, p_now, p_author,
    v_new.key_keep_seconds, v_new.only_by_plan)
  on conflict (tenant_id, kind) do update
    set executor = excluded.executor,
        event_domain = excluded.event_domain,
        attempts_max = excluded.attempts_max,
        backoff_base_seconds = excluded.backoff_base_seconds,
        backoff_jitter_percent = excluded.backoff_jitter_percent,
        lease_seconds = excluded.lease_seconds,
        lease_seconds_max = excluded.lease_seconds_max,
        renewals_max = excluded.renewals_max,
        run_timeout_seconds = excluded.run_timeout_seconds,
        retention_seconds = excluded.retention_seconds,
        concurrency_max = excluded.concurrency_max,
        catch_up = excluded.catch_up,
        on_exhausted = excluded.on_exhausted,
        description = excluded.description,
        updated_at = excluded.updated_at,
        updated_by = excluded.updated_by,
        key_keep_seconds = excluded.key_keep_seconds,
        only_by_plan = excluded.only_by_plan;
  if v_old.concurrency_max is null and v_new.concurrency_max is not null then
    perform tenure.kind_mark_held(p_tenant_id, p_kind);
  end if;
  -- More jobs may be claimable than before.
  if v_old.concurrency_max is not null and (tenure.tuning(p_tenant_id)).notify_open then
    perform tenure.lane_wake(array(
      select l.lane from tenure.lanes l where l.tenant_id = p_tenant_id and l.kind = p_kind), p_now);
  end if;
  if v_new.only_by_plan <> coalesce(v_old.only_by_plan, false) then
    perform tenure.emit(p_now, p_tenant_id,
      case when v_new.only_by_plan then 'kind.governed' else 'kind.ungoverned' end,
      p_author, p_on_behalf_of, p_kind,
      jsonb_build_object('kind', p_kind, 'only_by_plan', v_new.only_by_plan) || p_approval);
  end if;
  perform tenure.emit(p_now, p_tenant_id, 'kind.changed', p_author, p_on_behalf_of, p_kind,
    jsonb_build_object('kind', p_kind, 'set', p_policy) || p_approval);
end
$$;

-- Marks what is held of a kind that gets a limit, in the order of ids, in which ends lock them too. A claim
-- in flight at this instant brings jobs without the mark; they count from its commit on: see
-- tenure.kind_room.
create or replace function tenure.kind_mark_held(p_tenant_id integer, p_kind text) returns void
language plpgsql
as $$
declare
  v_lanes  integer[] := array(
    select l.lane from tenure.lanes l where l.tenant_id = p_tenant_id and l.kind = p_kind);
  -- Read before the jobs: those of a lease that is seen here are all seen below.
  v_tokens uuid[] := array(
    select l.token from tenure.leases l where l.lane = any (v_lanes) and not l.limited);
begin
  update tenure.active a
     set limited = true
   where a.job_id in (
     select h.job_id
       from tenure.active h
      where not h.limited
        and h.lane = any (v_lanes)
      order by h.job_id
        for no key update);
  -- Last, and without waiting, so that no heartbeat waits for this. A lease without the mark costs time only.
  update tenure.leases l
     set limited = true
   where l.ctid = any (array(
           select x.ctid
             from tenure.leases x
            where x.token = any (v_tokens)
              and x.lane = any (v_lanes)
              for no key update skip locked));
end
$$;

-- Whether the value changes only_by_plan. Refuses a value that is not boolean or null, and a change by an
-- agent.
create or replace function tenure.check_governing(
  p_caller tenure.caller_identity, p_value jsonb, p_old boolean) returns boolean
language plpgsql stable
as $$
begin
  if jsonb_typeof(p_value) not in ('boolean', 'null') then
    perform tenure.refuse('value_unknown', format('only_by_plan is %s.', left(p_value::text, 100)),
      'It is true or false.', 'Give true, false, or null for false.');
  end if;
  if p_value is null or p_old = (p_value = 'true') then
    return false;
  end if;
  perform tenure.refuse_agent(p_caller);
  return true;
end
$$;

-- Refuses a job of a governed kind that is not the step of an execution.
create or replace function tenure.refuse_only_by_plan(p_kind text, p_of text default '') returns void
language sql
as $$
  select tenure.refuse('kind_only_by_plan', format('Only plans make jobs of the kind %s%s.', p_kind, p_of),
    'Its policy says only_by_plan: each job of it is a step of an execution, approved as the rules say.',
    'Submit a plan with a step of this kind: tenure.execution_submit(plan).')
$$;

-- Whether only plans make jobs of the kind.
create or replace function tenure.is_governed(p_tenant_id integer, p_kind text) returns boolean
language sql stable
as $$
  select exists (
    select from tenure.kinds k where k.tenant_id = p_tenant_id and k.kind = p_kind and k.only_by_plan)
$$;

-- Refuses to repeat by hand a job of a governed kind that is not the step of an execution. Such a job was
-- enqueued before the kind was governed: it stays and may run, but only with the attempts it already has.
create or replace function tenure.check_repeatable(p_tenant_id integer, p_kind text) returns void
language plpgsql stable
as $$
begin
  if tenure.is_governed(p_tenant_id, p_kind) then
    perform tenure.refuse_only_by_plan(p_kind);
  end if;
end
$$;

-- The number of waiting jobs of a governed kind that no plan made, that is, that were enqueued before the
-- kind was governed; counted up to list_rows_max. Steps wait in lanes of their own.
create or replace function tenure.kind_unplanned(p_tenant_id integer, p_kind text) returns integer
language sql stable
as $$
  select count(*)::integer
    from (select from tenure.lanes l
            cross join lateral (
              (select from tenure.ready r where r.lane = l.lane limit tenure.limit_of('list_rows_max'))
              union all
              (select from tenure.delayed d where d.lane = l.lane limit tenure.limit_of('list_rows_max'))) w
           where l.tenant_id = p_tenant_id and l.kind = p_kind and not l.stepped
           limit tenure.limit_of('list_rows_max')) x
$$;

-- Pauses a kind: its jobs are enqueued and wait, but none is claimed. Held jobs go on, and a claim that had
-- begun may still take some. Pausing a paused kind changes nothing and keeps who paused it first.
-- granted to: admin, operator
create or replace function tenure.kind_pause(
  p_kind text, p_note text default null, p_on_behalf_of text default null) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return tenure.kind_hold(p_kind, 'pause', p_note, p_on_behalf_of);
end
$$;

-- Lets the jobs of a paused kind be claimed again. Resuming a kind that is not paused is not an error.
-- granted to: admin, operator
create or replace function tenure.kind_resume(p_kind text, p_on_behalf_of text default null) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return tenure.kind_hold(p_kind, 'resume', null, p_on_behalf_of);
end
$$;

-- Pauses or resumes a kind. A kind without a policy gets one of defaults to hold the mark.
create or replace function tenure.kind_hold(p_kind text, p_verb text, p_note text, p_on_behalf_of text)
returns jsonb
language plpgsql
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz := tenure.now();
  v_pause  boolean := p_verb = 'pause';
  v_paused timestamptz;
begin
  perform tenure.check_tenant(v_caller.tenant_id);
  if p_note <> '' then
    perform tenure.check_name('note', p_note);
  end if;
  perform tenure.kind_show(p_kind);
  insert into tenure.kinds (tenant_id, kind, updated_at, updated_by)
  values (v_caller.tenant_id, p_kind, v_now, v_caller.principal)
  on conflict (tenant_id, kind) do nothing;
  select k.paused_at into v_paused
    from tenure.kinds k
   where k.tenant_id = v_caller.tenant_id and k.kind = p_kind
     for update;
  if (v_paused is not null) <> v_pause then
    update tenure.kinds k
       set paused_at = case when v_pause then v_now end,
           paused_by = case when v_pause then v_caller.principal end,
           pause_note = case when v_pause then nullif(p_note, '') end
     where k.tenant_id = v_caller.tenant_id and k.kind = p_kind;
    perform tenure.emit(v_now, v_caller.tenant_id,
      case when v_pause then 'kind.paused' else 'kind.resumed' end,
      v_caller.principal, p_on_behalf_of, p_kind,
      jsonb_build_object('kind', p_kind, 'note', nullif(p_note, '')));
    if not v_pause and (tenure.tuning(v_caller.tenant_id)).notify_open then
      perform tenure.lane_wake(array(
        select l.lane from tenure.lanes l where l.tenant_id = v_caller.tenant_id and l.kind = p_kind), v_now);
    end if;
  end if;
  return tenure.kind_show(p_kind);
end
$$;
