type Headers = Readonly<Record<string, string>>

/** 200 with a body. */
export function ok<Body>(body: Body, headers: Headers = {}) {
  return { status: 200 as const, body, headers }
}

/** 201: something new is there, and where it can be read by itself. Null: nowhere. */
export function created<Body>(body: Body, location: `/api/${string}` | null, headers: Headers = {}) {
  return { status: 201 as const, body, headers: location === null ? headers : { ...headers, location } }
}

/** 202: the wish is stored, and will be carried out. */
export function accepted<Body>(body: Body, headers: Headers = {}) {
  return { status: 202 as const, body, headers }
}

/** 204: done, and nothing to say. */
export function done() {
  return { status: 204 as const, body: null }
}
