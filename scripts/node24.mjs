// Node 24, for what an older Node cannot run. It is fetched from npm once and kept in node_modules/.cache.
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const WANTED_MAJOR = 24
const cache = fileURLToPath(new URL('../node_modules/.cache/pawl-node24', import.meta.url))
const cachedNode = join(cache, 'node_modules', 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node')

/** The path of a Node 24, or newer. Null: there is none, and npm said why. */
export function findNode24() {
  if (isNewEnough(process.version)) return process.execPath
  return isInstalled() || install() ? cachedNode : null
}

function isNewEnough(version) {
  return Number(version.replace(/^v/, '').split('.')[0]) >= WANTED_MAJOR
}

function isInstalled() {
  const { status, stdout } = spawnSync(cachedNode, ['--version'], { encoding: 'utf8' })
  return status === 0 && isNewEnough(stdout)
}

function install() {
  console.error(`Installing Node ${WANTED_MAJOR} from npm into node_modules/.cache/pawl-node24 (once).`)
  // The package `node` fetches the binary of this platform in its install script, which newer npm wants allowed by name.
  return installInto(cache, [`node@${WANTED_MAJOR}`], { allowScripts: { node: true } }) && isInstalled()
}

/** Installs packages from npm into a folder of their own. */
export function installInto(folder, packages, manifest = {}, options = []) {
  mkdirSync(folder, { recursive: true })
  // Its own package.json keeps npm from climbing up and changing this project.
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify({ private: true, ...manifest })}\n`)
  const quick = ['--no-audit', '--no-fund', '--fetch-retries=1', '--prefer-offline']
  const args = ['install', '--no-save', ...quick, ...options, '--prefix', folder, ...packages]
  const { status } = spawnSync('npm', args, {
    cwd: folder,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  })
  return status === 0
}
