-- The whole layout. The same tables stand in ../postgres/0001_layout.sql.
-- Ids: UUID text made by services. Times: unix ms. Order never comes from ids but from ord, seq, no.
-- Text compares by bytes here; the other engine is told to.

create table meta (key text primary key, value text not null) strict;
insert into meta (key, value) values ('layout', '1');

-- accounts -----------------------------------------------------------------------------------------------------------

create table users (
  id text primary key,
  name text not null,
  name_key text not null unique,                         -- folded: NFKC, lower case
  role text not null check (role in ('user', 'admin')),
  password_hash text not null,
  auth_epoch integer not null default 0,                 -- part of every access token
  disabled_at integer,
  created_at integer not null) strict;

create table groups (id text primary key, name text not null unique) strict;

create table group_members (
  group_id text not null references groups (id) on delete cascade,
  user_id text not null references users (id) on delete cascade,
  primary key (group_id, user_id)) strict;

create table refresh_tokens (
  token_hash blob primary key,
  family_id text not null,
  user_id text not null references users (id) on delete cascade,
  issued_at integer not null,
  expires_at integer not null,
  spent_at integer,
  revoked_at integer) strict;
create index refresh_family on refresh_tokens (family_id);
create index refresh_user on refresh_tokens (user_id);

-- knowledge ----------------------------------------------------------------------------------------------------------

create table collections (
  id text primary key,
  name text not null unique,
  visibility text not null check (visibility in ('everyone', 'listed')),
  created_at integer not null) strict;

create table collection_readers (
  collection_id text not null references collections (id) on delete cascade,
  kind text not null check (kind in ('user', 'group')),
  principal_id text not null,
  primary key (collection_id, kind, principal_id)) strict;

create table blobs (
  sha256 text primary key,
  bytes integer not null,
  state text not null check (state in ('ready', 'dying')),
  created_at integer not null) strict;

create table documents (
  id text primary key,
  collection_id text not null references collections (id),
  filename text not null,
  current_no integer,
  last_no integer not null default 0,
  created_by text,
  created_at integer not null,
  deleted_at integer) strict;                            -- a tombstone, so that citations can say "removed"
create unique index documents_name on documents (collection_id, filename) where deleted_at is null;
create index documents_recent on documents (created_at, id) where deleted_at is null;

create table versions (
  id text primary key,
  document_id text not null references documents (id),
  no integer not null,
  blob_sha256 text not null references blobs (sha256),
  media_type text not null,
  extractor text not null,
  title text,
  lang text,
  facets text not null,
  warnings text not null,
  state text not null check (state in ('staged', 'current', 'retired', 'purged')),
  chars integer not null,
  chunk_count integer not null default 0,                -- leaves
  created_at integer not null,
  unique (document_id, no)) strict;
create unique index versions_current on versions (document_id) where state = 'current';
create index versions_blob on versions (blob_sha256);

create table pages (                                     -- the stored text, at most 64k characters a row
  version_id text not null references versions (id) on delete cascade,
  no integer not null,
  label text,
  char_start integer not null,
  char_end integer not null,
  body text not null,
  primary key (version_id, no)) strict;

create table chunks (
  id text primary key,                                   -- derived from version, level and no
  version_id text not null references versions (id) on delete cascade,
  level integer not null check (level in (1, 2, 3)),
  no integer not null,
  parent_id text,
  page text,                                             -- its label
  char_start integer not null,
  char_end integer not null,
  section text,
  header text,                                           -- of the table that it is a part of
  body text not null,
  unique (version_id, level, no)) strict;
create index chunks_parent on chunks (parent_id, no);

create table profiles (                                  -- embedder + analyser + frozen BM25 constants
  id text primary key,
  embedder text not null,
  dims integer not null,
  analyser text not null,
  avg_len real not null,
  k1 real not null,
  b real not null,
  state text not null check (state in ('building', 'current', 'retired')),
  created_at integer not null) strict;
create unique index profiles_current on profiles (state) where state = 'current';
-- The first profile is what the configuration says; indexing anew under another embedder makes the next one.
insert into profiles (id, embedder, dims, analyser, avg_len, k1, b, state, created_at)
  values ('1', '', 0, '', 0, 0, 0, 'current', 0);

