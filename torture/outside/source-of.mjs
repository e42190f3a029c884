// The store at a place (see place.ts), for processes of their own.
export async function sourceOf(place) {
  if (place.kind === 'sqlite') return (await import('pawl/sqlite')).sqlite(place.path)
  const { postgres } = await import('pawl/postgres')
  return postgres(place.url, { schema: place.schema })
}
