import { useRef, useState } from 'preact/hooks'
import { session } from '../api/session.ts'
import { FILTERS, type FilterName, filtersOf, readToken } from '../pages/job-filters.ts'
import { go, href, place, setQuery } from '../route.ts'
import { Icon } from './icon.tsx'
import { dayTime } from './time.tsx'

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

interface Suggestion {
  readonly text: string
  readonly words: string
  /** Whether it is complete, or goes on to be typed. */
  readonly isWhole: boolean
}

function suggestionsFor(typed: string, types: readonly string[]): Suggestion[] {
  const text = typed.trim()
  const maySearchPayloads = session.value?.rights.see_payloads ?? true
  if (ID.test(text)) return [{ text, words: 'open this job', isWhole: true }]
  const named = /^type:(.*)$/.exec(text)
  if (named) {
    const found = types.filter((type) => type.includes(named[1] as string)).slice(0, 8)
    return found.map((type) => ({ text: `type:${type}`, words: 'job type', isWhole: true }))
  }
  if (text.includes(':')) return [{ text, words: 'search', isWhole: true }]
  const names = Object.entries(FILTERS).filter(
    ([name]) => maySearchPayloads || (name !== 'params_path' && name !== 'error'),
  )
  const begun = names
    .filter(([, { token }]) => token.startsWith(text))
    .map(([name, { token, words, example }]) => ({
      text: name === 'params_path' ? 'params.' : `${token}:`,
      words: `${words}, as in ${example}`,
      isWhole: false,
    }))
  if (text === '') return begun
  const whole = [
    ...types
      .filter((type) => type.includes(text))
      .slice(0, 5)
      .map((type) => `type:${type}`),
    `tag:${text}`,
    ...(maySearchPayloads ? [`error:${text}`] : []),
  ]
  return [...begun, ...whole.map((token) => ({ text: token, words: 'search', isWhole: true }))]
}

export function TokenSearch({ types }: { types: readonly string[] }) {
  const [typed, setTyped] = useState('')
  const [at, setAt] = useState(0)
  const [isOpen, setOpen] = useState(false)
  const [wrong, setWrong] = useState<string | null>(null)
  const input = useRef<HTMLInputElement>(null)
  const filters = filtersOf(place.value.query)
  const found = suggestionsFor(typed, types)

  const apply = (text: string) => {
    if (ID.test(text)) return go(href('jobs', text))
    const read = readToken(text, Date.now())
    if (read.kind === 'wrong') return setWrong(read.words)
    setQuery({ ...read.changes, cursor: null }, { push: true })
    setTyped('')
    setWrong(null)
    setAt(0)
  }
  const choose = (suggestion: Suggestion | undefined) => {
    if (suggestion === undefined) return
    if (suggestion.isWhole) return apply(suggestion.text)
    setTyped(suggestion.text)
    setAt(0)
    input.current?.focus()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') setAt(Math.min(at + 1, found.length - 1))
    else if (event.key === 'ArrowUp') setAt(Math.max(0, at - 1))
    else if (event.key === 'Enter') choose(found[at])
    else if (event.key === 'Escape') input.current?.blur()
    else if (event.key === 'Backspace' && typed === '') {
      const last = Object.keys(filters).at(-1)
      if (last === undefined) return
      setQuery({ [last]: null, ...(last === 'params_value' && { params_path: null }), cursor: null })
    } else return
    event.preventDefault()
  }
  return (
    <div class="grow stack tight">
      <div class="search">
        <Icon name="search" />
        {Object.entries(filters)
          .filter(([name]) => name !== 'params_value')
          .map(([name, value]) => (
            <Token name={name as FilterName} value={value} path={filters['params_value']} key={name} />
          ))}
        <input
          ref={input}
          data-search
          role="combobox"
          aria-label="Search jobs"
          aria-expanded={isOpen}
          aria-controls="suggestions"
          aria-autocomplete="list"
          aria-activedescendant={isOpen && found.length > 0 ? `suggestion-${at}` : undefined}
          placeholder={Object.keys(filters).length === 0 ? 'Search: type, tag, params.path, error, after…' : ''}
          value={typed}
          autocomplete="off"
          spellcheck={false}
          onFocus={() => setOpen(true)}
          onBlur={() => setOpen(false)}
          onInput={(event) => {
            setTyped(event.currentTarget.value)
            setWrong(null)
            setAt(0)
          }}
          onKeyDown={onKeyDown}
        />
        {!isOpen && <kbd>/</kbd>}
        {isOpen && found.length > 0 && (
          <ul class="suggest" id="suggestions" role="listbox" aria-label="Suggestions">
            {found.map((suggestion, index) => (
              <li
                id={`suggestion-${index}`}
                key={suggestion.text}
                role="option"
                aria-selected={index === at}
                onMouseDown={(event) => {
                  event.preventDefault()
                  choose(suggestion)
                }}
              >
                <span class="mono clip">{suggestion.text}</span>
                <span class="note clip">{suggestion.words}</span>
              </li>
            ))}
          </ul>
        )}
      </div>
      {wrong !== null && (
        <div class="small tone-bad" role="alert">
          {wrong}
        </div>
      )}
    </div>
  )
}

function Token({ name, value, path }: { name: FilterName; value: string; path: string | undefined }) {
  const words =
    name === 'params_path'
      ? `params.${value}${path === undefined ? '' : `: ${path}`}`
      : `${FILTERS[name].token}: ${name.startsWith('created_') ? dayTime(value) : value}`
  return (
    <span class="token">
      <span title={words}>{words}</span>
      <button
        type="button"
        aria-label={`Remove ${words}`}
        onClick={() => setQuery({ [name]: null, ...(name === 'params_path' && { params_value: null }), cursor: null })}
      >
        <Icon name="close" />
      </button>
    </span>
  )
}
