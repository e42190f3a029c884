import { useState } from 'preact/hooks'
import { printExact } from '../api/exact-json.ts'
import { AreaField } from './field.tsx'
import { readJsonText } from './json-text.ts'
import { initialOf, isFormable, paramsOf, SchemaFields, type Typed } from './schema-form.tsx'

/** What the params are so far. Undefined: none are given. */
export interface TypedParams {
  readonly value: unknown
  readonly isReady: boolean
  readonly field: preact.JSX.Element
  /** The way between fields and JSON, where there are both. */
  readonly toggle: preact.JSX.Element | null
}

/** Params of a type: as fields where its schema allows, or else as JSON. */
export function useParams(name: string, schema: unknown): TypedParams {
  const formable = isFormable(schema) ? schema : null
  const [isJson, setJson] = useState(false)
  const [text, setText] = useState('{}')
  const [fields, setFields] = useState<{ readonly of: string; readonly typed: Typed }>({ of: '', typed: {} })
  // Fields belong to a type. An effect that emptied them would come after the first key that was pressed.
  const typed = fields.of === name ? fields.typed : formable === null ? {} : initialOf(formable)
  const usesForm = formable !== null && !isJson
  const form = formable === null ? { value: {}, wrong: {} } : paramsOf(formable, typed)
  const read = readJsonText(text)
  return {
    value: usesForm ? form.value : read.value,
    isReady: usesForm ? Object.keys(form.wrong).length === 0 : read.wrong === null,
    field: usesForm ? (
      <SchemaFields
        schema={formable}
        typed={typed}
        wrong={form.wrong}
        onChange={(next) => setFields({ of: name, typed: next })}
      />
    ) : (
      <AreaField label="Params (JSON)" value={text} onInput={setText} rows={6} wrong={read.wrong} />
    ),
    toggle: formable && (
      <button
        type="button"
        class="button slim plain"
        onClick={() => {
          // What was typed into the fields is not lost.
          if (!isJson) setText(printExact(form.value))
          setJson(!isJson)
        }}
      >
        {isJson ? 'As fields' : 'As JSON'}
      </button>
    ),
  }
}
