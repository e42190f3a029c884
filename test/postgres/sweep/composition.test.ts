import { compositionOperations } from '../../../torture/sweep/operations/composition.ts'
import { sweepAll } from './sweep-all.ts'

sweepAll(compositionOperations)
