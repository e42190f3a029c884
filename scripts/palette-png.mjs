// A picture of a page with at most 256 colours, in about a quarter of the bytes. A page has few colours, and letters have shades
// of them that nobody tells apart.
import { crc32, deflateSync } from 'node:zlib'

const COLOURS_MAX = 256

/** `png` as a browser makes it, made smaller. `page` is any page of a browser: it can read what it has written. */
export async function withPalette(page, png) {
  const { width, height, base64 } = await page.evaluate(readPixels, png.toString('base64'))
  const { palette, indexes } = reduce(Buffer.from(base64, 'base64'))
  return encode(width, height, palette, indexes)
}

/** Runs in the browser. */
async function readPixels(source) {
  const bytes = Uint8Array.from(atob(source), (letter) => letter.charCodeAt(0))
  const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/png' }))
  const { width, height } = bitmap
  const pen = new OffscreenCanvas(width, height).getContext('2d')
  pen.drawImage(bitmap, 0, 0)
  const { data } = pen.getImageData(0, 0, width, height)
  let text = ''
  for (let at = 0; at < data.length; at += 32_768) text += String.fromCharCode(...data.subarray(at, at + 32_768))
  return { width, height, base64: btoa(text) }
}

/** The colours that are there most, each at some distance from the others; every pixel gets the nearest. */
function reduce(pixels) {
  const counts = new Map()
  const colours = new Uint32Array(pixels.length / 4)
  for (let at = 0; at < colours.length; at++) {
    const colour = pixels.readUIntBE(at * 4, 3)
    colours[at] = colour
    counts.set(colour, (counts.get(colour) ?? 0) + 1)
  }
  const byCount = [...counts].toSorted((a, b) => b[1] - a[1]).map(([colour]) => colour)
  let palette = []
  for (let apart = 0; ; apart = apart * 1.3 + 4) {
    palette = []
    for (const colour of byCount) {
      if (palette.every((chosen) => distance(chosen, colour) > apart)) palette.push(colour)
      if (palette.length > COLOURS_MAX) break
    }
    if (palette.length <= COLOURS_MAX) break
  }
  const nearest = new Map(byCount.map((colour) => [colour, indexOfNearest(palette, colour)]))
  return { palette, indexes: Uint8Array.from(colours, (colour) => nearest.get(colour)) }
}

function distance(a, b) {
  const [red, green, blue] = [16, 8, 0].map((shift) => ((a >> shift) & 255) - ((b >> shift) & 255))
  return 3 * red * red + 6 * green * green + 2 * blue * blue
}

function indexOfNearest(palette, colour) {
  let best = 0
  for (let index = 1; index < palette.length; index++) {
    if (distance(palette[index], colour) < distance(palette[best], colour)) best = index
  }
  return best
}

function encode(width, height, palette, indexes) {
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  // Eight bits each, by palette; neither filters nor interlacing, which help photographs.
  head.set([8, 3, 0, 0, 0], 8)
  const rows = Buffer.alloc(height * (width + 1))
  for (let row = 0; row < height; row++)
    rows.set(indexes.subarray(row * width, (row + 1) * width), row * (width + 1) + 1)
  const colours = Buffer.alloc(palette.length * 3)
  palette.forEach((colour, index) => {
    colours.writeUIntBE(colour, index * 3, 3)
  })
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', head),
    chunk('PLTE', colours),
    chunk('IDAT', deflateSync(rows, { level: 9, memLevel: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(name, data) {
  const named = Buffer.concat([Buffer.from(name, 'latin1'), data])
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  check.writeUInt32BE(crc32(named))
  return Buffer.concat([length, named, check])
}
