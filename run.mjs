// Starts a job: `node run.mjs status --json`. If the first word is not a job, starts the package's program: `node
// run.mjs run retry`. Runs the compiled program if it is newer than every source file; otherwise, runs the sources
// through tsx. `node run.mjs --build` compiles the program; npm does so after installation.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('.', import.meta.url))
const mark = join(root, 'dist', '.built')

const typed = process.argv.slice(2)
const [name = '', ...args] = typed
if (name === '--build') build()
else if (existsSync(join(root, 'jobs', `${name}.ts`))) await start(name, args)
else await start('querymill', typed)

function build() {
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  // Without the development dependencies, there is no compiler. An image contains its own compiled program.
  if (!existsSync(compiler)) return
  const begun = new Date()
  execFileSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], {
    cwd: root,
    stdio: 'inherit',
  })
  // A source file that is saved during compilation counts as newer.
  writeFileSync(mark, '')
  utimesSync(mark, begun, begun)
}

/** Loads the job in this process, so that signals reach it. */
async function start(job, words) {
  const compiled = join(root, 'dist', 'jobs', `${job}.js`)
  const fresh = existsSync(compiled) && isFresh()
  const path = fresh ? compiled : join(root, 'jobs', `${job}.ts`)
  process.argv = [process.argv[0], path, ...words]
  if (!fresh) (await import('tsx/esm/api')).register()
  await import(path)
}

function isFresh() {
  const built = statSync(mark, { throwIfNoEntry: false })?.mtimeMs ?? 0
  return ['src', 'jobs', 'tsconfig.build.json', 'package.json'].every(
    (source) => newest(join(root, source)) <= built,
  )
}

/** Time of the last change to a file, or to a folder or anything in it. */
function newest(path) {
  const found = statSync(path)
  if (!found.isDirectory()) return found.mtimeMs
  return readdirSync(path).reduce(
    (latest, entry) => Math.max(latest, newest(join(path, entry))),
    found.mtimeMs,
  )
}
