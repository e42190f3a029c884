import { openOnPostgres } from './postgres/stage.mjs'
import { openPawl } from './stage.mjs'

/** Opens a scheduler on the store of a place: `{ folder }`, or `{ url, schema }` of a PostgreSQL database. */
export function openAt(place, jobs, options = {}) {
  return place.url === undefined
    ? openPawl(place.folder, jobs, options)
    : openOnPostgres(place.url, place.schema, jobs, options)
}
