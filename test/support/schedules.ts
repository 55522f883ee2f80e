/** Schedules that the model of the ledger lives through; MODEL_RUNS asks for more, MODEL_SEED for others. */
export const modelRuns = Number(process.env['MODEL_RUNS'] ?? 20_000)
/** What `npm test` takes of them. */
export const fewModelRuns = Math.min(modelRuns, 3_000)

export const modelSeed = Number(process.env['MODEL_SEED'] ?? 4)

/** Schedules of messages that the model of a fleet lives through; SCHEDULES asks for more. */
export const messageRuns = Number(process.env['SCHEDULES'] ?? 40_000)
/** What `npm test` takes of them. */
export const fewMessageRuns = Math.min(messageRuns, 2_000)

/** Seeds of the random histories that views are held to; HISTORIES asks for more or fewer. */
export const histories = Array.from(
  { length: Number(process.env['HISTORIES'] ?? 8) },
  (_, seed) => seed + 1,
)
