-- One upkeep of partitions at a time: it locks this row.
insert into tenure.sweep_cursors (name) values ('partitions');
