-- Locks on targets taken by hand: acquire, renew and release. Steps take theirs in steps/lock.sql.

-- Reads type:ref or type:ref:action, where % and : of the reference are written %25 and %3A. Refuses any
-- other text.
create or replace function tenure.lock_read(p_part text, out target text, out action text)
language plpgsql
as $$
begin
  if p_part is null
     or p_part ~ '[[:cntrl:]]'
     or p_part !~ '^[^:]*[^:[:space:]][^:]*:[^:]*[^:[:space:]][^:]*(:[^:]*[^:[:space:]][^:]*)?$'
     or split_part(p_part, ':', 2) ~ '%(?!25|3A)'
     or length(p_part) > tenure.limit_of('lock_target_chars_max') then
    perform tenure.refuse('name_invalid', format('%L is no lock.', left(coalesce(p_part, ''), 100)),
      format(
        'It is type:ref or type:ref:action, at most %s characters; a %% in the reference is written %%25, a '
          'colon %%3A.',
        tenure.limit_of('lock_target_chars_max')),
      'Give one such as service:shop, or host:web-1:restart.');
  end if;
  target := split_part(p_part, ':', 1) || ':' || replace(
    tenure.target_folded(tenure.current_tenant(), split_part(p_part, ':', 1), split_part(p_part, ':', 2)),
    '%3a', '%3A');
  action := split_part(p_part, ':', 3);
end
$$;

-- Reads locks from their parts, each once, and locks the rows of their targets in the order that every
-- transaction uses. A part named twice counts once. Refuses a target named together with an action at it, and
-- a target that another transaction holds for more than two seconds.
create or replace function tenure.locks_lock_rows(p_tenant_id integer, p_parts text[])
returns table (part text, target text, action text, place bigint)
language plpgsql
set lock_timeout = '2s'
as $$
declare
  v_both record;
begin
  perform tenure.check_isolation();
  if coalesce(cardinality(p_parts), 0) not between 1 and tenure.limit_of('key_rights_max') then
    perform tenure.refuse('batch_too_large',
      format('%s locks were named.', coalesce(cardinality(p_parts), 0)),
      format('It is 1 to %s at a time (key_rights_max).', tenure.limit_of('key_rights_max')),
      'Name fewer, or at least one.');
  end if;
  select a.part, r.target
    into v_both
    from unnest(p_parts) a (part)
    cross join lateral tenure.lock_read(a.part) r
   where r.action <> ''
     and r.target = any (p_parts)
   order by 1
   limit 1;
  if found then
    perform tenure.refuse('name_invalid',
      format('%s and %s were named together.', v_both.target, v_both.part),
      'Whoever has the whole target has every action at it; nobody holds both.',
      format('Name %s alone.', v_both.target));
  end if;
  insert into tenure.lock_targets (tenant_id, target)
  select distinct p_tenant_id, r.target
    from unnest(p_parts) x
    cross join lateral tenure.lock_read(x) r
   order by 2
  on conflict do nothing;
  perform
     from tenure.lock_targets t
    where t.tenant_id = p_tenant_id
      and t.target = any (array(
            select r.target from unnest(p_parts) x cross join lateral tenure.lock_read(x) r))
    order by t.target
      for no key update;
  return query
    select distinct on (r.target, r.action) x.part, r.target, r.action, x.place
      from unnest(p_parts) with ordinality x (part, place)
      cross join lateral tenure.lock_read(x.part) r
     order by r.target, r.action, x.place;
exception when lock_not_available then
  perform tenure.refuse('busy_try_again', 'Somebody is busy with one of these targets.',
    'A transaction that takes or frees a lock there has not ended.',
    'Try again.');
end
$$;

-- Takes locks by hand, all of them or none. The fence of each is greater than that of every earlier holder of
-- the target: hand it to the target.
-- granted to: operator, worker
create or replace function tenure.lock_acquire(p_parts text[], p_seconds integer, p_reason text default null)
returns jsonb
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
  for v_lock in select l.* from tenure.locks_lock_rows(v_caller.tenant_id, p_parts) l loop
    -- Read after the wait for the targets: the time of a lock begins when it is held.
    v_now := coalesce(v_now, tenure.now());
    delete from tenure.locks l
     where l.tenant_id = v_caller.tenant_id
       and l.target = v_lock.target
       and l.execution_id is null
       and l.expires_at <= v_now;
    select l.owner, l.expires_at, l.target || case l.action when '' then '' else ':' || l.action end as part,
           l.reason
      into v_held
      from tenure.locks l
     where l.tenant_id = v_caller.tenant_id
       and l.target = v_lock.target
       and (l.action in ('', v_lock.action) or v_lock.action = '')
     limit 1;
    if found then
      perform tenure.refuse('lock_held',
        format('%s is held by %s%s, until %s.', v_held.part, v_held.owner,
          coalesce(' (' || v_held.reason || ')', ''), v_held.expires_at),
        'A target has one holder at a time; none of the locks was taken.',
        format('Wait, or have an operator break it: tenure.lock_break(%L, reason).', v_held.part));
    end if;
    if exists (
         select
           from tenure.lock_queue q
          where q.tenant_id = v_caller.tenant_id
            and q.target = v_lock.target) then
      perform tenure.refuse('lock_held', format('Others wait for %s.', v_lock.target),
        'Locks are given in the order in which they were asked for; none of the locks was taken.',
        format('Try again when they are through: tenure.lock_waiters(%L).', v_lock.target));
    end if;
    insert into tenure.locks (tenant_id, target, action, fence, owner, reason, acquired_at, expires_at)
    values (v_caller.tenant_id, v_lock.target, v_lock.action, nextval('tenure.lock_fence'),
      v_caller.principal, p_reason, v_now, v_now + make_interval(secs => p_seconds))
    returning lock_key, fence, expires_at into v_held;
    v_taken := v_taken || jsonb_build_object(
      'part', v_lock.part,
      'lock_key', v_held.lock_key,
      'fence', v_held.fence,
      'expires_at', v_held.expires_at);
    perform tenure.emit(v_now, v_caller.tenant_id, 'lock.acquired', v_caller.principal, null, v_held.lock_key,
      jsonb_strip_nulls(jsonb_build_object(
        'fence', v_held.fence,
        'expires_at', v_held.expires_at,
        'reason', p_reason)));
  end loop;
  return jsonb_build_object('locks', v_taken);
