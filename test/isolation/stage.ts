import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, vi } from 'vitest'
import type { Body, BodyEnd, BodyRequest, Isolation } from '../../dist/engine/isolation/body.js'
import { identifyProcess, isSameProcess, type ProcessIdentity } from '../../dist/platform/processes.js'

export const HANDLER = new URL('./fixtures/handler.mjs', import.meta.url)

/** Long enough that a test which needs the kill to end would fail by its own timeout. */
export const LONG_GRACE_MS = 60_000

/** What a body said, in the order in which it said it. */
export type Said = readonly [what: string, ...details: unknown[]]

export interface Staged {
  readonly body: Body
  readonly ended: Promise<BodyEnd>
  readonly said: readonly Said[]
  /** Resolves when the body has logged this text; the fields that came with it. */
  hears(text: string): Promise<unknown>
}

export function stage(isolation: Isolation, params: unknown, changes: Partial<BodyRequest> = {}): Staged {
  const said: Said[] = []
  const body = isolation.start({
    identity: { type: 'test', jobId: 'j-1', chainId: 'c-1', runId: 'r-1', attempt: 2 },
    params,
    parents: {},
    killGraceMs: LONG_GRACE_MS,
    logPath: null,
    recordChild: async () => 'recorded',
    reporter: {
      log: (...line) => said.push(['log', ...line]),
      progress: (...progress) => said.push(['progress', ...progress]),
      addArtifact: (...artifact) => said.push(['artifact', ...artifact]),
      enqueue(...followUp) {
        said.push(['enqueue', ...followUp])
        return 'j-2'
      },
    },
    ...changes,
  })
  const hears = async (text: string) => {
    const line = await vi.waitFor(() => {
      const found = said.find(([what, , heard]) => what === 'log' && heard === text)
      if (found === undefined) throw new Error(`The body has not said ${text}: ${JSON.stringify(said)}`)
      return found
    }, PATIENCE)
    return line[3]
  }
  return { body, ended: body.ended, said, hears }
}

export const PATIENCE = { timeout: 20_000, interval: 5 }

export function identityOf(pid: number): ProcessIdentity {
  const identity = identifyProcess(pid)
  if (identity === null) throw new Error(`There is no process ${pid}.`)
  return identity
}

/** Waits until none of these processes executes any more. */
export async function areGone(identities: readonly ProcessIdentity[]): Promise<void> {
  await vi.waitFor(() => expect(identities.filter((identity) => isSameProcess(identity))).toEqual([]), PATIENCE)
}

const folders: string[] = []

export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-isolation-'))
  folders.push(folder)
  return folder
}

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})
