import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { comparePlaces, nextPosition, type Place, positionBetween, spreadPositions } from '../../src/domain/order.ts'

const places = fc.record({
  priority: fc.integer(),
  position: fc.integer({ min: -1000, max: 1000 }),
  createdAt: fc.nat(5),
  jobId: fc.uuid({ version: 7 }),
})

describe('comparePlaces', () => {
  const place: Place = { priority: 0, position: 100, createdAt: 5, jobId: 'b' }

  test.each<[string, Partial<Place>]>([
    ['a higher priority', { priority: 1, position: 900 }],
    ['a lower position', { position: 99, createdAt: 9 }],
    ['an earlier creation', { createdAt: 4, jobId: 'c' }],
    ['a smaller id', { jobId: 'a' }],
  ])('puts %s first', (_, changes) => {
    expect(comparePlaces({ ...place, ...changes }, place)).toBeLessThan(0)
    expect(comparePlaces(place, { ...place, ...changes })).toBeGreaterThan(0)
  })

  test('is a total order: only a Job and itself are equal, and every way to sort gives the same queue', () => {
    expect(comparePlaces(place, place)).toBe(0)
    fc.assert(
      fc.property(fc.uniqueArray(places, { selector: ({ jobId }) => jobId }), fc.integer(), (queue, seed) => {
        const shuffled = queue.map((item, index) => ({ item, key: Math.sin(seed + index) }))
        shuffled.sort((a, b) => a.key - b.key)
        const sorted = queue.toSorted(comparePlaces)
        expect(shuffled.map(({ item }) => item).sort(comparePlaces)).toEqual(sorted)
        for (let index = 1; index < sorted.length; index++) {
          expect(comparePlaces(sorted[index - 1] as Place, sorted[index] as Place)).toBeLessThan(0)
        }
      }),
    )
  })

  test('holds for the extremes of a priority', () => {
    const low = { ...place, priority: -2_147_483_648 }
    const high = { ...place, priority: 2_147_483_647 }
    expect(comparePlaces(high, low)).toBeLessThan(0)
  })
})

describe('nextPosition', () => {
  test('begins at 100 and goes on in steps of 100', () => {
    expect(nextPosition(null)).toBe(100)
    expect(nextPosition(100)).toBe(200)
    expect(nextPosition(-250)).toBe(-150)
  })
})

describe('positionBetween', () => {
  test('is strictly between its neighbours, or null when nothing is', () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer(), (a, b) => {
        const middle = positionBetween(a, b)
        if (b - a >= 2) {
          expect(middle).toBeGreaterThan(a)
          expect(middle).toBeLessThan(b)
          expect(Number.isInteger(middle)).toBe(true)
        } else expect(middle).toBeNull()
      }),
    )
  })

  test('goes outside by the usual gap where there is no neighbour', () => {
    expect(positionBetween(null, null)).toBe(100)
    expect(positionBetween(null, 100)).toBe(0)
    expect(positionBetween(700, null)).toBe(800)
  })
})

describe('spreadPositions', () => {
  test('keeps the order: it rises strictly from the floor, and stays below the ceiling', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -1e9, max: 1e9 }),
        fc.integer({ min: 1, max: 1001 }),
        fc.option(fc.nat(200_000)),
        (floor, count, room) => {
          const ceiling = room === null ? null : floor + room
          const positions = spreadPositions(floor, count, ceiling)
          if (positions === null) return
          expect(positions).toHaveLength(count)
          const all = [floor, ...positions, ...(ceiling === null ? [] : [ceiling])]
          for (let index = 1; index < all.length; index++) {
            expect(all[index]).toBeGreaterThan(all[index - 1] as number)
            expect(Number.isInteger(all[index])).toBe(true)
          }
        },
      ),
    )
  })

  test('leaves room for the next move, or says that there is none', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1001 }), fc.option(fc.nat(5_000)), (count, room) => {
        const positions = spreadPositions(0, count, room)
        if (positions === null) {
          // Two steps apart they would not fit.
          expect(room).toBeLessThan(2 * (count + 1))
          return
        }
        for (let index = 1; index < positions.length; index++) {
          expect(positionBetween(positions[index - 1] as number, positions[index] as number)).not.toBeNull()
        }
      }),
    )
  })

  test('goes back to the usual gap where there is room', () => {
    expect(spreadPositions(500, 3, null)).toEqual([600, 700, 800])
    expect(spreadPositions(500, 3, 10_000)).toEqual([600, 700, 800])
    expect(spreadPositions(500, 3, 510)).toEqual([502, 504, 506])
    expect(spreadPositions(500, 3, 507)).toBeNull()
  })
})

describe('moving again and again', () => {
  test('never changes the order of the others', () => {
    // The rule of a move, on a queue in memory: into the gap, or widen it over all that follow.
    const moveAfter = (queue: { name: number; position: number }[], from: number, to: number) => {
      const [moved] = queue.splice(from, 1)
      if (moved === undefined) return
      const before = to === 0 ? null : (queue[to - 1]?.position ?? null)
      const after = queue[to]?.position ?? null
      const between = positionBetween(before, after)
      if (between !== null) moved.position = between
      else {
        const rest = queue.slice(to)
        const positions = spreadPositions(before ?? 0, rest.length + 1, null) ?? []
        moved.position = positions[0] as number
        rest.forEach((item, index) => {
          item.position = positions[index + 1] as number
        })
      }
      queue.splice(to, 0, moved)
    }
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(9), fc.nat(9)), { maxLength: 60 }), (moves) => {
        const queue = Array.from({ length: 10 }, (_, name) => ({ name, position: (name + 1) * 100 }))
        const expected = queue.map(({ name }) => name)
        for (const [from, to] of moves) {
          moveAfter(queue, from, to)
          expected.splice(to, 0, ...expected.splice(from, 1))
          const byPosition = queue.toSorted((a, b) => a.position - b.position)
          expect(byPosition.map(({ name }) => name)).toEqual(expected)
        }
      }),
    )
  })
})
