import { assert } from '../../../domain/errors.ts'
import { enqueueFunction } from './0002-enqueue-function.ts'

const START = 'create function pawl.enqueue('
const END = '$function$;'
const BEFORE = '  if $4 is not null then\n'

/** The function as it was, which never changes, with one more refusal. */
function enqueueWith(refusal: string): string {
  const { sql } = enqueueFunction
  const start = sql.indexOf(START)
  const text = sql.slice(start, sql.indexOf(END, start) + END.length)
  assert(text.split(BEFORE).length === 2, 'the refusal has one place in pawl.enqueue')
  return text.replace('create function', 'create or replace function').replace(BEFORE, () => `${refusal}${BEFORE}`)
}

// The library and the HTTP API refuse such numbers too: whatever executes the Job reads them as doubles.
export const exactNumbers = {
  version: 7,
  name: 'exact-numbers',
  sql: `
-- The first number within the value that a double does not keep: where it is, as it was given, and what it would become.
-- No row: there is none.
create function pawl.changed_number(value jsonb, out path text, out given text, out becomes text) returns setof record
language sql immutable strict
as $function$
  with recursive parts (path, value) as (
    select 'params', $1
    union all
    select p.path || '.' || inner_part.name, inner_part.value
    from parts p
    cross join lateral (
      select o.key, o.value
      from jsonb_each(case jsonb_typeof(p.value) when 'object' then p.value else '{}' end) o
      union all
      select (l.place - 1)::text, l.value
      from jsonb_array_elements(case jsonb_typeof(p.value) when 'array' then p.value else '[]' end)
        with ordinality l (value, place)
    ) inner_part (name, value)
  ),
  -- Two to the 53rd power: all whole numbers below are kept. So large a double is always a whole number.
  large (path, number) as (
    select p.path, (p.value #>> '{}')::numeric
    from parts p
    where jsonb_typeof(p.value) = 'number' and abs((p.value #>> '{}')::numeric) >= 9007199254740992
  )
  select l.path, left(trim_scale(l.number)::text, 60), r.written
  from large l
  cross join lateral (
    -- Half-way between the largest double and the next that there would be.
    select case
      when abs(l.number) >= 1.797693134862315807e308 then case when l.number < 0 then '-Infinity' else 'Infinity' end
      else pawl.canonical_number(l.number)
    end
  ) r (written)
  where r.written in ('Infinity', '-Infinity') or r.written::numeric <> l.number
  limit 1
$function$;

${enqueueWith(`  -- JSON of this type has no exponents: numbers that are too large have many digits.
  if params_text ~ '[0-9]{16}' then
    declare
      changed record;
    begin
      select * into changed from pawl.changed_number(given_params) c;
      if found then
        raise exception 'Expected % to be a number that a double keeps exactly, got %, which would become %.',
          changed.path, changed.given, changed.becomes
          using errcode = 'numeric_value_out_of_range', hint = 'Give it as text: "' || changed.given || '".';
      end if;
    end;
  end if;
`)}
`,
} as const
