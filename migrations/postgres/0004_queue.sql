-- Runs that wait for their session, and run logs that are dropped some time after the end. The same stands in
-- ../sqlite/0004_queue.sql.

alter table sessions add column queued bigint not null default 0;      -- how many of its runs wait
alter table runs add column queue_no bigint;                           -- the line of the session
alter table runs add column interrupts boolean not null default false; -- stands before those that do not
drop index runs_queue;
create index runs_queue on runs (session_id, queue_no) where status = 'queued';
create index runs_logged on runs (ended_at) where ended_at is not null and log_from <= last_seq;

update meta set value = '4' where key = 'layout';
