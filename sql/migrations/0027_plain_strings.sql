-- The body of a function is read under the setting standard_conforming_strings of its caller. With it off, a
-- backslash in a plain string is an escape, and these three asked for an "S" where they meant anything but
-- white space.
alter function tenure.executions_shape() set standard_conforming_strings = on;
alter function tenure.executions_stand() set standard_conforming_strings = on;
alter function tenure.steps_shape() set standard_conforming_strings = on;
