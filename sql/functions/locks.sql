-- Locks on targets, as people and programs see and take them. Steps take theirs in executions_dispatch.sql.

-- Reads type:ref or type:ref:action, where % and : of the reference are written %25 and %3A.
create or replace function tenure.lock_read(p_part text, out target text, out action text)
language plpgsql
as $$
begin
  if p_part is null or p_part ~ '[[:cntrl:]]'
     or p_part !~ '^[^:]*[^:[:space:]][^:]*:[^:]*[^:[:space:]][^:]*(:[^:]*[^:[:space:]][^:]*)?$'
     or split_part(p_part, ':', 2) ~ '%(?!25|3A)'
     or length(p_part) > tenure.limit_of('lock_target_chars_max') then
    perform tenure.refuse('name_invalid', format('%L is no lock.', left(coalesce(p_part, ''), 100)),
      format('It is type:ref or type:ref:action, at most %s characters; a %% in the reference is written %%25, a colon %%3A.', tenure.limit_of('lock_target_chars_max')), 'Give one such as service:shop, or host:web-1:restart.');
  end if;
  target := split_part(p_part, ':', 1) || ':'
    || replace(tenure.target_folded(tenure.current_tenant(), split_part(p_part, ':', 1), split_part(p_part, ':', 2)),
         '%3a', '%3A');
  action := split_part(p_part, ':', 3);
end
$$;

-- Locks as they are read from parts, each once, in the order in which everybody takes them; their targets held. One that is named twice counts once; a target and an action at it exclude each other.
create or replace function tenure.locks_hold(p_tenant_id integer, p_parts text[]) returns table (part text, target text, action text, place bigint)
language plpgsql
set lock_timeout = '2s'
as $$
declare
  v_both record;
begin
  perform tenure.check_isolation();
  if coalesce(cardinality(p_parts), 0) not between 1 and tenure.limit_of('key_rights_max') then
    perform tenure.refuse('batch_too_large', format('%s locks were named.', coalesce(cardinality(p_parts), 0)), format('It is 1 to %s at a time (key_rights_max).', tenure.limit_of('key_rights_max')), 'Name fewer, or at least one.');
  end if;
  select a.part, r.target into v_both from unnest(p_parts) a (part) cross join lateral tenure.lock_read(a.part) r where r.action <> '' and r.target = any (p_parts) order by 1 limit 1;
  if found then
    perform tenure.refuse('name_invalid', format('%s and %s were named together.', v_both.target, v_both.part), 'Whoever has the whole target has every action at it; nobody holds both.', format('Name %s alone.', v_both.target));
  end if;
  insert into tenure.lock_targets (tenant_id, target)
  select distinct p_tenant_id, r.target from unnest(p_parts) x cross join lateral tenure.lock_read(x) r order by 2 on conflict do nothing;
  perform from tenure.lock_targets t where t.tenant_id = p_tenant_id and t.target = any (array(select r.target from unnest(p_parts) x cross join lateral tenure.lock_read(x) r))
   order by t.target for no key update;
  return query
    select distinct on (r.target, r.action) x.part, r.target, r.action, x.place from unnest(p_parts) with ordinality x (part, place) cross join lateral tenure.lock_read(x.part) r
     order by r.target, r.action, x.place;
exception when lock_not_available then
  perform tenure.refuse('busy_try_again', 'Somebody is busy with one of these targets.', 'A transaction that takes or frees a lock there has not ended.', 'Try again.');
end
$$;

