import { useRef, useState } from 'preact/hooks'
import { FILTERS, type FilterName, filtersOf, readToken } from '../pages/job-filters.ts'
import { go, href, place, setQuery } from '../route.ts'
import { Icon } from './icon.tsx'
import { isId, namedKindOf, nameIn, type Suggestion, suggestionsFor, useNamed } from './search-suggestions.ts'
import { dayTime } from './time.tsx'

export function TokenSearch({ types, tags }: { types: readonly string[]; tags: readonly string[] }) {
  const [typed, setTyped] = useState('')
  const [at, setAt] = useState(0)
  const [isOpen, setOpen] = useState(false)
  const [wrong, setWrong] = useState<string | null>(null)
  const input = useRef<HTMLInputElement>(null)
  const filters = filtersOf(place.value.query)
  const named = useNamed(namedKindOf(typed))
  const found = suggestionsFor(typed, { types, tags, named })

  const apply = (text: string) => {
    if (isId(text)) return go(href('jobs', text))
    const read = readToken(text, Date.now())
    if (read.kind === 'wrong') return setWrong(read.words)
    setQuery({ ...read.changes, cursor: null }, { push: true })
    setTyped('')
    setWrong(null)
    setAt(0)
  }
  const choose = (suggestion: Suggestion | undefined) => {
    if (suggestion === undefined) return typed.trim() === '' ? undefined : setWrong(nothingFor(typed))
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
                <span class="mono clip">{shownText(suggestion)}</span>
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

/** Why what was typed leads nowhere: a name that nothing has, or no token at all. */
function nothingFor(typed: string): string {
  const kind = namedKindOf(typed)
  if (kind !== null) return `No ${kind} has such a name: "${typed.slice(typed.indexOf(':') + 1).trim()}"`
  const read = readToken(typed, Date.now())
  return read.kind === 'wrong' ? read.words : `Nothing is known as "${typed}"`
}

/** A thing is chosen by its name: its id would tell nobody anything. */
function shownText({ text, words }: Suggestion): string {
  const kind = namedKindOf(text)
  return kind === null ? text : `${kind}:${words}`
}

function Token({ name, value, path }: { name: FilterName; value: string; path: string | undefined }) {
  const kind = namedKindOf(`${FILTERS[name].token}:`)
  const named = useNamed(kind)
  const shown = kind !== null ? nameIn(named, value) : name.startsWith('created_') ? dayTime(value) : value
  const words =
    name === 'params_path'
      ? `params.${value}${path === undefined ? '' : `: ${path}`}`
      : `${FILTERS[name].token}: ${shown}`
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
