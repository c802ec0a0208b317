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

alter table tenure.events add column entries tenure.event_entry[];
-- Compressing them costs more than writing them.
alter table tenure.events alter column entries set storage external;
-- By their time, which the chain of an execution has too: no event is searched by its array.
create index events_entries on tenure.events (tenant_id, at) where entries is not null;
comment on column tenure.events.entries is
  'The entries of chains that this row stands for, at most 100, each an event of its own for readers: see '
  'tenure.event_entries(). The kind of the row is then "entries", and its seq that of the last. Null: the '
  'row is one event.';

-- The times of the entries of an archived execution, whose chain is in its evidence: its events are found by
-- them.
alter table tenure.execution_archives add column event_times timestamptz[] not null default '{}';
