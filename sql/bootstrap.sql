-- What the first migration needs: the schema, owned by tenure_owner, and the list of applied migrations.
create schema if not exists tenure authorization tenure_owner;

set local role tenure_owner;

create table if not exists tenure.migrations (
  version    integer     primary key check (version > 0),
  name       text        not null,
  checksum   text        not null,
  applied_at timestamptz not null default clock_timestamp(),
  applied_by text        not null default session_user
);

comment on table tenure.migrations is
  'The migrations that this database has, with the checksum of each as it was applied.';
