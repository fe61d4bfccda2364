-- Folders of this machine whose files are documents.

create table watched_folders (
  id text primary key,
  path text not null,
  collection text not null,                              -- its name: made with the first document
  node text,                                             -- whose settings name it; none: an admin does
  root_device integer,                                   -- what stood at the path at the last scan
  root_inode integer,
  scanned_at integer,                                    -- the last scan that saw all of it
  scanned_by text,                                       -- the node that made it
  skipped integer not null default 0,                    -- files of no type that is read
  fault text check (fault in ('not_found', 'not_a_folder', 'not_readable', 'folder_replaced', 'too_many_files')),
  due_at integer not null,
  lease_owner text,
  lease_token integer not null default 0,
  lease_until integer not null default 0,
  created_at integer not null,
  unique (path, collection)) strict;

create table watched_files (
  folder_id text not null references watched_folders (id) on delete cascade,
  name text not null,                                    -- the path from the folder, and the document's name
  bytes integer not null,
  modified integer not null,                             -- ns
  changed integer not null,                              -- ns
  settled integer not null,                              -- seen so twice, and then taken in or refused
  missing integer not null,                              -- not seen by the last scan
  sha256 text,                                           -- what was taken in last
  document_id text,
  job_id text,
  error_code text,                                       -- why it was refused before there was a job
  error text,
  primary key (folder_id, name)) strict;
create index watched_files_name on watched_files (name);

update meta set value = '7' where key = 'layout';
