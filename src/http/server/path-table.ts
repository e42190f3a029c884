/** Which methods each path takes. Only asked when the router has found nothing. */
export class PathTable {
  readonly #paths: { readonly pattern: RegExp; readonly methods: Set<string> }[] = []

  /** @param path such as `/api/jobs/{job_id}` */
  add(method: string, path: string): void {
    const pattern = new RegExp(`^${path.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+')}$`)
    const known = this.#paths.find((entry) => entry.pattern.source === pattern.source)
    const { methods } = known ?? { methods: new Set<string>() }
    methods.add(method)
    if (known === undefined) this.#paths.push({ pattern, methods })
  }

  /** Null: nothing is at this path. */
  methodsAt(url: string): readonly string[] | null {
    const [path = ''] = url.split('?', 1)
    const methods = this.#paths.filter(({ pattern }) => pattern.test(path)).flatMap((entry) => [...entry.methods])
    return methods.length === 0 ? null : [...new Set(methods), 'OPTIONS'].sort()
  }
}
