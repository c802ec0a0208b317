-- Follow-ups: what a transaction leaves for the next tick, because another transaction is in the way or
-- because the work belongs to a service.

create table tenure.follow_ups (
  task      text        not null check (task in ('step_end', 'step_start', 'lock_grant', 'slot_next')),
  subject   text        collate "C" not null,
  tenant_id integer     not null,
  due_at    timestamptz not null,
  reason    text,
  detail    jsonb,
  primary key (task, subject, tenant_id)
);
create index follow_ups_due on tenure.follow_ups (task, due_at);
comment on table tenure.follow_ups is
  'Work left for the next tick, done at least once. step_end: the end of a step''s job. step_start: starts '
  'of a step''s run that its chain lacks. lock_grant: a target whose queue may go on. slot_next: a run of a '
  'schedule has ended that another slot may wait for.';
comment on column tenure.follow_ups.subject is
  'The id of the job (of a start: with "/" and the number of the run), the target, or the id of the slot.';
comment on column tenure.follow_ups.reason is 'Why the last try failed. Null: it has not been tried.';
-- Not forced on the owner: ends of jobs write it, and the functions filter by tenant themselves.
alter table tenure.follow_ups enable row level security;
create policy own_tenant on tenure.follow_ups
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));
