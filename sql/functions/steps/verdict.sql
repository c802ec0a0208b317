-- Who may give the verdict on a step whose outcome is unknown, and who may retry an execution.

-- Refuses a verdict by an agent, or by a principal that is not registered; and, for 'retry' and 'succeeded',
-- one by a requester, on behalf of one, or by a key, a login or a principal that one of them made. 'retry'
-- runs a once-only step a second time and 'succeeded' lets the steps after it run, so both need four eyes;
-- 'failed' lets nothing run.
create or replace function tenure.check_verdict(
  p_caller tenure.caller_identity, p_execution tenure.execution_rows, p_verdict text, p_on_behalf_of text)
returns void
language plpgsql
as $$
declare
  v_who text;
begin
  select n into v_who
    from unnest(array[p_caller.principal, nullif(p_on_behalf_of, '')]) n
   where n is not null
     and tenure.principal_kind(p_execution.tenant_id, n) = 'agent'
   limit 1;
  if found then
    perform tenure.refuse('not_permitted',
      format('%s is an agent, or is not registered: it gives no verdict.', v_who),
      'Only a registered person or service says what became of a step whose outcome is unknown.',
      'Let a person look and say so; an admin registers one: tenure.principal_create(name, ''human'').');
  end if;
  if p_verdict = 'failed' then
    return;
  end if;
  select n into v_who
    from unnest(array[p_caller.principal, nullif(p_on_behalf_of, '')]) n
   where n = any (p_execution.requesters)
   limit 1;
  if found then
    perform tenure.refuse('self_approval',
      format('%s requested this plan, and cannot give the verdict %s.', v_who, p_verdict),
      case p_verdict
        when 'retry' then 'A retry runs a step a second time whose effects come once: four eyes.'
        else 'The steps that need this one would run on the word of the requester: four eyes.'
      end,
      'Ask another operator; the requester may say failed, and retry the execution under a new approval.');
  end if;
  perform tenure.check_makers(p_caller, p_execution, tenure.auth_makers(p_caller));
end
$$;

-- Refuses to retry an execution of others: operators and admins retry any, everyone else their own.
create or replace function tenure.check_retry(
  p_caller tenure.caller_identity, p_execution tenure.execution_rows) returns void
language plpgsql
as $$
begin
  if not (
       p_caller.principal = any (p_execution.requesters)
       or tenure.acts_as('tenure_operator')
       or tenure.acts_as('tenure_admin')
       or tenure.is_trusted()) then
    perform tenure.refuse('not_permitted',
      format('Execution %s was requested by %s.', p_execution.execution_id, p_execution.requested_by),
      'A requester retries only their own executions.',
      'Submit the plan yourself, or ask an operator.');
  end if;
end
$$;
