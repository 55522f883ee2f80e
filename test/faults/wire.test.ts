import { once } from 'node:events'
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { Wire } from './wire.ts'

/** An echo server behind a wire. */
async function openEcho() {
  const ends: Socket[] = []
  const server = createServer((socket) => {
    ends.push(socket)
    socket.on('error', () => undefined)
    socket.pipe(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const wire = await Wire.open('127.0.0.1', (server.address() as AddressInfo).port)
  onTestFinished(async () => {
    await wire.close()
    for (const end of ends) end.destroy()
    server.close()
  })
  const dial = async () => {
    const socket = createConnection({ host: '127.0.0.1', port: wire.port })
    onTestFinished(() => void socket.destroy())
    let heard = ''
    socket.setEncoding('utf8').on('data', (text: string) => (heard += text))
    let broken: unknown = null
    socket.on('error', (error) => (broken = error))
    await once(socket, 'connect')
    return { socket, heard: () => heard, broken: () => broken }
  }
  return { wire, ends, dial }
}

test('data arrives in order, delayed in each direction', async () => {
  const { wire, dial } = await openEcho()
  const { socket, heard } = await dial()
  wire.delay(60)
  const began = performance.now()
  for (const word of ['one ', 'two ', 'three']) socket.write(word)
  await expect.poll(heard, { interval: 1 }).toBe('one two three')
  expect(performance.now() - began).toBeGreaterThanOrEqual(119)
})

test('an orderly end arrives after all data sent before it', async () => {
  const { wire, dial } = await openEcho()
  const { socket, heard } = await dial()
  wire.delay(20)
  socket.end('the last word')
  await once(socket, 'close')
  expect(heard()).toBe('the last word')
})

test('a blocked direction passes nothing and breaks nothing; once released, everything arrives', async () => {
  const { wire, ends, dial } = await openEcho()
  const { socket, heard, broken } = await dial()
  socket.write('before ')
  await expect.poll(heard).toBe('before ')
  wire.hold('back')
  socket.write('after')
  await expect.poll(() => ends[0]?.bytesRead).toBe('before after'.length)
  expect(wire.clear).toBe(false)
  expect(heard()).toBe('before ')
  expect(broken()).toBe(null)
  wire.letGo()
  await expect.poll(heard).toBe('before after')
  expect(wire.clear).toBe(true)
})

test('a cut breaks both ends, and the next connection is not affected', async () => {
  const { wire, ends, dial } = await openEcho()
  const { socket, heard, broken } = await dial()
  socket.write('x')
  await expect.poll(heard).toBe('x')
  wire.cut()
  await expect.poll(() => ends[0]?.destroyed).toBe(true)
  await expect.poll(broken).toMatchObject({ code: 'ECONNRESET' })
  const again = await dial()
  again.socket.write('y')
  await expect.poll(again.heard).toBe('y')
})

test('a stranded connection stays open on both ends and leads nowhere, while new ones work', async () => {
  const { wire, ends, dial } = await openEcho()
  const { socket, heard, broken } = await dial()
  socket.write('x')
  await expect.poll(heard).toBe('x')
  wire.strand()
  socket.write('into the void')
  const again = await dial()
  again.socket.write('y')
  await expect.poll(again.heard).toBe('y')
  expect(heard()).toBe('x')
  expect(broken()).toBe(null)
  expect(ends[0]?.destroyed).toBe(false)
  // When the client gives up the connection, the server is not told either.
  expect(wire.clear).toBe(false)
  socket.destroy()
  await expect.poll(() => wire.clear).toBe(true)
  expect(ends[0]?.destroyed).toBe(false)
})
