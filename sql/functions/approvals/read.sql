-- Approvals as they are read: the list, one with its votes, and the refusal of an unknown one.

-- Approvals of the tenant in one of the states p_state, oldest first. 'any', or null, stands for every state.
-- Where 'pending' is named, pending ones are listed only while they can be decided. p_after and p_after_id:
-- created_at and approval_id of the last one of the previous page.
-- granted to: all
create or replace function tenure.approval_list(
  p_execution_id uuid default null, p_state text[] default '{pending}', p_limit integer default 100,
  p_after timestamptz default null, p_after_id uuid default null)
returns table (
  approval_id uuid, execution_id uuid, step_id text, purpose text, requested_by text, requested_by_email text,
  level integer, roles text[], quorum integer, approvals_given integer, plan_hash text,
  plan_snapshot_hash text, state text, rule text, auto_approved boolean, runbook_ref text,
  created_at timestamptz, expires_at timestamptz, decided_at timestamptz, decided_by text, reason text,
  consumed_at timestamptz)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant integer := tenure.current_tenant();
  v_now    timestamptz := tenure.now();
begin
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('list_rows_max'));
  if p_state is not null then
    perform tenure.check_filter('state', p_state,
      array['pending', 'approved', 'rejected', 'expired', 'withdrawn', 'any']);
  end if;
  if 'any' = any (p_state) then
    p_state := null;
  end if;
  return query
    select a.approval_id, a.execution_id, s.step_id, e.purpose, e.requested_by,
           (select p.email from tenure.principals p where p.tenant_id = v_tenant and p.name = e.requested_by),
           a.level::integer, a.roles, a.quorum::integer, a.given::integer, a.plan_hash, a.plan_snapshot_hash,
           a.state, a.rule, a.auto_approved, a.runbook_ref, a.created_at, a.expires_at, a.decided_at,
           a.decided_by, a.reason, a.consumed_at
      from tenure.approvals a
      join tenure.execution_rows e on e.execution_id = a.execution_id
      left join tenure.step_rows s on s.execution_id = a.execution_id and s.step_number = a.step_number
     where a.tenant_id = v_tenant
       and (p_execution_id is null or a.execution_id = p_execution_id)
       and (p_state is null or a.state = any (p_state))
       and (
         p_state is null
         or a.state <> 'pending'
         or least(a.expires_at, case when e.started_at is null then e.start_before end) > v_now)
       and (p_after is null
         or a.created_at >= p_after and (a.created_at > p_after or a.approval_id > p_after_id))
     order by a.created_at, a.approval_id
     limit p_limit;
end
$$;

-- One approval with what an approver needs: its purpose, the plan, the roles that are missing, and the votes
-- so far.
-- granted to: all
create or replace function tenure.approval_show(p_approval_id uuid) returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant integer := tenure.current_tenant();
  v_row    tenure.approvals;
  v_exec   tenure.execution_rows;
begin
  select a.* into v_row
    from tenure.approvals a
   where a.approval_id = p_approval_id
     and a.tenant_id = v_tenant;
  if not found then
    perform tenure.refuse_approval(p_approval_id);
  end if;
  select e.* into v_exec from tenure.execution_rows e where e.execution_id = v_row.execution_id;
  return (to_jsonb(v_row) - array['tenant_id', 'step_number', 'given'])
    || jsonb_build_object(
      'approvals_given', v_row.given,
      'roles_missing', to_jsonb(tenure.roles_missing(v_row)),
      'step_id', (
        select s.step_id
          from tenure.step_rows s
         where s.execution_id = v_row.execution_id
           and s.step_number = v_row.step_number),
      'purpose', v_exec.purpose,
      'requested_by', v_exec.requested_by,
      'on_behalf_of', v_exec.on_behalf_of,
      'requested_by_email', (
        select p.email
          from tenure.principals p
         where p.tenant_id = v_tenant
           and p.name = v_exec.requested_by),
      'execution_state', v_exec.state,
      'supersedes', v_exec.supersedes,
      'retry_of', v_exec.retry_of,
      'votes', (
        select coalesce(jsonb_agg(to_jsonb(v) order by v.at), '[]')
          from tenure.approval_votes_of(p_approval_id) v));
end
$$;

-- The votes of an approval, oldest first.
-- granted to: all
create or replace function tenure.approval_votes_of(p_approval_id uuid)
returns table (
  principal text, decision text, comment text, plan_hash text, auth_method text, auth_makers text[],
  source text, roles text[], level integer, on_behalf_of text, at timestamptz)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if not exists (
       select
         from tenure.approvals a
        where a.approval_id = p_approval_id
          and a.tenant_id = tenure.current_tenant()) then
    perform tenure.refuse_approval(p_approval_id);
  end if;
  return query
    select v.principal, v.decision, v.comment, v.plan_hash, v.auth_method, v.auth_makers, v.source, v.roles,
           v.level::integer, v.on_behalf_of, v.at
      from tenure.approval_votes v
     where v.approval_id = p_approval_id
       and v.tenant_id = tenure.current_tenant()
     order by v.at;
end
$$;

-- Refuses an approval that does not exist in the tenant.
create or replace function tenure.refuse_approval(p_approval_id uuid) returns void
language sql
as $$
  select tenure.refuse('approval_unknown',
    format('There is no approval %s.', coalesce(p_approval_id::text, 'without an id')),
    'It never was, belongs to another tenant, or is archived.',
    'See tenure.approval_list().')
$$;
