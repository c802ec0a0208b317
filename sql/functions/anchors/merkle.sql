-- Merkle trees (RFC 6962) over the hashes of leaves, which are passed as one value of 32 bytes per leaf.

-- The level above one level of a tree: each pair of neighbours hashed. The last of an odd number moves up
-- unchanged.
create or replace function tenure.merkle_level(p_hashes bytea) returns bytea
language sql immutable strict parallel safe
as $$
  select string_agg(
           case
             when octet_length(p_hashes) - i < 32 then substr(p_hashes, i, 32)
             else sha256(decode('01', 'hex') || substr(p_hashes, i, 64))
           end, ''::bytea order by i)
    from generate_series(1, octet_length(p_hashes), 64) i
$$;

-- The root over the hashes of leaves. Without leaves it is the SHA-256 of the empty string.
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

-- The sibling hashes from the leaf at p_place (the first is 0) up to the root, lowest first.
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
