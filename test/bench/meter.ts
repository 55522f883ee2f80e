// Measures CPU time instead of wall time: other load slows a clock far more than it changes the cost of an operation.
import { readFileSync, readdirSync } from 'node:fs'
import { cpus } from 'node:os'

/** CPU in microseconds by process, with the wall time. */
export interface Reading {
  readonly seconds: number
  readonly node: number
  readonly postgres: number
  readonly redis: number
  readonly others: number
  /** Cores used by other processes in the meantime. */
  readonly foreign: number
}

export interface Parts {
  /** Process id of the PostgreSQL server; its backends are its child processes. */
  readonly postgres?: number
  readonly redis?: number
  /** Further processes: a stand-in API, more workers. */
  readonly others?: readonly number[]
}

const tickUs = 10_000

/** Measures from now until the returned function is called. */
export function startMeter(parts: Parts): () => Reading {
  const before = look(parts)
  const began = performance.now()
  return () => {
    const after = look(parts)
    const seconds = (performance.now() - began) / 1000
    const node = after.node - before.node
    const postgres = after.postgres - before.postgres
    const redis = after.redis - before.redis
    const others = after.others - before.others
    const ours = node + postgres + redis + others
    const foreign = (after.machine - before.machine - ours) / 1e6 / seconds
    return { seconds, node, postgres, redis, others, foreign: Math.max(0, foreign) }
  }
}

function look({ postgres, redis, others = [] }: Parts) {
  const { user, system } = process.cpuUsage()
  return {
    node: user + system,
    postgres: postgres === undefined ? 0 : familyOf(postgres),
    redis: redis === undefined ? 0 : usedBy(redis, false),
    others: others.reduce((sum, pid) => sum + usedBy(pid, false), 0),
    machine: busyMachine(),
  }
}

/** A server with its current child processes, and with those that ended. */
function familyOf(server: number): number {
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => parentOf(name) === server)
  return children.reduce((sum, pid) => sum + usedBy(Number(pid), false), usedBy(server, true))
}

function parentOf(pid: string): number | null {
  const fields = statOf(Number(pid))
  return fields === null ? null : Number(fields[1])
}

/** CPU time of a process so far, in microseconds. */
export function cpuOf(pid: number): number {
  return usedBy(pid, false)
}

function usedBy(pid: number, withEnded: boolean): number {
  const fields = statOf(pid)
  if (fields === null) return 0
  const own = Number(fields[11]) + Number(fields[12])
  const ended = withEnded ? Number(fields[13]) + Number(fields[14]) : 0
  return (own + ended) * tickUs
}

/** Fields of /proc/PID/stat after the name, which may contain blanks; null if the process is gone. */
function statOf(pid: number): string[] | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')
  } catch {
    return null
  }
}

function busyMachine(): number {
  const total = { busy: 0 }
  for (const { times } of cpus()) total.busy += times.user + times.nice + times.sys + times.irq
  return total.busy * 1000
}

/** Current and peak memory of a process in megabytes; null if it is gone, or the system does not report it. */
export function memoryOf(pid: number): { rss: number; largest: number } | null {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    const read = (name: string) =>
      Math.round(Number(new RegExp(`^${name}:\\s*(\\d+) kB`, 'm').exec(status)?.[1]) / 1_024)
    const rss = read('VmRSS')
    return Number.isNaN(rss) ? null : { rss, largest: read('VmHWM') }
  } catch {
    return null
  }
}

/** The median of several measurements. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2
}
