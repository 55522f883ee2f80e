// The desk without this file shows the same: what follows keeps it up to date and saves clicks.

/** Parts of a live page are drawn again by the server, once for all who look; here they take their places. */
function watch(pulse) {
  const events = new EventSource(`/live?page=${encodeURIComponent(pulse.dataset.live)}`)
  const tell = (text, bad) => {
    pulse.hidden = false
    if (pulse.textContent !== text) pulse.textContent = text
    pulse.classList.toggle('bad', bad)
  }
  events.addEventListener('open', () => tell('live', false))
  events.addEventListener('error', () => tell('the desk does not answer; trying again', true))
  events.addEventListener('message', ({ data }) => {
    const { parts, problem } = JSON.parse(data)
    tell(problem ?? 'live', problem !== null)
    for (const [id, text] of Object.entries(parts)) replace(document.getElementById(id), text)
  })
}

/** Whoever stands in a part with the keyboard, or has opened something in it, keeps their place. */
function replace(element, text) {
  if (element === null || element.dataset.shown === text) return
  const selection = document.getSelection()
  const selecting = selection !== null && !selection.isCollapsed
  if (selecting && element.contains(selection.anchorNode)) return
  const focused = element.contains(document.activeElement)
    ? document.activeElement.dataset.copy
    : undefined
  const open = [...element.querySelectorAll('details[open]')].map(({ id }) => id)
  element.innerHTML = text
  element.dataset.shown = text
  for (const id of open) if (id !== '') document.getElementById(id)?.setAttribute('open', '')
  offerCopies(element)
  if (focused !== undefined) element.querySelector(`[data-copy="${CSS.escape(focused)}"]`)?.focus()
}

/** What is to be typed gets a button that copies it. */
function offerCopies(within) {
  if (navigator.clipboard === undefined) return
  for (const code of within.querySelectorAll('code[data-copy]')) {
    const button = document.createElement('button')
    button.type = 'button'
    button.className = 'copy'
    button.textContent = 'Copy'
    button.dataset.copy = code.textContent
    button.setAttribute('aria-label', `Copy ${code.textContent}`)
    button.addEventListener('click', () => void copy(button, code.textContent))
    code.after(button)
  }
}

async function copy(button, text) {
  await navigator.clipboard.writeText(text)
  button.textContent = 'Copied'
  setTimeout(() => {
    button.textContent = 'Copy'
  }, 1500)
}

const pulse = document.getElementById('pulse')
if (pulse !== null) watch(pulse)
offerCopies(document)

/** What a point of a picture says, under the pointer, or by the arrow keys for whoever has none. */
function offerPoints(svg) {
  const lines = [...svg.querySelectorAll('[data-points]')].map((line) => ({
    name: line.dataset.name,
    points: JSON.parse(line.dataset.points),
  }))
  const stops = [...new Set(lines.flatMap(({ points }) => points.map(([x]) => x)))].toSorted(
    (a, b) => a - b,
  )
  if (stops.length === 0) return
  const figure = svg.parentElement
  figure.classList.add('points')
  const tip = document.createElement('output')
  tip.className = 'tip'
  tip.hidden = true
  figure.append(tip)
  const ruler = document.createElementNS('http://www.w3.org/2000/svg', 'line')
  ruler.setAttribute('class', 'ruler')
  const { height, width } = svg.viewBox.baseVal
  ruler.setAttribute('y1', '8')
  ruler.setAttribute('y2', String(height - 26))
  svg.append(ruler)
  let at = stops.length - 1
  const show = (index) => {
    at = Math.max(0, Math.min(stops.length - 1, index))
    const x = stops[at]
    ruler.setAttribute('x1', String(x))
    ruler.setAttribute('x2', String(x))
    const texts = lines.flatMap(({ name, points }) => {
      const point = points.find(([place]) => place === x)
      return point === undefined ? [] : [lines.length === 1 ? point[2] : `${name}, ${point[2]}`]
    })
    tip.textContent = texts.join('\n')
    tip.hidden = false
    const place = (x / width) * svg.clientWidth
    tip.style.left = `${Math.max(4, Math.min(place + 10, svg.clientWidth - tip.offsetWidth - 4))}px`
    figure.classList.add('told')
  }
  const hide = () => {
    tip.hidden = true
    figure.classList.remove('told')
  }
  svg.addEventListener('pointermove', ({ offsetX }) => {
    const x = (offsetX / svg.clientWidth) * width
    const nearest = stops.reduce(
      (best, stop, index) => (Math.abs(stop - x) < Math.abs(stops[best] - x) ? index : best),
      0,
    )
    show(nearest)
  })
  svg.addEventListener('pointerleave', hide)
  figure.addEventListener('blur', hide)
  figure.addEventListener('keydown', (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
    if (step === undefined || figure.scrollWidth > figure.clientWidth) return
    event.preventDefault()
    show(tip.hidden ? at : at + step)
  })
}

for (const svg of document.querySelectorAll('svg[role="img"]')) offerPoints(svg)