-- Takes locks by hand, all of them or none. Each has a number greater than that of whoever held the target before: hand it to the target.
create or replace function tenure.lock_acquire(p_parts text[], p_seconds integer, p_reason text default null) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz;
  v_lock   record;
  v_held   record;
  v_taken  jsonb := '[]';
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  perform tenure.check_number('The seconds', p_seconds, 1, tenure.limit_of('lease_seconds_max'));
  if p_reason is not null then
    perform tenure.check_name('reason', p_reason);
  end if;
  perform tenure.case_rules_keep(v_caller.tenant_id);
  for v_lock in select l.* from tenure.locks_hold(v_caller.tenant_id, p_parts) l loop
    -- Read when the targets are held: they may have been waited for, and the time of a lock begins when it is had.
    v_now := coalesce(v_now, tenure.now());
    delete from tenure.locks l where l.tenant_id = v_caller.tenant_id and l.target = v_lock.target and l.execution_id is null and l.expires_at <= v_now;
    select l.owner, l.expires_at, l.target || case l.action when '' then '' else ':' || l.action end as part, l.reason into v_held from tenure.locks l
     where l.tenant_id = v_caller.tenant_id and l.target = v_lock.target and (l.action in ('', v_lock.action) or v_lock.action = '') limit 1;
    if found then
      perform tenure.refuse('lock_held',
        format('%s is held by %s%s, until %s.', v_held.part, v_held.owner,
          coalesce(' (' || v_held.reason || ')', ''), v_held.expires_at),
        'A target has one holder at a time; none of the locks was taken.',
        format('Wait, or have an operator break it: tenure.lock_break(%L, reason).', v_held.part));
    end if;
    if exists (select from tenure.steps s where s.tenant_id = v_caller.tenant_id and s.lock_target = v_lock.target and s.blocked_order is not null) then
      perform tenure.refuse('lock_held', format('Others wait for %s.', v_lock.target),
        'Locks are given in the order in which they were asked for; none of the locks was taken.',
        format('Try again when they are through: tenure.lock_waiters(%L).', v_lock.target));
    end if;
    insert into tenure.locks (tenant_id, target, action, fence, owner, reason, acquired_at, expires_at)
    values (v_caller.tenant_id, v_lock.target, v_lock.action, nextval('tenure.lock_fence'), v_caller.principal, p_reason, v_now, v_now + make_interval(secs => p_seconds))
    returning lock_key, fence, expires_at into v_held;
    v_taken := v_taken || jsonb_build_object('part', v_lock.part, 'lock_key', v_held.lock_key, 'fence', v_held.fence, 'expires_at', v_held.expires_at);
    perform tenure.emit(v_now, v_caller.tenant_id, 'lock.acquired', v_caller.principal, null, v_held.lock_key, jsonb_strip_nulls(jsonb_build_object('fence', v_held.fence, 'expires_at', v_held.expires_at, 'reason', p_reason)));
  end loop;
  return jsonb_build_object('locks', v_taken);
end
$$;

-- Refuses whoever does not hold a lock under this number any more.
create or replace function tenure.check_lock(p_now timestamptz, p_tenant_id integer, p_principal text, p_part text, p_target text, p_action text, p_fence bigint) returns void
language plpgsql
as $$
begin
  if not exists (select from tenure.locks l where l.tenant_id = p_tenant_id and l.target = p_target and l.action = p_action and l.fence = p_fence and l.owner = p_principal and l.execution_id is null
                    and l.expires_at > p_now) then
    perform tenure.refuse('lock_lost', format('%s does not hold %s under the number %s.', p_principal, p_part, coalesce(p_fence::text, 'none')), 'It expired, was broken or released, or somebody else took it.',
      'Stop what needs the lock; take it again if nobody has it.');
  end if;
end
$$;

create or replace function tenure.lock_renew(p_parts text[], p_fences bigint[], p_seconds integer) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz;
  v_lock   record;
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  perform tenure.check_number('The seconds', p_seconds, 1, tenure.limit_of('lease_seconds_max'));
  perform tenure.check_fences(p_parts, p_fences);
  for v_lock in select l.* from tenure.locks_hold(v_caller.tenant_id, p_parts) l loop
    v_now := coalesce(v_now, tenure.now());
    perform tenure.check_lock(v_now, v_caller.tenant_id, v_caller.principal, v_lock.part, v_lock.target, v_lock.action, p_fences[v_lock.place]);
    update tenure.locks l set expires_at = v_now + make_interval(secs => p_seconds) where l.tenant_id = v_caller.tenant_id and l.target = v_lock.target and l.action = v_lock.action;
  end loop;
  return jsonb_build_object('renewed', (select count(distinct x) from unnest(p_parts) x), 'expires_at', v_now + make_interval(secs => p_seconds));
