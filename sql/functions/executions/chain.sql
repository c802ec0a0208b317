-- The event chain of an execution: every entry is hashed with the one before it.

-- Appends entries to the chains of executions and writes the same events to the event stream. The caller has
-- locked the executions. An entry about a step is counted in its execution here, and nowhere else. Answers
-- the executions with no open step left.
create or replace function tenure.chain_append(
  p_now timestamptz, p_actor text, p_entries tenure.chain_entry[]) returns uuid[]
language plpgsql
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_head  text := format('"at":"%s","actor":%s,',
    to_char(p_now at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), to_json(p_actor));
  v_epoch integer := (select i.epoch from tenure.installation i);
  -- From eight entries on, one row of the stream with all of them costs less than a row for each.
  v_many  boolean := cardinality(p_entries) >= 8;
  c_entries_max constant bigint := tenure.limit_of('event_entries_max');
  v_over  uuid[];
begin
  if p_entries is null or cardinality(p_entries) = 0 then
    return '{}';
  end if;
  with numbered as (
    select t.execution_id, t.kind, t.step_number,
           coalesce(t.data, '{}') as data,
           first_value(e.place) over lines as place,
           first_value(e.tenant_id) over lines as tenant_id,
           first_value(e.chain_hash) over lines as seed,
           (first_value(e.chain_length) over lines + row_number() over lines)::integer as seq,
           s.step_id,
           lead(false, 1, true) over lines as last
      from (select t.*,
                   lag(t.execution_id) over (order by t.execution_id, t.n)
                     is distinct from t.execution_id as first
              from unnest(p_entries) with ordinality t (execution_id, kind, step_number, data, n)) t
      -- Looked up once, for the first of its entries: a running execution has many row versions.
      left join lateral (
        select e.ctid as place, e.tenant_id, e.chain_hash, e.chain_length
          from tenure.execution_states e
         where t.first and e.execution_id = t.execution_id
        offset 0) e on true
      left join lateral (
        select s.step_id
          from tenure.steps s
         where s.execution_id = t.execution_id and s.step_number = t.step_number
        offset 0) s on true
    window lines as (partition by t.execution_id order by t.n)
  ), bodies as (
    select n.*,
           '{"seq":' || n.seq::text || ',' || v_head || '"kind":"' || n.kind
             || '","step":' || coalesce(to_json(n.step_id)::text, 'null')
             || ',"data":' || n.data::text || '}' as body
      from numbered n
  ), linked as materialized (
    select b.*, tenure.chain_hash(b.seed, b.body) over (partition by b.execution_id order by b.seq) as hash
      from bodies b
  ), kept as (
    insert into tenure.execution_events (execution_id, seq, tenant_id, at, kind, step_number, body, hash)
    select l.execution_id, l.seq, l.tenant_id, p_now, l.kind, l.step_number, l.body, l.hash from linked l
  ), streamed as (
    select l.tenant_id, l.execution_id, l.seq, l.step_id,
           nextval('tenure.event_seq') as stream_seq,
           (row_number() over () - 1) / c_entries_max as part,
           overlay(l.kind placing '.' from strpos(l.kind, '_') for 1) as kind,
           -- The record of a submission is only for evidence.
           case when l.step_id is null then l.data - 'record' else l.data end as data
      from linked l
  ), emitted as (
    insert into tenure.events (seq, epoch, at, tenant_id, kind, actor, subject, data, entries,
      entry_count)
    select s.stream_seq, v_epoch, p_now, s.tenant_id, s.kind, p_actor, s.execution_id::text,
           s.data || case
             when s.step_id is null then jsonb_build_object('seq', s.seq)
             else jsonb_build_object('seq', s.seq, 'step', s.step_id)
           end,
           null, null
      from streamed s
     where not v_many
    union all
    select max(s.stream_seq), v_epoch, p_now, s.tenant_id, 'entries', p_actor, null, '{}',
           array_agg((
             s.stream_seq, s.kind, s.execution_id, s.seq, s.step_id, s.data)::tenure.event_entry),
           count(*)
      from streamed s
     where v_many
     group by s.tenant_id, s.part
  ), counted as (
    update tenure.execution_states e
       set chain_length = l.seq,
           chain_hash = l.hash,
           steps_open = e.steps_open - l.succeeded - l.failed - l.cancelled - l.skipped,
           steps_succeeded = e.steps_succeeded + l.succeeded,
           steps_failed = e.steps_failed + l.failed,
           steps_cancelled = e.steps_cancelled + l.cancelled,
           steps_skipped = e.steps_skipped + l.skipped,
           steps_unknown = e.steps_unknown + l.unknown,
           retries_total = e.retries_total + l.retries
      from (select l.place, max(l.seq) as seq,
                   -- Of one row: bytea has no max().
                   string_agg(l.hash, '') filter (where l.last) as hash,
                   count(*) filter (where l.kind = 'step_completed') as succeeded,
                   count(*) filter (where l.kind = 'step_failed') as failed,
                   count(*) filter (where l.kind = 'step_cancelled') as cancelled,
                   count(*) filter (where l.kind = 'step_skipped') as skipped,
                   count(*) filter (where l.kind = 'step_unknown') as unknown,
                   count(*) filter (where l.kind = 'step_retrying') as retries
              from linked l
             group by l.place) l
     where e.ctid = l.place
    returning e.execution_id, e.steps_open
  )
  select array_agg(c.execution_id) into v_over from counted c where c.steps_open = 0;
  return coalesce(v_over, '{}');
end
$$;
