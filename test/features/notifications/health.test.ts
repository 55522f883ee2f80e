import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import { afterEach, describe, expect, test } from 'vitest'
import { startHealth } from '../../../src/features/notifications/monitor.ts'

type Health = Awaited<ReturnType<typeof startHealth>>

const opened: Health[] = []

afterEach(async () => {
  for (const one of opened.splice(0)) await one.close()
})

async function open(problems: readonly string[] | Error = []): Promise<Health> {
  const health = await startHealth({
    port: 0,
    problems: async () => {
      if (problems instanceof Error) throw problems
      return problems
    },
    metrics: async () => 'one 1\n',
  })
  opened.push(health)
  return health
}

async function get({ port }: Health, path: string) {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`)
  return { status: answer.status, text: await answer.text() }
}

describe('health checks', () => {
  test('a running process is alive, whatever it lacks', async () => {
    expect(await get(await open(['no database']), '/livez')).toEqual({ status: 200, text: 'ok\n' })
  })

  test('a process is ready while it lacks nothing, and otherwise says what is missing', async () => {
    expect((await get(await open(), '/readyz')).status).toBe(200)
    const answer = await get(await open(['the database does not answer']), '/readyz')
    expect(answer).toEqual({ status: 503, text: 'the database does not answer\n' })
  })

  test('a failed check responds without the text of the error', async () => {
    const answer = await get(await open(new Error('postgres://user:secret@host')), '/readyz')
    expect(answer).toEqual({ status: 503, text: 'Error\n' })
  })

  test('metrics are in the format of Prometheus', async () => {
    const { port } = await open()
    const answer = await fetch(`http://127.0.0.1:${port}/metrics`)
    expect(answer.headers.get('content-type')).toContain('text/plain; version=0.0.4')
    expect(await answer.text()).toBe('one 1\n')
  })

  test('a port that is in use is reported as an invalid setting', async () => {
    const { port } = await open()
    const second = startHealth({ port, problems: async () => [], metrics: async () => '' })
    await expect(second).rejects.toThrow(/MILL_METRICS_PORT: expected a free port/)
  })

  const outside = Object.values(networkInterfaces())
    .flat()
    .find((address) => address?.family === 'IPv4' && !address.internal)

  test.skipIf(outside === undefined)('another address of this machine is refused', async () => {
    const { port } = await open()
    const refused = new Promise((resolve) => {
      const socket = connect(port, outside?.address ?? '')
      socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code))
      socket.on('connect', () => resolve('connected'))
    })
    expect(await refused).toBe('ECONNREFUSED')
  })
})
