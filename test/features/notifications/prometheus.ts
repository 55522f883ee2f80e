// const prometheus = await startPrometheus(target, rules) → a real Prometheus on loopback that scrapes a target each
// second; `ask('up')` is an instant query.
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { z } from 'zod'
import { freePort } from '../../../src/base/embedded/process.ts'

const answered = z.looseObject({
  data: z.looseObject({
    result: z.array(z.looseObject({ value: z.tuple([z.number(), z.string()]) })),
  }),
})

/** Output of promtool for files made for it, and its exit code. */
export function promtool(
  args: readonly string[],
  files: Readonly<Record<string, unknown>>,
): { status: number | null; said: string } {
  const folder = mkdtempSync(join(tmpdir(), 'querymill-promtool-'))
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(folder, name), typeof content === 'string' ? content : stringify(content))
  }
  const { status, stdout, stderr } = spawnSync('promtool', args, { cwd: folder, encoding: 'utf8' })
  rmSync(folder, { recursive: true })
  return { status, said: `${stdout}${stderr}` }
}

export interface Prometheus {
  readonly ask: (query: string) => Promise<readonly number[]>
  readonly get: (path: string) => Promise<unknown>
  close(): Promise<void>
}

/** Starts Prometheus with these rules and one target, and waits until it is ready. */
export async function startPrometheus(target: string, rules: string): Promise<Prometheus> {
  const folder = mkdtempSync(join(tmpdir(), 'querymill-prometheus-'))
  const port = await freePort()
  const file = join(folder, 'prometheus.yml')
  writeFileSync(
    file,
    stringify({
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: [rules],
      scrape_configs: [{ job_name: 'querymill', static_configs: [{ targets: [target] }] }],
    }),
  )
  const child = spawn(
    'prometheus',
    [
      `--config.file=${file}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: 'ignore' },
  )
  const gone = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const get = async (path: string): Promise<unknown> => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`)
    if (!answer.ok) throw new Error(`expected ${path} to be there, got ${answer.status}`)
    return answer.json()
  }
  return {
    get,
    ask: async (query) => {
      const answer = answered.parse(await get(`/api/v1/query?query=${encodeURIComponent(query)}`))
      return answer.data.result.map(({ value: [, text] }) => Number(text))
    },
    close: async () => {
      child.kill('SIGTERM')
      await gone
      rmSync(folder, { recursive: true })
    },
  }
}
