-- Keys for programs, and conversations that clients keep themselves and send whole with every message.

create table api_keys (
  id text primary key,
  user_id text not null references users (id) on delete cascade,
  key_hash blob not null unique,
  name text not null,
  hint text not null,                                    -- its last characters
  created_at integer not null,
  last_used_at integer) strict;                          -- written once a minute
create index api_keys_user on api_keys (user_id, created_at, id);

create table held_conversations (
  user_id text not null references users (id) on delete cascade,
  fingerprint blob not null,                             -- of all messages up to the answer, with it or without
  message_id text not null references messages (id) on delete cascade,  -- the answer
  held_at integer not null,
  primary key (user_id, fingerprint)) strict;
create index held_conversations_age on held_conversations (user_id, held_at, fingerprint);
create index held_conversations_message on held_conversations (message_id);

update meta set value = '9' where key = 'layout';