end
$$;

create or replace function tenure.check_fences(p_parts text[], p_fences bigint[]) returns void
language plpgsql
as $$
begin
  if coalesce(cardinality(p_parts), 0) <> coalesce(cardinality(p_fences), 0) then
    perform tenure.refuse('arguments_mismatched', 'The arrays differ in length.', 'Each lock has its number.', 'Give one number for each lock.');
  end if;
  -- Named twice, it counts once: then under one number.
  if exists (select from unnest(p_parts, p_fences) x (part, fence) group by x.part having count(distinct coalesce(x.fence, -1)) > 1) then
    perform tenure.refuse('arguments_mismatched', 'A lock was named twice, with different numbers.', 'Each lock has its number.', 'Give one number for each lock.');
  end if;
end
$$;

create or replace function tenure.lock_release(p_parts text[], p_fences bigint[]) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz;
  v_lock   record;
  v_key    text;
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  perform tenure.check_fences(p_parts, p_fences);
  for v_lock in select l.* from tenure.locks_hold(v_caller.tenant_id, p_parts) l loop
    v_now := coalesce(v_now, tenure.now());
    perform tenure.check_lock(v_now, v_caller.tenant_id, v_caller.principal, v_lock.part, v_lock.target, v_lock.action, p_fences[v_lock.place]);
    delete from tenure.locks l where l.tenant_id = v_caller.tenant_id and l.target = v_lock.target and l.action = v_lock.action returning l.lock_key into v_key;
    perform tenure.emit(v_now, v_caller.tenant_id, 'lock.released', v_caller.principal, null, v_key, jsonb_build_object('fence', p_fences[v_lock.place]));
    perform tenure.lock_freed(v_now, v_caller.principal, v_caller.tenant_id, v_lock.target);
  end loop;
  return jsonb_build_object('released', (select count(distinct x) from unnest(p_parts) x));
end
$$;

-- Hands a target that was freed to who is next. The caller holds it.
create or replace function tenure.lock_freed(p_now timestamptz, p_actor text, p_tenant_id integer, p_target text) returns void
language plpgsql
as $$
declare
  v_hand record;
begin
  p_now := greatest(p_now, tenure.now());
  v_hand := tenure.lock_hand_over(p_now, p_actor, p_tenant_id, p_target, '{}');
  perform tenure.executions_advance(p_now, p_actor, v_hand.refused_execs, v_hand.refused_numbers, array_fill('failed'::text, array[cardinality(v_hand.refused_execs)]), v_hand.told);
end
$$;

