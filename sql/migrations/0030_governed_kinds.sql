-- Kinds whose jobs only plans make, the right to submit plans, and what a job knows of the step or slot it
-- runs for, where no producer writes.

alter table tenure.kinds add column only_by_plan boolean not null default false;
comment on column tenure.kinds.only_by_plan is
  'True: each job of the kind is the step of an execution. Every other way to make one is refused.';

-- No check: each would be read anew by every enqueue, and only functions of the owner write it.
alter table tenure.jobs add column origin jsonb;
comment on column tenure.jobs.origin is
  'What it runs for: {"step": …} or {"slot": …}, written with the job and kept when it is emptied. '
  'Null: a plain job.';

alter table tenure.keys
  drop constraint keys_roles_check,
  add constraint keys_roles_check check (cardinality(roles) > 0
    and roles <@ array['viewer', 'requester', 'producer', 'worker', 'operator', 'approver', 'admin']);

alter policy own_tenant on tenure.tenants
  to tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer,
    tenure_worker, tenure_viewer;
