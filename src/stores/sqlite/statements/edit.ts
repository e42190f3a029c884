import type { EditResult } from '../../../store/jobs.ts'
import type { Store } from '../../../store/store.ts'
import type { Transaction } from '../transaction.ts'

export function editJob(_transaction: Transaction, _request: Parameters<Store['editJob']>[0]): EditResult {
  throw new Error('being built')
}
