/**
 * `pawl.enqueue(…)`: accepts a Job from any language, inside the caller's own transaction. docs/postgres.md describes it. The
 * type must be known on this store; its params are checked when the Job is executed, because only the handler's program knows
 * their schema. Its limits are those of the library: see `operations/enqueue-options.ts`.
 */
export const enqueueFunction = {
  version: 2,
  name: 'enqueue-function',
  sql: `
-- A number as JavaScript writes it. The digits are the fewest that mean the same double.
create function pawl.canonical_number(value numeric) returns text
language plpgsql immutable strict
set extra_float_digits = 1
as $function$
declare
  written constant text := abs(value)::float8::text;
  mantissa constant text := split_part(written, 'e', 1);
  whole constant text := split_part(mantissa, '.', 1);
  digits text := ltrim(replace(mantissa, '.', ''), '0');
  -- Where the point stands, counted from the first digit.
  point integer := length(whole) + coalesce(nullif(split_part(written, 'e', 2), '')::integer, 0);
  sign constant text := case when value < 0 then '-' else '' end;
begin
  if digits = '' then
    return '0';
  end if;
  point := point - (length(replace(mantissa, '.', '')) - length(digits));
  digits := rtrim(digits, '0');
  return sign || case
    when point > 21 or point <= -6 then
      left(digits, 1) || case when length(digits) > 1 then '.' || substr(digits, 2) else '' end
        || 'e' || case when point > 0 then '+' else '' end || (point - 1)
    when point <= 0 then '0.' || repeat('0', -point) || digits
    when length(digits) <= point then digits || repeat('0', point - length(digits))
    else left(digits, point) || '.' || substr(digits, point + 1)
  end;
end
$function$;

-- JSON in the one form that all who mean the same write alike (RFC 8785): the library takes its fingerprints from it too.
create function pawl.canonical_json(value jsonb) returns text
language plpgsql immutable strict
as $function$
begin
  case jsonb_typeof(value)
    when 'object' then
      return '{' || coalesce((
        -- In the order of UTF-16, where the last characters of the first plane come after all others.
        select string_agg(
          to_json(e.key)::text || ':' || pawl.canonical_json(e.value), ','
          order by regexp_replace(e.key, '([\\uE000-\\uFFFF])', chr(1114111) || '\\1', 'g') collate "C"
        )
        from jsonb_each(value) e
      ), '') || '}';
    when 'array' then
      return '[' || coalesce((
        select string_agg(pawl.canonical_json(e.value), ',' order by e.place)
        from jsonb_array_elements(value) with ordinality e (value, place)
      ), '') || ']';
    when 'number' then
      return pawl.canonical_number(value::numeric);
    else
      return value::text;
  end case;
end
$function$;

create function pawl.enqueue(
  type text,
  params jsonb default '{}',
  priority integer default 0,
  run_at timestamptz default null,
  name text default null,
  tags text[] default null,
  business_key text default null,
  idempotency_key text default null,
  created_by text default null
) returns text
language plpgsql
-- Whoever may call it needs no rights on the tables. What it calls is found where it belongs.
security definer
set search_path = pg_catalog, pg_temp
as $function$
#variable_conflict use_column
declare
  given_type constant text := $1;
  given_params constant jsonb := coalesce($2, 'null');
  params_text constant text := given_params::text;
  given_priority constant integer := coalesce($3, 0);
  given_tags constant text[] := coalesce($6, '{}');
  given_key constant text := $7;
  given_once constant text := $8;
  now_ms constant bigint := floor(extract(epoch from clock_timestamp()) * 1000);
  run_ms bigint := now_ms;
  -- A UUID of version 7: the instant, then chance.
  new_id constant text := encode(
    set_bit(set_bit(
      overlay(uuid_send(gen_random_uuid()) placing substring(int8send(now_ms) from 3) from 1 for 6), 52, 1), 53, 1),
    'hex')::uuid::text;
  known_policy text;
  known_resources text;
  given_fingerprint text;
  first_use record;
  holder text;
  the_lane integer;
  the_policy integer;
  new_seq bigint;
  too_long text;
begin
  select t.policy, (t.policy::json -> 'resources')::text into known_policy, known_resources
  from pawl.types t
  where t.type = given_type;
  if not found then
    raise exception 'Expected a type that a scheduler on this store handles, got %.', quote_nullable(given_type)
      using errcode = 'invalid_parameter_value', hint = 'Start a scheduler with that type once, or correct the name.';
  end if;
  if octet_length(params_text) > 262144 then
    raise exception 'Expected params of at most 262144 bytes, got %.', octet_length(params_text)
      using errcode = 'program_limit_exceeded', hint = 'Store the data elsewhere and pass a reference to it.';
  end if;
  if $4 is not null then
    if $4 not between '1970-01-01 00:00:00+00' and '275760-09-13 00:00:00+00' then
      raise exception 'Expected run_at between the years 1970 and 275760, got %.', $4
        using errcode = 'invalid_parameter_value';
    end if;
    run_ms := floor(extract(epoch from $4) * 1000);
  end if;
  select g.what into too_long
  from (values ('name', $5), ('business_key', given_key), ('idempotency_key', given_once), ('created_by', $9)) g (what, given)
  where length(g.given) not between 1 and 512
  limit 1;
  if found then
    raise exception 'Expected % to be a text of 1 to 512 characters.', too_long using errcode = 'invalid_parameter_value';
  end if;
  if cardinality(given_tags) > 32
    or exists (select from unnest(given_tags) t (tag) where t.tag is null or length(t.tag) not between 1 and 128) then
    raise exception 'Expected tags to be at most 32 texts of 1 to 128 characters.'
      using errcode = 'invalid_parameter_value';
  end if;
  if given_once is not null then
    given_fingerprint := encode(
      sha256(convert_to('[' || to_json(given_type)::text || ',' || pawl.canonical_json(given_params) || ']', 'UTF8')), 'hex');
    insert into pawl.idempotency_keys (idempotency_key, job_id, fingerprint, created_at)
    values (given_once, new_id, given_fingerprint, now_ms)
    on conflict (idempotency_key) do nothing;
    if not found then
      select k.job_id, k.fingerprint into first_use from pawl.idempotency_keys k where k.idempotency_key = given_once;
      if first_use.fingerprint is distinct from given_fingerprint then
        raise exception 'The idempotency key % was used for job % with another type or other params. Use a new key.',
          quote_literal(given_once), first_use.job_id
          using errcode = 'unique_violation';
      end if;
      return first_use.job_id;
    end if;
  end if;
  if given_key is not null then
    insert into pawl.business_keys (business_key, chain_id) values (given_key, new_id)
    on conflict (business_key) do nothing;
    if not found then
      select b.chain_id into holder from pawl.business_keys b where b.business_key = given_key;
      raise exception 'The business key % is held by job %, which has not settled. Wait for it or cancel it.',
        quote_literal(given_key), holder
        using errcode = 'unique_violation';
    end if;
  end if;
  -- Whoever registered the type wrote these already, unless the type was first registered by an earlier version.
  select l.lane_id into the_lane from pawl.lanes l where l.type = given_type and l.resources = known_resources;
  if not found then
    insert into pawl.permits (name, slot)
    select 'resource:' || r.name, 1
    from json_array_elements_text(known_resources::json) r (name)
    on conflict do nothing;
    insert into pawl.lanes (type, resources) values (given_type, known_resources) on conflict do nothing;
    select l.lane_id into the_lane from pawl.lanes l where l.type = given_type and l.resources = known_resources;
  end if;
  select p.policy_id into the_policy from pawl.policies p where p.digest = sha256(convert_to(known_policy, 'UTF8'));
  if not found then
    insert into pawl.policies (body, digest) values (known_policy, sha256(convert_to(known_policy, 'UTF8')))
    on conflict do nothing;
    select p.policy_id into the_policy from pawl.policies p where p.digest = sha256(convert_to(known_policy, 'UTF8'));
  end if;
  new_seq := nextval('pawl.job_seq');
  insert into pawl.jobs (
    seq, job_id, lane_id, policy_id, priority, position, run_at, created_at, name, tags, created_by, business_key,
    idempotency_key, params
  ) values (
    new_seq, new_id, the_lane, the_policy, given_priority, new_seq * 100, run_ms, now_ms, $5,
    case when cardinality(given_tags) > 0 then array_to_json(given_tags)::text end, $9, given_key, given_once, params_text
  );
  insert into pawl.queue (seq, lane_id, ready, priority, position, run_at, created_at)
  values (new_seq, the_lane, run_ms <= now_ms, given_priority, new_seq * 100, run_ms, now_ms);
  insert into pawl.job_tags (tag, seq) select distinct t.tag, new_seq from unnest(given_tags) t (tag);
  insert into pawl.events (seq, part, at, transitions)
  select x.seq, coalesce((select max(e.part) + 1 from pawl.events e where e.seq = x.seq), 0), now_ms,
    json_build_array(json_build_array('job.queued', now_ms, null, null, json_build_array(new_seq)))::text
  from (select pg_current_xact_id()::text::bigint as seq) x;
  -- The name of the schema, as it was written into this text.
  perform pg_notify('pawl_' || replace(split_part('pawl.queue', '.', 1), '"', ''), '');
  return new_id;
end
$function$;

-- Whoever may only read the tables shall not make Jobs.
revoke execute on function pawl.enqueue(text, jsonb, integer, timestamptz, text, text[], text, text, text) from public;
`,
} as const
