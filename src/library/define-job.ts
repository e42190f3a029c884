import { fileURLToPath, pathToFileURL } from 'node:url'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { PawlError } from '../domain/errors.ts'
import { JOB_TYPE_PATTERN } from '../domain/job.ts'
import { LIMIT_MAX, RESOURCE_PATTERN, RESOURCES_PER_JOB_MAX } from '../domain/limits.ts'
import { invalid, type RetryOptions, readRetryOptions, readWhole, refuseUnknownKeys } from '../domain/options.ts'
import type { Isolation } from '../engine/isolation/body.ts'
import { type CommandIsolationOptions, commandIsolation } from '../engine/isolation/command.ts'
import { inProcessIsolation } from '../engine/isolation/in-process.ts'
import { processIsolation } from '../engine/isolation/process.ts'
import { threadIsolation } from '../engine/isolation/thread.ts'
import { readTimeout } from '../operations/enqueue-options.ts'
import {
  type InputOfSchema,
  JOB_TYPE_VERSION,
  type JobContext,
  type JobType,
  type JsonCompatible,
  type OutputOfSchema,
  REGISTERED,
  type Skipped,
} from './job-type.ts'

/** What every job type can have, wherever its bodies execute. */
export interface JobTypeOptions<Schema extends StandardSchemaV1 | undefined> {
  /** Its name: lower-case letters, digits, dots, hyphens and underscores. */
  readonly type: string
  /** A schema for the params, of zod or any other Standard Schema library. Without one any JSON is accepted. */
  readonly params?: Schema
  readonly retry?: RetryOptions & {
    /** Says no to a retry that the policy would allow. It cannot allow more. */
    readonly shouldRetry?: (error: unknown, about: { readonly attempt: number }) => boolean
  }
  /** After this long the body is interrupted and its Run FAILED with reason `timeout`. @default no timeout */
  readonly timeoutMs?: number
  /** Resources of which each body takes one permit; `openScheduler` says how many permits there are. */
  readonly resources?: readonly string[]
  /** How many bodies of this type may execute at once on the whole store. @default no limit */
  readonly concurrency?: number
}

export interface HandlerJob<Schema extends StandardSchemaV1 | undefined, Result> extends JobTypeOptions<Schema> {
  /** The handler, executed in this process. Its result must survive JSON. */
  readonly run: (context: JobContext<OutputOfSchema<Schema>>) => Result | Skipped | Promise<Result | Skipped>
  readonly isolation?: 'in-process'
}

export interface ModuleJob<Schema extends StandardSchemaV1 | undefined> extends JobTypeOptions<Schema> {
  /** A module that exports `run`, or has a default export. A closure could not move to another thread or process. */
  readonly module: URL | string
  readonly isolation: 'thread' | 'process'
  /** How long an interrupted body may take to end before it is killed. @default 5000 */
  readonly killGraceMs?: number
}

export interface CommandJob<Schema extends StandardSchemaV1 | undefined> extends JobTypeOptions<Schema> {
  /** The program and its arguments, never a shell line. The params also come as JSON on its standard input. */
  readonly command: readonly string[] | ((params: OutputOfSchema<Schema>) => readonly string[])
  readonly isolation?: 'command'
  readonly cwd?: string
  /** What it inherits of this process's environment, besides PATH and the like, and what is added to it. */
  readonly env?: { readonly inherit?: readonly string[]; readonly set?: Readonly<Record<string, string>> }
  /** How long an interrupted command may take to end before it is killed. @default 5000 */
  readonly killGraceMs?: number
}

/** Asks nothing more of a handler whose result survives JSON, and the impossible of any other. */
type JsonResult<Result> = [Result] extends [JsonCompatible<Result>]
  ? unknown
  : { readonly run: () => 'The result of a handler must survive JSON: no functions, bigints, Dates, Maps or Sets.' }

/** Defines a job type: a name, and what executing it means. */
export function defineJob<const Schema extends StandardSchemaV1 | undefined = undefined, Result = unknown>(
  definition: ModuleJob<Schema>,
): JobType<InputOfSchema<Schema>, Result>
export function defineJob<const Schema extends StandardSchemaV1 | undefined = undefined>(
  definition: CommandJob<Schema>,
): JobType<InputOfSchema<Schema>, null>
// Last, because TypeScript explains what is wrong by the last of them, and most types are of this kind.
export function defineJob<const Schema extends StandardSchemaV1 | undefined = undefined, Result = undefined>(
  definition: HandlerJob<Schema, Result> & JsonResult<Result>,
): JobType<InputOfSchema<Schema>, Result>
export function defineJob(definition: AnyDefinition): JobType<unknown, never> {
  const kind = readKind(definition)
  refuseUnknownKeys(definition, [...COMMON_KEYS, ...kind.keys], '')
  const { type, params = null, retry = {} } = definition
  if (typeof retry !== 'object' || retry === null) throw invalid('retry', 'an object', retry)
  const { shouldRetry, ...retryOptions } = retry
  if (typeof type !== 'string' || !JOB_TYPE_PATTERN.test(type)) {
    throw invalid('type', 'a name of lower-case letters, digits, dots, hyphens and underscores', type)
  }
  if (params !== null && typeof params?.['~standard']?.validate !== 'function') {
    throw invalid('params', 'a schema of zod or another Standard Schema library', params)
  }
  if (shouldRetry !== undefined && typeof shouldRetry !== 'function') {
    throw invalid('retry.shouldRetry', 'a function', shouldRetry)
  }
  return {
    type,
    [REGISTERED]: {
      version: JOB_TYPE_VERSION,
      type,
      policy: {
        retry: readRetryOptions(retryOptions),
        timeoutMs: readTimeout(definition.timeoutMs) ?? null,
        resources: readResources(definition.resources),
      },
      concurrency:
        definition.concurrency === undefined ? null : readWhole(definition.concurrency, 1, LIMIT_MAX, 'concurrency'),
      schema: params,
      isolation: kind.isolation,
      hasLogFile: kind.hasLogFile,
      shouldRetry: shouldRetry ?? null,
      // A body in this process cannot be killed, so there is nothing to wait for before it.
      killGraceMs:
        definition.run === undefined
          ? readWhole(definition.killGraceMs ?? KILL_GRACE_MS, 0, 3_600_000, 'killGraceMs')
          : 0,
    },
  }
}

