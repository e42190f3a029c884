// Removes the build output, so that a file deleted from src/ cannot live on in dist/.
import { rmSync } from 'node:fs'

rmSync(new URL('../dist', import.meta.url), { recursive: true, force: true })
