import * as jobs from './jobs.ts'

/** Everything that the API can be asked. */
export const endpoints = { ...jobs }
