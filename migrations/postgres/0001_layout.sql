-- The whole layout. The same tables stand in ../sqlite/0001_layout.sql.
-- Ids: UUID text made by services. Times: unix ms. Order never comes from ids but from ord, seq, no.
-- Ids and names compare by bytes (collate "C"), so that lists and cursors are the same on both engines.

create table meta (key text primary key, value text not null);
insert into meta (key, value) values ('layout', '1');

-- accounts -----------------------------------------------------------------------------------------------------------

create table users (
  id text collate "C" primary key,
  name text not null,
  name_key text collate "C" not null unique,             -- folded: NFKC, lower case
  role text not null check (role in ('user', 'admin')),
  password_hash text not null,
  auth_epoch bigint not null default 0,                  -- part of every access token
  disabled_at bigint,
  created_at bigint not null);

create table groups (id text collate "C" primary key, name text collate "C" not null unique);

create table group_members (
  group_id text collate "C" not null references groups (id) on delete cascade,
  user_id text collate "C" not null references users (id) on delete cascade,
  primary key (group_id, user_id));

create table refresh_tokens (
  token_hash bytea primary key,
  family_id text collate "C" not null,
  user_id text collate "C" not null references users (id) on delete cascade,
  issued_at bigint not null,
  expires_at bigint not null,
  spent_at bigint,
  revoked_at bigint);
create index refresh_family on refresh_tokens (family_id);
create index refresh_user on refresh_tokens (user_id);

-- knowledge ----------------------------------------------------------------------------------------------------------

create table collections (
  id text collate "C" primary key,
  name text collate "C" not null unique,
  visibility text not null check (visibility in ('everyone', 'listed')),
  created_at bigint not null);

create table collection_readers (
  collection_id text collate "C" not null references collections (id) on delete cascade,
  kind text not null check (kind in ('user', 'group')),
  principal_id text collate "C" not null,
  primary key (collection_id, kind, principal_id));

create table blobs (
  sha256 text collate "C" primary key,
  bytes bigint not null,
  state text not null check (state in ('ready', 'dying')),
  created_at bigint not null);

create table documents (
  id text collate "C" primary key,
  collection_id text collate "C" not null references collections (id),
  filename text collate "C" not null,
  current_no bigint,
  last_no bigint not null default 0,
  created_by text collate "C",
  created_at bigint not null,
  deleted_at bigint);                                    -- a tombstone, so that citations can say "removed"
create unique index documents_name on documents (collection_id, filename) where deleted_at is null;
create index documents_recent on documents (created_at, id) where deleted_at is null;

create table versions (
  id text collate "C" primary key,
  document_id text collate "C" not null references documents (id),
  no bigint not null,
  blob_sha256 text collate "C" not null references blobs (sha256),
  media_type text not null,
  extractor text not null,
  title text,
  lang text,
  facets jsonb not null,
  warnings jsonb not null,
  state text not null check (state in ('staged', 'current', 'retired', 'purged')),
  chars bigint not null,
  chunk_count bigint not null default 0,                 -- leaves
  created_at bigint not null,
  unique (document_id, no));
create unique index versions_current on versions (document_id) where state = 'current';
create index versions_blob on versions (blob_sha256);

create table pages (                                     -- the stored text, at most 64k characters a row
  version_id text collate "C" not null references versions (id) on delete cascade,
  no bigint not null,
  label text,
  char_start bigint not null,
  char_end bigint not null,
  body text not null,
  primary key (version_id, no));

create table chunks (
  id text collate "C" primary key,                       -- derived from version, level and no
  version_id text collate "C" not null references versions (id) on delete cascade,
  level bigint not null check (level in (1, 2, 3)),
  no bigint not null,
  parent_id text collate "C",
  page text,                                             -- its label
  char_start bigint not null,
  char_end bigint not null,
  section text,
  header text,                                           -- of the table that it is a part of
  body text not null,
  unique (version_id, level, no));
create index chunks_parent on chunks (parent_id, no);

create table profiles (                                  -- embedder + analyser + frozen BM25 constants
  id text collate "C" primary key,
  embedder text not null,
  dims bigint not null,
  analyser text not null,
  avg_len double precision not null,
  k1 double precision not null,
  b double precision not null,
  state text not null check (state in ('building', 'current', 'retired')),
  created_at bigint not null);
create unique index profiles_current on profiles (state) where state = 'current';
-- The first profile is what the configuration says; indexing anew under another embedder makes the next one.
insert into profiles (id, embedder, dims, analyser, avg_len, k1, b, state, created_at)
  values ('1', '', 0, '', 0, 0, 0, 'current', 0);

