-- Vectors belong to the embedder and the analyser that made them. While one profile replaces another, a store holds the
-- segments of both. The same stands in ../sqlite/0008_profiles.sql.

drop table index_ops;                                    -- nothing was ever written to these two
drop table profile_stats;

alter table profiles drop column avg_len;
alter table profiles drop column k1;                     -- part of the analyser's name
alter table profiles drop column b;
alter table profiles add column since bigint not null default 0;  -- the change by which it became current; 0: never
create unique index profiles_made_by on profiles (embedder, dims, analyser);
create index segments_profile on segments (profile_id, version_id);

-- Until now nobody asked what had made the vectors: it was this.
insert into profiles (id, embedder, dims, analyser, state, created_at)
  select '01980000-0000-7000-8000-000000000001', 'static-bilingual-256@1', 256, 'words@1, bm25 0.9 0.6', 'building', 0
  where exists (select 1 from segments);
update segments set profile_id = '01980000-0000-7000-8000-000000000001';
delete from profiles where id = '1';
update profiles set state = 'current';

-- One reindexing at a time.
create unique index jobs_reindex on jobs (kind) where kind = 'reindex' and state in ('pending', 'running');

update meta set value = '8' where key = 'layout';
