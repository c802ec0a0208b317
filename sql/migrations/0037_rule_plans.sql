-- What the program computed from the rule of one schedule, as it hands it to tenure.schedule_advance: the
-- slots that were due since the last look (first to latest, of which passed are not listed and lie up to
-- passed_until), the next slot, or an error of the rule.
create type tenure.rule_plan as (
  schedule_id integer,
  first timestamptz,
  latest timestamptz,
  passed integer,
  passed_until timestamptz,
  listed timestamptz[],
  next timestamptz,
  next_gap_seconds bigint,
  error_code text,
  error_message text
);
