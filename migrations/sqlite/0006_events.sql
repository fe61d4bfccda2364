-- Background events that concern one session, and lists of them.

alter table background_events
  add column session_id text references sessions (id) on delete cascade;  -- none: told in any of the user's
alter table background_events drop column read_at;       -- an event is read when a turn has told it
create index background_events_recent on background_events (user_id, created_at, id);
create index background_events_session on background_events (session_id) where session_id is not null;

update meta set value = '6' where key = 'layout';
