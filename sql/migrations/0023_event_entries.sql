-- One row of the event stream for many entries of chains, as one row already covers many jobs.

-- An entry of the chain of an execution in the event stream. chain_seq and step_id are shown as data.seq and
-- data.step. They are merged into data when the event is read: merging them costs more than writing it.
create type tenure.event_entry as (
  seq       bigint,
  kind      text,
  subject   uuid,
  chain_seq integer,
  step_id   text,
  data      jsonb
);

-- Adding columns rewrites nothing, but the index below reads the whole stream while writers wait: migrations
-- are one transaction, in which no index is built concurrently.
alter table tenure.events
  add column entries tenure.event_entry[],
  add column entry_count integer;
-- Compressing them costs more than writing them.
alter table tenure.events alter column entries set storage external;
-- By their time, which the chain of an execution has too: no event is searched by its array.
create index events_entries on tenure.events (tenant_id, at) where entries is not null;
comment on column tenure.events.entries is
  'The entries of chains that this row stands for, at most 100, each an event of its own for readers: see '
  'tenure.event_entries(). The kind of the row is then "entries", and its seq that of the last. Null: the '
  'row is one event.';
comment on column tenure.events.entry_count is
  'The number of entries, so that they are counted without being read. Null: the row is one event.';
comment on table tenure.events is
  'The log of transitions, at most 1000 jobs or 100 entries of chains a row. Readers use '
  'tenure.event_list(), or tenure.event_stream, in which each entry is a row.';

-- The times of the entries of an archived execution, whose chain is in its evidence: its events are found by
-- them.
alter table tenure.execution_archives add column event_times timestamptz[] not null default '{}';
