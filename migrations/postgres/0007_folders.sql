-- Folders of this machine whose files are documents. The same stands in ../sqlite/0007_folders.sql.

create table watched_folders (
  id text collate "C" primary key,
  path text collate "C" not null,
  collection text collate "C" not null,                  -- its name: made with the first document
  node text collate "C",                                 -- whose settings name it; none: an admin does
  root_device bigint,                                    -- what stood at the path at the last scan
  root_inode bigint,
  scanned_at bigint,                                     -- the last scan that saw all of it
  scanned_by text,                                       -- the node that made it
  skipped bigint not null default 0,                     -- files of no type that is read
  fault text check (fault in ('not_found', 'not_a_folder', 'not_readable', 'folder_replaced', 'too_many_files')),
  due_at bigint not null,
  lease_owner text,
  lease_token bigint not null default 0,
  lease_until bigint not null default 0,
  created_at bigint not null,
  unique (path, collection));

create table watched_files (
  folder_id text collate "C" not null references watched_folders (id) on delete cascade,
  name text collate "C" not null,                        -- the path from the folder, and the document's name
  bytes bigint not null,
  modified bigint not null,                              -- ns
  changed bigint not null,                               -- ns
  settled boolean not null,                              -- seen so twice, and then taken in or refused
  missing boolean not null,                              -- not seen by the last scan
  sha256 text,                                           -- what was taken in last
  document_id text collate "C",
  job_id text collate "C",
  error_code text,                                       -- why it was refused before there was a job
  error text,
  primary key (folder_id, name));
create index watched_files_name on watched_files (name);

update meta set value = '7' where key = 'layout';
