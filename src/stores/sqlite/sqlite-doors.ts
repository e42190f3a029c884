import type { BulkOperation } from '../../domain/bulk-operation.ts'
import type { AuditEntry, AuditFilter, AuditNote, AuditStore } from '../../store/audit.ts'
import type * as bulk from '../../store/bulk-operations.ts'
import type { CheckedInvariant, CheckStore, Derived, StoreVitals } from '../../store/checks.ts'
import type { Page } from '../../store/jobs.ts'
import type { ApiKey, KeyFilter, KeyStore } from '../../store/keys.ts'
import type { Standing, StandingStore } from '../../store/standing.ts'
import type {
  Counts,
  EndedCounts,
  HourOfNode,
  MinuteCounts,
  QueueCounts,
  StatisticsStore,
} from '../../store/statistics.ts'
import { SqliteBase } from './sqlite-base.ts'
import * as keys from './statements/api-keys.ts'
import * as audit from './statements/audit.ts'
import { matchJobs } from './statements/bulk-matches.ts'
import * as operations from './statements/bulk-operations.ts'
import { checkInvariants } from './statements/checks/check-invariants.ts'
import { rebuild } from './statements/rebuild.ts'
import { findStanding } from './statements/standing.ts'
import * as statistics from './statements/statistics.ts'
import { readVitals } from './statements/vitals.ts'
import { measureFiles } from './store-files.ts'

type DoorStore = StatisticsStore &
  StandingStore &
  KeyStore &
  Omit<AuditStore<unknown>, 'audited'> &
  bulk.BulkOperationStore &
  CheckStore

/** What those need who look at the store from outside. Every method is one statement file; nothing is decided here. */
export abstract class SqliteDoors extends SqliteBase implements DoorStore {
  // Statistics

  readTotals(): Promise<Counts> {
    return this.read((connection) => statistics.readTotals(connection))
  }

  listHours(from: number, limit: number): Promise<readonly HourOfNode[]> {
    return this.read((connection) => statistics.listHours(connection, from, limit))
  }

  listMinutes(from: number, before: number): Promise<readonly MinuteCounts[]> {
    return this.read((connection) => statistics.listMinutes(connection, from, before))
  }

  foldMinutes(request: Parameters<StatisticsStore['foldMinutes']>[0]): Promise<number> {
    return this.write((transaction) => statistics.foldMinutes(transaction, request))
  }

  foldHours(request: Parameters<StatisticsStore['foldHours']>[0]): Promise<void> {
    return this.write((transaction) => statistics.foldHours(transaction, request))
  }

  countQueue(countMax: number, now: number): Promise<QueueCounts> {
    return this.read((connection) => statistics.countQueue(connection, countMax, now))
  }

  countEnded(countMax: number): Promise<EndedCounts> {
    return this.read((connection) => statistics.countEnded(connection, countMax))
  }

  // Why

  findStanding(jobId: string, now: number): Promise<Standing | null> {
    return this.read((connection) => findStanding(connection, this.interned, jobId, now))
  }

  // Keys

  createKey(key: ApiKey, hash: string): Promise<void> {
    return this.write((transaction) => keys.createKey(transaction, key, hash))
  }

  findKeyByHash(hash: string): ReturnType<KeyStore['findKeyByHash']> {
    return this.read((connection) => keys.findKeyByHash(connection, hash))
  }

  revokeKey(keyId: string, now: number): Promise<'revoked' | 'not-found'> {
    return this.write((transaction) => keys.revokeKey(transaction, keyId, now))
  }

  findKey(keyId: string): Promise<ApiKey | null> {
    return this.read((connection) => keys.findKey(connection, keyId))
  }

  hasKeys(): Promise<boolean> {
    return this.read((connection) => keys.hasKeys(connection))
  }

  listKeys(filter: KeyFilter): Promise<Page<ApiKey>> {
    return this.read((connection) => keys.listKeys(connection, filter))
  }

  // Audit

  audited(note: AuditNote): this {
    return this.viewWith((transaction, work) => audit.withNote(transaction, note, work))
  }

  recordAudit(note: AuditNote): Promise<void> {
    return this.write((transaction) => audit.insertNote(transaction.connection, note, note.made()))
  }

  listAudit(filter: AuditFilter): Promise<Page<AuditEntry>> {
    return this.read((connection) => audit.listAudit(connection, filter))
  }

  pruneAudit(before: number, limit: number): Promise<number> {
    return this.write((transaction) => audit.pruneAudit(transaction, before, limit))
  }

  countAudit(before: number): Promise<number> {
    return this.read((connection) => audit.countAudit(connection, before))
  }

  // Bulk operations

  startOperation(operation: bulk.NewBulkOperation, now: number): Promise<void> {
    return this.write((transaction) => operations.startOperation(transaction, operation, now))
  }

  findOperation(operationId: string): Promise<BulkOperation | null> {
    return this.read((connection) => operations.findOperation(connection, operationId))
  }

  listOperations(filter: bulk.BulkOperationFilter): Promise<Page<BulkOperation>> {
    return this.read((connection) => operations.listOperations(connection, filter))
  }

  findRunningOperations(limit: number): Promise<readonly bulk.RunningBulkOperation[]> {
    return this.read((connection) => operations.findRunningOperations(connection, limit))
  }

  matchJobs(request: bulk.BulkMatchRequest): Promise<Page<string>> {
    return this.read((connection) => matchJobs(connection, request))
  }

  applyOperationPage(page: Parameters<bulk.BulkOperationStore['applyOperationPage']>[0]): Promise<'applied' | 'lost'> {
    return this.write((transaction) => operations.applyOperationPage(transaction, page))
  }

  abortOperation(operationId: string, now: number): Promise<'aborted' | 'ended' | 'not-found'> {
    return this.write((transaction) => operations.abortOperation(transaction, operationId, now))
  }

  pruneOperations(before: number, limit: number): Promise<number> {
    return this.write((transaction) => operations.pruneOperations(transaction, before, limit))
  }

  countPrunableOperations(before: number): Promise<number> {
    return this.read((connection) => operations.countPrunableOperations(connection, before))
  }

  // Doctor

  checkInvariants(now: number): Promise<readonly CheckedInvariant[]> {
    return this.readSnapshot((connection) => checkInvariants(connection, now))
  }

  async readVitals(now: number): Promise<StoreVitals> {
    const vitals = await this.readSnapshot((connection) => readVitals(connection, now))
    return { ...vitals, files: this.path === null ? null : measureFiles(this.path) }
  }

  rebuild(what: Derived, now: number): Promise<number> {
    return this.write((transaction) => rebuild(transaction, what, now))
  }
}