-- An operator takes a lock from its holder. That of a step is not taken while the step runs unharmed: its job is taken from the worker first, and if nobody knows then how far it came, the step waits for a verdict.
create or replace function tenure.lock_break(p_part text, p_reason text) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz;
  v_read   record;
  v_lock   tenure.locks;
  v_step   tenure.steps;
  v_owner  text;
  v_fence  bigint;
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  perform tenure.check_isolation();
  perform tenure.check_name('reason', p_reason);
  v_read := tenure.lock_read(p_part);
  select l.* into v_lock from tenure.locks l where l.tenant_id = v_caller.tenant_id and l.target = v_read.target and l.action = v_read.action;
  if not found then
    perform tenure.refuse('lock_unknown', format('Nobody holds %s.', p_part), 'It was never taken, or is free again.', 'See tenure.lock_list().');
  end if;
  if v_lock.execution_id is not null then
    -- Executions before targets, as everybody does.
    perform tenure.execution_locked(v_caller.tenant_id, v_lock.execution_id);
  else
    perform from tenure.lock_targets t where t.tenant_id = v_caller.tenant_id and t.target = v_read.target for no key update;
  end if;
  -- Who had it may have gone while we waited: what another has now nobody asked to break. A section may have come to its next step.
  v_owner := v_lock.owner;
  select l.* into v_lock from tenure.locks l
   where l.tenant_id = v_caller.tenant_id and l.target = v_read.target and l.action = v_read.action
     and (l.fence = v_lock.fence or (l.execution_id = v_lock.execution_id and l.section = v_lock.section));
  if not found then
    perform tenure.refuse('lock_unknown', format('%s does not hold %s any more.', v_owner, p_part), 'It was released, or expired, just now.', 'See tenure.lock_list().');
  end if;
  v_now := tenure.now();
  if v_lock.execution_id is not null then
    select s.* into v_step from tenure.steps s where s.execution_id = v_lock.execution_id and s.step_number = v_lock.step_number;
    v_fence := tenure.fence_of(v_step.job_id);
    perform tenure.chain_append(v_now, v_caller.principal, array[(v_lock.execution_id, 'lock_broken', v_lock.step_number, jsonb_strip_nulls(jsonb_build_object('lock_key', v_lock.lock_key,
      'fence', coalesce(v_fence, v_lock.fence), 'section', v_lock.section, 'reason', p_reason)))::tenure.execution_told]);
    if v_step.state = 'running' then
      begin
        perform tenure.job_stop(v_caller, v_now, v_step.job_id, p_reason, 'force', null);
      exception when sqlstate 'TN014' then
        null;
      end;
    end if;
  end if;
  perform from tenure.lock_targets t where t.tenant_id = v_caller.tenant_id and t.target = v_read.target for no key update;
  delete from tenure.locks l where l.tenant_id = v_caller.tenant_id and l.target = v_read.target and l.action = v_read.action and l.fence = v_lock.fence;
  perform tenure.emit(v_now, v_caller.tenant_id, 'lock.broken', v_caller.principal, null, v_lock.lock_key, jsonb_build_object('owner', v_lock.owner, 'fence', coalesce(v_fence, v_lock.fence), 'reason', p_reason));
  perform tenure.lock_freed(v_now, v_caller.principal, v_caller.tenant_id, v_read.target);
  return jsonb_build_object('lock_key', v_lock.lock_key, 'owner', v_lock.owner, 'fence', coalesce(v_fence, v_lock.fence), 'broken', true);
end
$$;

-- Who holds what: everywhere, at one target, or one action at it.
create or replace function tenure.lock_list(p_target text default null, p_limit integer default 100)
returns table (lock_key text, part text, fence bigint, owner text, execution_id uuid, step_id text, reason text, acquired_at timestamptz, expires_at timestamptz, waiters bigint, section text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant integer := tenure.current_tenant();
  v_target text;
  v_action text := '';
begin
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('list_rows_max'));
  if p_target is not null then
    select r.target, r.action into v_target, v_action from tenure.lock_read(p_target) r;
  end if;
  return query
    select l.lock_key, l.target || case l.action when '' then '' else ':' || l.action end,
           coalesce(tenure.fence_of(s.job_id), l.fence), l.owner, l.execution_id, s.step_id, l.reason, l.acquired_at, l.expires_at,
           (select count(*) from (select from tenure.steps w where w.tenant_id = v_tenant and w.lock_target = l.target and w.blocked_order is not null limit 10000) w),
           l.section
      from tenure.locks l
      left join tenure.steps s on s.execution_id = l.execution_id and s.step_number = l.step_number
     where l.tenant_id = v_tenant and (p_target is null or l.target = v_target) and (v_action = '' or l.action = v_action)
     order by l.acquired_at, l.lock_key limit p_limit;
end
$$;

-- Who waits for a target, in the order of their turn.
create or replace function tenure.lock_waiters(p_part text, p_limit integer default 100)
returns table (place bigint, execution_id uuid, step_id text, purpose text, priority integer, action text, waiting_since timestamptz)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant integer := tenure.current_tenant();
  v_target text := (tenure.lock_read(p_part)).target;
begin
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('list_rows_max'));
  return query
    select row_number() over (order by s.priority desc, s.blocked_order), s.execution_id, s.step_id, e.purpose, s.priority::integer, nullif(s.lock_action, ''), s.blocked_at
      from (select s.* from tenure.steps s where s.tenant_id = v_tenant and s.lock_target = v_target and s.blocked_order is not null order by s.priority desc, s.blocked_order limit p_limit) s
      join tenure.executions e on e.execution_id = s.execution_id
     order by 1;
