import type { Bug } from './bug.ts'
import { ENGINE_BUGS } from './engine-bugs.ts'
import { SERVER_BUGS } from './server-bugs.ts'
import { SQLITE_BUGS } from './sqlite-bugs.ts'

export const BUGS: readonly Bug[] = [...SQLITE_BUGS, ...ENGINE_BUGS, ...SERVER_BUGS]
