// How things look: texts from elsewhere cannot steer the terminal, tables fit it, colours stay where they belong.
import picocolors from 'picocolors'
import { describe, expect, test } from 'vitest'
import { readDuration } from '../../src/cli/duration.ts'
import { colorsFor } from '../../src/cli/output/colors.ts'
import { escapeBlock, escapeLine, safeJson } from '../../src/cli/output/escape.ts'
import { type Column, renderTable } from '../../src/cli/output/table.ts'
import { lasted, relativeTime } from '../../src/cli/output/times.ts'
import { shorten, widthOf } from '../../src/cli/output/width.ts'

const plain = picocolors.createColors(false)

/** What a terminal would obey or be fooled by, with what is shown instead. */
const ATTACKS: readonly (readonly [name: string, text: string, shown: string])[] = [
  ['colour', '\u001b[31mred', '\\x1b[31mred'],
  ['clear screen', '\u001b[2J\u001b[H', '\\x1b[2J\\x1b[H'],
  ['cursor up and overwrite', 'bad\u001b[1A\u001b[2Kgood', 'bad\\x1b[1A\\x1b[2Kgood'],
  ['window title', '\u001b]0;owned\u0007', '\\x1b]0;owned\\x07'],
  [
    'hyperlink',
    '\u001b]8;;http://evil\u001b\\click\u001b]8;;\u001b\\',
    '\\x1b]8;;http://evil\\x1b\\click\\x1b]8;;\\x1b\\',
  ],
  ['clipboard', '\u001b]52;c;cm0gLXJm\u0007', '\\x1b]52;c;cm0gLXJm\\x07'],
  ['eight-bit escape', '\u009b31mred\u009d0;t\u009c', '\\x9b31mred\\x9d0;t\\x9c'],
  ['carriage return', 'safe\rEVIL', 'safe\\rEVIL'],
  ['backspace', 'abc\b\b\bxyz', 'abc\\x08\\x08\\x08xyz'],
  ['bell and delete', '\u0007\u007f', '\\x07\\x7f'],
  ['null', 'a\u0000b', 'a\\x00b'],
  ['tab', 'a\tb', 'a\\tb'],
  ['direction override', 'txt.\u202eexe', 'txt.\\u202eexe'],
  ['isolates', '\u2066\u2067\u2068\u2069\u200f', '\\u2066\\u2067\\u2068\\u2069\\u200f'],
  ['line separators', 'a\u2028b\u2029c\u0085d', 'a\\u2028b\\u2029c\\x85d'],
  ['invisible', 'pass\u200bword\ufeff\u2060\u00ad', 'pass\\u200bword\\ufeff\\u2060\\xad'],
  ['tags', 'a\u{e0041}b', 'a\\u{e0041}b'],
  ['half a pair', 'a\ud800b', 'a\\ud800b'],
  ['newline', 'one\ntwo', 'one\\ntwo'],
]

describe('text that came from elsewhere', () => {
  test.each(ATTACKS)('on one line: %s is shown, not obeyed', (_, text, shown) => {
    expect(escapeLine(text)).toBe(shown)
  })

  test.each(ATTACKS)('as JSON: %s means the same and is harmless', (_, text) => {
    const json = safeJson({ text }, 2)
    expect(JSON.parse(json)).toEqual({ text })
    expect(json.replaceAll('\n', '')).toBe(escapeLine(json.replaceAll('\n', '')))
  })

  test('keeps its lines in a block, and nothing else', () => {
    expect(escapeBlock('Error: x\r\n\tat y\n\u001b[1mz')).toBe('Error: x\n  at y\n\\x1b[1mz')
  })

  test.each(['Größe', '物語', '👩‍👩‍👧 family', 'e\u0301', 'नमस्ते', '\u200dzwj'])('leaves %j as it is', (text) => {
    expect(escapeLine(text)).toBe(text)
  })
})

describe('width', () => {
  test.each([
    ['abc', 3],
    ['Größe', 5],
    ['e\u0301', 1],
    ['物語', 4],
    ['한글', 4],
    ['ｆｕｌｌ', 8],
    ['👍', 2],
    ['👩‍👩‍👧', 2],
    ['🇦🇹', 2],
    ['❤️', 2],
    ['', 0],
  ])('of %j is %i columns', (text, columns) => expect(widthOf(text)).toBe(columns))

  test.each([
    ['abcdef', 4, 'abc…'],
    ['abcd', 4, 'abcd'],
    ['物語物語', 4, '物…'],
    ['👩‍👩‍👧👩‍👩‍👧', 3, '👩‍👩‍👧…'],
    ['abc', 1, '…'],
    ['abc', 0, ''],
  ])('%j in %i columns is %j', (text, columns, expected) => {
    expect(shorten(text, columns)).toBe(expected)
    expect(widthOf(shorten(text, columns))).toBeLessThanOrEqual(columns)
  })
})

interface Row {
  readonly id: string
  readonly status: string
  readonly name: string | null
  readonly count: number
}

const COLUMNS: readonly Column<Row>[] = [
  { title: 'ID', text: (row) => row.id },
  { title: 'STATUS', text: (row) => row.status, yields: 1 },
  { title: 'NAME', text: (row) => row.name, yields: 3 },
  { title: 'COUNT', text: (row) => row.count, align: 'right', yields: 2, minWidth: 5 },
]

