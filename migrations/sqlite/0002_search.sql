-- Finding sessions by what was said in them. Terms are made by askback (src/text/search.rs); each text also has its
-- owner as a term, so that a search reads nothing of others.

drop table message_terms;                                -- nothing was ever written to it

create table search_terms (
  no integer primary key,                                -- the index's, so it must not move
  session_id text not null references sessions (id) on delete cascade,
  message_id text unique references messages (id) on delete cascade,  -- none: the session's title
  terms text not null) strict;
create unique index search_terms_title on search_terms (session_id) where message_id is null;
create index search_terms_session on search_terms (session_id);

create virtual table search_index using fts5 (
  terms, content = 'search_terms', content_rowid = 'no', detail = none, columnsize = 0,
  tokenize = "ascii tokenchars '_@-'");

create trigger search_terms_added after insert on search_terms begin
  insert into search_index (rowid, terms) values (new.no, new.terms);
end;
create trigger search_terms_removed after delete on search_terms begin
  insert into search_index (search_index, rowid, terms) values ('delete', old.no, old.terms);
end;
create trigger search_terms_changed after update on search_terms begin
  insert into search_index (search_index, rowid, terms) values ('delete', old.no, old.terms);
  insert into search_index (rowid, terms) values (new.no, new.terms);
end;

-- What was said before is read by the next start.
insert into meta (key, value) select 'search_behind', '1' where exists (select 1 from sessions);
update meta set value = '2' where key = 'layout';
