import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  // Relative: under which path the page stands is known only when it is served. The server writes `<base href>`.
  base: './',
  publicDir: 'public',
  build: {
    outDir: fileURLToPath(new URL('../dist/dashboard', import.meta.url)),
    emptyOutDir: true,
    target: 'es2022',
    // Nothing inline: the page must work under a policy that allows none.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    cssCodeSplit: false,
    chunkSizeWarningLimit: 300,
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
})