end
$$;

-- Refuses a principal that does not hold the lock by hand under this fence any more.
create or replace function tenure.check_lock(
  p_now timestamptz, p_tenant_id integer, p_principal text, p_part text, p_target text, p_action text,
  p_fence bigint) returns void
language plpgsql
as $$
begin
  if not exists (
       select
         from tenure.locks l
        where l.tenant_id = p_tenant_id
          and l.target = p_target
          and l.action = p_action
          and l.fence = p_fence
          and l.owner = p_principal
          and l.execution_id is null
          and l.expires_at > p_now) then
    perform tenure.refuse('lock_lost',
      format('%s does not hold %s under the number %s.', p_principal, p_part,
        coalesce(p_fence::text, 'none')),
      'It expired, was broken or released, or somebody else took it.',
      'Stop what needs the lock; take it again if nobody has it.');
  end if;
end
$$;

-- Extends locks held by hand to p_seconds from now, all of them or none. Refuses when one of them was lost.
-- granted to: operator, worker
create or replace function tenure.lock_renew(p_parts text[], p_fences bigint[], p_seconds integer)
returns jsonb
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
  for v_lock in select l.* from tenure.locks_lock_rows(v_caller.tenant_id, p_parts) l loop
    v_now := coalesce(v_now, tenure.now());
    perform tenure.check_lock(v_now, v_caller.tenant_id, v_caller.principal, v_lock.part, v_lock.target,
      v_lock.action, p_fences[v_lock.place]);
    update tenure.locks l
       set expires_at = v_now + make_interval(secs => p_seconds)
     where l.tenant_id = v_caller.tenant_id
       and l.target = v_lock.target
       and l.action = v_lock.action;
  end loop;
  return jsonb_build_object(
    'renewed', (select count(distinct x) from unnest(p_parts) x),
    'expires_at', v_now + make_interval(secs => p_seconds));
end
$$;

-- Refuses arrays of different lengths, and a lock named twice with different fences.
create or replace function tenure.check_fences(p_parts text[], p_fences bigint[]) returns void
language plpgsql
as $$
begin
  if coalesce(cardinality(p_parts), 0) <> coalesce(cardinality(p_fences), 0) then
    perform tenure.refuse('arguments_mismatched', 'The arrays differ in length.', 'Each lock has its number.',
      'Give one number for each lock.');
  end if;
  -- A lock named twice counts once, so it can have one fence only.
  if exists (
       select
         from unnest(p_parts, p_fences) x (part, fence)
        group by x.part
       having count(distinct coalesce(x.fence, -1)) > 1) then
    perform tenure.refuse('arguments_mismatched', 'A lock was named twice, with different numbers.',
      'Each lock has its number.',
      'Give one number for each lock.');
  end if;
end
$$;

-- Releases locks held by hand, all of them or none, and hands their targets over. Refuses when one was lost.
-- granted to: operator, worker
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
  for v_lock in select l.* from tenure.locks_lock_rows(v_caller.tenant_id, p_parts) l loop
    v_now := coalesce(v_now, tenure.now());
    perform tenure.check_lock(v_now, v_caller.tenant_id, v_caller.principal, v_lock.part, v_lock.target,
      v_lock.action, p_fences[v_lock.place]);
    delete from tenure.locks l
     where l.tenant_id = v_caller.tenant_id
       and l.target = v_lock.target
       and l.action = v_lock.action
    returning l.lock_key into v_key;
    perform tenure.emit(v_now, v_caller.tenant_id, 'lock.released', v_caller.principal, null, v_key,
      jsonb_build_object('fence', p_fences[v_lock.place]));
    perform tenure.lock_freed(v_now, v_caller.principal, v_caller.tenant_id, v_lock.target);
  end loop;
  return jsonb_build_object('released', (select count(distinct x) from unnest(p_parts) x));
end
$$;

-- Removes locks taken by hand at a target that have expired, and emits the event of each. Returns how many.
-- The caller holds the target.
create or replace function tenure.locks_expire(p_now timestamptz, p_tenant_id integer, p_target text)
returns integer
language plpgsql
as $$
declare
  v_gone integer;
begin
  with gone as (
    delete from tenure.locks l
     where l.tenant_id = p_tenant_id
       and l.target = p_target
       and l.execution_id is null
       and l.expires_at <= p_now
    returning l.lock_key, l.owner, l.fence
  ), emitted as (
    insert into tenure.events (at, tenant_id, kind, actor, subject, data)
    select p_now, p_tenant_id, 'lock.expired', 'policy', g.lock_key,
           jsonb_build_object('owner', g.owner, 'fence', g.fence)
      from gone g
  )
  select count(*) into v_gone from gone;
  return v_gone;
end
$$;
