// node --import tsx test/bench/delay.ts HOST PORT MS: a wire before a server, so many milliseconds long each way, in a
// process of its own, so that it takes nothing from the loop of what is measured. It prints its port.
import { Wire } from '../faults/wire.ts'

const [host = '', port, ms] = process.argv.slice(2)
const wire = await Wire.open(host, Number(port))
wire.delay(Number(ms))
process.stdout.write(`${wire.port}\n`)
