-- Configuration: read by every function, changed by admins. Operators may open and close gates.

-- The value in force for a tenant: its own, else the installation's, else the default.
-- granted to: all
create or replace function tenure.setting(p_tenant_id integer, p_key text) returns jsonb
language plpgsql stable
as $$
begin
  return coalesce(
    (select c.value
       from tenure.config c
      where c.key = p_key
        and c.tenant_id in (p_tenant_id, 0)
      order by c.tenant_id desc
      limit 1),
    (select k.default_value from tenure.config_keys k where k.key = p_key));
end
$$;

-- The value in force of a setting that is a whole number.
-- granted to: all
create or replace function tenure.setting_integer(p_tenant_id integer, p_key text) returns integer
language sql stable
as $$ select (tenure.setting(p_tenant_id, p_key))::integer $$;

-- The settings that the hot path reads at every call, in one row.
create or replace function tenure.tuning(p_tenant_id integer) returns tenure.tunings
language plpgsql stable
as $$
declare
  v_tuning tenure.tunings;
begin
  select t.* into v_tuning from tenure.tunings t where t.tenant_id = p_tenant_id;
  if not found then
    select t.* into v_tuning from tenure.tunings t where t.tenant_id = 0;
  end if;
  return v_tuning;
end
$$;

-- Serializes changes of the configuration: those of a tenant with each other and with those of the
-- installation (0). It takes row locks because only the functions can take them; any login could take an
-- advisory lock.
create or replace function tenure.config_lock(p_tenant_id integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform from tenure.tenants t where t.tenant_id = p_tenant_id for no key update;
  if p_tenant_id = 0 then
    -- A new statement, so that it sees tenants made while the first one waited.
    perform from tenure.tenants t where t.tenant_id > 0 order by t.tenant_id for no key update;
  end if;
end
$$;

-- Derives tenure.tunings from the configuration, for one tenant or, when the caller acts for every tenant,
-- for all (0). Concurrent changes are serialized: the new row is read under the lock. Refuses any isolation
-- level but read committed.
create or replace function tenure.tunings_refresh(p_tenant_id integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant integer;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform tenure.refuse('state_conflict',
      format('The configuration cannot be changed in a %s transaction.',
        current_setting('transaction_isolation')),
      'What the hot path reads is derived from all settings, and an old snapshot does not show the latest.',
      'Change it in a read committed transaction, which is the default.');
  end if;
  perform tenure.config_lock(p_tenant_id);
  for v_tenant in
    select t.tenant_id from tenure.tenants t where p_tenant_id in (0, t.tenant_id) order by t.tenant_id
  loop
    insert into tenure.tunings as t (tenant_id, jobs_open, worker_open, heartbeat_open, notify_open,
      lease_seconds, lease_seconds_max, stale_seconds, attempts_max, backoff_base_seconds, jitter_percent,
      strict_kinds)
    values (v_tenant,
      (tenure.setting(v_tenant, 'queue.job_substrate.enabled'))::boolean,
      (tenure.setting(v_tenant, 'queue.worker.enabled'))::boolean,
      (tenure.setting(v_tenant, 'queue.heartbeat.enabled'))::boolean,
      (tenure.setting(v_tenant, 'queue.notify.enabled'))::boolean,
      tenure.setting_integer(v_tenant, 'queue.lease.duration_sec'),
      tenure.setting_integer(v_tenant, 'queue.lease.duration_sec_max'),
      tenure.setting_integer(v_tenant, 'queue.heartbeat.stale_threshold_seconds'),
      tenure.setting_integer(v_tenant, 'queue.retry.max_attempts_default'),
      tenure.setting_integer(v_tenant, 'queue.retry.backoff_base_sec'),
      tenure.setting_integer(v_tenant, 'queue.retry.jitter_percent'),
      (tenure.setting(v_tenant, 'queue.kind.strict'))::boolean)
    on conflict (tenant_id) do update
      set jobs_open = excluded.jobs_open,
          worker_open = excluded.worker_open,
          heartbeat_open = excluded.heartbeat_open,
          notify_open = excluded.notify_open,
          lease_seconds = excluded.lease_seconds,
          lease_seconds_max = excluded.lease_seconds_max,
          stale_seconds = excluded.stale_seconds,
          attempts_max = excluded.attempts_max,
          backoff_base_seconds = excluded.backoff_base_seconds,
          jitter_percent = excluded.jitter_percent,
          strict_kinds = excluded.strict_kinds;
  end loop;
end
$$;

-- Refuses a call that does not act within one tenant.
create or replace function tenure.check_tenant(p_tenant_id integer) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_tenant_id is null then
    perform tenure.refuse('tenant_unknown', 'This call acts within one tenant, and none is named.',
      'The setting tenure.tenant is *, which only service functions understand.',
      'Set tenure.tenant to the name of a tenant for this transaction.');
  end if;
end
$$;

-- Refuses a call that does not act within one tenant, or whose gate is closed. Call it before any other
-- check, so that a closed installation reveals nothing else.
create or replace function tenure.check_gate(p_tenant_id integer, p_key text) returns void
language plpgsql stable
as $$
begin
  if p_tenant_id is null then
    perform tenure.check_tenant(p_tenant_id);
  end if;
  if not (tenure.setting(p_tenant_id, p_key))::boolean then
    perform tenure.refuse_gate(p_key);
  end if;
end
$$;

create or replace function tenure.refuse_gate(p_key text) returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
  select tenure.refuse('gate_closed', format('The gate %s is closed.', p_key),
    case p_key
      when 'queue.job_substrate.enabled'
        then 'job_substrate_disabled: after migrating, everything is inert until someone opens it.'
      else 'After migrating, everything is inert until someone opens it.'
    end,
    format('An operator opens it: select tenure.gate_set(%L, ''open'').', p_key))
$$;

-- Every key with its value in force, where it comes from, and its bounds.
-- granted to: all
create or replace function tenure.config_list() returns table (
  key text, value jsonb, origin text, default_value jsonb, value_type text, value_min bigint,
  value_max bigint, is_gate boolean, description text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant integer := coalesce(tenure.current_tenant(), 0);
begin
  return query
    select k.key, coalesce(c.value, k.default_value),
           case
             when c.tenant_id is null then 'default'
             when c.tenant_id = 0 then 'installation'
             else 'tenant'
           end,
           k.default_value, k.value_type, k.value_min, k.value_max, k.is_gate, k.description
      from tenure.config_keys k
      left join lateral (
        select g.tenant_id, g.value
          from tenure.config g
         where g.key = k.key
           and g.tenant_id in (v_tenant, 0)
         order by g.tenant_id desc
         limit 1) c on true
     order by k.key;
end
$$;

-- The value in force of one setting; refuses an unknown key with config_unknown.
-- granted to: all
create or replace function tenure.config_get(p_key text) returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant integer := coalesce(tenure.current_tenant(), 0);
begin
  perform tenure.check_config_key(p_key);
  return tenure.setting(v_tenant, p_key);
end
$$;

create or replace function tenure.check_config_key(p_key text) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if not exists (select from tenure.config_keys k where k.key = p_key) then
    perform tenure.refuse('config_unknown', format('There is no configuration key %L.', p_key),
      'Keys are fixed by the schema, so that a misspelt one is never silently ignored.',
      'See select key from tenure.config_list().');
  end if;
end
$$;

-- Sets a key for the caller's tenant, or for the installation when the server acts for every tenant. Null
-- removes the setting. A governed key may wait for a second admin: the answer is then the pending change.
-- granted to: admin
create or replace function tenure.config_set(p_key text, p_value jsonb, p_on_behalf_of text default null)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_tenant integer := coalesce(v_caller.tenant_id, 0);
  v_now    timestamptz := tenure.now();
  v_key    tenure.config_keys;
begin
  perform tenure.check_config_key(p_key);
  select k.* into v_key from tenure.config_keys k where k.key = p_key;
  if p_value is not null then
    if v_key.value_type = 'boolean' and jsonb_typeof(p_value) <> 'boolean' then
      perform tenure.refuse('config_invalid', format('%s cannot be %s.', p_key, p_value),
        'It is true or false.', 'Give true or false.');
    elsif v_key.value_type = 'integer' and (
        jsonb_typeof(p_value) <> 'number'
        or p_value::numeric <> trunc(p_value::numeric)
        or p_value::numeric < v_key.value_min
        or p_value::numeric > v_key.value_max) then
      perform tenure.refuse('config_invalid', format('%s cannot be %s.', p_key, p_value),
        format('It is a whole number between %s and %s.', v_key.value_min, v_key.value_max),
        'Give a number within these bounds.');
    elsif v_key.value_type = 'text' and (
        jsonb_typeof(p_value) <> 'string'
        or p_value #>> '{}' !~ '^(https?://[^[:space:][:cntrl:]]+)?$'
        or length(p_value #>> '{}') > tenure.limit_of('url_chars_max')) then
      perform tenure.refuse('config_invalid',
        format('%s cannot be %s.', p_key, tenure.excerpt(p_value::text)),
        format('It is a URL of at most %s characters, or empty.', tenure.limit_of('url_chars_max')),
        'Give a URL such as https://tenure.example.org.');
    end if;
  end if;

  -- 300.0 is stored as the whole number 300.
  if v_key.value_type = 'integer' then
    p_value := to_jsonb(p_value::numeric::bigint);
  end if;

  if tenure.is_governed_key(p_key) then
    perform tenure.refuse_agent(v_caller);
    return tenure.governance_change(v_caller, 'config', p_key,
      case when p_value is null then 'delete' else 'set' end, p_value, p_on_behalf_of);
  end if;
  return tenure.config_write(v_tenant, v_now, v_caller.principal, p_on_behalf_of, p_key, p_value);
end
$$;

-- Writes a setting that was checked, and emits config.changed. p_approval names the approved change, if any.
create or replace function tenure.config_write(
  p_tenant_id integer, p_now timestamptz, p_author text, p_on_behalf_of text, p_key text, p_value jsonb,
  p_approval jsonb default '{}')
returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_old jsonb;
begin
  perform tenure.config_lock(p_tenant_id);
  v_old := tenure.setting(p_tenant_id, p_key);
  if p_value is null then
    delete from tenure.config c where c.tenant_id = p_tenant_id and c.key = p_key;
  else
    insert into tenure.config (tenant_id, key, value, updated_at, updated_by)
    values (p_tenant_id, p_key, p_value, p_now, p_author)
    on conflict (tenant_id, key) do update
      set value = excluded.value,
          updated_at = excluded.updated_at,
          updated_by = excluded.updated_by;
  end if;
  perform tenure.tunings_refresh(p_tenant_id);
  perform tenure.emit(p_now, p_tenant_id, 'config.changed', p_author, p_on_behalf_of, p_key,
    jsonb_build_object('key', p_key, 'old', v_old, 'new', tenure.setting(p_tenant_id, p_key))
      || p_approval);
  return jsonb_build_object('key', p_key, 'old', v_old, 'value', tenure.setting(p_tenant_id, p_key));
end
$$;

-- Opens or closes one gate: the part of the configuration that operators may change.
-- granted to: admin, operator
create or replace function tenure.gate_set(p_key text, p_position text, p_on_behalf_of text default null)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if not exists (select from tenure.config_keys k where k.key = p_key and k.is_gate) then
    perform tenure.refuse('config_unknown', format('There is no gate %L.', p_key),
      format('The gates are: %s.', (
        select string_agg(k.key, ', ' order by k.key) from tenure.config_keys k where k.is_gate)),
      'Name one of these.');
  end if;
  perform tenure.check_word('value_unknown', 'position of a gate', p_position, array['open', 'closed']);
  return tenure.config_set(p_key, to_jsonb(p_position = 'open'), p_on_behalf_of);
end
$$;

-- Runs at every migration: tenure.tunings is complete, whatever version came before.
do $$
begin
  perform set_config('tenure.tenant', '*', true);
  perform tenure.tunings_refresh(0);
  perform set_config('tenure.tenant', '', true);
end
$$;
