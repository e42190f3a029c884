/** What is absent stays absent: operations tell `undefined` from not given. */
export function given<const Fields extends Readonly<Record<string, unknown>>>(
  fields: Fields,
): { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> } {
  const present: Record<string, unknown> = {}
  for (const name in fields) if (fields[name] !== undefined) present[name] = fields[name]
  return present as { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> }
}

/** An instant in ISO-8601 as a Date, where there is one. */
export function dateOf(instant: string | undefined): Date | undefined {
  return instant === undefined ? undefined : new Date(instant)
}
