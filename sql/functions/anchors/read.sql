-- Reading checkpoints: the list, one of them, and the status of checkpoints and their sinks.

-- A checkpoint as it is published, with the chain heads of the tenant p_tenant_id (0: of all tenants; null:
-- without heads).
create or replace function tenure.anchor_line(p_anchor tenure.anchors, p_tenant_id integer) returns jsonb
language sql stable
as $$
  select jsonb_build_object(
           'kind', 'checkpoint',
           'version', 1,
           'number', p_anchor.number,
           'at', tenure.anchor_time(p_anchor.at),
           'installation', p_anchor.installation,
           'previous', encode(p_anchor.previous, 'hex'),
           'leaf_count', p_anchor.leaf_count,
           'root', encode(p_anchor.root, 'hex'),
           'key_id', p_anchor.key_id,
           'public_key', (
             select replace(encode(k.public_key, 'base64'), chr(10), '')
               from tenure.evidence_keys k
              where k.key_id = p_anchor.key_id),
           'signature', replace(encode(p_anchor.signature, 'base64'), chr(10), ''))
         || case
              when p_tenant_id is null then '{}'
              else jsonb_build_object('heads', tenure.anchor_heads(p_anchor.number, p_tenant_id))
            end
$$;

-- The chain heads that a checkpoint covers, in the order of its leaves: of one tenant, or of all (0).
create or replace function tenure.anchor_heads(p_number bigint, p_tenant_id integer) returns jsonb
language sql stable
as $$
  select coalesce(
           jsonb_agg(
             jsonb_build_array(t.name, l.execution_id, l.chain_length, encode(l.chain_hash, 'hex'))
             order by l.place),
           '[]')
    from tenure.anchor_leaves l
    join tenure.tenants t on t.tenant_id = l.tenant_id
   where l.number = p_number
     and (p_tenant_id = 0 or l.tenant_id = p_tenant_id)
$$;

-- Checkpoints after a number, oldest first; with p_newest the last ones, in the same order. p_heads adds the
-- chain heads of the caller's tenant, or of all tenants if the caller acts for every tenant.
-- granted to: all
create or replace function tenure.anchor_list(
  p_after bigint default 0, p_limit integer default 100, p_heads boolean default false,
  p_newest boolean default false) returns table (checkpoint jsonb)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant integer := coalesce(tenure.current_tenant(), 0);
begin
  p_after := coalesce(p_after, 0);
  perform tenure.check_number('The number', p_after, 0, 9223372036854775807);
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('list_rows_max'));
  -- Two statements: each reads the primary key from one end.
  if p_newest then
    return query
      select tenure.anchor_line(a, case when p_heads then v_tenant end)
        from (select x.number
                from tenure.anchors x
               where x.number > p_after
               order by x.number desc
               limit p_limit) n
        join tenure.anchors a on a.number = n.number
       order by a.number;
  else
    return query
      select tenure.anchor_line(a, case when p_heads then v_tenant end)
        from (select x.number
                from tenure.anchors x
               where x.number > p_after
               order by x.number
               limit p_limit) n
        join tenure.anchors a on a.number = n.number
       order by a.number;
  end if;
end
$$;

-- One checkpoint, with the chain heads of the caller's tenant that it covers.
-- granted to: all
create or replace function tenure.anchor_show(p_number bigint) returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_anchor tenure.anchors;
begin
  select a.* into v_anchor from tenure.anchors a where a.number = p_number;
  if not found then
    perform tenure.refuse('anchor_unknown',
      format('There is no checkpoint %s.', coalesce(p_number::text, 'without a number')),
      format('They are numbered from 1 to %s.', coalesce((select max(a.number) from tenure.anchors a), 0)),
      'See tenure.anchor_list().');
  end if;
  return tenure.anchor_line(v_anchor, coalesce(tenure.current_tenant(), 0));
end
$$;

-- The status of checkpoints: the newest one, the number of executions of the caller's tenant that wait for
-- the next, where the key is that signs, and how far each sink has come. Only operators, admins and trusted
-- callers see the paths and errors of sinks.
-- granted to: all
create or replace function tenure.anchor_status() returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now    timestamptz := tenure.now();
  v_tenant integer := tenure.current_tenant();
  v_last   tenure.anchors;
  v_whole  boolean := tenure.acts_as('tenure_operator')
                     or tenure.acts_as('tenure_admin')
                     or tenure.is_trusted();
begin
  select a.* into v_last from tenure.anchors a order by a.number desc limit 1;
  return jsonb_build_object(
    'minutes', tenure.setting_integer(0, 'evidence.anchor_minutes'),
    'number', coalesce(v_last.number, 0),
    'at', v_last.at,
    'waiting', (
      select count(*)
        from (select
                from tenure.anchor_pending p
               where v_tenant is null or p.tenant_id = v_tenant
               limit tenure.limit_of('counted_rows_max')) p),
    'waiting_seconds', (
      select greatest(0, coalesce(extract(epoch from v_now - min(p.seen_at)), 0))
        from tenure.anchor_pending p
       where v_tenant is null or p.tenant_id = v_tenant),
    'key', (
      select jsonb_build_object('key_id', k.key_id, 'kept', k.kept)
        from tenure.evidence_key_list() k
       where k.signs),
    'sinks', (
      select coalesce(
               jsonb_agg(
                 jsonb_build_object(
                   'sink', case when v_whole then s.sink else split_part(s.sink, ':', 1) end,
                   'number', s.number,
                   'behind', greatest(0, coalesce(v_last.number, 0) - s.number),
                   'published_at', s.published_at,
                   'tried_at', s.tried_at,
                   'error', case when v_whole then s.error when s.error is not null then 'failing' end)
                 order by s.sink),
               '[]')
        from tenure.anchor_sinks s));
end
$$;
