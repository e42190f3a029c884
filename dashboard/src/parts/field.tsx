import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useState } from 'preact/hooks'

interface FieldProps {
  readonly label: string
  readonly hint?: ComponentChildren
  readonly wrong?: string | null
}

interface TextProps extends FieldProps {
  readonly value: string
  readonly onInput: (value: string) => void
  readonly placeholder?: string
  readonly type?: 'text' | 'number' | 'password' | 'datetime-local'
  readonly required?: boolean
  readonly list?: readonly string[]
  readonly isMono?: boolean
}

function Under({ id, hint, wrong }: { id: string; hint?: ComponentChildren; wrong?: string | null | undefined }) {
  if (!hint && !wrong) return null
  return <div id={id}>{wrong ? <span class="wrong">{wrong}</span> : <span class="hint">{hint}</span>}</div>
}

export function TextField(props: TextProps) {
  const id = useId()
  const { label, value, onInput, placeholder, type = 'text', required = false, list, hint, wrong, isMono } = props
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        class={isMono ? 'input mono' : 'input'}
        type={type as 'text'}
        value={value}
        required={required}
        autocomplete="off"
        spellcheck={false}
        {...(placeholder && { placeholder })}
        {...(list && { list: `${id}-list` })}
        aria-invalid={wrong ? 'true' : undefined}
        aria-describedby={hint || wrong ? `${id}-under` : undefined}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      {list && (
        <datalist id={`${id}-list`}>
          {list.map((option) => (
            <option value={option} key={option} />
          ))}
        </datalist>
      )}
      <Under id={`${id}-under`} hint={hint} wrong={wrong} />
    </div>
  )
}

interface CommittedProps extends FieldProps {
  readonly value: string
  readonly onCommit: (value: string) => void
  readonly placeholder?: string
}

/** A text that counts when it is done: by Enter, or by leaving the field. */
export function CommittedField({ label, value, onCommit, placeholder, hint }: CommittedProps) {
  const [typed, setTyped] = useState(value)
  // Before the page is painted: afterwards it would undo what was typed meanwhile.
  useLayoutEffect(() => setTyped(value), [value])
  return (
    <div
      onKeyDown={(event) => {
        if (event.key === 'Enter') onCommit(typed.trim())
      }}
      onFocusOut={() => {
        if (typed.trim() !== value) onCommit(typed.trim())
      }}
    >
      <TextField
        label={label}
        value={typed}
        onInput={setTyped}
        {...(placeholder && { placeholder })}
        {...(hint && { hint })}
      />
    </div>
  )
}

interface AreaProps extends FieldProps {
  readonly value: string
  readonly onInput: (value: string) => void
  readonly rows?: number
}

export function AreaField({ label, value, onInput, rows = 8, hint, wrong }: AreaProps) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <textarea
        id={id}
        class="area"
        rows={rows}
        value={value}
        spellcheck={false}
        aria-invalid={wrong ? 'true' : undefined}
        aria-describedby={hint || wrong ? `${id}-under` : undefined}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      <Under id={`${id}-under`} hint={hint} wrong={wrong} />
    </div>
  )
}

interface ChoiceProps<Value extends string> extends FieldProps {
  readonly value: Value
  readonly options: readonly (readonly [Value, string])[]
  readonly onChange: (value: Value) => void
}

export function ChoiceField<Value extends string>(props: ChoiceProps<Value>) {
  const id = useId()
  const { label, value, options, onChange, hint, wrong } = props
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} class="select" value={value} onChange={(event) => onChange(event.currentTarget.value as Value)}>
        {options.map(([option, words]) => (
          <option value={option} key={option} selected={option === value}>
            {words}
          </option>
        ))}
      </select>
      <Under id={`${id}-under`} hint={hint} wrong={wrong} />
    </div>
  )
}

export function CheckField({
  label,
  checked,
  onChange,
}: {
  label: string
  checked: boolean
  onChange: (on: boolean) => void
}) {
  return (
    <label class="check">
      <input type="checkbox" checked={checked} onChange={(event) => onChange(event.currentTarget.checked)} />
      {label}
    </label>
  )
}
