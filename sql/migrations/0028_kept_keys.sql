-- A kind can keep the keys of its jobs taken for a while after their end: for what repeats a call late,
-- such as a webhook that is delivered again.
alter table tenure.kinds add column key_keep_seconds integer check (key_keep_seconds between 1 and 315360000);
comment on column tenure.kinds.key_keep_seconds is
  'How long after its end a job keeps its key, at most as long as it is kept itself. Null: until its end.';
