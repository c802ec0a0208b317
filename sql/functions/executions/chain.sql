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
           -- Running counts, so that the last entry of an execution has the sums.
           lead(false, 1, true) over lines as last,
           count(*) filter (where t.kind = 'step_completed') over lines as succeeded,
           count(*) filter (where t.kind = 'step_failed') over lines as failed,
           count(*) filter (where t.kind = 'step_cancelled') over lines as cancelled,
           count(*) filter (where t.kind = 'step_skipped') over lines as skipped,
           count(*) filter (where t.kind = 'step_unknown') over lines as unknown,
           count(*) filter (where t.kind = 'step_retrying') over lines as retries
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
  ), emitted as (
    insert into tenure.events (epoch, at, tenant_id, kind, actor, subject, data)
    select v_epoch, p_now, l.tenant_id, overlay(l.kind placing '.' from strpos(l.kind, '_') for 1), p_actor,
           l.execution_id::text,
           -- The record of a submission is only for evidence.
           case
             when l.step_id is null then (l.data - 'record') || jsonb_build_object('seq', l.seq)
             else l.data || jsonb_build_object('seq', l.seq, 'step', l.step_id)
           end
      from linked l
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
      from linked l
     where l.last and e.ctid = l.place
    returning e.execution_id, e.steps_open
  )
  select array_agg(c.execution_id) into v_over from counted c where c.steps_open = 0;
  return coalesce(v_over, '{}');
end
$$;
