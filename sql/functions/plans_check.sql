-- Placeholder until the branch with the full check is merged.
create or replace function tenure.plan_check(p_plan text) returns jsonb
language plpgsql
as $$
begin
  return p_plan::jsonb;
end
$$;
