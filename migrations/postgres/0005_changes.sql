-- What changes in the knowledge, for the other processes that hold an index in memory. The same stands in
-- ../sqlite/0005_changes.sql.

create table change_count (last_no bigint not null);          -- one row: whoever counts holds it, so numbers come in the order of commits
insert into change_count (last_no) values (0);
alter table documents add column changed_no bigint not null default 0;  -- of the last change of what answers
create index documents_changed on documents (changed_no) where changed_no > 0;
alter table jobs add column node text collate "C";       -- where its file lies; none: anywhere

-- Words between lines ("_so_") were not found: their texts are read again by the next start.
delete from search_terms where message_id in (select id from messages where content like '%\_%' escape '\');
delete from search_terms where message_id is null
  and session_id in (select id from sessions where title like '%\_%' escape '\');
insert into meta (key, value) select 'search_behind', '1' where exists (select 1 from sessions) on conflict (key) do nothing;
update meta set value = '5' where key = 'layout';
