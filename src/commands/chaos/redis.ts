import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { createConnection } from 'node:net'
import { Unreachable } from '../../shared/errors.ts'
import { pause } from '../../shared/waiting.ts'

/** A Redis of one's own, to be killed and emptied. */
export class Redis {
  readonly port: number
  readonly #folder: string
  #child: ChildProcess | null = null

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  private constructor(port: number, folder: string) {
    this.port = port
    this.#folder = folder
  }

  static async open(port: number, folder: string): Promise<Redis> {
    mkdirSync(folder, { recursive: true })
    const redis = new Redis(port, folder)
    await redis.#start()
    return redis
  }

  /** Ends it like a power cut; what was not yet on disk is lost. */
  async restart(awayMs: number): Promise<void> {
    await this.#end('SIGKILL')
    await pause(awayMs)
    await this.#start()
  }

  /** Loses every job. */
  async flush(): Promise<void> {
    await this.#ask('FLUSHALL')
  }

  async close(): Promise<void> {
    await this.#end('SIGTERM')
  }

  async #start(): Promise<void> {
    const words = `--port ${this.port} --bind 127.0.0.1 --appendonly yes --maxmemory-policy noeviction`
    const args = [...words.split(' '), '--dir', this.#folder, '--save', '']
    const child = spawn('redis-server', args, { stdio: 'ignore' })
    this.#child = child
    let missing = false
    child.once('error', () => {
      missing = true
    })
    for (let tries = 0; tries < 200; tries += 1) {
      if (missing) break
      await pause(50)
      if ((await this.#ask('PING').catch(() => '')).startsWith('+PONG')) return
    }
    throw new Unreachable(
      `expected redis-server to answer on port ${this.port}, got nothing; install it, or use --backend postgres`,
    )
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    child.kill(signal)
    await once(child, 'exit')
  }

  #ask(command: string): Promise<string> {
    return new Promise((done, fail) => {
      const socket = createConnection({ port: this.port, host: '127.0.0.1' })
      socket.setEncoding('utf8')
      socket.once('connect', () => socket.write(`${command}\r\n`))
      socket.once('data', (answer: string) => {
        socket.destroy()
        done(answer)
      })
      socket.once('error', fail)
    })
  }
}
