-- Making a checkpoint: when one is due, beginning it, and adding it with its signature.

-- Whether a checkpoint is due, and whether it is the daily one, which is made even without leaves. Besides
-- that one, a checkpoint is due when chains have grown and the interval is over or a whole tree waits.
create or replace function tenure.anchor_due(p_now timestamptz, out due boolean, out daily boolean)
language plpgsql stable
as $$
declare
  v_minutes integer := tenure.setting_integer(0, 'evidence.anchor_minutes');
  v_max     integer := tenure.limit_of('anchor_leaves_max');
  v_at      timestamptz := (select a.at from tenure.anchors a order by a.number desc limit 1);
  v_waiting integer := (select count(*) from (select from tenure.anchor_pending p limit v_max) p);
begin
  daily := v_minutes > 0
    and coalesce(v_at <= p_now - make_interval(secs => tenure.limit_of('anchor_pause_seconds_max')), false);
  due := daily or (
    v_minutes > 0
    and v_waiting > 0
    and (
      v_waiting = v_max
      or coalesce(v_at <= p_now - make_interval(mins => v_minutes), true)));
end
$$;

-- Begins the next checkpoint if one is due and returns the text to sign; returns no row if none is due or
-- another server is making one. Leaves without their checkpoint cannot be committed: the same transaction
-- must end with tenure.anchor_add. rewritten has the executions whose head does not follow from what earlier
-- checkpoints cover; they become leaves all the same.
-- granted to: server
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
       select o.execution_id
         from tenure.anchor_pending o
        order by o.seen_at, o.execution_id
        limit v_max)
    returning p.execution_id
  )
  insert into tenure.anchor_leaves (number, place, tenant_id, execution_id, chain_length, chain_hash)
  select v_last + 1, row_number() over (order by x.execution_id) - 1,
         x.tenant_id, x.execution_id, x.chain_length, x.chain_hash
    from taken t
    join tenure.execution_states x on x.execution_id = t.execution_id and x.chain_length > 0
   where not exists (
     select
       from tenure.anchor_leaves l
      where l.execution_id = x.execution_id
        and l.chain_length = x.chain_length
        and l.chain_hash = x.chain_hash);
  if not found and not v_due.daily then
    return;
  end if;
  v_new := tenure.anchor_unsigned(v_now, p_key_id);
  return query
    select v_new.number, v_new.at, tenure.anchor_text(v_new), (
             select coalesce(
                      jsonb_agg(jsonb_build_object('execution_id', d.execution_id, 'number', d.differs)),
                      '[]')
               from (select l.execution_id,
                            tenure.anchor_differs(
                              l.execution_id, l.chain_length, l.chain_hash, v_last) as differs
                       from tenure.anchor_leaves l
                      where l.number = v_new.number) d
              where d.differs is not null);
end
$$;

-- The checkpoint over the leaves that this transaction has written, without its signature.
create or replace function tenure.anchor_unsigned(p_at timestamptz, p_key_id text) returns tenure.anchors
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
  select count(*),
         coalesce(
           string_agg(
             tenure.anchor_leaf_hash(t.name, l.execution_id, l.chain_length, l.chain_hash), ''::bytea
             order by l.place),
           '')
    into v_new.leaf_count, v_new.leaf_hashes
    from tenure.anchor_leaves l
    join tenure.tenants t on t.tenant_id = l.tenant_id
   where l.number = v_new.number;
  v_new.root := tenure.merkle_root(v_new.leaf_hashes);
  v_new.hash := tenure.anchor_hash(v_new);
  return v_new;
end
$$;

-- Adds the checkpoint that tenure.anchor_begin began in this transaction, with its signature. Every tenant
-- that has executions gets an event evidence.anchored for its subscriptions, even without a leaf of its own:
-- otherwise the series that its receivers keep would have gaps.
-- granted to: server
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
  v_new := tenure.anchor_unsigned(p_at, p_key_id);
  if v_new.number is distinct from p_number
     or octet_length(p_signature) is distinct from 64
     or not exists (select from tenure.evidence_keys k where k.key_id = p_key_id) then
    perform tenure.refuse('state_conflict',
      format('Checkpoint %s cannot be added.', coalesce(p_number::text, 'without a number')),
      format('The next one is %s; it has a signature of 64 bytes by a key of the installation.',
        v_new.number),
      'Begin and sign it in one transaction.');
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
      and (
        exists (select from tenure.executions x where x.tenant_id = t.tenant_id)
        or exists (select from tenure.execution_archives a where a.tenant_id = t.tenant_id))
    order by t.tenant_id;
  return tenure.anchor_line(v_new, null);
end
$$;
