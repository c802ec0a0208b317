-- Checkpoints: the chain heads of all executions in a Merkle tree (RFC 6962), signed, and published outside
-- the database. docs/anchors.md says what that proves. Reading them is in anchors_read.sql.

-- Pairs the neighbours of one level of a tree, 32 bytes each; the last of an odd number goes up as it is.
create or replace function tenure.merkle_level(p_hashes bytea) returns bytea
language sql immutable strict parallel safe
as $$
  select string_agg(
           case when octet_length(p_hashes) - i < 32 then substr(p_hashes, i, 32)
                else sha256(decode('01', 'hex') || substr(p_hashes, i, 64)) end, ''::bytea order by i)
    from generate_series(1, octet_length(p_hashes), 64) i
$$;

-- The root over the hashes of leaves. That of no leaves is the SHA-256 of nothing.
create or replace function tenure.merkle_root(p_hashes bytea) returns bytea
language plpgsql immutable strict parallel safe
as $$
declare
  v_level bytea := p_hashes;
begin
  if v_level = '' then
    return sha256('');
  end if;
  while octet_length(v_level) > 32 loop
    v_level := tenure.merkle_level(v_level);
  end loop;
  return v_level;
end
$$;

-- The hashes that lead from the leaf at this place (the first is 0) to the root, from below.
create or replace function tenure.merkle_path(p_hashes bytea, p_place integer) returns bytea[]
language plpgsql immutable strict parallel safe
as $$
declare
  v_level bytea := p_hashes;
  v_place integer := p_place;
  v_path  bytea[] := '{}';
