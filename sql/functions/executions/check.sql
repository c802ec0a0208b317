-- Finding and locking an execution, and the refusals shared by its verbs.

-- Refuses with execution_unknown. For an archived execution the refusal names what is left of it: its
-- evidence, and the plan to submit for another run.
create or replace function tenure.refuse_execution(p_execution_id uuid) returns void
language plpgsql
as $$
declare
  v_archive record;
begin
  select a.tenant_id, a.state, a.archived_at
    into v_archive
    from tenure.execution_archives a
   where a.execution_id = p_execution_id
     and (a.tenant_id = tenure.current_tenant() or tenure.is_every_tenant());
  if not found then
    perform tenure.refuse('execution_unknown',
      format('There is no execution %s.', coalesce(p_execution_id::text, 'without an id')),
      'It never was, or belongs to another tenant.',
      'See tenure.execution_list().');
  end if;
  perform tenure.refuse('execution_unknown',
    format('Execution %s (%s) was archived at %s.', p_execution_id, v_archive.state, v_archive.archived_at),
    'Its rows are gone; its evidence stands, with its plan and its story.',
    format('Read it: tenure.execution_evidence(%L).', p_execution_id)
      || case
           when exists (
             select from tenure.execution_dead_letters d
              where d.execution_id = p_execution_id and d.tenant_id = v_archive.tenant_id)
             then format(' To run it again, submit the plan that its dead letter carries: %s.',
               format('tenure.execution_dead_letter_show(%L)', p_execution_id))
           else ' To run it again, submit its plan.'
         end);
end
$$;

-- The execution, its row locked against other changes; refuses with execution_unknown when it does not exist.
create or replace function tenure.execution_locked(p_tenant_id integer, p_execution_id uuid)
returns tenure.execution_rows
language plpgsql
as $$
declare
  v_found tenure.execution_rows;
begin
  perform
     from tenure.execution_states e
    where e.execution_id = p_execution_id and e.tenant_id = p_tenant_id
      for no key update;
  if not found then
    perform tenure.refuse_execution(p_execution_id);
  end if;
  select e.* into strict v_found from tenure.execution_rows e where e.execution_id = p_execution_id;
  return v_found;
end
$$;

-- Refuses a transaction whose snapshot may be older than the statement: it shows neither which steps wait
-- for a lock nor which locks are free by now.
create or replace function tenure.check_isolation() returns void
language plpgsql
as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform tenure.refuse('state_conflict',
      format('Executions and locks cannot be changed in a %s transaction.',
        current_setting('transaction_isolation')),
      'Its snapshot shows neither who waits nor what is free by now.',
      'Do it in a read committed transaction, which is the default.');
  end if;
end
$$;

-- Refuses a verb that is possible only from other states of an execution.
create or replace function tenure.refuse_execution_state(
  p_execution tenure.execution_rows, p_wanted text, p_from text, p_next text) returns void
language sql
as $$
  select tenure.refuse('state_conflict',
    format('Execution %s is %s and cannot be %s.', p_execution.execution_id, p_execution.state, p_wanted),
    format('That is possible only from: %s.', p_from),
    p_next)
$$;
