-- Which run of a session is next costs what waits, not what ever ran. The same stands in ../sqlite/0011_line.sql.

create index runs_line on runs (session_id, interrupts desc, queue_no) where status = 'queued';

update meta set value = '11' where key = 'layout';
