import type { BodyRequest } from './body.ts'

/** What a command finds in its environment, besides the ids of its Job. */
export interface CommandEnvironment {
  /**
   * Names of the variables that it gets from this process, besides PATH, HOME, LANG, LC_ALL, TZ, TMPDIR and USER.
   * Nothing else of our environment reaches it.
   */
  readonly inherit?: readonly string[]
  /** Variables with values of their own. They win over inherited ones. */
  readonly set?: Readonly<Record<string, string>>
}

const INHERITED = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR', 'USER']
// Without these most programs do not even start on Windows.
const INHERITED_ON_WINDOWS = ['SystemRoot', 'PATHEXT', 'TEMP', 'TMP', 'USERPROFILE', 'USERNAME']

type Variables = { readonly [name: string]: string }

export function commandEnvironment(environment: CommandEnvironment, request: BodyRequest): Variables {
  const { jobId, runId, chainId, attempt } = request.identity
  return {
    ...pick([...defaultNames(), ...(environment.inherit ?? [])]),
    ...environment.set,
    PAWL_JOB_ID: jobId,
    PAWL_RUN_ID: runId,
    PAWL_CHAIN_ID: chainId,
    PAWL_ATTEMPT: String(attempt),
  }
}

/** A command can look at the environment of the launcher, its parent, so that one holds no secrets either. */
export function launcherEnvironment(): Variables {
  return pick(defaultNames())
}

function defaultNames(): readonly string[] {
  return process.platform === 'win32' ? [...INHERITED, ...INHERITED_ON_WINDOWS] : INHERITED
}

function pick(names: readonly string[]): Variables {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = process.env[name]
      return value === undefined ? [] : [[name, value]]
    }),
  )
}
