import { readFile } from 'node:fs/promises'
import { Secret } from '../../shared/secret.ts'
import { settings } from '../../shared/settings.ts'
import type { Worker } from './worker.ts'

type Halted = Pick<Worker, 'dispatch' | 'batch' | 'turnKey'>

/** The file that the key came from: at a stop for a refused key, another one that is put there is taken. */
export class KeyFile {
  readonly #path: string
  readonly #tell: (line: string) => void
  #present: Secret
  #candidate: string | null = null
  #declined: string | null = null

  constructor(path: string, present: Secret, tell: (line: string) => void) {
    this.#path = path
    this.#present = present
    this.#tell = tell
  }

  /** Looks into the file while nothing is on its way with the refused key. */
  async look(worker: Halted): Promise<void> {
    if (!isHalted(worker)) return
    const found = await this.#read()
    // Seen twice: whoever writes it may be half through.
    const twice = found !== null && found.fingerprint() === this.#candidate
    this.#candidate = found?.fingerprint() ?? null
    if (found === null || !twice || !isHalted(worker)) return
    if (isTest(found) !== isTest(this.#present)) return this.#decline(found)
    this.#present = found
    worker.turnKey(found)
    this.#tell(`the key file ${this.#path} holds another key: going on with it`)
  }

  /** Null while there is nothing new that could be a key. */
  async #read(): Promise<Secret | null> {
    const text = await readFile(this.#path, 'utf8').catch(() => '')
    if (!settings.SEARCH_API_KEY.shape.safeParse(text.trim()).success) return null
    const found = new Secret(text.trim())
    return found.fingerprint() === this.#present.fingerprint() ? null : found
  }

  /** Balance and answers of test keys are kept apart from those of live ones. */
  #decline(found: Secret): void {
    if (this.#declined === found.fingerprint()) return
    this.#declined = found.fingerprint()
    const [is, was] = [found, this.#present].map((key) => (isTest(key) ? 'test' : 'live'))
    this.#tell(
      `the key file ${this.#path} holds a ${is} key, and this worker buys with a ${was} one: restart it if that is meant`,
    )
  }
}

/** Another key in mid-flight would be blamed for what the old one is told. */
function isHalted({ dispatch, batch }: Halted): boolean {
  const { standstill, flying, atGate } = dispatch
  return standstill?.reason === 'auth' && flying === 0 && !atGate && batch.size === 0
}

function isTest(key: Secret): boolean {
  return key.reveal().startsWith('sk_test_')
}