end
$$;

create or replace function tenure.timeout_policy_list()
returns table (sla_class text, action_class text, execution_timeout_ms integer, step_timeout_ms integer, lease_ms integer, renewals_max integer, origin text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant integer := tenure.current_tenant();
begin
  return query
    select p.sla_class, p.action_class, p.execution_timeout_ms, p.step_timeout_ms, p.lease_ms, p.renewals_max, case p.tenant_id when 0 then 'default' else 'tenant' end
      from (values ('fast', 1), ('medium', 2), ('long', 3)) s (class, place)
      cross join (values ('read', 1), ('modify', 2), ('deploy', 3)) a (class, place)
      cross join lateral tenure.timeout_policy(v_tenant, s.class, a.class) p
     order by s.place, a.place;
end
$$;

-- Says how long things of an SLA class and an action class may take in this tenant. Fields left out stay.
create or replace function tenure.timeout_policy_set(p_sla_class text, p_action_class text, p_spec jsonb) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_field  text;
  v_value  jsonb;
  v_new    tenure.timeout_policies;
begin
  perform tenure.check_tenant(v_caller.tenant_id);
  perform tenure.check_word('value_unknown', 'SLA class', p_sla_class, array['fast', 'medium', 'long']);
  perform tenure.check_word('value_unknown', 'action class', p_action_class, array['read', 'modify', 'deploy']);
  if jsonb_typeof(p_spec) is distinct from 'object' then
    perform tenure.refuse('payload_not_object', 'The specification is not a JSON object.', 'It names limits in milliseconds.', 'Give an object such as {"step_timeout_ms": 60000, "lease_ms": 180000}.');
  end if;
  for v_field, v_value in select f.key, f.value from jsonb_each(p_spec) f loop
    perform tenure.check_word('value_unknown', 'field of a timeout policy', v_field, array['execution_timeout_ms', 'step_timeout_ms', 'lease_ms', 'renewals_max']);
    if jsonb_typeof(v_value) <> 'number' or v_value::numeric <> trunc(v_value::numeric) or abs(v_value::numeric) > 9e15 then
      perform tenure.refuse('number_out_of_range', format('%s is %s.', v_field, left(v_value::text, 50)), 'It must be a whole number.', 'Give a whole number.');
    end if;
    perform tenure.check_number(v_field, v_value::bigint, case v_field when 'renewals_max' then 0 else 1 end,
      case v_field when 'renewals_max' then 1000 when 'execution_timeout_ms' then 2147483000 else tenure.limit_of('step_timeout_seconds_max') * 1000 end);
  end loop;
  v_new := jsonb_populate_record(tenure.timeout_policy(v_caller.tenant_id, p_sla_class, p_action_class), p_spec);
  v_new.tenant_id := v_caller.tenant_id;
  if v_new.lease_ms < v_new.step_timeout_ms or v_new.execution_timeout_ms < v_new.step_timeout_ms then
    perform tenure.refuse('number_out_of_range', format('A step may take %s ms, its lease %s ms, the execution %s ms.', v_new.step_timeout_ms, v_new.lease_ms, v_new.execution_timeout_ms),
      'A lease, and the execution, last at least as long as a step may take.', 'Lower step_timeout_ms, or raise the others.');
  end if;
  insert into tenure.timeout_policies select v_new.*
  on conflict (tenant_id, sla_class, action_class) do update set execution_timeout_ms = excluded.execution_timeout_ms, step_timeout_ms = excluded.step_timeout_ms, lease_ms = excluded.lease_ms,
    renewals_max = excluded.renewals_max;
  perform tenure.emit(tenure.now(), v_caller.tenant_id, 'execution.timeout_policy_set', v_caller.principal, null, p_sla_class || '_' || p_action_class, p_spec);
  return to_jsonb(v_new) - 'tenant_id';
end
$$;
