-- Executors: the list of allowed names, and the heartbeats of executor instances.

-- Refuses a name that is not on the list, and a generator where an executor is needed. p_of: appended
-- to the name in a refusal, to say where it is used.
create or replace function tenure.check_executor(p_executor text, p_of text default '') returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_role text;
begin
  select e.role into v_role from tenure.executors e where e.name = p_executor;
  if not found then
    perform tenure.refuse('executor_unknown',
      format('The executor %L%s is not on the list.', p_executor, p_of),
      format('Executors are: %s.', (
        select string_agg(e.name, ', ' order by e.name) from tenure.executors e where e.role = 'executor')),
      'Use one of these.');
  elsif v_role <> 'executor' then
    perform tenure.refuse('executor_cannot_claim',
      format('%s%s is a generator: it makes work and never runs it.', p_executor, p_of),
      'Only executors hold jobs.',
      format('Name one of: %s.', (
        select string_agg(e.name, ', ' order by e.name) from tenure.executors e where e.role = 'executor')));
  end if;
end
$$;

-- Records that an executor instance is alive. When a second process uses a name that is still fresh, the
-- answer has name_shared, and the status of the row becomes 'warn'.
-- granted to: worker
create or replace function tenure.executor_beat(
  p_name text, p_executor text, p_status text default 'ok', p_current_job_id uuid default null,
  p_metadata jsonb default '{}', p_instance uuid default null)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz := tenure.now();
  v_shared boolean;
  v_row    tenure.heartbeats;
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.heartbeat.enabled');
  perform tenure.check_name('executor name', p_name);
  perform tenure.check_executor(p_executor);
  perform tenure.check_driven(v_caller, p_executor);
  perform tenure.check_word('value_unknown', 'heartbeat status', p_status, array['ok', 'warn', 'error']);
  perform tenure.check_json_numbers('metadata', p_metadata);
  perform tenure.check_payload('metadata', p_metadata::json, tenure.limit_of('metadata_bytes_max'));
  -- The row is locked, or made: two beats of one name at once wait for each other, and for no other tenant.
  for v_round in 1 .. tenure.limit_of('lookup_rounds_max') loop
    select coalesce(h.instance <> p_instance and h.last_tick_at > v_now - make_interval(secs =>
             tenure.setting_integer(v_caller.tenant_id, 'queue.heartbeat.stale_threshold_seconds')), false)
      into v_shared
      from tenure.heartbeats h
     where h.tenant_id = v_caller.tenant_id and h.executor_name = p_name
       for update;
    if found then
      update tenure.heartbeats h
         set executor_kind = p_executor,
             last_tick_at = v_now,
             ticks_total = h.ticks_total + 1,
             last_tick_status = case when v_shared and p_status = 'ok' then 'warn' else p_status end,
             current_job_id = p_current_job_id,
             lease_owner = p_name,
             instance = p_instance,
             metadata = p_metadata,
             updated_at = v_now
       where h.tenant_id = v_caller.tenant_id and h.executor_name = p_name
      returning h.* into v_row;
    else
      insert into tenure.heartbeats as h (
        tenant_id, executor_name, executor_kind, last_tick_at, last_tick_status,
        ticks_total, current_job_id, lease_owner, instance, metadata, created_at, updated_at)
      values (v_caller.tenant_id, p_name, p_executor, v_now, p_status,
        1, p_current_job_id, p_name, p_instance, p_metadata, v_now, v_now)
      on conflict (tenant_id, executor_name) do nothing
      returning h.* into v_row;
    end if;
    exit when v_row.executor_name is not null;
  end loop;
  if v_row.ticks_total = 1 then
    perform tenure.emit(v_now, v_caller.tenant_id, 'executor.registered', v_caller.principal, null, p_name,
      jsonb_build_object('executor', p_executor, 'how', 'beat'));
  end if;
  return jsonb_build_object(
    'executor_name', p_name,
    'executor', p_executor,
    'last_tick_at', v_now,
    'last_tick_status', v_row.last_tick_status,
    'ticks_total', v_row.ticks_total,
    'name_shared', coalesce(v_shared, false));
end
$$;

-- Counts a claim as a heartbeat: registers a worker that never sent one, and refreshes one whose last tick is
-- getting old. Otherwise it costs one look-up.
create or replace function tenure.executor_seen(
  p_tenant_id integer, p_name text, p_executor text, p_lane integer, p_principal text,
  p_tuning tenure.tunings, p_now timestamptz) returns void
