import { isAbsolute } from 'node:path'
import { pathToFileURL } from 'node:url'
import { PawlError } from '../../domain/errors.ts'
import type { HandlerContext } from './host-context.ts'

export type Handler = (context: HandlerContext) => unknown

/** The file: URL of a handler's module, given as such or as an absolute path. */
export function moduleUrlOf(module: URL | string): string {
  const text = String(module)
  if (text.startsWith('file:') && URL.canParse(text)) return new URL(text).href
  if (typeof module === 'string' && isAbsolute(module)) return pathToFileURL(module).href
  throw new PawlError(
    'invalid_option',
    `Expected \`module\` to be a file: URL such as \`new URL('./story.js', import.meta.url)\` or an absolute path, got \`${text}\`.`,
    { path: 'module' },
  )
}

/** Loads a module and takes its handler: the export `run`, or else the default export. */
export async function importHandler(url: string): Promise<Handler> {
  const loaded = (await import(url)) as { readonly run?: unknown; readonly default?: unknown }
  // A CommonJS module shows all its exports as the default.
  const inside = (loaded.default as { readonly run?: unknown } | null | undefined)?.run
  const handler = [loaded.run, loaded.default, inside].find((candidate) => typeof candidate === 'function')
  if (handler === undefined) throw new TypeError(`Expected ${url} to export a function \`run\` or a default function.`)
  return handler as Handler
}