const KILL_GRACE_MS = 5_000

const COMMON_KEYS = ['type', 'params', 'retry', 'timeoutMs', 'resources', 'concurrency', 'isolation'] as const

/** Any of the three shapes, as it may come from a caller without types. */
interface AnyDefinition extends JobTypeOptions<StandardSchemaV1 | undefined> {
  readonly run?: unknown
  readonly module?: URL | string
  readonly command?: unknown
  readonly isolation?: string
  readonly cwd?: string
  readonly env?: { readonly inherit?: readonly string[]; readonly set?: Readonly<Record<string, string>> }
  readonly killGraceMs?: number
}

interface Kind {
  readonly keys: readonly string[]
  readonly isolation: Isolation
  readonly hasLogFile: boolean
}

function readKind(definition: AnyDefinition): Kind {
  if (typeof definition !== 'object' || definition === null) throw invalid('defineJob()', 'an object', definition)
  const given = (['run', 'module', 'command'] as const).filter((key) => definition[key] !== undefined)
  if (given.length !== 1) {
    throw new PawlError(
      'invalid_option',
      `Expected one of \`run\`, \`module\` and \`command\` in job type \`${definition.type}\`, got ${given.length === 0 ? 'none' : given.join(' and ')}.`,
    )
  }
  if (definition.run !== undefined) return readHandler(definition)
  return definition.module !== undefined ? readModule(definition, definition.module) : readCommand(definition)
}

function readHandler({ run, isolation = 'in-process' }: AnyDefinition): Kind {
  if (typeof run !== 'function') throw invalid('run', 'a function', run)
  if (isolation !== 'in-process') {
    throw new PawlError(
      'invalid_option',
      `Isolation \`${isolation}\` needs \`module: new URL('./handler.js', import.meta.url)\` instead of \`run\`, because a closure cannot move.`,
      { path: 'isolation' },
    )
  }
  return { keys: ['run'], isolation: inProcessIsolation(run as () => unknown), hasLogFile: false }
}

function readModule({ isolation }: AnyDefinition, module: URL | string): Kind {
  const url = module instanceof URL ? module : pathToFileURL(String(module))
  if (url.protocol !== 'file:') throw invalid('module', 'a file: URL or a path', String(module))
  const keys = ['module', 'killGraceMs']
  const path = pathToFileURL(fileURLToPath(url))
  if (isolation === 'thread') return { keys, isolation: threadIsolation({ module: path }), hasLogFile: false }
  if (isolation === 'process') return { keys, isolation: processIsolation({ module: path }), hasLogFile: true }
  throw invalid('isolation', "'thread' or 'process' for a module", isolation)
}

function readCommand({ command, isolation = 'command', cwd, env = {} }: AnyDefinition): Kind {
  if (isolation !== 'command') throw invalid('isolation', "'command' for a command", isolation)
  refuseUnknownKeys(env, ['inherit', 'set'], 'env')
  const isArgv = Array.isArray(command) && command.length > 0 && command.every((part) => typeof part === 'string')
  if (typeof command !== 'function' && !isArgv)
    throw invalid('command', 'a list of texts, or a function that returns one', command)
  const options: CommandIsolationOptions = {
    argv: typeof command === 'function' ? (command as CommandIsolationOptions['argv']) : () => command as string[],
    ...(cwd === undefined ? {} : { cwd }),
    env,
  }
  return { keys: ['command', 'cwd', 'env', 'killGraceMs'], isolation: commandIsolation(options), hasLogFile: true }
}

function readResources(resources: readonly string[] | undefined): readonly string[] {
  if (resources === undefined) return []
  const isList = Array.isArray(resources) && resources.length <= RESOURCES_PER_JOB_MAX
  if (!isList || !resources.every((name) => typeof name === 'string' && RESOURCE_PATTERN.test(name))) {
    throw invalid('resources', `a list of at most ${RESOURCES_PER_JOB_MAX} names such as 'gpu'`, resources)
  }
  // In one order for all, and each once: a lane is known by this list.
  return [...new Set(resources)].sort((a, b) => (a < b ? -1 : 1))
}
