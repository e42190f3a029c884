import { addressOf } from '../api/http.ts'
import type { JobType } from '../api/things.ts'
import { useTypes } from '../live/use-types.ts'
import { Copy } from './copy.tsx'

/** No shell, and no JSON, reads anything else into it. */
const PLAIN = /^[\w.:-]+$/

const TYPE = '<type>'

/** A command that works as it stands: it names this server, and its `<type>` becomes a type that there is. */
export function Command({ text }: { text: string }) {
  const types = useTypes()
  // Somebody quick would copy a command that does not work yet.
  if (types === null && text.includes(TYPE)) {
    return (
      <div class="command" aria-busy="true">
        <code>…</code>
      </div>
    )
  }
  const type = exampleOf(types ?? [])
  const command = `${type === undefined ? text : text.replace(TYPE, type)} --server ${addressOf('').replace(/\/$/, '')}`
  return (
    <div class="command">
      <code>{command}</code>
      <Copy text={command} what="command" />
    </div>
  )
}

/** Best one that a node executes, and that needs no params. */
function exampleOf(types: readonly JobType[]): string | undefined {
  const plain = types.filter(({ type }) => PLAIN.test(type))
  const needsNone = ({ params_schema: schema }: JobType) => schema === null || !('required' in schema)
  const best = plain.find((one) => one.registered && needsNone(one)) ?? plain.find((one) => one.registered) ?? plain[0]
  return best?.type
}
