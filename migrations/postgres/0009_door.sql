-- Keys for programs, and conversations that clients keep themselves and send whole with every message. The same stands
-- in ../sqlite/0008_door.sql.

create table api_keys (
  id text collate "C" primary key,
  user_id text collate "C" not null references users (id) on delete cascade,
  key_hash bytea not null unique,
  name text not null,
  hint text not null,                                    -- its last characters
  created_at bigint not null,
  last_used_at bigint);                                  -- written once a minute
create index api_keys_user on api_keys (user_id, created_at, id);

create table held_conversations (
  user_id text collate "C" not null references users (id) on delete cascade,
  fingerprint bytea not null,                            -- of all messages up to the answer, with it or without
  message_id text collate "C" not null references messages (id) on delete cascade,  -- the answer
  held_at bigint not null,
  primary key (user_id, fingerprint));
create index held_conversations_age on held_conversations (user_id, held_at, fingerprint);
create index held_conversations_message on held_conversations (message_id);

update meta set value = '9' where key = 'layout';
