-- Who may make checkpoints, and which executions they cover.

-- Refuses a caller that acts within one tenant: a checkpoint covers all of them.
create or replace function tenure.check_every_tenant() returns void
language plpgsql stable
as $$
begin
  if not tenure.is_every_tenant() then
    perform tenure.refuse('not_permitted', 'This call acts for the whole installation.',
      'A checkpoint covers the executions of all tenants.',
      'Set tenure.tenant to * for this transaction, with a login that is a member of tenure_server.');
  end if;
end
$$;

-- True when a checkpoint covers the last chain head of an execution. Also true when checkpoints are turned
-- off or none has been made yet.
create or replace function tenure.anchor_covers(
  p_execution_id uuid, p_chain_length integer, p_chain_hash bytea) returns boolean
language sql stable
as $$
  select tenure.setting_integer(0, 'evidence.anchor_minutes') = 0
      or not exists (select from tenure.anchors a)
      or exists (
        select
          from tenure.anchor_leaves l
         where l.execution_id = p_execution_id
           and l.chain_length = p_chain_length
           and l.chain_hash = p_chain_hash)
$$;

-- The first checkpoint, up to p_number_max, that covers a different history of an execution: more events than
-- it has, or another hash after the same number of events. Null if there is none.
create or replace function tenure.anchor_differs(
  p_execution_id uuid, p_chain_length integer, p_chain_hash bytea, p_number_max bigint) returns bigint
language sql stable
as $$
  select min(l.number)
    from tenure.anchor_leaves l
   where l.execution_id = p_execution_id
     and l.number <= p_number_max
     and l.chain_hash is distinct from case
           when l.chain_length = p_chain_length then p_chain_hash
           when l.chain_length < p_chain_length then (
             select v.hash
               from tenure.execution_events v
              where v.execution_id = p_execution_id
                and v.seq = l.chain_length)
         end
$$;
