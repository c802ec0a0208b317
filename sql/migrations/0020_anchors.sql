-- Anchors: signed checkpoints of the chains of all executions, kept outside the database too. A chain that a
-- checkpoint covers cannot be rewritten here without contradicting it.

create table tenure.anchors (
  number       bigint      primary key check (number > 0),
  at           timestamptz not null,
  installation uuid        not null,
  previous     bytea       not null check (octet_length(previous) = 32),
  leaf_count   integer     not null check (leaf_count >= 0),
  root         bytea       not null check (octet_length(root) = 32),
  key_id       text        not null references tenure.evidence_keys,
  signature    bytea       not null check (octet_length(signature) = 64),
  hash         bytea       not null check (octet_length(hash) = 32),
  leaf_hashes  bytea,
  constraint anchors_hash_of_each_leaf check (octet_length(leaf_hashes) = 32 * leaf_count)
);
create index anchors_key_id on tenure.anchors (key_id);
create index anchors_leaves on tenure.anchors (at) where leaf_hashes is not null;
comment on table tenure.anchors is
  'Signed checkpoints, numbered without a gap, each with the hash of the one before. They are never removed.';
comment on column tenure.anchors.leaf_hashes is
  'The hashes of the leaves in their order, 32 bytes each. Null when retention has removed the leaves.';
create trigger anchors_frozen
  before update of number, at, installation, previous, leaf_count, root, key_id, signature, hash
  on tenure.anchors
  for each row execute function tenure.refuse_change();
create trigger anchors_kept before delete on tenure.anchors
  for each row execute function tenure.refuse_change();

create table tenure.anchor_leaves (
  number       bigint  not null references tenure.anchors deferrable initially deferred,
  place        integer not null check (place >= 0),
  tenant_id    integer not null,
  execution_id uuid    not null,
  chain_length integer not null check (chain_length > 0),
  chain_hash   bytea   not null check (octet_length(chain_hash) = 32),
  primary key (number, place)
);
create index anchor_leaves_execution on tenure.anchor_leaves (execution_id, number);
comment on table tenure.anchor_leaves is
  'The chain heads that a checkpoint covers. Leaves without their checkpoint cannot be committed.';
create trigger anchor_leaves_frozen before update on tenure.anchor_leaves
  for each row execute function tenure.refuse_change();
alter table tenure.anchor_leaves enable row level security, force row level security;
create policy own_tenant on tenure.anchor_leaves
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));

create table tenure.anchor_pending (
  execution_id uuid        primary key,
  tenant_id    integer     not null,
  seen_at      timestamptz not null
);
create index anchor_pending_seen on tenure.anchor_pending (seen_at, execution_id);
comment on table tenure.anchor_pending is
  'Executions whose chain has grown since the last checkpoint that covers them.';
alter table tenure.anchor_pending enable row level security, force row level security;
create policy own_tenant on tenure.anchor_pending
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));

create table tenure.anchor_cursors (
  tenant_id integer     primary key references tenure.tenants,
  epoch     integer     not null,
  txid      xid8        not null,
  seq       bigint      not null,
  moved_at  timestamptz not null
);
comment on table tenure.anchor_cursors is
  'How far the event stream of each tenant was read for chains that have grown.';
alter table tenure.anchor_cursors enable row level security, force row level security;
create policy own_tenant on tenure.anchor_cursors
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));

create table tenure.anchor_log (
  singleton    boolean     primary key default true check (singleton),
  installation uuid        not null default gen_random_uuid(),
  walked       uuid,
  walk_began   timestamptz
);
comment on table tenure.anchor_log is
  'One row, which the process that makes checkpoints locks: the id under which this installation signs '
  'them, and the place of the walk through all executions.';
insert into tenure.anchor_log default values;

create table tenure.anchor_sinks (
  sink         text        primary key check (sink ~ '\S' and length(sink) <= 1000),
  number       bigint      not null check (number >= 0),
  published_at timestamptz,
  tried_at     timestamptz not null,
  error        text        check (length(error) <= 2000)
);
comment on table tenure.anchor_sinks is
  'The last checkpoint that each sink outside the database has, as reported by the server that writes to it.';
