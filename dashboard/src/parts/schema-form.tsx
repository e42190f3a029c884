import { useState } from 'preact/hooks'
import { printExact } from '../api/exact-json.ts'
import { AreaField, CheckField, ChoiceField, TextField } from './field.tsx'
import { readJsonText } from './json-text.ts'

/** So much of JSON Schema is turned into fields; all else is typed as JSON. */
interface Schema {
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly enum?: readonly (string | number | boolean | null)[]
  readonly default?: unknown
  readonly description?: string
  readonly title?: string
  readonly format?: string
}

type FieldKind = 'text' | 'number' | 'boolean' | 'choice' | 'json'

function kindOf(schema: Schema): FieldKind {
  if (schema.enum?.every((value) => typeof value === 'string')) return 'choice'
  if (schema.type === 'string') return 'text'
  if (schema.type === 'number' || schema.type === 'integer') return 'number'
  return schema.type === 'boolean' ? 'boolean' : 'json'
}

export function isFormable(schema: unknown): schema is Schema {
  return (
    typeof schema === 'object' &&
    schema !== null &&
    'properties' in schema &&
    Object.keys((schema as Schema).properties ?? {}).length > 0
  )
}

/** What the fields say so far, as text each. */
export type Typed = Readonly<Record<string, string>>

export function initialOf(schema: Schema): Typed {
  const fields: Record<string, string> = {}
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const kind = kindOf(field)
    if (field.default !== undefined)
      fields[name] = typeof field.default === 'string' ? field.default : printExact(field.default)
    else if (kind === 'boolean') fields[name] = schema.required?.includes(name) ? 'false' : ''
    else if (kind === 'choice') fields[name] = schema.required?.includes(name) ? String(field.enum?.[0] ?? '') : ''
    else fields[name] = ''
  }
  return fields
}

/** The params that the fields say. What is left empty and not required is left out. */
export function paramsOf(
  schema: Schema,
  typed: Typed,
): { readonly value: Record<string, unknown>; readonly wrong: Typed } {
  const value: Record<string, unknown> = {}
  const wrong: Record<string, string> = {}
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const text = typed[name] ?? ''
    const kind = kindOf(field)
    if (text === '' && !(kind === 'text' && schema.required?.includes(name))) {
      if (schema.required?.includes(name)) wrong[name] = 'This is required.'
      continue
    }
    if (kind === 'text' || kind === 'choice') value[name] = text
    else if (kind === 'boolean') value[name] = text === 'true'
    else {
      const read = readJsonText(text)
      if (read.wrong !== null) wrong[name] = kind === 'number' ? 'Expected a number.' : read.wrong
      else value[name] = read.value
    }
  }
  return { value, wrong }
}

interface Props {
  readonly schema: Schema
  readonly typed: Typed
  readonly wrong: Typed
  readonly onChange: (typed: Typed) => void
}

export function SchemaFields({ schema, typed, wrong, onChange }: Props) {
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set())
  return (
    <>
      {Object.entries(schema.properties ?? {}).map(([name, field]) => {
        const set = (text: string) => {
          setTouched(new Set([...touched, name]))
          onChange({ ...typed, [name]: text })
        }
        const isRequired = schema.required?.includes(name) ?? false
        const label = `${field.title ?? name}${isRequired ? ' *' : ''}`
        const text = typed[name] ?? ''
        const hint = field.description ?? (field.format ? field.format : undefined)
        const shown = touched.has(name) ? wrong[name] : undefined
        const common = { label, ...(hint && { hint }), wrong: shown ?? null }
        switch (kindOf(field)) {
          case 'boolean':
            return <CheckField key={name} label={label} checked={text === 'true'} onChange={(on) => set(String(on))} />
          case 'choice': {
            const options = (field.enum ?? []).map((one) => [String(one), String(one)] as const)
            return (
              <ChoiceField
                key={name}
                {...common}
                value={text}
                onChange={set}
                options={isRequired ? options : [['', '–'], ...options]}
              />
            )
          }
          case 'json':
            return <AreaField key={name} {...common} value={text} onInput={set} rows={3} />
          case 'text':
          case 'number':
            return <TextField key={name} {...common} value={text} onInput={set} required={isRequired} />
        }
      })}
    </>
  )
}
