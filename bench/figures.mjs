/**
 * Measures several sides in turn, portion by portion, so that whatever else the machine does meets all of them alike.
 * The first portion of each warms up and is not counted. Each side does one portion and returns its speed.
 */
export async function alternate(portions, sides) {
  const names = Object.keys(sides)
  const speeds = Object.fromEntries(names.map((name) => [name, []]))
  for (let portion = 0; portion <= portions; portion++) {
    for (const name of portion % 2 === 0 ? names : names.toReversed()) {
      globalThis.gc?.()
      const speed = await sides[name](portion)
      if (portion > 0) speeds[name].push(speed)
    }
  }
  return speeds
}

/** How often per second, when `count` took as long as the work does. */
export async function speedOf(count, work) {
  const startedAt = performance.now()
  const done = await work()
  return ((done ?? count) / (performance.now() - startedAt)) * 1_000
}

export function median(values) {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

export function percentile(values, percent) {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))]
}

/** One line of the report: ours against a reference, as the median of the ratios of neighbouring portions. */
export function compareSpeeds({ name, ours, reference, referenceName, atLeast = null, unit = '/s' }) {
  const ratios = ours.map((speed, portion) => speed / reference[portion])
  return line({
    name,
    ours: perSecond(median(ours), unit),
    reference: `${perSecond(median(reference), unit)} ${referenceName}`,
    ratio: median(ratios),
    spread: [Math.min(...ratios), Math.max(...ratios)],
    needs: atLeast === null ? null : { kind: 'at-least', value: atLeast },
  })
}

/** The same for times: the ratio is again a speed, so that more is better everywhere. */
export function compareTimes({ name, oursMs, referenceMs, referenceName, percent, atLeast = null }) {
  const ours = percentile(oursMs, percent)
  const reference = percentile(referenceMs, percent)
  const fifths = [0, 1, 2, 3, 4].map(
    (fifth) => percentile(sliceOf(referenceMs, fifth), percent) / percentile(sliceOf(oursMs, fifth), percent),
  )
  return line({
    name,
    ours: milliseconds(ours),
    reference: `${milliseconds(reference)} ${referenceName}`,
    ratio: reference / ours,
    spread: [Math.min(...fifths), Math.max(...fifths)],
    needs: atLeast === null ? null : { kind: 'at-least', value: atLeast },
  })
}

/** A time that may not be passed. The ratio says how many times as long it could have taken. */
export function withinTime({ name, ours, ms, allowedMs }) {
  return line({
    name,
    ours: ours ?? milliseconds(ms),
    reference: `${allowedMs} ms allowed`,
    ratio: allowedMs / ms,
    needs: { kind: 'at-least', value: 1 },
  })
}

/** What a process may need at most. */
const MEMORY_MAX = 200 * 1_048_576

export function withinMemory(name, bytes) {
  return line({
    name,
    ours: megabytes(bytes),
    reference: `${megabytes(MEMORY_MAX)} allowed`,
    ratio: bytes / MEMORY_MAX,
    needs: { kind: 'at-most', value: 1 },
  })
}

function sliceOf(values, fifth) {
  const size = Math.ceil(values.length / 5)
  const slice = values.slice(fifth * size, (fifth + 1) * size)
  return slice.length > 0 ? slice : values
}

export function line({ name, ours, reference, ratio, spread = null, needs = null }) {
  const passes = needs === null ? null : needs.kind === 'at-least' ? ratio >= needs.value : ratio <= needs.value
  return { name, ours, reference, ratio, spread, needs, passes }
}

export function perSecond(speed, unit = '/s') {
  if (speed >= 10_000) return `${(speed / 1_000).toFixed(1)}k${unit}`
  return `${speed.toFixed(speed >= 100 ? 0 : 1)}${unit}`
}

export function milliseconds(ms) {
  return `${ms.toFixed(ms >= 100 ? 0 : ms >= 1 ? 1 : 2)} ms`
}

export function megabytes(bytes) {
  return `${(bytes / 1_048_576).toFixed(0)} MB`
}
