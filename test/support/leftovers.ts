// endAfterUs(home) → ends the servers in a temporary folder and removes it once this process is gone, however it ended,
// because no handler runs after SIGKILL or a runner timeout.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { root } from '../../src/base/root.ts'

const script = `
while kill -0 "$1" 2>/dev/null; do sleep 1; done
[ -d "$2" ] || exit 0
[ -z "$3" ] || kill "$3"
[ ! -e "$2/postgres.json" ] || MILL_HOME="$2" node "$4" stack stop
rm -rf "$2"`

/** Starts a watcher outside this process group; `pid` is a server that the home does not record. */
export function endAfterUs(home: string, pid?: number): void {
  const words = ['-c', script, 'sh', String(process.pid), home, pid ?? '', join(root, 'run.mjs')]
  spawn('sh', words.map(String), { cwd: root, detached: true, stdio: 'ignore' }).unref()
}
