// A double can lie between two others so that the middle, to one side of it, has fewer digits than any number between. JavaScript
// takes that one, because it is read as the same double; PostgreSQL does not.
export const fewestDigits = {
  version: 6,
  name: 'fewest-digits',
  sql: `
-- A number as JavaScript writes it. The digits are the fewest that mean the same double.
create or replace function pawl.canonical_number(value numeric) returns text
language plpgsql immutable strict
set extra_float_digits = 1
as $function$
declare
  double constant float8 := abs(value)::float8;
  written constant text := double::text;
  mantissa constant text := split_part(written, 'e', 1);
  whole constant text := split_part(mantissa, '.', 1);
  digits text := ltrim(replace(mantissa, '.', ''), '0');
  -- Where the point stands, counted from the first digit.
  point integer := length(whole) + coalesce(nullif(split_part(written, 'e', 2), '')::integer, 0);
  sign constant text := case when value < 0 then '-' else '' end;
  longest text;
  written_point integer;
  below text;
  above text;
begin
  if digits = '' then
    return '0';
  end if;
  point := point - (length(replace(mantissa, '.', '')) - length(digits));
  digits := rtrim(digits, '0');
  -- Two numbers of up to 15 digits never mean the same double. Above the largest double nothing can be tried.
  if length(digits) > 15 and double < 1.79e308 then
    longest := digits;
    written_point := point;
    for count in reverse length(longest) - 1 .. 1 loop
      below := left(longest, count);
      above := (below::numeric + 1)::text;
      if (below || 'e' || (written_point - count))::float8 = double then
        digits := below;
        point := written_point;
      elsif (above || 'e' || (written_point - count))::float8 = double then
        digits := above;
        point := written_point + length(above) - count;
      else
        exit;
      end if;
    end loop;
    digits := rtrim(digits, '0');
  end if;
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
`,
} as const
