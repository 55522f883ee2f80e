// Updates open pages and saves clicks; without this file, the desk shows the same content.

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

/** Name of an element for its user, to find it again after its part was redrawn. */
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