const ID = '01975bb0-7c1e-7d6a-9d0c-3f6f8e0f9a41'
const ROWS: readonly Row[] = [
  { id: ID, status: 'FINISHED (COMPLETED)', name: 'a rather long name that goes on and on', count: 7 },
  { id: ID, status: 'QUEUED', name: null, count: 1234 },
  { id: ID, status: 'RUNNING', name: '物語の名前がとても長い', count: 12 },
]

describe('a table', () => {
  const render = (columns: number | undefined) => renderTable(COLUMNS, ROWS, { columns, colors: plain })

  test.each([40, 50, 60, 70, 80, 100, 120, 200])('fits a terminal of %i columns, with ids whole', (columns) => {
    const lines = render(columns)
    for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(columns)
    expect(lines.filter((line) => line.includes(ID))).toHaveLength(3)
    expect(lines.join('\n')).toContain('QUEUED')
  })

  test('gives way column by column', () => {
    expect(render(200)[1]).toBe(`${ID}  FINISHED (COMPLETED)  a rather long name that goes on and on      7`)
    expect(render(80)[1]).toBe(`${ID}  FINISHED (COMPLETED)  a rather lon…      7`)
    expect(render(60)[1]).toBe(`${ID}  FINISHED (COMP…      7`)
  })

  test('becomes a list where even the narrowest table is too wide', () => {
    expect(render(40).slice(0, 4)).toEqual([
      ID,
      '  STATUS  FINISHED (COMPLETED)',
      '  NAME    a rather long name that goes …',
      '  COUNT   7',
    ])
  })

  test('without a terminal is as wide as it needs to be, and cuts nothing', () => {
    expect(render(undefined)[1]).toContain('a rather long name that goes on and on')
  })

  test('lines up whatever the letters', () => {
    const lines = render(200).slice(1)
    expect(new Set(lines.map((line) => widthOf(line)))).toEqual(new Set([widthOf(lines[0] ?? '')]))
  })

  test('escapes every cell', () => {
    const [, line] = renderTable(COLUMNS, [{ id: '\u001b[2J', status: 'a\nb', name: '\u202e', count: 1 }], {
      columns: 80,
      colors: plain,
    })
    expect(line).toContain('\\x1b[2J  a\\nb')
    expect(line).toContain('\\u202e')
  })

  test('can have more rows than a function call has arguments', () => {
    const many = Array.from({ length: 200_000 }, () => ROWS[1] as Row)
    expect(renderTable(COLUMNS, many, { columns: 80, colors: plain })).toHaveLength(200_001)
  })
})

describe('colour', () => {
  const isOn = (isTTY: boolean, env: Record<string, string> = {}, off = false) =>
    colorsFor({ isTTY }, env, off).isColorSupported

  test('is for terminals only', () => {
    expect(isOn(true)).toBe(true)
    expect(isOn(false)).toBe(false)
    expect(isOn(true, { TERM: 'dumb' })).toBe(false)
  })

  test('can be switched off and forced', () => {
    expect(isOn(true, { NO_COLOR: '1' })).toBe(false)
    expect(isOn(true, { NO_COLOR: '' })).toBe(true)
    expect(isOn(true, {}, true)).toBe(false)
    expect(isOn(false, { FORCE_COLOR: '1' })).toBe(true)
    expect(isOn(true, { FORCE_COLOR: '0' })).toBe(false)
    expect(isOn(false, { FORCE_COLOR: '1', NO_COLOR: '1' })).toBe(false)
  })
})

describe('times', () => {
  const now = Date.parse('2026-11-16T08:00:00Z')
  test.each([
    [0, 'now'],
    [-999, 'now'],
    [-1_000, '1 s ago'],
    [-59_999, '59 s ago'],
    [-180_000, '3 m ago'],
    [-7_200_000, '2 h ago'],
    [-47 * 3_600_000, '47 h ago'],
    [-72 * 3_600_000, '3 d ago'],
    [10_000, 'in 10 s'],
  ])('%i ms from now is %j', (ms, words) => expect(relativeTime(new Date(now + ms).toISOString(), now)).toBe(words))

  test.each([
    [0, '0 ms'],
    [12.4, '12 ms'],
    [999.6, '1000 ms'],
    [3_400, '3.4 s'],
    [59_999, '59 s'],
    [125_000, '2 m 5 s'],
    [4_800_000, '1 h 20 m'],
    [273_600_000, '3 d 4 h'],
  ])('%f ms lasted %j', (ms, words) => expect(lasted(ms)).toBe(words))

  test.each([
    ['250ms', 250],
    ['10s', 10_000],
    ['5m', 300_000],
    ['2h', 7_200_000],
    ['90d', 7_776_000_000],
    ['0s', 0],
  ])('%s is %i ms', (text, ms) => expect(readDuration(text, '--x')).toBe(ms))

  test.each(['', '10', 's', '1.5h', '-1s', '1h30m', '10 s', '1w', '10S', '999999999999d', 'Infinitys'])(
    '%j is no duration',
    (text) => expect(() => readDuration(text, '--x')).toThrow(/^Expected --x to be a duration such as/),
  )
})
