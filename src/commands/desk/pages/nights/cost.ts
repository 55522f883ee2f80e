import type { RunFacts } from '../../../../store/operator/run.ts'
import { html, type Html } from '../../../drawing/html.ts'
import { amount, figure, percent, section } from '../../../drawing/parts.ts'

/** What a run cost beside what was foreseen, and what it brought. */
export function drawCost({
  spent,
  budget,
  asked,
  answered,
  price,
  usual_price: usual,
  depth,
  empty,
  unreadable,
  workers,
}: RunFacts): Html {
  const foreseen = asked === null || usual === null ? null : asked * usual
  return section(
    { id: 'cost', title: 'What it cost, and what it brought' },
    html`<dl class="facts">
      <dt>queries to be bought that have a readable answer</dt>
      <dd>${percent(asked === null || asked === 0 ? null : (answered ?? 0) / asked)}</dd>
      <dt>credits used</dt>
      <dd>
        ${figure('spent', spent)}${budget === null ? null : html` of a budget of ${amount(budget)}`}
      </dd>
      <dt>foreseen, at the price of the nights before</dt>
      <dd>${amount(foreseen)}</dd>
      <dt>credits an answer</dt>
      <dd>
        ${amount(price)}${usual === null ? null : html` <span class="soft">(usually ${amount(usual)})</span>`}
      </dd>
      <dt>results an answer, its depth</dt>
      <dd>${amount(depth)}</dd>
      <dt>empty answers</dt>
      <dd>${amount(empty)}</dd>
      <dt>answers that cannot be read</dt>
      <dd>${amount(unreadable)}</dd>
      <dt>workers</dt>
      <dd>${amount(workers)}</dd>
    </dl>`,
  )
}
