import type { Judgement } from './judge.ts'
import type { Strike, Strikes } from './strikes.ts'

const words: Readonly<Record<Strike, string>> = {
  kills: 'kills',
  freezes: 'freezes',
  farewells: 'farewells',
  delays: 'slow wires',
  silences: 'silent wires',
  cuts: 'cut wires',
  strandings: 'wires that lead nowhere',
  clockSteps: 'clock steps',
  renewals: 'renewals',
  databaseRestarts: 'database restarts',
  restores: 'restored databases',
  fullDisks: 'full disks',
  redisRestarts: 'redis restarts',
  flushes: 'flushes',
}

/** What was done, what could not be, and what it led to, as lines; those that matter most last. */
export function tellJudgement(
  judgement: Judgement,
  { strikes, notDone }: { strikes: Strikes; notDone: readonly string[] },
): string[] {
  const { states, charges, creditsCharged, creditsUsed, creditsHeld, least } = judgement
  const counts = Object.entries(states).map(([state, count]) => `${count} ${state}`)
  const done = (Object.keys(words) as Strike[]).map((name) => `${strikes[name]} ${words[name]}`)
  return [
    `strikes          ${done.join(', ')}`,
    ...notDone.map((sentence) => `not done         ${sentence}`),
    `tasks            ${judgement.tasks}: ${counts.join(', ')}`,
    `calls            ${judgement.calls}, ${judgement.unsent} of them released unsent`,
    `ledger           ${creditsUsed} credits used, ${creditsHeld} held for calls nobody could read`,
    `tasks answered   ${states['answered'] ?? 0}`,
    `charges          ${charges}, ${creditsCharged} credits, by the books of the API`,
    `ambiguous        ${judgement.ambiguous}`,
    `forgotten        ${judgement.forgotten} charges, when the database was set back`,
    `minimum balance  ${least.join(' and ')}, floor ${judgement.floor}`,
    `longest stand    ${judgement.stoodMs} ms, ${judgement.longestStandMs} allowed`,
    `wrong answers    ${judgement.wrong}`,
    `lost             ${judgement.lost}`,
    `bought twice beyond ambiguous  ${judgement.boughtTwice}`,
  ]
}
