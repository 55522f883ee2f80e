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

const reached = 'a[href], button, summary, [tabindex]'

/** What somebody who uses it would call it: by this it is found again when its part is drawn anew. */
function nameOf(one) {
  const name = one.getAttribute('aria-label') ?? one.getAttribute('href') ?? one.textContent
  return `${one.tagName} ${name}`
}

/** Whoever stands in a part with the keyboard, has scrolled or opened something in it, keeps their place. */
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
