-- Finding sessions by what was said in them. The same stands in ../sqlite/0002_search.sql.

drop table message_terms;                                -- nothing was ever written to it

create table search_terms (
  session_id text collate "C" not null references sessions (id) on delete cascade,
  message_id text collate "C" unique references messages (id) on delete cascade,  -- none: the session's title
  terms tsvector not null);
create unique index search_terms_title on search_terms (session_id) where message_id is null;
create index search_terms_session on search_terms (session_id);
create index search_index on search_terms using gin (terms);

-- What was said before is read by the next start.
insert into meta (key, value) select 'search_behind', '1' where exists (select 1 from sessions);
update meta set value = '2' where key = 'layout';
