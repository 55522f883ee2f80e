// Updates open pages and saves clicks. Without this file, the desk shows the same content.

/** Replaces parts of a live page, which the server redraws once for all visitors. */
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

const reached = 'a[href], button, summary, [tabindex]'

/** Name of an element as users know it, used to find the element again after its part of the page was redrawn. */
function nameOf(one) {
  const name = one.getAttribute('aria-label') ?? one.getAttribute('href') ?? one.textContent
  return `${one.tagName} ${name}`
}

/** Replaces a part, and keeps its keyboard focus, scroll position and opened elements. */
function replace(element, text) {
  if (element === null || element.dataset.shown === text) return
  const selection = document.getSelection()
  const selecting = selection !== null && !selection.isCollapsed
  if (selecting && element.contains(selection.anchorNode)) return
  const within = element.contains(document.activeElement)
  const focused = within ? nameOf(document.activeElement) : undefined
  const open = [...element.querySelectorAll('details[open]')].map(({ id }) => id)
  const scrolled = new Map(
    [...element.querySelectorAll('.scroll')].map((one) => [nameOf(one), one.scrollLeft]),
  )
  element.innerHTML = text
  element.dataset.shown = text
  for (const id of open) if (id !== '') document.getElementById(id)?.setAttribute('open', '')
  offerCopies(element)
  for (const one of element.querySelectorAll('.scroll')) {
    one.scrollLeft = scrolled.get(nameOf(one)) ?? one.scrollLeft
  }
  if (focused === undefined) return
  const again = [...element.querySelectorAll(reached)].find((one) => nameOf(one) === focused)
  again?.focus({ preventScroll: true })
}

/** Adds a copy button to each command. */
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

/** Shows the values of a chart's points on hover, or with the arrow keys. */
class Points {
  constructor(svg) {
    this.svg = svg
    this.frame = svg.parentElement
    this.figure = svg.closest('.scroll') ?? this.frame
    this.lines = [...svg.querySelectorAll('[data-points]')].map((line) => ({
      name: line.dataset.name,
      points: JSON.parse(line.dataset.points),
    }))
    const places = this.lines.flatMap(({ points }) => points.map(([x]) => x))
    this.stops = [...new Set(places)].toSorted((a, b) => a - b)
    this.at = this.stops.length - 1
  }

  offer() {
    if (this.stops.length === 0) return
    this.tip = document.createElement('output')
    this.tip.className = 'tip'
    this.tip.hidden = true
    this.frame.append(this.tip)
    this.ruler = document.createElementNS('http://www.w3.org/2000/svg', 'line')
    this.ruler.setAttribute('class', 'ruler')
    this.ruler.setAttribute('y1', '8')
    this.ruler.setAttribute('y2', String(this.svg.viewBox.baseVal.height - 26))
    this.svg.append(this.ruler)
    this.svg.addEventListener('pointermove', ({ offsetX }) => this.show(this.nearest(offsetX)))
    this.svg.addEventListener('pointerleave', () => this.hide())
    this.figure.addEventListener('blur', () => this.hide())
    this.figure.addEventListener('keydown', (event) => this.step(event))
  }

  nearest(offset) {
    const x = (offset / this.svg.clientWidth) * this.svg.viewBox.baseVal.width
    const away = (index) => Math.abs(this.stops[index] - x)
    return this.stops.reduce((best, _, index) => (away(index) < away(best) ? index : best), 0)
  }

  show(index) {
    this.at = Math.max(0, Math.min(this.stops.length - 1, index))
    const x = this.stops[this.at]
    for (const end of ['x1', 'x2']) this.ruler.setAttribute(end, String(x))
    const texts = this.lines.flatMap(({ name, points }) => {
      const point = points.find(([place]) => place === x)
      if (point === undefined) return []
      return [this.lines.length === 1 ? point[2] : `${name}, ${point[2]}`]
    })
    this.tip.textContent = texts.join('\n')
    this.tip.hidden = false
    const { clientWidth, viewBox } = this.svg
    const place = (x / viewBox.baseVal.width) * clientWidth + 10
    const most = clientWidth - this.tip.offsetWidth - 4
    this.tip.style.left = `${Math.max(4, Math.min(place, most))}px`
    this.figure.classList.add('told')
  }

  hide() {
    this.tip.hidden = true
    this.figure.classList.remove('told')
  }

  step(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
    // In a chart that is wider than its window, the arrow keys scroll.
    if (step === undefined || this.figure.scrollWidth > this.figure.clientWidth) return
    event.preventDefault()
    this.show(this.tip.hidden ? this.at : this.at + step)
  }
}

for (const svg of document.querySelectorAll('svg[role="img"]')) new Points(svg).offer()