language plpgsql
as $$
declare
  v_last     timestamptz;
  v_executor text := p_executor;
  v_timeout  text := current_setting('lock_timeout');
  v_is_new   boolean;
begin
  if not p_tuning.heartbeat_open then
    return;
  end if;
  select h.last_tick_at into v_last
    from tenure.heartbeats h
   where h.tenant_id = p_tenant_id and h.executor_name = p_name;
  if v_last > p_now - make_interval(secs => p_tuning.stale_seconds / 3.0) then
    return;
  end if;
  if v_executor is null then
    select l.executor into v_executor from tenure.lanes l where l.lane = p_lane;
  end if;
  -- A claim never waits: if another transaction of this worker is writing the row, nothing is written.
  if v_last is not null then
    update tenure.heartbeats h
       set last_tick_at = p_now,
           ticks_total = h.ticks_total + 1,
           updated_at = p_now
     where h.ctid = any (array(
       select x.ctid
         from tenure.heartbeats x
        where x.tenant_id = p_tenant_id and x.executor_name = p_name
          for update skip locked));
    return;
  end if;
  begin
    perform set_config('lock_timeout', '1', true);
    insert into tenure.heartbeats (
      tenant_id, executor_name, executor_kind, last_tick_at, ticks_total, lease_owner, created_at, updated_at)
    values (p_tenant_id, p_name, v_executor, p_now, 1, p_name, p_now, p_now)
    on conflict (tenant_id, executor_name) do nothing;
    v_is_new := found;
    perform set_config('lock_timeout', v_timeout, true);
  exception when lock_not_available then
    return;
  end;
  if v_is_new then
    perform tenure.emit(p_now, p_tenant_id, 'executor.registered', p_principal, null, p_name,
      jsonb_build_object('executor', v_executor, 'how', 'claim'));
  end if;
end
$$;

-- Refuses work for an executor the caller does not drive.
create or replace function tenure.check_driven(p_caller tenure.caller_identity, p_executor text) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_caller.executors is not null and (p_executor = any (p_caller.executors)) is not true then
    perform tenure.refuse('executor_not_driven',
      format('%s does not drive the executor %s.', p_caller.principal, p_executor),
      format('It is bound to: %s.', array_to_string(p_caller.executors, ', ')),
      'Use one of these, or ask an admin for a wider binding.');
  end if;
end
$$;

-- Every executor and generator, with the number of instances that are alive.
-- granted to: all
create or replace function tenure.executor_list()
returns table (executor text, role text, note text, alive bigint, last_tick_at timestamptz)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant integer := tenure.current_tenant();
  v_since  timestamptz := tenure.now() - make_interval(secs =>
    2 * tenure.setting_integer(v_tenant, 'queue.heartbeat.stale_threshold_seconds'));
begin
  return query
    select e.name, e.role, e.note,
           count(h.executor_name) filter (where h.last_tick_at > v_since), max(h.last_tick_at)
      from tenure.executors e
      left join tenure.heartbeats h on h.executor_kind = e.name and h.tenant_id = v_tenant
     group by e.name, e.role, e.note
     order by e.role, e.name;
end
$$;

-- Executors whose last tick is older than the threshold. The default is twice the configured one, as in the
-- health view. Changes nothing.
-- granted to: all
create or replace function tenure.stale_check(p_threshold_seconds integer default null) returns jsonb
language plpgsql stable security invoker
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant  integer := tenure.current_tenant();
  v_now     timestamptz := tenure.now();
  v_seconds integer := coalesce(p_threshold_seconds,
    2 * tenure.setting_integer(v_tenant, 'queue.heartbeat.stale_threshold_seconds'));
  v_stale   jsonb;
begin
  perform tenure.check_number('The threshold', v_seconds, 1, tenure.limit_of('stale_seconds_max'));
  select jsonb_agg(
           jsonb_build_object(
             'executor_name', h.executor_name,
             'executor', h.executor_kind,
             'last_tick_at', h.last_tick_at,
             'age_seconds', floor(extract(epoch from v_now - h.last_tick_at)))
           order by h.last_tick_at)
    into v_stale
    from tenure.heartbeats h
   where h.tenant_id = v_tenant and h.last_tick_at <= v_now - make_interval(secs => v_seconds);
  return jsonb_build_object(
    'threshold_seconds', v_seconds,
    'checked_at', v_now,
    'stale_count', coalesce(jsonb_array_length(v_stale), 0),
    'stale', coalesce(v_stale, '[]'));
end
$$;
