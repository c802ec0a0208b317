-- Checkpoints as bytes: the hash of a leaf, the text that is signed, and its hash. docs/anchors.md says what
-- checkpoints prove.

-- The hash of a leaf: the chain head of one execution.
create or replace function tenure.anchor_leaf_hash(
  p_tenant text, p_execution_id uuid, p_chain_length integer, p_chain_hash bytea) returns bytea
language sql immutable strict parallel safe
as $$
  select sha256(
    decode('00', 'hex') || convert_to(
      concat_ws(chr(10),
        'tenure/head/v1',
        p_tenant,
        p_execution_id,
        p_chain_length,
        encode(p_chain_hash, 'hex')), 'UTF8'))
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
  select concat_ws(chr(10),
    'tenure/checkpoint/v1',
    p_anchor.number,
    tenure.anchor_time(p_anchor.at),
    p_anchor.installation,
    encode(p_anchor.previous, 'hex'),
    p_anchor.leaf_count,
    encode(p_anchor.root, 'hex'),
    p_anchor.key_id)
$$;

-- The hash of a checkpoint: the SHA-256 of the text that is signed.
create or replace function tenure.anchor_hash(p_anchor tenure.anchors) returns bytea
language sql immutable parallel safe
as $$
  select sha256(convert_to(tenure.anchor_text(p_anchor), 'UTF8'))
$$;
