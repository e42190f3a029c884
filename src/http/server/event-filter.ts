import { z } from 'zod'
import { PawlError } from '../../domain/errors.ts'
import type { Transition, TransitionKind } from '../../store/events.ts'

/** Every event of the stream, and what it says. */
export const EVENT_KINDS: Readonly<Record<TransitionKind, string>> = {
  'job.queued': 'A Job was accepted, or a retry of one.',
  'job.started': 'A node has claimed the Job; its Run has begun.',
  'job.finished': 'Its Run has an outcome.',
  'job.cancelled': 'It is CANCELLED.',
  'job.cancel-requested': 'Somebody wants the RUNNING Job cancelled.',
  'job.moved': 'It has another place in the queue.',
  'job.edited': 'Its params or its instant were changed, and perhaps its place too.',
  'job.released': 'The last parent it waited for has settled.',
  'schedule.triggered': 'A schedule has made the Job.',
  'run.progress': 'The handler told how far it is.',
  'run.released': 'The body has ended after its Run had an outcome already.',
  'operation.progress': 'A bulk operation has begun, has dealt with some Jobs, or has ended.',
}

/** What `GET /api/events` may be asked. */
export const eventsQuery = z.strictObject({
  types: z
    .string()
    .optional()
    .meta({ description: 'Only these events, separated by commas.', examples: ['job.finished,job.cancelled'] }),
  job_type: z.string().min(1).max(128).optional().meta({ description: 'Only of this job type.' }),
  job_id: z.string().min(1).max(512).optional().meta({ description: 'Only of this Job and its retries.' }),
  last_event_id: z
    .string()
    .optional()
    .meta({
      description: 'Stands for the header `Last-Event-ID`, for clients that cannot set it.',
      examples: ['42.0'],
    }),
})

export type EventsQuery = z.output<typeof eventsQuery>

export type EventFilter = (transition: Transition) => boolean

export function readEventsQuery(query: unknown): EventsQuery {
  const read = eventsQuery.safeParse(query)
  if (read.success) return read.data
  const [issue] = read.error.issues
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys[0] : undefined
  const path = unknown ?? issue?.path.map(String).join('.') ?? ''
  throw new PawlError('invalid_option', `\`${path}\`: ${issue?.message ?? 'invalid'}`, { path })
}

export function filterOf({ types, job_type: jobType, job_id: jobId }: EventsQuery): EventFilter {
  const kinds = types === undefined ? null : new Set(types.split(',').map(readKind))
  return (transition) =>
    (kinds === null || kinds.has(transition.kind)) &&
    (jobType === undefined || transition.type === jobType) &&
    (jobId === undefined || transition.jobId === jobId || transition.chainId === jobId)
}

function readKind(name: string): TransitionKind {
  if (Object.hasOwn(EVENT_KINDS, name)) return name as TransitionKind
  const expected = Object.keys(EVENT_KINDS).join(', ')
  throw new PawlError('invalid_option', `Expected \`types\` to be of ${expected}; got \`${name.slice(0, 100)}\`.`, {
    path: 'types',
  })
}
