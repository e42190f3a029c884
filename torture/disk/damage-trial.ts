import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Chance } from '../chance.ts'
import { packageRoot } from '../package-root.ts'
import { type Damage, makeDamaged, type Originals } from './damage.ts'
import type { ReaderReport, Step } from './reader-process.ts'
import type { TrialResult } from './trial-result.ts'

const HERE = fileURLToPath(import.meta.url)
const READER_PROCESS = join(dirname(HERE), `reader-process${extname(HERE)}`)
const PAWL = join(packageRoot, 'dist/cli/main.js')
const PATIENCE_MS = 60_000

/** The doctor ends with one of these: all is well, something is wrong, it cannot be looked at. */
const DOCTOR_CODES = [0, 1, 2, 5]

/** What opening it must be refused with, where it is certain; and then not a byte of it may change. */
const REFUSED_AS: Partial<Readonly<Record<Damage, string>>> = {
  'another program made it': 'database_not_ours',
  'a newer Pawl made it': 'database_too_new',
}

/** Only the log was damaged, which SQLite checks: what is read then must be what was written, if perhaps not all of it. */
const TRUSTWORTHY: readonly Damage[] = [
  'the log is noise',
  'some bytes of the log are other ones',
  'the end of the log is missing',
]

interface Ended {
  readonly exitCode: number | null
  readonly killedBy: string | null
  readonly stdout: string
  readonly stderr: string
}

/** Damages a database, and lets Pawl and its doctor do with it what they can. */
export async function runDamageTrial(
  damage: Damage,
  options: {
    readonly folder: string
    readonly originals: Originals
    readonly chance: Chance
    readonly signal: AbortSignal
  },
): Promise<TrialResult> {
  const { folder, originals, chance, signal } = options
  mkdirSync(folder, { recursive: true })
  const path = join(folder, 'pawl.db')
  await makeDamaged(damage, originals, path, chance)
  const before = contentOf(path)
  const hadLog = existsSync(`${path}-wal`)
  const doctor = await run([PAWL, 'doctor', '--store', `sqlite:${path}`], folder, signal)
  const wrongs = wrongWithEnd('pawl doctor', doctor, DOCTOR_CODES)
  // Whoever opens a file with a log moves the log into it. That changes bytes, and nothing that they say.
  if (!hadLog && !before.equals(contentOf(path))) wrongs.push('pawl doctor changed the file, and was not told to.')
  const reader = await run([READER_PROCESS, path], folder, signal)
  wrongs.push(...wrongWithEnd('The process that uses it', reader, [0]))
  const report = wrongs.length === 0 && reader.stdout !== '' ? (JSON.parse(reader.stdout) as ReaderReport) : null
  const steps = report?.steps ?? []
  wrongs.push(...wrongWithSteps(steps))
  const expected = REFUSED_AS[damage]
  if (expected !== undefined && report !== null)
    wrongs.push(...wrongWithRefusal(steps, expected, doctor, before, contentOf(path)))
  if (TRUSTWORTHY.includes(damage) && report !== null) wrongs.push(...wrongWithJobs(report.jobs, originals))
  const isRefused = steps.some(({ refusal }) => refusal !== null)
  return {
    wrongs,
    counts: {
      'damaged files': 1,
      'damaged files refused': isRefused ? 1 : 0,
      'faults found by the doctor': doctor.exitCode === 0 ? 0 : 1,
    },
  }
}

function contentOf(path: string): Buffer {
  return Buffer.concat([path, `${path}-wal`].filter(existsSync).map((file) => readFileSync(file)))
}

function run(args: readonly string[], cwd: string, signal: AbortSignal): Promise<Ended> {
  return new Promise((resolve) => {
    const options = { cwd, signal, timeout: PATIENCE_MS, killSignal: 'SIGKILL', maxBuffer: 64 * 1024 * 1024 } as const
    const child = execFile(process.execPath, [...args], options, (_, stdout, stderr) =>
      resolve({ exitCode: child.exitCode, killedBy: child.signalCode, stdout, stderr }),
    )
  })
}

function wrongWithEnd(who: string, { exitCode, killedBy, stderr }: Ended, codes: readonly number[]): string[] {
  const about = stderr.slice(-1_500)
  if (killedBy === 'SIGKILL') return [`${who} hung for ${PATIENCE_MS} ms. ${about}`]
  if (killedBy !== null) return [`${who} was ended by ${killedBy}. ${about}`]
  if (!codes.includes(exitCode ?? -1)) return [`${who} ended with ${exitCode}. ${about}`]
  // A stack is for those who wrote it.
  return /^ {4}at /m.test(stderr) ? [`${who} printed a stack: ${about}`] : []
}

function wrongWithSteps(steps: readonly Step[]): string[] {
  const raw = steps
    .filter(({ error }) => error !== null)
    .map(({ what, error }) => `${what} failed without a code: ${error}`)
  const silent = steps.filter(({ refusal }) => refusal !== null && refusal.message.length < 20)
  return [
    ...new Set([...raw, ...silent.map(({ what, refusal }) => `${what} was refused with \`${refusal?.message}\``)]),
  ].slice(0, 4)
}

function wrongWithRefusal(
  steps: readonly Step[],
  code: string,
  doctor: Ended,
  before: Buffer,
  after: Buffer,
): string[] {
  const open = steps.find(({ what }) => what === 'open')
  return [
    ...(open?.refusal?.code === code ? [] : [`Expected it to be refused as ${code}, got ${JSON.stringify(open)}.`]),
    ...(doctor.exitCode === 0 ? ['pawl doctor says that all is well.'] : []),
    ...(before.equals(after) ? [] : ['It was refused, and changed all the same.']),
  ]
}

function wrongWithJobs(jobs: Readonly<Record<string, string>>, { params }: Originals): string[] {
  return Object.entries(jobs)
    .filter(([jobId, text]) => params.get(jobId) !== text)
    .map(([jobId]) => `I7: Job ${jobId} was never asked for so.`)
    .slice(0, 3)
}