create table profile_stats (                             -- term -> df, frozen per generation
  profile_id text collate "C" not null references profiles (id) on delete cascade,
  gen bigint not null,
  docs bigint not null,
  df bytea not null,
  primary key (profile_id, gen));

create table segments (                                  -- at most 512 leaves: ids, int8 + scale, sparse
  version_id text collate "C" not null references versions (id) on delete cascade,
  no bigint not null,
  profile_id text collate "C" not null references profiles (id),
  leaves bigint not null,
  body bytea not null,
  primary key (version_id, no, profile_id));             -- version first: pages of a start-up walk it in order
alter table segments alter column body set storage external;  -- int8 and f32 do not compress

create table index_ops (                                 -- outbox of a remote index, one row per version
  id text collate "C" primary key,
  profile_id text collate "C" not null references profiles (id),
  document_id text collate "C" not null,
  version_id text collate "C" not null,
  op text not null check (op in ('publish', 'withdraw')),
  attempts bigint not null default 0,
  run_after bigint not null,
  error text,
  created_at bigint not null,
  done_at bigint);
create index index_ops_open on index_ops (run_after) where done_at is null;

create table jobs (
  id text collate "C" primary key,
  kind text not null check (kind in ('ingest', 'delete', 'reindex', 'collect')),
  document_id text collate "C",
  version_id text collate "C",
  user_id text collate "C",
  filename text not null,
  state text not null check (state in ('pending', 'running', 'completed', 'failed')),
  step text not null default '',
  message text not null default '',
  steps jsonb not null,
  total bigint not null default 0,
  processed bigint not null default 0,
  attempts bigint not null default 0,
  run_after bigint not null,
  lease_owner text,
  lease_token bigint not null default 0,
  lease_until bigint,
  cancel_requested boolean not null default false,
  error_code text,
  error text,
  created_at bigint not null,
  updated_at bigint not null);
create index jobs_due on jobs (run_after, created_at) where state in ('pending', 'running');
create index jobs_document on jobs (document_id, created_at);
create index jobs_version on jobs (version_id);
create index jobs_recent on jobs (kind, created_at, id);

-- conversations ------------------------------------------------------------------------------------------------------

create table sessions (
  id text collate "C" primary key,
  owner_id text collate "C" not null references users (id) on delete cascade,
  name text collate "C" not null,                        -- the client's id
  title text,
  title_by text not null default 'none' check (title_by in ('none', 'words', 'model', 'user')),
  active_leaf text collate "C",
  running_run text collate "C",                          -- the claim: one turn at a time
  next_ord bigint not null default 1,
  message_count bigint not null default 0,
  created_at bigint not null,
  updated_at bigint not null,
  unique (owner_id, name));
create index sessions_recent on sessions (owner_id, updated_at, id);

create table messages (
  id text collate "C" primary key,
  session_id text collate "C" not null references sessions (id) on delete cascade,
  parent_id text collate "C",
  ord bigint not null,
  kind text not null check (kind in ('human', 'ai')),
  status text not null check (status in ('running', 'completed', 'awaiting_input', 'stopped', 'failed', 'interrupted')),
  run_id text collate "C",
  content text not null,
  model text,
  finish_reason text,
  usage jsonb,
  timings jsonb,
  created_at bigint not null,
  unique (session_id, ord),
  unique (session_id, id),
  foreign key (session_id, parent_id) references messages (session_id, id));
create index messages_children on messages (session_id, parent_id, ord);

create table message_parts (                             -- appended once, when the message ends
  message_id text collate "C" not null references messages (id) on delete cascade,
  no bigint not null,
  run_id text collate "C" not null,
  kind text not null check (kind in ('text', 'reasoning', 'tool_call', 'tool_result', 'attachment')),
  body jsonb not null,
  primary key (message_id, no));

create table citations (
  message_id text collate "C" not null references messages (id) on delete cascade,
  marker bigint not null,
  document_id text collate "C" not null,
  version_no bigint not null,
  filename text not null,                                -- at that time
  page text,
  char_start bigint not null,
  char_end bigint not null,
  quote text not null,
  quote_sha256 text not null,
  primary key (message_id, marker));
create index citations_source on citations (document_id, version_no);

create table feedback (
  message_id text collate "C" not null references messages (id) on delete cascade,
  user_id text collate "C" not null references users (id) on delete cascade,
  rating text not null check (rating in ('up', 'down')),
  comment text,
  updated_at bigint not null,
  primary key (message_id, user_id));

create table message_terms (
  message_id text collate "C" primary key references messages (id) on delete cascade,
  terms text not null);