begin
  while octet_length(v_level) > 32 loop
    if 32 * (v_place # 1) < octet_length(v_level) then
      v_path := v_path || substr(v_level, 32 * (v_place # 1) + 1, 32);
    end if;
    v_level := tenure.merkle_level(v_level);
    v_place := v_place / 2;
  end loop;
  return v_path;
end
$$;

-- The hash of a leaf: what the chain of one execution had come to.
create or replace function tenure.anchor_leaf_hash(
  p_tenant text, p_execution_id uuid, p_chain_length integer, p_chain_hash bytea) returns bytea
language sql immutable strict parallel safe
as $$
  select sha256(decode('00', 'hex') || convert_to(concat_ws(chr(10), 'tenure/head/v1', p_tenant,
    p_execution_id, p_chain_length, encode(p_chain_hash, 'hex')), 'UTF8'))
$$;

-- The time of a checkpoint as it is signed.
create or replace function tenure.anchor_time(p_at timestamptz) returns text
language sql immutable strict parallel safe
as $$
  select to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
$$;

-- The text of a checkpoint that is signed.
create or replace function tenure.anchor_text(p_anchor tenure.anchors) returns text
language sql immutable parallel safe
as $$
  select concat_ws(chr(10), 'tenure/checkpoint/v1', p_anchor.number, tenure.anchor_time(p_anchor.at),
    p_anchor.installation, encode(p_anchor.previous, 'hex'), p_anchor.leaf_count,
    encode(p_anchor.root, 'hex'), p_anchor.key_id)
$$;

-- The hash of a checkpoint: the SHA-256 of the text that is signed.
create or replace function tenure.anchor_hash(p_anchor tenure.anchors) returns bytea
language sql immutable parallel safe
as $$
  select sha256(convert_to(tenure.anchor_text(p_anchor), 'UTF8'))
$$;

-- Refuses a caller that acts within one tenant: a checkpoint covers all of them.
create or replace function tenure.check_every_tenant() returns void
language plpgsql stable
as $$
begin
  if not tenure.is_every_tenant() then
    perform tenure.refuse('not_permitted', 'This call acts for the whole installation.',
      'A checkpoint covers the executions of all tenants.',
      'Set tenure.tenant to * for this transaction, with a login that is a member of tenure_server.');
  end if;
end
$$;

-- Reads on in the event stream of one tenant and notes which executions were told of, as far as no open
-- transaction can precede what was read. Answers whether there may be more.
create or replace function tenure.anchor_scan(
  p_cursor tenure.anchor_cursors, p_now timestamptz, p_epoch integer, p_xmin xid8, p_rows_max integer)
  returns boolean
language plpgsql
set jit = off
as $$
declare
  c_id   constant text := '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$';
  v_page record;
begin
  select count(*) as events, array_agg(distinct k.subject) filter (where k.subject ~ c_id) as subjects,
         (array_agg(k.epoch order by k.epoch desc, k.txid desc, k.seq desc))[1] as epoch,
         (array_agg(k.txid order by k.epoch desc, k.txid desc, k.seq desc))[1] as txid,
         (array_agg(k.seq order by k.epoch desc, k.txid desc, k.seq desc))[1] as seq
    into v_page
    from (select e.epoch, e.txid, e.seq, e.subject
            from tenure.events e
           where e.tenant_id = p_cursor.tenant_id
             and (e.epoch, e.txid, e.seq) > (p_cursor.epoch, p_cursor.txid, p_cursor.seq)
           order by e.epoch, e.txid, e.seq
           limit p_rows_max) k
   where k.epoch < p_epoch or k.txid < p_xmin;
  if v_page.events = 0 then
    return false;
  end if;
  insert into tenure.anchor_pending (execution_id, tenant_id, seen_at)
  select x.execution_id, x.tenant_id, p_now
    from unnest(v_page.subjects) s (subject)
    join tenure.executions x on x.execution_id = s.subject::uuid and x.tenant_id = p_cursor.tenant_id
   order by x.execution_id
  on conflict (execution_id) do nothing;
  update tenure.anchor_cursors c
     set epoch = v_page.epoch, txid = v_page.txid, seq = v_page.seq, moved_at = p_now
   where c.tenant_id = p_cursor.tenant_id;
  return v_page.events = p_rows_max;
end
$$;

-- The first checkpoint, up to a number, that covers another history of an execution: more events than it has,
-- or another hash after as many. Null if none does.
create or replace function tenure.anchor_differs(
  p_execution_id uuid, p_chain_length integer, p_chain_hash bytea, p_number_max bigint) returns bigint
language sql stable
as $$
  select min(l.number)
    from tenure.anchor_leaves l
   where l.execution_id = p_execution_id and l.number <= p_number_max
     and l.chain_hash is distinct from case
           when l.chain_length = p_chain_length then p_chain_hash
           when l.chain_length < p_chain_length then (
             select v.hash from tenure.execution_events v
              where v.execution_id = p_execution_id and v.seq = l.chain_length) end
$$;

-- Goes on with the walk through all executions, which begins once a day, and at once for a tenant that is new
-- here: notes those whose head no checkpoint covers, and answers those that differ from what one covers.
create or replace function tenure.anchor_walk(
  p_now timestamptz, p_restart boolean, p_rows_max integer, out more boolean, out rewritten jsonb)
language plpgsql
as $$
declare
  c_start constant uuid := '00000000-0000-0000-0000-000000000000';
  v_log   tenure.anchor_log;
  v_rows  integer;
  v_last  uuid;
begin
  select l.* into v_log from tenure.anchor_log l;
  more := false;
  rewritten := '[]';
  if p_restart or v_log.walk_began is null
     or (v_log.walked is null and v_log.walk_began < p_now - interval '1 day') then
    v_log.walked := c_start;
    v_log.walk_began := p_now;
  elsif v_log.walked is null then
    return;
  end if;
  with page as materialized (
    select x.execution_id, x.tenant_id, x.chain_length, x.chain_hash
      from tenure.executions x where x.execution_id > v_log.walked order by x.execution_id limit p_rows_max
  ), compared as materialized (
    select p.execution_id, p.tenant_id, p.chain_length, l.chain_length as covered,
           tenure.anchor_differs(p.execution_id, p.chain_length, p.chain_hash, l.number) as differs
      from page p
      left join lateral (
        select l.number, l.chain_length from tenure.anchor_leaves l
         where l.execution_id = p.execution_id order by l.number desc limit 1) l on true
  ), noted as (
    insert into tenure.anchor_pending (execution_id, tenant_id, seen_at)
    select c.execution_id, c.tenant_id, p_now from compared c
     where c.covered is null or c.covered < c.chain_length
    on conflict (execution_id) do nothing
  )
  select count(*), max(c.execution_id::text)::uuid,
         coalesce(jsonb_agg(jsonb_build_object('execution_id', c.execution_id, 'number', c.differs))
           filter (where c.differs is not null), '[]')
    into v_rows, v_last, rewritten
    from compared c;
  more := v_rows = p_rows_max;
  update tenure.anchor_log l
     set walked = case when more then v_last end, walk_began = v_log.walk_began;
end
$$;

-- Finds executions whose chain has grown since they were last covered, in bounded pages, without a write on
-- the way of a step: from the event stream of each tenant, and by a daily walk. Answers whether more is left
-- and whether a checkpoint is due.
create or replace function tenure.anchor_collect(p_rows_max integer default 1000) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now     timestamptz := tenure.now();
  v_epoch   integer := tenure.current_epoch();
  -- Read before the statements below: what they see of older transactions is all there will ever be.
  v_xmin    xid8 := pg_snapshot_xmin(pg_current_snapshot());
  v_more    boolean := false;
  v_restart boolean := false;
  v_tenant  record;
  v_walk    record;
begin
  perform tenure.check_every_tenant();
  perform tenure.check_number('The number of rows', p_rows_max, 1, tenure.limit_of('scan_rows_max'));
  if tenure.setting_integer(0, 'evidence.anchor_minutes') = 0 then
    return jsonb_build_object('state', 'off', 'more', false, 'due', false, 'rewritten', '[]'::jsonb);
  end if;
  perform from tenure.anchor_log l for update skip locked;
  if not found then
    return jsonb_build_object('state', 'busy', 'more', false, 'due', false, 'rewritten', '[]'::jsonb);
  end if;
  for v_tenant in
    select t.tenant_id, c as place,
           exists (select from tenure.executions x where x.tenant_id = t.tenant_id) as has_executions
      from tenure.tenants t
      left join tenure.anchor_cursors c on c.tenant_id = t.tenant_id
     where t.tenant_id > 0
     order by t.tenant_id
  loop
    if v_tenant.place is null then
      insert into tenure.anchor_cursors (tenant_id, epoch, txid, seq, moved_at)
      values (v_tenant.tenant_id, v_epoch, v_xmin, 0, v_now);
      v_restart := v_restart or v_tenant.has_executions;
    elsif v_tenant.has_executions then
      v_more := tenure.anchor_scan(v_tenant.place, v_now, v_epoch, v_xmin, p_rows_max) or v_more;
    elsif (v_tenant.place).moved_at < v_now - interval '10 minutes' then
      -- It has none, so its stream tells of none: plain jobs are not read.
      update tenure.anchor_cursors c set epoch = v_epoch, txid = v_xmin, seq = 0, moved_at = v_now
       where c.tenant_id = v_tenant.tenant_id;
    end if;
  end loop;
  v_walk := tenure.anchor_walk(v_now, v_restart, p_rows_max);
  return jsonb_build_object(
    'state', 'collected', 'more', v_more or v_walk.more, 'rewritten', v_walk.rewritten,
    'due', (select d.due from tenure.anchor_due(v_now) d));
end
$$;

-- Whether a checkpoint is due, and whether it is the daily one, which is due without leaves too.
create or replace function tenure.anchor_due(p_now timestamptz, out due boolean, out daily boolean)
language plpgsql stable
as $$
declare
  v_minutes integer := tenure.setting_integer(0, 'evidence.anchor_minutes');
  v_max     integer := tenure.limit_of('anchor_leaves_max');
  v_at      timestamptz := (select a.at from tenure.anchors a order by a.number desc limit 1);
  v_waiting integer := (select count(*) from (select from tenure.anchor_pending p limit v_max) p);
begin
  daily := v_minutes > 0 and coalesce(v_at <= p_now - interval '1 day', false);
  due := daily or (v_minutes > 0 and v_waiting > 0 and (
    v_waiting = v_max or coalesce(v_at <= p_now - make_interval(mins => v_minutes), true)));
end
$$;

-- Begins the next checkpoint if one is due, and answers what is to be signed; no row if none is due. It is
-- due when chains have grown and the interval is over, when a whole tree waits, and once a day in any case.
-- The same transaction must end with tenure.anchor_add, or fails. rewritten has the executions whose head is
-- not one that follows from what earlier checkpoints cover; they are leaves all the same.
create or replace function tenure.anchor_begin(p_key_id text)
returns table (number bigint, at timestamptz, signed text, rewritten jsonb)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now  timestamptz := tenure.now();
  v_max  integer := tenure.limit_of('anchor_leaves_max');
  v_last bigint;
  v_due  record;
  v_new  tenure.anchors;
begin
  perform tenure.check_every_tenant();
  perform from tenure.anchor_log l for update skip locked;
  if not found then
    return;
  end if;
  -- A statement of its own: it sees what another server committed before this one had the lock.
  v_due := tenure.anchor_due(v_now);
  if not v_due.due then
    return;
  end if;
  v_last := coalesce((select max(a.number) from tenure.anchors a), 0);
  with taken as (
    delete from tenure.anchor_pending p
     where p.execution_id in (
       select o.execution_id from tenure.anchor_pending o order by o.seen_at, o.execution_id limit v_max)
    returning p.execution_id
  )
  insert into tenure.anchor_leaves (number, place, tenant_id, execution_id, chain_length, chain_hash)
  select v_last + 1, row_number() over (order by x.execution_id) - 1,
         x.tenant_id, x.execution_id, x.chain_length, x.chain_hash
    from taken t
    join tenure.executions x on x.execution_id = t.execution_id and x.chain_length > 0
   where not exists (
     select from tenure.anchor_leaves l
      where l.execution_id = x.execution_id and l.chain_length = x.chain_length
        and l.chain_hash = x.chain_hash);
  if not found and not v_due.daily then
    return;
  end if;
  v_new := tenure.anchor_next(v_now, p_key_id);
  return query
    select v_new.number, v_new.at, tenure.anchor_text(v_new),
           (select coalesce(jsonb_agg(jsonb_build_object(
                     'execution_id', d.execution_id, 'number', d.differs)), '[]')
              from (select l.execution_id, tenure.anchor_differs(
                             l.execution_id, l.chain_length, l.chain_hash, v_last) as differs
                      from tenure.anchor_leaves l where l.number = v_new.number) d
             where d.differs is not null);
end
$$;

-- The checkpoint over the leaves that this transaction has written, without its signature.
create or replace function tenure.anchor_next(p_at timestamptz, p_key_id text) returns tenure.anchors
language plpgsql
as $$
declare
  v_last tenure.anchors;
  v_new  tenure.anchors;
begin
  select a.* into v_last from tenure.anchors a order by a.number desc limit 1;
  v_new.number := coalesce(v_last.number, 0) + 1;
  v_new.at := p_at;
  v_new.installation := (select l.installation from tenure.anchor_log l);
  v_new.previous := coalesce(v_last.hash, decode(repeat('00', 32), 'hex'));
  v_new.key_id := p_key_id;
  select count(*), coalesce(string_agg(
           tenure.anchor_leaf_hash(t.name, l.execution_id, l.chain_length, l.chain_hash), ''::bytea
           order by l.place), '')
    into v_new.leaf_count, v_new.leaf_hashes
    from tenure.anchor_leaves l
    join tenure.tenants t on t.tenant_id = l.tenant_id
   where l.number = v_new.number;
  v_new.root := tenure.merkle_root(v_new.leaf_hashes);
  v_new.hash := tenure.anchor_hash(v_new);
  return v_new;
end
$$;

-- Keeps the checkpoint that tenure.anchor_begin began in this transaction, with its signature. Each tenant
-- that has executions has an event evidence.anchored for its subscriptions, also without a leaf in it: else
-- what its receivers keep would have gaps.
create or replace function tenure.anchor_add(
  p_number bigint, p_at timestamptz, p_key_id text, p_signature bytea) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_new    tenure.anchors;
begin
  perform tenure.check_every_tenant();
  perform from tenure.anchor_log l for update;
  v_new := tenure.anchor_next(p_at, p_key_id);
  if v_new.number is distinct from p_number or octet_length(p_signature) is distinct from 64
     or not exists (select from tenure.evidence_keys k where k.key_id = p_key_id) then
    perform tenure.refuse('state_conflict',
      format('Checkpoint %s cannot be added.', coalesce(p_number::text, 'without a number')),
      format('The next one is %s; it has a signature of 64 bytes by a key of the installation.',
        v_new.number), 'Begin and sign it in one transaction.');
  end if;
  v_new.signature := p_signature;
  insert into tenure.anchors (number, at, installation, previous, leaf_count, root, key_id, signature, hash,
    leaf_hashes)
  values (v_new.number, v_new.at, v_new.installation, v_new.previous, v_new.leaf_count, v_new.root,
    v_new.key_id, v_new.signature, v_new.hash, v_new.leaf_hashes);
  perform tenure.emit(p_at, t.tenant_id, 'evidence.anchored', v_caller.principal, null, v_new.number::text,
            tenure.anchor_line(v_new, t.tenant_id))
     from tenure.tenants t
    where t.tenant_id > 0
      and (exists (select from tenure.executions x where x.tenant_id = t.tenant_id)
           or exists (select from tenure.execution_archives a where a.tenant_id = t.tenant_id))
    order by t.tenant_id;
  return tenure.anchor_line(v_new, null);
end
$$;

-- Notes how far a sink outside the database has come, or why it has not.
create or replace function tenure.anchor_published(p_sink text, p_number bigint, p_error text default null)
  returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := tenure.now();
begin
  perform tenure.check_every_tenant();
  perform tenure.check_number('The number', p_number, 0, 9223372036854775807);
  if p_sink is null or tenure.is_blank(p_sink) or length(p_sink) > 1000 then
    perform tenure.refuse('name_invalid', 'The sink has no name, or one with more than 1000 characters.',
      'It says which file the checkpoints are in.', 'Name it as file:<host>:<path>.');
  end if;
  insert into tenure.anchor_sinks as s (sink, number, published_at, tried_at, error)
  values (p_sink, p_number, case when p_error is null then v_now end, v_now,
    tenure.cut_text(tenure.mask_text(p_error), 2000))
  on conflict (sink) do update
     set number = excluded.number, published_at = coalesce(excluded.published_at, s.published_at),
         tried_at = excluded.tried_at, error = excluded.error;
  -- A sink that no server has written to for a month is not one any more.
  delete from tenure.anchor_sinks s where s.tried_at < v_now - interval '30 days';
end
$$;

-- Removes the leaves of checkpoints that are older than retention.anchor_leaves_days, at most p_limit
-- checkpoints a call. The checkpoints stay; archived executions keep their proofs.
create or replace function tenure.anchor_sweep(p_limit integer default 100) returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now  timestamptz := tenure.now();
  v_done bigint[];
begin
  perform tenure.check_every_tenant();
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('batch_rows_max'));
  with due as (
    select a.number from tenure.anchors a
     where a.leaf_hashes is not null
       and a.at < v_now - make_interval(days => tenure.setting_integer(0, 'retention.anchor_leaves_days'))
     order by a.at limit p_limit for update skip locked
  ), emptied as (
    update tenure.anchors a set leaf_hashes = null from due d where a.number = d.number returning a.number
  )
  select array_agg(e.number) into v_done from emptied e;
  delete from tenure.anchor_leaves l where l.number = any (v_done);
  return coalesce(cardinality(v_done), 0);
end
$$;
