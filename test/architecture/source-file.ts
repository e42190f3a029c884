import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { parseAst } from 'vitest/node'

/** What the rules look at in one file, taken from its syntax tree, so that comments and strings never count. */
export interface SourceFile {
  /** From the repository's root, with forward slashes: `src/domain/job.ts`. */
  readonly path: string
  readonly lineCount: number
  readonly imports: readonly Import[]
  /** Dotted names that are read or called: `Date.now`, `setTimeout()`, `new Date()`, `test.only`. */
  readonly mentions: readonly Mention[]
}

export interface Import {
  readonly specifier: string
  /** The imported file from the repository's root, or null for a package. */
  readonly path: string | null
  /** The import vanishes when compiled: `import type`, or `import('…')` inside a type. */
  readonly isTypeOnly: boolean
  readonly line: number
}

export interface Mention {
  readonly name: string
  readonly line: number
}

interface Node {
  readonly type: string
  readonly start: number
  readonly [key: string]: unknown
}

/** Every file under a folder, with its path from the repository's root. */
export function listFiles(root: string, folder: string): string[] {
  const entries = readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length).replaceAll('\\', '/').replace(/^\//, ''))
    .sort()
}

export function readSourceFiles(root: string, folder: string): SourceFile[] {
  const paths = listFiles(root, folder).filter((path) => /\.tsx?$/.test(path))
  return paths.map((path) => parseSourceFile(path, readFileSync(join(root, path), 'utf8')))
}

export function parseSourceFile(path: string, text: string): SourceFile {
  const imports: Import[] = []
  const mentions: Mention[] = []
  const lineOf = (node: Node) => text.slice(0, node.start).split('\n').length
  for (const node of nodesOf(parseAst(text, { lang: path.endsWith('x') ? 'tsx' : 'ts' }))) {
    const found = importOf(path, node, lineOf)
    if (found !== null) imports.push(found)
    const name = mentionOf(node)
    if (name !== null) mentions.push({ name, line: lineOf(node) })
  }
  return { path, lineCount: text.replace(/\n$/, '').split('\n').length, imports, mentions }
}

function* nodesOf(value: unknown): Generator<Node> {
  if (Array.isArray(value)) for (const item of value) yield* nodesOf(item)
  if (!isNode(value)) return
  yield value
  for (const child of Object.values(value)) yield* nodesOf(child)
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
}

const IMPORTING = new Set([
  'ImportDeclaration',
  'ExportNamedDeclaration',
  'ExportAllDeclaration',
  'ImportExpression',
  'TSImportType',
])

function importOf(path: string, node: Node, lineOf: (node: Node) => number): Import | null {
  if (!IMPORTING.has(node.type) || !isNode(node['source'])) return null
  const specifier = node['source']['value']
  if (typeof specifier !== 'string') return null
  return {
    specifier,
    path: specifier.startsWith('.') ? posix.join(posix.dirname(path), specifier) : null,
    isTypeOnly: isTypeOnly(node),
    line: lineOf(node),
  }
}

function isTypeOnly(node: Node): boolean {
  if (node.type === 'TSImportType' || node['importKind'] === 'type' || node['exportKind'] === 'type') return true
  const specifiers = Array.isArray(node['specifiers']) ? node['specifiers'].filter(isNode) : []
  return (
    specifiers.length > 0 &&
    specifiers.every((specifier) => specifier['importKind'] === 'type' || specifier['exportKind'] === 'type')
  )
}

function mentionOf(node: Node): string | null {
  if (node.type === 'MemberExpression') return dottedName(node)
  const callee = node['callee']
  if (!isNode(callee) || callee.type !== 'Identifier') return null
  const name = String(callee['name'])
  if (node.type === 'CallExpression') return `${name}()`
  const hasArguments = Array.isArray(node['arguments']) && node['arguments'].length > 0
  return node.type === 'NewExpression' && !hasArguments ? `new ${name}()` : null
}

/** `test.concurrent.only` of a chain of plain names; a call inside the chain is looked through. */
function dottedName(node: unknown): string | null {
  if (!isNode(node)) return null
  if (node.type === 'Identifier') return String(node['name'])
  if (node.type === 'CallExpression') return dottedName(node['callee'])
  if (node.type !== 'MemberExpression' || node['computed'] === true) return null
  const object = dottedName(node['object'])
  const property = dottedName(node['property'])
  return object === null || property === null ? null : `${object}.${property}`
}