create table runs (
  id text collate "C" primary key,
  session_id text collate "C" not null references sessions (id) on delete cascade,
  user_id text collate "C" not null,
  kind text not null check (kind in ('turn', 'regenerate', 'continue', 'edit')),
  status text not null check (status in
    ('queued', 'running', 'completed', 'awaiting_input', 'stopped', 'failed', 'interrupted')),
  request jsonb not null,
  human_id text collate "C" not null,
  message_id text collate "C",                           -- none when nothing was said
  owner text collate "C",                                -- process:boot
  on_disconnect text not null check (on_disconnect in ('continue', 'cancel')),
  stop_requested_at bigint,
  watched_at bigint,
  log_from bigint not null default 1,
  last_seq bigint not null default 0,                    -- set when it ends; until then the log tells
  error jsonb,
  created_at bigint not null,
  started_at bigint,
  ended_at bigint);
create unique index runs_one_running on runs (session_id) where status = 'running';
create index runs_session on runs (session_id);
create index runs_queue on runs (session_id, created_at) where status = 'queued';
create index runs_live on runs (owner) where status = 'running';

create table run_events (                                -- one row per flushed batch, not per token
  run_id text collate "C" not null references runs (id) on delete cascade,
  first_seq bigint not null,
  last_seq bigint not null,
  frames bytea not null,
  primary key (run_id, first_seq));

create table traces (run_id text collate "C" primary key references runs (id) on delete cascade, body bytea not null);

create table replies (                                   -- recorded port calls
  run_id text collate "C" not null references runs (id) on delete cascade,
  path text collate "C" not null,
  attempt bigint not null,
  port text not null,
  request_sha256 text not null,
  body bytea not null,
  primary key (run_id, path, attempt));

create table idempotency (
  user_id text collate "C" not null references users (id) on delete cascade,
  scope text collate "C" not null,
  key text collate "C" not null,
  body_sha256 text not null,
  run_id text collate "C" not null references runs (id) on delete cascade deferrable initially deferred,
  expires_at bigint not null,
  primary key (user_id, scope, key));
create index idempotency_run on idempotency (run_id);

create table processes (id text collate "C" primary key, boot text not null, lease_until bigint not null);

-- asking back --------------------------------------------------------------------------------------------------------

create table hitl (
  id text collate "C" primary key,
  session_id text collate "C" not null references sessions (id) on delete cascade,
  message_id text collate "C" not null references messages (id) on delete cascade,  -- the message that asked
  root_id text collate "C" not null,
  round bigint not null,
  kind text not null check (kind in ('clarify', 'scope_select', 'approval', 'elicitation')),
  status text not null check (status in ('open', 'taken', 'answered', 'dismissed', 'superseded', 'expired')),
  fingerprint text collate "C" not null,
  prompt text not null,
  record jsonb not null,
  expires_at bigint not null,
  taken_by text collate "C",
  answered_by text collate "C",
  created_at bigint not null,
  updated_at bigint not null,
  unique (root_id, fingerprint));
create unique index hitl_one_open on hitl (message_id) where status in ('open', 'taken');
create index hitl_message on hitl (message_id);
create index hitl_session on hitl (session_id, status);

create table hitl_moves (
  hitl_id text collate "C" not null references hitl (id) on delete cascade,
  no bigint not null,
  from_status text not null,
  to_status text not null,
  run_id text collate "C",
  message_id text collate "C",
  reason text not null,
  at bigint not null,
  primary key (hitl_id, no));

-- memory -------------------------------------------------------------------------------------------------------------

create table notes (
  session_id text collate "C" primary key references sessions (id) on delete cascade,
  body text not null,
  upto_ord bigint not null,
  updated_at bigint not null);

create table settings (
  user_id text collate "C" not null references users (id) on delete cascade,
  key text collate "C" not null,
  value jsonb not null,
  updated_at bigint not null,
  primary key (user_id, key));

create table episodes (
  id text collate "C" primary key,
  session_id text collate "C" not null references sessions (id) on delete cascade,
  message_id text collate "C" not null references messages (id) on delete cascade,
  kind text not null,
  items jsonb not null,
  created_at bigint not null);
create index episodes_session on episodes (session_id, created_at);
create index episodes_message on episodes (message_id);

create table background_events (
  id text collate "C" primary key,
  user_id text collate "C" not null references users (id) on delete cascade,
  kind text not null,
  subject_id text collate "C" not null,
  body jsonb not null,
  created_at bigint not null,
  told_in text collate "C",                              -- the run that told it
  read_at bigint,
  unique (user_id, kind, subject_id));
create index background_events_untold on background_events (user_id, created_at, id) where told_in is null;
