-- Proofs that a checkpoint covers the chain of an execution.

-- The proof from the newest checkpoint, or from p_number: the chain head at that time, the path to the root,
-- and the checkpoint. Null if no checkpoint covers the execution.
create or replace function tenure.anchor_proof_of(p_execution_id uuid, p_number bigint) returns jsonb
language sql stable
as $$
  select jsonb_build_object(
           'kind', 'proof',
           'version', 1,
           'tenant', t.name,
           'execution_id', l.execution_id,
           'chain_length', l.chain_length,
           'chain_hash', encode(l.chain_hash, 'hex'),
           'place', l.place,
           'path', array(
             select encode(u.h, 'hex')
               from unnest(tenure.merkle_path(a.leaf_hashes, l.place)) with ordinality u (h, n)
              order by u.n),
           'checkpoint', tenure.anchor_line(a, null))
    from tenure.anchor_leaves l
    join tenure.anchors a on a.number = l.number
    join tenure.tenants t on t.tenant_id = l.tenant_id
   where l.execution_id = p_execution_id
     and (p_number is null or l.number = p_number)
   order by l.number desc
   limit 1
$$;

-- The proof that a checkpoint covers the chain of an execution, archived or not. Refuses with anchor_unknown
-- if no checkpoint does, or not that of p_number.
-- granted to: all
create or replace function tenure.anchor_proof(p_execution_id uuid, p_number bigint default null)
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant integer := tenure.current_tenant();
  v_proof  jsonb;
  v_kept   jsonb;
begin
  select a.proof into v_kept
    from tenure.execution_archives a
   where a.execution_id = p_execution_id
     and (a.tenant_id = v_tenant or tenure.is_every_tenant());
  if not found
     and not exists (
       select
         from tenure.executions x
        where x.execution_id = p_execution_id
          and (x.tenant_id = v_tenant or tenure.is_every_tenant())) then
    perform tenure.refuse_execution(p_execution_id);
  end if;
  v_proof := tenure.anchor_proof_of(p_execution_id, p_number);
  if v_proof is null and (p_number is null or p_number = (v_kept -> 'checkpoint' ->> 'number')::bigint) then
    v_proof := v_kept;
  end if;
  if v_proof is null then
    perform tenure.refuse('anchor_unknown',
      case
        when p_number is null then format('No checkpoint covers execution %s yet.', p_execution_id)
        else format('Checkpoint %s does not cover execution %s.', p_number, p_execution_id)
      end,
      'Chain heads go into a checkpoint at intervals (evidence.anchor_minutes), while a server runs.',
      'Try again after the next checkpoint; tenure doctor says whether checkpoints are made.');
  end if;
  return v_proof;
end
$$;