create table profile_stats (                             -- term -> df, frozen per generation
  profile_id text not null references profiles (id) on delete cascade,
  gen integer not null,
  docs integer not null,
  df blob not null,
  primary key (profile_id, gen)) strict;

create table segments (                                  -- at most 512 leaves: ids, int8 + scale, sparse
  version_id text not null references versions (id) on delete cascade,
  no integer not null,
  profile_id text not null references profiles (id),
  leaves integer not null,
  body blob not null,
  primary key (version_id, no, profile_id)) strict;      -- version first: pages of a start-up walk it in order

create table index_ops (                                 -- outbox of a remote index, one row per version
  id text primary key,
  profile_id text not null references profiles (id),
  document_id text not null,
  version_id text not null,
  op text not null check (op in ('publish', 'withdraw')),
  attempts integer not null default 0,
  run_after integer not null,
  error text,
  created_at integer not null,
  done_at integer) strict;
create index index_ops_open on index_ops (run_after) where done_at is null;

create table jobs (
  id text primary key,
  kind text not null check (kind in ('ingest', 'delete', 'reindex', 'collect')),
  document_id text,
  version_id text,
  user_id text,
  filename text not null,
  state text not null check (state in ('pending', 'running', 'completed', 'failed')),
  step text not null default '',
  message text not null default '',
  steps text not null,
  total integer not null default 0,
  processed integer not null default 0,
  attempts integer not null default 0,
  run_after integer not null,
  lease_owner text,
  lease_token integer not null default 0,
  lease_until integer,
  cancel_requested integer not null default 0,
  error_code text,
  error text,
  created_at integer not null,
  updated_at integer not null) strict;
create index jobs_due on jobs (run_after, created_at) where state in ('pending', 'running');
create index jobs_document on jobs (document_id, created_at);
create index jobs_version on jobs (version_id);
create index jobs_recent on jobs (kind, created_at, id);

-- conversations ------------------------------------------------------------------------------------------------------

create table sessions (
  id text primary key,
  owner_id text not null references users (id) on delete cascade,
  name text not null,                                    -- the client's id
  title text,
  title_by text not null default 'none' check (title_by in ('none', 'words', 'model', 'user')),
  active_leaf text,
  running_run text,                                      -- the claim: one turn at a time
  next_ord integer not null default 1,
  message_count integer not null default 0,
  created_at integer not null,
  updated_at integer not null,
  unique (owner_id, name)) strict;
create index sessions_recent on sessions (owner_id, updated_at, id);

create table messages (
  id text primary key,
  session_id text not null references sessions (id) on delete cascade,
  parent_id text,
  ord integer not null,
  kind text not null check (kind in ('human', 'ai')),
  status text not null check (status in ('running', 'completed', 'awaiting_input', 'stopped', 'failed', 'interrupted')),
  run_id text,
  content text not null,
  model text,
  finish_reason text,
  usage text,
  timings text,
  created_at integer not null,
  unique (session_id, ord),
  unique (session_id, id),
  foreign key (session_id, parent_id) references messages (session_id, id)) strict;
create index messages_children on messages (session_id, parent_id, ord);

create table message_parts (                             -- appended once, when the message ends
  message_id text not null references messages (id) on delete cascade,
  no integer not null,
  run_id text not null,
  kind text not null check (kind in ('text', 'reasoning', 'tool_call', 'tool_result', 'attachment')),
  body text not null,
  primary key (message_id, no)) strict;

create table citations (
  message_id text not null references messages (id) on delete cascade,
  marker integer not null,
  document_id text not null,
  version_no integer not null,
  filename text not null,                                -- at that time
  page text,
  char_start integer not null,
  char_end integer not null,
  quote text not null,
  quote_sha256 text not null,
  primary key (message_id, marker)) strict;
create index citations_source on citations (document_id, version_no);

create table feedback (
  message_id text not null references messages (id) on delete cascade,
  user_id text not null references users (id) on delete cascade,
  rating text not null check (rating in ('up', 'down')),
  comment text,
  updated_at integer not null,
  primary key (message_id, user_id)) strict;

create table message_terms (
  message_id text primary key references messages (id) on delete cascade,
  terms text not null) strict;

