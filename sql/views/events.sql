-- Events as a read model: one row for each, also for entries of chains that share a row of tenure.events.

-- Two branches, not tenure.event_entries(): a filter by subject then finds rows that are one event by index.
-- The reader needs the right to read tenure.events itself, as with every view here (security_invoker).
create or replace view tenure.event_stream with (security_invoker = true) as
select x.tenant_id, x.epoch, x.txid, x.seq, x.at, x.kind, x.actor, x.on_behalf_of, x.subject,
       n.kind as job_kind, n.executor, x.job_ids, x.runs, x.data, x.via
  from (
    select e.tenant_id, e.epoch, e.txid, e.seq, e.at, e.lane, e.kind, e.actor, e.on_behalf_of, e.subject,
           e.job_ids, e.runs, e.data, e.via
      from tenure.events e
     where e.entries is null
    union all
    select e.tenant_id, e.epoch, e.txid, l.seq, e.at, e.lane, l.kind, e.actor, e.on_behalf_of,
           l.subject::text, e.job_ids, e.runs,
           l.data || case
             when l.step_id is null then jsonb_build_object('seq', l.chain_seq)
             else jsonb_build_object('seq', l.chain_seq, 'step', l.step_id)
           end,
           e.via
      from tenure.events e
      cross join lateral unnest(e.entries) l
     where e.entries is not null
  ) x
  left join tenure.lanes n on n.lane = x.lane;
comment on view tenure.event_stream is
  'Every event as a row. Shows events that an open transaction may still precede: to follow the stream use '
  'tenure.event_list(), which also finds the events of an execution by index.';
