-- What a recorded run began with and told; what its ports answered is in replies. Both go with the run.

create table recordings (
  run_id text primary key references runs (id) on delete cascade,
  head text not null,
  frames blob not null,
  expires_at integer not null) strict;
create index recordings_expiry on recordings (expires_at);

update meta set value = '3' where key = 'layout';
