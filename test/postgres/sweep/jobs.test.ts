import { directOperations } from '../../../torture/sweep/operations/direct.ts'
import { doorOperations } from '../../../torture/sweep/operations/doors.ts'
import { jobOperations } from '../../../torture/sweep/operations/jobs.ts'
import { runOperations } from '../../../torture/sweep/operations/runs.ts'
import { sweepAll } from './sweep-all.ts'

sweepAll([...jobOperations, ...runOperations, ...directOperations, ...doorOperations])
