// npm run mutants [-- WORD ...]: applies each fault of the list (or those whose name or file contains one of the words)
// to a copy of the repository, runs the closest tests, and reports which faults were found, and by which test. Exits
// with 1 if a fault without a stated reason is not found, with 2 if the tests fail before any fault is applied; with
// --trust, this is not checked. With --quick, runs only the tests that `npm test` runs, too.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { root } from '../../src/base/root.ts'
import { allMutants } from './all.ts'
import type { Mutant } from './mutant.ts'

const left = new Set(['node_modules', '.git', 'dist'])
/** A fault may keep a test from ending, which counts as found. */
const longestMs = 240_000
/** The schedules of the model find its faults within the first thousands. */
const env = { ...process.env, MODEL_RUNS: '12000', MODEL_SEED: '7' }

const trust = process.argv.includes('--trust')
const quick = process.argv.includes('--quick')
const words = process.argv.slice(2).filter((word) => !word.startsWith('--'))
const chosen = allMutants.filter(({ name, file }) => {
  return words.length === 0 || words.some((word) => name.includes(word) || file.includes(word))
})
let running: ChildProcess | undefined
const folder = mkdtempSync(join(tmpdir(), 'querymill-mutants-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    if (running === undefined) process.exit(130)
    running.once('exit', () => process.exit(130))
    running.kill()
  })
}
cpSync(root, folder, {
  recursive: true,
  filter: (path) => path === root || !left.has(path.slice(root.length + 1)),
})
symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
process.exitCode = await runAll()

async function runAll(): Promise<number> {
  const tests = [...new Set(chosen.flatMap((mutant) => mutant.tests))]
  say(`${chosen.length} faults, ${tests.length} files of tests`)
  const red = trust ? undefined : await firstRed(tests)
  if (red !== undefined) {
    say(`the tests are red before anything is put in: ${red}`)
    return 2
  }
  let unexplained = 0
  for (const [index, mutant] of chosen.entries()) {
    const begun = performance.now()
    const found = await foundBy(mutant)
    const seconds = ((performance.now() - begun) / 1000).toFixed(1)
    if (found === undefined && mutant.survives === undefined) unexplained += 1
    say(`${index + 1}/${chosen.length} ${verdict(mutant, found)} ${seconds} s  ${mutant.name}`)
    if (found !== undefined) say(`    ${found}`)
  }
  say(`${unexplained} of ${chosen.length} faults live on without a reason`)
  return unexplained > 0 ? 1 : 0
}

function verdict({ survives: reason }: Mutant, found: string | undefined): string {
  if (found !== undefined)
    return reason === undefined ? 'found' : 'found, although a reason says it lives'
  return reason === undefined ? 'LIVES' : `lives (${reason})`
}

async function foundBy({ name, file, find, put, tests }: Mutant): Promise<string | undefined> {
  const path = join(folder, file)
  const whole = readFileSync(path, 'utf8')
  if (whole.split(find).length !== 2) throw new Error(`expected the place of "${name}" once`)
  writeFileSync(
    path,
    whole.replace(find, () => put),
  )
  try {
    return await firstRed(tests)
  } finally {
    writeFileSync(path, whole)
  }
}

/** The first failing test, or another reason for the failure; nothing if all pass. */
async function firstRed(tests: readonly string[]): Promise<string | undefined> {
  const vitest = join(folder, 'node_modules/vitest/vitest.mjs')
  // A file of slow tests has none to run then.
  const mode = quick ? ['--mode', 'quick', '--passWithNoTests'] : []
  const child = spawn(process.execPath, [vitest, 'run', '--bail', '1', ...mode, ...tests], {
    cwd: folder,
    env: { ...env, NO_COLOR: '1' },
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: longestMs,
    detached: true,
  })
  running = child
  const ended = once(child, 'exit').finally(() => endGroup(child))
  const told = text(child.stderr)
  const [code, signal] = await ended
  if (code === 0) return undefined
  if (signal !== null) return `the tests did not end within ${longestMs / 1000} s`
  const said = await told
  const reason = /^ *FAIL .+$/m.exec(said) ?? /^ *Error: .+$/m.exec(said)
  return reason?.[0].trim() ?? 'the tests did not start'
}

/** Kills what is left of the test runner, because a process in an endless loop handles no other signal. */
function endGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // All of them have ended.
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
