-- Retention of checkpoints.

-- Removes the leaves of checkpoints older than retention.anchor_leaves_days, of at most p_limit checkpoints
-- per call, and returns their number. The checkpoints stay, and archived executions keep their proofs.
-- granted to: server
create or replace function tenure.anchor_sweep(p_limit integer default 100) returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now  timestamptz := tenure.now();
  v_done bigint[];
begin
  perform tenure.check_every_tenant();
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('batch_rows_max'));
  with due as (
    select a.number
      from tenure.anchors a
     where a.leaf_hashes is not null
       and a.at < v_now - make_interval(days => tenure.setting_integer(0, 'retention.anchor_leaves_days'))
     order by a.at
     limit p_limit
       for update skip locked
  ), emptied as (
    update tenure.anchors a
       set leaf_hashes = null
      from due d
     where a.number = d.number
    returning a.number
  )
  select array_agg(e.number) into v_done from emptied e;
  delete from tenure.anchor_leaves l where l.number = any (v_done);
  return coalesce(cardinality(v_done), 0);
end
$$;
