-- Archiving executions: which are due, the move of one into the archive, and reading its evidence there.
-- Archived executions are listed by archives.sql.

-- Executions that ended more than retention.executions_days ago, rejected ones included. A partially failed
-- one is left out until it is closed or retried, and one whose last chain head no checkpoint covers until the
-- next checkpoint.
-- granted to: server
create or replace function tenure.execution_archive_due(p_limit integer default 10)
returns table (tenant text, execution_id uuid)
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
      cross join lateral (
        select x.execution_id, x.ended_at
          from tenure.execution_rows x
         where x.tenant_id = t.tenant_id
           and x.ended_at <= v_now - make_interval(
                 days => tenure.setting_integer(t.tenant_id, 'retention.executions_days'))
           and not (x.state = 'partially_failed' and x.key_held)
           and tenure.anchor_covers(x.execution_id, x.chain_length, x.chain_hash)
         order by x.ended_at
         limit p_limit) e
     where t.tenant_id = any (v_tenants)
     order by e.ended_at
     limit p_limit;
end
$$;

-- Stores the evidence of an execution and deletes its rows, in one transaction. Refuses with busy_try_again
-- while another transaction holds the execution, and with state_conflict if it is too early or the evidence
-- is not of its present chain head.
-- granted to: server
create or replace function tenure.execution_archive(p_execution_id uuid, p_evidence text) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz := tenure.now();
  v_row    tenure.execution_rows;
begin
  select e.* into v_row
    from tenure.execution_rows e
   where e.execution_id = p_execution_id
     and (e.tenant_id = v_caller.tenant_id or v_caller.scope = 'every')
     for update skip locked;
  if not found then
    if exists (
         select
           from tenure.executions e
          where e.execution_id = p_execution_id
            and (e.tenant_id = v_caller.tenant_id or v_caller.scope = 'every')) then
      perform tenure.refuse('busy_try_again', format('Somebody is busy with execution %s.', p_execution_id),
        'A transaction that holds it has not ended.',
        'Try again.');
    end if;
    perform tenure.refuse_execution(p_execution_id);
  end if;
  if v_row.ended_at is null
     or v_row.ended_at > v_now - make_interval(
          days => tenure.setting_integer(v_row.tenant_id, 'retention.executions_days')) then
    perform tenure.refuse('state_conflict',
      format('Execution %s is not to be archived yet.', p_execution_id),
      'That comes a while after its end (retention.executions_days).',
      'Export it as often as you like.');
  end if;
  -- Evidence with the hash of the chain head was made after the last event.
  if strpos(p_evidence, encode(v_row.chain_hash, 'hex')) = 0 then
    perform tenure.refuse('state_conflict',
      format('The evidence is not that of execution %s as it is now.', p_execution_id),
      'Its last event is missing.',
      'Make it anew, and try again.');
  end if;
  insert into tenure.execution_archives (execution_id, tenant_id, purpose, plan_hash, state, requested_by,
    created_at, ended_at, archived_at, evidence, proof, correlation_id, targets, requesters, event_times)
  values (v_row.execution_id, v_row.tenant_id, v_row.purpose, v_row.plan_hash, v_row.state,
    v_row.requested_by, v_row.created_at, v_row.ended_at, v_now, p_evidence,
    tenure.anchor_proof_of(p_execution_id, null), v_row.correlation_id,
    tenure.execution_targets(p_execution_id), v_row.requesters,
    array(select distinct v.at from tenure.execution_events v where v.execution_id = p_execution_id));
  perform tenure.execution_archive_terms_add(p_execution_id);
  delete from tenure.approval_votes v
   using tenure.approvals a
   where a.execution_id = p_execution_id
     and v.approval_id = a.approval_id;
  delete from tenure.approvals a where a.execution_id = p_execution_id;
  delete from tenure.execution_events v where v.execution_id = p_execution_id;
  delete from tenure.step_runs r where r.execution_id = p_execution_id;
  delete from tenure.step_fences f where f.execution_id = p_execution_id;
  delete from tenure.step_needs n where n.execution_id = p_execution_id;
  delete from tenure.step_states s where s.execution_id = p_execution_id;
  delete from tenure.steps s where s.execution_id = p_execution_id;
  delete from tenure.execution_states e where e.execution_id = p_execution_id;
  delete from tenure.executions e where e.execution_id = p_execution_id;
  delete from tenure.plans p where p.execution_id = p_execution_id;
  perform tenure.emit(v_now, v_row.tenant_id, 'execution.archived', v_caller.principal, null,
    p_execution_id::text, jsonb_build_object('bytes', octet_length(p_evidence)));
  return jsonb_build_object('execution_id', p_execution_id, 'archived', true);
end
$$;

-- The evidence of an archived execution.
-- granted to: all
create or replace function tenure.execution_archive_show(p_execution_id uuid) returns text
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_text text;
begin
  select a.evidence into v_text
    from tenure.execution_archives a
   where a.execution_id = p_execution_id
     and a.tenant_id = tenure.current_tenant();
  if not found then
    perform tenure.refuse_execution(p_execution_id);
  end if;
  return v_text;
end
$$;
