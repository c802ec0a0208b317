-- What is held of a limited kind is counted without reading what is held of others.

-- No index on the lane of a lease: a claim of a limited kind finds its leases by the index of the primary key
-- (0.2 ms with 20000 leases), and another index would be written by every claim of every kind.
alter table tenure.leases add column limited boolean not null default false;
comment on column tenure.leases.limited is
  'Whether all its jobs have the mark active.limited. One that was claimed before its kind had a limit, or '
  'while it was set, may have jobs without the mark.';
