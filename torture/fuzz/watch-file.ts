interface Handle {
  prepare(sql: string): { get(): unknown }
  close(): void
}

/** The library that Pawl uses here too. */
const library = Number(process.versions.node.split('.')[0]) >= 24 ? 'node:sqlite' : '@photostructure/sqlite'
const { DatabaseSync } = (await import(library)) as { DatabaseSync: new (path: string) => Handle }

/** Sees whether anybody has committed anything to a file since it last looked. It costs some microseconds. */
export class FileWatch {
  readonly #handle: Handle
  readonly #read: { get(): unknown }
  #last = 0

  constructor(file: string) {
    this.#handle = new DatabaseSync(file)
    this.#read = this.#handle.prepare('pragma data_version')
  }

  hasChanged(): boolean {
    const before = this.#last
    this.#last = (this.#read.get() as { readonly data_version: number }).data_version
    return before !== this.#last
  }

  close(): void {
    this.#handle.close()
  }
}
