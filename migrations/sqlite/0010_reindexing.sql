-- Only who makes the vectors that were asked for may do it: a job says whose. The same stands in
-- ../postgres/0010_reindexing.sql.

alter table jobs add column profile_id text;             -- which profile is to be built; none: not a matter of vectors

update meta set value = '10' where key = 'layout';
