// node --import tsx test/bench/wires.ts MS HOST:PORT …: a wire before each of these servers, so many milliseconds long each
// way, in a process of its own. It prints their ports as JSON; a line `hold 0` on stdin silences the first of them, `mend 0`
// breaks its connections, as whoever waits finds out, and lets new ones through.
import { createInterface } from 'node:readline'
import { Wire } from '../faults/wire.ts'

const [ms, ...servers] = process.argv.slice(2)
const wires: Wire[] = []
for (const server of servers) {
  const [host = '', port] = server.split(':')
  const wire = await Wire.open(host, Number(port))
  wire.delay(Number(ms))
  wires.push(wire)
}
process.stdout.write(`${JSON.stringify(wires.map(({ port }) => port))}\n`)
for await (const line of createInterface(process.stdin)) {
  const [word, number] = line.split(' ')
  const wire = wires[Number(number)]
  if (word === 'hold') wire?.hold('there', 'back')
  else {
    wire?.cut()
    wire?.letGo()
  }
}
process.exit()
