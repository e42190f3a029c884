import { SettableClock } from 'pawl/testing'
import { describe, expect, test } from 'vitest'

describe('SettableClock', () => {
  test('stands still until it is moved, from the beginning of 2026 or where it is told', () => {
    expect(new SettableClock().now()).toBe(Date.UTC(2026, 0, 1))
    expect(new SettableClock(5).now()).toBe(5)
    expect(new SettableClock(new Date(7)).now()).toBe(7)
  })

  test('fires timers in the order of their instants, each at its own', () => {
    const clock = new SettableClock(0)
    const fired: [string, number][] = []
    const note = (name: string) => () => void fired.push([name, clock.now()])
    clock.after(30, note('c'))
    clock.after(10, note('a'))
    clock.after(20, note('b'))
    clock.after(20, note('b2'))
    expect(clock.nextTimerAt()).toBe(10)

    clock.set(25)
    expect(fired).toEqual([
      ['a', 10],
      ['b', 20],
      ['b2', 20],
    ])
    expect(clock.now()).toBe(25)
    expect(clock.nextTimerAt()).toBe(30)
    clock.set(new Date(30))
    expect(fired.at(-1)).toEqual(['c', 30])
    expect(clock.nextTimerAt()).toBeNull()
  })

  test('shows whole milliseconds, and fires no timer before its delay has passed', () => {
    const clock = new SettableClock(0.7)
    expect(clock.now()).toBe(0)
    const fired: number[] = []
    clock.after(1.2, () => fired.push(clock.now()))
    expect(clock.nextTimerAt()).toBe(2)
    clock.set(1.9)
    expect([clock.now(), fired]).toEqual([1, []])
    clock.set(2)
    expect(fired).toEqual([2])
  })

  test('fires a timer that another one set on the way', () => {
    const clock = new SettableClock(0)
    const fired: number[] = []
    clock.after(10, () => {
      fired.push(clock.now())
      clock.after(10, () => fired.push(clock.now()))
    })
    clock.set(100)
    expect(fired).toEqual([10, 20])
  })

  test('does not fire what was cancelled, nor anything twice', () => {
    const clock = new SettableClock(0)
    let fired = 0
    const timer = clock.after(10, () => fired++)
    clock.after(10, () => fired++)
    timer.cancel()
    clock.set(50)
    clock.set(60)
    timer.cancel()
    expect(fired).toBe(1)
  })

  test('may be set back, as real clocks are: no time passes, and timers still wait for as long as they had to', () => {
    const clock = new SettableClock(1000)
    let fired = 0
    clock.after(10, () => fired++)
    clock.after(10, () => fired++, 'poll')
    clock.set(500)
    expect(clock.now()).toBe(500)
    expect(clock.nextTimerAt()).toBe(510)
    clock.set(509)
    expect(fired).toBe(0)
    clock.set(510)
    expect(fired).toBe(2)
  })

  test('fires a delay of nothing, or less, with the next move', () => {
    const clock = new SettableClock(0)
    let fired = 0
    clock.after(0, () => fired++)
    clock.after(-5, () => fired++)
    expect(fired).toBe(0)
    clock.set(0)
    expect(fired).toBe(2)
  })
})
