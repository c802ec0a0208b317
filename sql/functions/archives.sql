-- Archived executions: how they are searched. Their evidence is in evidence/archive.sql.

-- The targets of an execution as searches name them: type:ref, and type:ref:action.
create or replace function tenure.execution_targets(p_execution_id uuid) returns text[]
language sql stable
as $$
  select array(
    select t.name
      from tenure.steps s
      cross join lateral (select tenure.lock_part(s.target_type, s.target_ref) as part) p
      cross join lateral (values (p.part), (p.part || ':' || s.action)) t (name)
     where s.execution_id = p_execution_id
     group by t.name
     order by t.name)
$$;

-- Stores the terms that an archived execution is searched by.
create or replace function tenure.execution_archive_terms_add(p_execution_id uuid) returns void
language sql
as $$
  insert into tenure.execution_archive_terms (tenant_id, term, value, ended_at, execution_id)
  select a.tenant_id, t.term, t.value, a.ended_at, a.execution_id
    from tenure.execution_archives a
    cross join lateral (
      select 'target' as term, unnest(a.targets) as value
      union all
      select 'requester', unnest(a.requesters)
      union all
      select 'correlation', a.correlation_id
       where a.correlation_id is not null) t
   where a.execution_id = p_execution_id
$$;

-- Archived executions of the tenant that ended in one of the states p_state, latest end first. p_target:
-- type:ref or type:ref:action, as in a lock. p_requested_by: one of its requesters. p_before: the id of the
-- last one seen.
-- granted to: all
create or replace function tenure.execution_archive_list(
  p_state text[] default null, p_requested_by text default null, p_target text default null,
  p_correlation_id text default null, p_ended_after timestamptz default null,
  p_ended_before timestamptz default null, p_before uuid default null, p_limit integer default 50)
returns table (
  execution_id uuid, state text, purpose text, requested_by text, requesters text[], plan_hash text,
  correlation_id text, targets text[], created_at timestamptz, ended_at timestamptz, archived_at timestamptz,
  evidence_bytes integer)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set jit = off
-- pinned order: see sql/README.md
set plan_cache_mode = force_custom_plan
as $$
declare
  v_tenant integer := tenure.current_tenant();
  v_end    timestamptz := coalesce(p_ended_before, 'infinity');
  v_id     uuid := '00000000-0000-0000-0000-000000000000';
  v_seen   timestamptz;
  v_target text;
  v_term   text;
  v_value  text;
begin
  perform tenure.check_tenant(v_tenant);
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('list_rows_max'));
  if p_state is not null then
    perform tenure.check_filter('state', p_state,
      array['succeeded', 'partially_failed', 'failed', 'cancelled', 'rejected'], 'state_unknown');
  end if;
  if p_ended_before <= p_ended_after then
    perform tenure.refuse('range_invalid',
      format('It ended after %s and before %s.', p_ended_after, p_ended_before),
      'No time lies between these.',
      'Give an earlier beginning or a later end.');
  end if;
  if p_before is not null then
    select a.ended_at into v_seen
      from tenure.execution_archives a
     where a.execution_id = p_before
       and a.tenant_id = v_tenant;
    if not found then
      perform tenure.refuse('execution_unknown', format('There is no archived execution %s.', p_before),
        'It is not archived, or belongs to another tenant.',
        'See tenure.execution_archive_list().');
    end if;
    if v_seen < v_end then
      v_end := v_seen;
      v_id := p_before;
    end if;
  end if;
  if p_target is not null then
    select r.target || case when r.action = '' then '' else ':' || r.action end
      into v_target
      from tenure.lock_read(p_target) r;
  end if;
  if p_correlation_id is null and v_target is null and p_requested_by is null then
    return query
      select a.execution_id, a.state, a.purpose, a.requested_by, a.requesters, a.plan_hash, a.correlation_id,
             a.targets, a.created_at, a.ended_at, a.archived_at, octet_length(a.evidence)
        from tenure.execution_archives a
       where a.tenant_id = v_tenant
         and (a.ended_at, a.execution_id) < (v_end, v_id)
         and (p_ended_after is null or a.ended_at > p_ended_after)
         and (p_state is null or a.state = any (p_state))
       order by a.ended_at desc, a.execution_id desc
       limit p_limit;
    return;
  end if;
  -- The most selective of the given terms is looked up; the others filter.
  v_term := case
    when p_correlation_id is not null then 'correlation'
    when v_target is not null then 'target'
    else 'requester'
  end;
  v_value := coalesce(p_correlation_id, v_target, p_requested_by);
  return query
    select a.execution_id, a.state, a.purpose, a.requested_by, a.requesters, a.plan_hash, a.correlation_id,
           a.targets, a.created_at, a.ended_at, a.archived_at, octet_length(a.evidence)
      from tenure.execution_archive_terms t
      join tenure.execution_archives a on a.execution_id = t.execution_id and a.tenant_id = v_tenant
     where t.tenant_id = v_tenant
       and t.term = v_term
       and t.value = v_value
       and (t.ended_at, t.execution_id) < (v_end, v_id)
       and (p_ended_after is null or t.ended_at > p_ended_after)
       and (p_state is null or a.state = any (p_state))
       and (p_requested_by is null or p_requested_by = any (a.requesters))
       and (v_target is null or v_target = any (a.targets))
     order by t.ended_at desc, t.execution_id desc
     limit p_limit;
end
$$;
