-- The timeline of an execution.

-- The events of one execution's chain, oldest first, without the record that only evidence needs. p_after:
-- the seq of the last event of the previous page.
-- granted to: all
create or replace function tenure.execution_timeline(
  p_execution_id uuid, p_after integer default 0, p_limit integer default 1000)
returns table (seq integer, at timestamptz, kind text, actor text, step_id text, data jsonb, hash text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('list_rows_max'));
  if not exists (
       select
         from tenure.executions e
        where e.execution_id = p_execution_id
          and e.tenant_id = tenure.current_tenant()) then
    perform tenure.refuse_execution(p_execution_id);
  end if;
  return query
    select v.seq, v.at, v.kind, b.body ->> 'actor', b.body ->> 'step', (b.body -> 'data') - 'record',
           encode(v.hash, 'hex')
      from tenure.execution_events v
      cross join lateral (select v.body::jsonb as body) b
     where v.execution_id = p_execution_id
       and v.seq > p_after
     order by v.seq
     limit p_limit;
end
$$;
