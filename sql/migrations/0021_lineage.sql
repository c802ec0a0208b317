-- Which server and history the event stream was written on, and the last transaction id known there: a
-- restored copy differs in one of them, and begins a new epoch of the stream.
alter table tenure.installation add column lineage text, add column txid xid8;
comment on column tenure.installation.lineage is
  'System identifier, timeline and database: tenure.lineage().';
comment on column tenure.installation.txid is
  'The transaction that looked last; a restored server may be behind.';
