import { computed, signal } from '@preact/signals'
import { send } from './http.ts'

/** Who is asking, and what they may do. The server decides anew at every request; the page only shows no dead buttons. */
export interface Session {
  readonly authenticated: boolean
  readonly keys_required: boolean
  readonly actor: string | null
  readonly key_id: string | null
  readonly role: 'viewer' | 'operator' | 'admin' | null
  readonly rights: {
    readonly read: boolean
    readonly operate: boolean
    readonly administer: boolean
    readonly see_payloads: boolean
  }
  readonly expires_at: string | null
  readonly version: string
}

/** Null: not asked yet. */
export const session = signal<Session | null>(null)
export const mayOperate = computed(() => session.value?.rights.operate ?? false)
export const mayAdminister = computed(() => session.value?.rights.administer ?? false)

export async function readSession(): Promise<void> {
  session.value = (await send('GET', '/api/session')) as Session
}

export async function logIn(key: string): Promise<void> {
  session.value = (await send('POST', '/api/session', { body: { key }, isLogin: true })) as Session
}

export async function logOut(): Promise<void> {
  await send('DELETE', '/api/session')
  await readSession()
}
