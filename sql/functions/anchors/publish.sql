-- Publishing checkpoints to sinks outside the database: what the servers report.

-- Records the last checkpoint that a sink has, or the error that kept it from getting further. Deletes sinks
-- that no server has tried to write to for anchor_sink_days.
-- granted to: server
create or replace function tenure.anchor_published(p_sink text, p_number bigint, p_error text default null)
returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := tenure.now();
begin
  perform tenure.check_every_tenant();
  perform tenure.check_number('The number', p_number, 0, 9223372036854775807);
  if p_sink is null
     or tenure.is_blank(p_sink)
     or length(p_sink) > tenure.limit_of('anchor_sink_chars_max') then
    perform tenure.refuse('name_invalid',
      format('The sink has no name, or one with more than %s characters.',
        tenure.limit_of('anchor_sink_chars_max')),
      'It says which file the checkpoints are in.',
      'Name it as file:<host>:<path>.');
  end if;
  insert into tenure.anchor_sinks as s (sink, number, published_at, tried_at, error)
  values (p_sink, p_number, case when p_error is null then v_now end, v_now,
    tenure.cut_text(tenure.mask_text(p_error), tenure.limit_of('anchor_error_bytes_max')::integer))
  on conflict (sink) do update
     set number = excluded.number,
         published_at = coalesce(excluded.published_at, s.published_at),
         tried_at = excluded.tried_at,
         error = excluded.error;
  delete from tenure.anchor_sinks s
   where s.tried_at < v_now - make_interval(days => tenure.limit_of('anchor_sink_days')::integer);
end
$$;