create table runs (
  id text primary key,
  session_id text not null references sessions (id) on delete cascade,
  user_id text not null,
  kind text not null check (kind in ('turn', 'regenerate', 'continue', 'edit')),
  status text not null check (status in
    ('queued', 'running', 'completed', 'awaiting_input', 'stopped', 'failed', 'interrupted')),
  request text not null,
  human_id text not null,
  message_id text,                                       -- none when nothing was said
  owner text,                                            -- process:boot
  on_disconnect text not null check (on_disconnect in ('continue', 'cancel')),
  stop_requested_at integer,
  watched_at integer,
  log_from integer not null default 1,
  last_seq integer not null default 0,                   -- set when it ends; until then the log tells
  error text,
  created_at integer not null,
  started_at integer,
  ended_at integer) strict;
create unique index runs_one_running on runs (session_id) where status = 'running';
create index runs_session on runs (session_id);
create index runs_queue on runs (session_id, created_at) where status = 'queued';
create index runs_live on runs (owner) where status = 'running';

create table run_events (                                -- one row per flushed batch, not per token
  run_id text not null references runs (id) on delete cascade,
  first_seq integer not null,
  last_seq integer not null,
  frames blob not null,
  primary key (run_id, first_seq)) strict;

create table traces (run_id text primary key references runs (id) on delete cascade, body blob not null) strict;

create table replies (                                   -- recorded port calls
  run_id text not null references runs (id) on delete cascade,
  path text not null,
  attempt integer not null,
  port text not null,
  request_sha256 text not null,
  body blob not null,
  primary key (run_id, path, attempt)) strict;

create table idempotency (
  user_id text not null references users (id) on delete cascade,
  scope text not null,
  key text not null,
  body_sha256 text not null,
  run_id text not null references runs (id) on delete cascade deferrable initially deferred,
  expires_at integer not null,
  primary key (user_id, scope, key)) strict;
create index idempotency_run on idempotency (run_id);

create table processes (id text primary key, boot text not null, lease_until integer not null) strict;

-- asking back --------------------------------------------------------------------------------------------------------

create table hitl (
  id text primary key,
  session_id text not null references sessions (id) on delete cascade,
  message_id text not null references messages (id) on delete cascade,  -- the message that asked
  root_id text not null,
  round integer not null,
  kind text not null check (kind in ('clarify', 'scope_select', 'approval', 'elicitation')),
  status text not null check (status in ('open', 'taken', 'answered', 'dismissed', 'superseded', 'expired')),
  fingerprint text not null,
  prompt text not null,
  record text not null,
  expires_at integer not null,
  taken_by text,
  answered_by text,
  created_at integer not null,
  updated_at integer not null,
  unique (root_id, fingerprint)) strict;
create unique index hitl_one_open on hitl (message_id) where status in ('open', 'taken');
create index hitl_message on hitl (message_id);
create index hitl_session on hitl (session_id, status);

create table hitl_moves (
  hitl_id text not null references hitl (id) on delete cascade,
  no integer not null,
  from_status text not null,
  to_status text not null,
  run_id text,
  message_id text,
  reason text not null,
  at integer not null,
  primary key (hitl_id, no)) strict;

-- memory -------------------------------------------------------------------------------------------------------------

create table notes (
  session_id text primary key references sessions (id) on delete cascade,
  body text not null,
  upto_ord integer not null,
  updated_at integer not null) strict;

create table settings (
  user_id text not null references users (id) on delete cascade,
  key text not null,
  value text not null,
  updated_at integer not null,
  primary key (user_id, key)) strict;

create table episodes (
  id text primary key,
  session_id text not null references sessions (id) on delete cascade,
  message_id text not null references messages (id) on delete cascade,
  kind text not null,
  items text not null,
  created_at integer not null) strict;
create index episodes_session on episodes (session_id, created_at);
create index episodes_message on episodes (message_id);

create table background_events (
  id text primary key,
  user_id text not null references users (id) on delete cascade,
  kind text not null,
  subject_id text not null,
  body text not null,
  created_at integer not null,
  told_in text,                                          -- the run that told it
  read_at integer,
  unique (user_id, kind, subject_id)) strict;
create index background_events_untold on background_events (user_id, created_at, id) where told_in is null;
