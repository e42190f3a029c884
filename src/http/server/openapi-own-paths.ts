import { EVENT_KINDS, eventsQuery } from './event-filter.ts'
import type { JsonSchema, JsonSchemas } from './json-schemas.ts'
import { header, partsIn } from './openapi-parameters.ts'
import { ANY_PROBLEM, plainProblemResponses } from './openapi-problems.ts'

/** What is no endpoint of the contract: it answers in another way than with a JSON body that `perform` made. */
export function ownPaths(schemas: JsonSchemas): Record<string, Record<string, JsonSchema>> {
  const events = Object.entries(EVENT_KINDS).map(([kind, meaning]) => `- \`${kind}\`: ${meaning}`)
  const viewer = { description: 'Needs the role `viewer`.' }
  return {
    '/api/events': {
      get: {
        operationId: 'followEvents',
        summary: 'Every transition that any process makes on the store, as server-sent events.',
        description: [
          'Needs the role `viewer`. Each event has an `id`; with the last one in `Last-Event-ID` the stream goes on where it was cut, ' +
            'and nothing is lost or told twice. If that is not possible any more, the first event is `reset`, with `{ "reason": "pruned" }`, ' +
            '`"unknown"` or `"malformed"`, and the stream goes on with what happens from now on. A comment comes every 15 seconds of silence.',
          'Events:',
          events.join('\n'),
        ].join('\n\n'),
        tags: ['Events'],
        parameters: [
          ...partsIn(eventsQuery, 'query', schemas),
          header('Last-Event-ID', 'The id of the last event that was read.', '42.0'),
        ],
        responses: {
          200: {
            description: 'A stream without end.',
            content: { 'text/event-stream': { schema: { type: 'string', examples: [STREAM_EXAMPLE] } } },
          },
          ...plainProblemResponses([...ANY_PROBLEM, 'invalid_option']),
        },
      },
    },
    '/health': {
      get: {
        operationId: 'getHealth',
        summary: 'The process lives.',
        tags: ['Server'],
        security: [{}],
        responses: {
          200: statusAnswer('It lives.', 'ok', true),
          ...plainProblemResponses(['host_refused', 'origin_refused']),
        },
      },
    },
    '/ready': {
      get: {
        operationId: 'getReadiness',
        summary: 'The store answers, and the process is not about to exit.',
        tags: ['Server'],
        security: [{}],
        responses: {
          200: statusAnswer('It is ready.', 'ready', false),
          ...plainProblemResponses([
            'host_refused',
            'origin_refused',
            'shutting_down',
            'database_unavailable',
            'store_busy',
          ]),
        },
      },
    },
    '/metrics': {
      get: {
        operationId: 'getMetrics',
        summary: 'Figures for Prometheus.',
        ...viewer,
        tags: ['Server'],
        responses: {
          200: { description: 'In the text format.', content: { 'text/plain': { schema: { type: 'string' } } } },
          ...plainProblemResponses(ANY_PROBLEM),
        },
      },
    },
    '/openapi.json': {
      get: {
        operationId: 'getOpenApi',
        summary: 'This document.',
        ...viewer,
        tags: ['Server'],
        responses: {
          200: { description: 'OpenAPI 3.1.', content: { 'application/json': { schema: { type: 'object' } } } },
          ...plainProblemResponses(ANY_PROBLEM),
        },
      },
    },
  }
}

const STREAM_EXAMPLE =
  'event: job.started\nid: 42.0\ndata: {"job_id":"…","run_id":"…","chain_id":"…","job_type":"story","status":"RUNNING","outcome":null,"reason":null,"attempt":1,"at":"2026-11-16T08:00:00.000Z"}\n\n'

function statusAnswer(description: string, status: string, hasVersion: boolean): JsonSchema {
  const version = hasVersion ? { version: { type: 'string' } } : {}
  const schema = {
    type: 'object',
    required: ['status', ...Object.keys(version)],
    properties: { status: { const: status }, ...version },
  }
  return { description, content: { 'application/json': { schema } } }
}
