// Starts a job: `node run.mjs status --json`, or the program of the package for words that are no job: `node run.mjs run
// retry`. Runs the compiled program when it is newer than every source, and the sources
// through tsx otherwise. `node run.mjs --build` compiles; npm runs that after an installation.
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
  // Without the development dependencies there is nothing to compile with; an image brings its own compiled program.
  if (!existsSync(compiler)) return
  const begun = new Date()
  execFileSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], {
    cwd: root,
    stdio: 'inherit',
  })
  // A source that was saved while the compiler ran counts as newer.
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

/** The last change of a file, or of a folder and all that lies in it. */
function newest(path) {
  const found = statSync(path)
  if (!found.isDirectory()) return found.mtimeMs
  return readdirSync(path).reduce(
    (latest, entry) => Math.max(latest, newest(join(path, entry))),
    found.mtimeMs,
  )
}
