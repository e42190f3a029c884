// Where a Chromium is: `PAWL_CHROMIUM`, or where Debian and others put it. Null: there is none.
import { existsSync } from 'node:fs'

const PLACES = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/snap/bin/chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
]

export function chromiumPath() {
  const named = process.env.PAWL_CHROMIUM
  if (named) return existsSync(named) ? named : null
  return PLACES.find((place) => existsSync(place)) ?? null
}
