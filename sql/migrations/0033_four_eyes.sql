-- Four eyes without gaps: who stands behind a principal, approvals that lapse, archived executions that are
-- found.

-- Who registered or changed a principal could be the person who uses it. A trusted login is not a person.
alter table tenure.principals add column makers text[] not null default '{}';
comment on column tenure.principals.makers is
  'Who registered or changed it, and the makers of what they came by: it decides about no plan of theirs.';
update tenure.principals p set makers = array[p.created_by]
 where p.created_by <> p.name
   and not exists (
     select from pg_catalog.pg_roles r
      where r.rolname = p.created_by
        and (pg_has_role(r.oid, 'tenure_server', 'member') or pg_has_role(r.oid, 'tenure_owner', 'member')));

-- Without a binding of its own a login acts under its own name: who took the binding away said so.
create table tenure.unbound_logins (
  login      text        primary key check (login ~ '\S'),
  tenant_id  integer     not null references tenure.tenants,
  unbound_at timestamptz not null,
  unbound_by text        not null check (unbound_by ~ '\S'),
  makers     text[]      not null default '{}'
);
create index unbound_logins_tenant_id on tenure.unbound_logins (tenant_id);
comment on table tenure.unbound_logins is
  'Logins whose binding was taken away, with who did that: makers until it is bound again.';
alter table tenure.unbound_logins enable row level security, force row level security;
create policy owner_sees_all on tenure.unbound_logins for all to tenure_owner using (true) with check (true);

-- An approval allows a start for a while.
alter table tenure.executions add column lapses_at timestamptz;
comment on column tenure.executions.lapses_at is
  'When its approval lapses if it has not started. Null: not approved yet, approved by level 0, or never.';
insert into tenure.config_keys
  (key, value_type, default_value, value_min, value_max, is_gate, description)
values
  ('approvals.start_within_hours', 'integer', '24', 0, 8760, false,
   'An approved execution that has not started this many hours after it could is cancelled. 0: never.'),
  ('executions.timeout_seconds_max', 'integer', '86400', 1, 604800, false,
   'The longest timeout that a plan may set for its execution.');

-- Where people reach the server: what an event links to begins with it.
alter table tenure.config_keys drop constraint config_keys_value_type_check;
alter table tenure.config_keys add constraint config_keys_value_type_check
  check (value_type in ('boolean', 'integer', 'text'));
alter table tenure.config_keys add check (value_type <> 'text' or jsonb_typeof(default_value) = 'string');
insert into tenure.config_keys
  (key, value_type, default_value, value_min, value_max, is_gate, description)
values
  ('server.public_url', 'text', '""', null, null, false,
   'The URL under which people reach the server. Links in events begin with it; empty: they are paths.');

-- What archived executions are found by. The evidence itself is not searched.
alter table tenure.execution_archives add column correlation_id text;
alter table tenure.execution_archives add column targets text[] not null default '{}';
alter table tenure.execution_archives add column requesters text[] not null default '{}';
comment on column tenure.execution_archives.targets is
  'The targets of its steps, type:ref as in the key of a lock, and type:ref:action for each action at them.';
comment on column tenure.execution_archives.requesters is
  'Who asked for it, on whose behalf, and who asked for the executions that it retried.';

-- One index for all searches. An operator on arrays is not leakproof: behind the wall its index would not be
-- used.
create table tenure.execution_archive_terms (
  tenant_id    integer     not null,
  term         text        not null check (term in ('target', 'requester', 'correlation')),
  value        text        not null,
  ended_at     timestamptz not null,
  execution_id uuid        not null,
  primary key (tenant_id, term, value, ended_at, execution_id)
);
comment on table tenure.execution_archive_terms is
  'What archived executions are searched by: their targets, requesters and correlation id.';
alter table tenure.execution_archive_terms enable row level security, force row level security;
create policy own_tenant on tenure.execution_archive_terms
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));
create trigger execution_archive_terms_frozen before update on tenure.execution_archive_terms
  for each row execute function tenure.refuse_change();
drop index tenure.execution_archives_tenant;
create index execution_archives_tenant on tenure.execution_archives (tenant_id, ended_at, execution_id);

-- Rows that are archived already: their evidence says it. Without the walls, every tenant has some.
alter table tenure.execution_archives no force row level security;
alter table tenure.execution_archive_terms no force row level security;
alter table tenure.execution_archives disable trigger execution_archives_frozen;
update tenure.execution_archives a
   set correlation_id = e.line ->> 'correlation_id',
       requesters = array(
         select distinct n.name
           from unnest(array(select jsonb_array_elements_text(coalesce(e.line -> 'requesters', '[]')))
                       || array[a.requested_by, e.line ->> 'on_behalf_of']) n (name)
          where n.name is not null order by 1),
       targets = array(
         select distinct t.name
           from string_to_table(a.evidence, E'\n') with ordinality l (line, n)
           cross join lateral (select l.line::jsonb as step where l.n > 3 and l.line ^@ '{') s
           cross join lateral (
             select s.step ->> 'target_type' || ':'
               || replace(replace(s.step ->> 'target_ref', '%', '%25'), ':', '%3A') as part) p
           cross join lateral (values (p.part), (p.part || ':' || (s.step ->> 'action'))) t (name)
          where s.step ->> 'kind' = 'step' order by 1)
  from (select x.execution_id,
               (select l.line::jsonb from string_to_table(x.evidence, E'\n') with ordinality l (line, n)
                 where l.n = 3) as line
          from tenure.execution_archives x) e
 where e.execution_id = a.execution_id;
insert into tenure.execution_archive_terms (tenant_id, term, value, ended_at, execution_id)
select a.tenant_id, t.term, t.value, a.ended_at, a.execution_id
  from tenure.execution_archives a
  cross join lateral (
    select 'target' as term, unnest(a.targets) as value
    union all select 'requester', unnest(a.requesters)
    union all select 'correlation', a.correlation_id where a.correlation_id is not null) t;
alter table tenure.execution_archives enable trigger execution_archives_frozen;
alter table tenure.execution_archive_terms force row level security;
alter table tenure.execution_archives force row level security;

-- Approved and not started: looked at whenever the right of an approver changes (tenure.approvers_changed).
create index executions_approved on tenure.executions (execution_id) where state = 'approved';
