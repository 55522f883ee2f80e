// While somebody types a query the server is asked what there is like it; without this file the page's own list stands.
const searched = document.querySelector('input[data-suggest]')
if (searched !== null) {
  let asking = new AbortController()
  let waiting
  searched.addEventListener('input', () => {
    clearTimeout(waiting)
    asking.abort()
    waiting = setTimeout(() => {
      asking = new AbortController()
      void suggest(searched, asking.signal)
    }, 150)
  })
}

async function suggest(field, signal) {
  const address = new URL(field.dataset.suggest, location.href)
  address.searchParams.set('word', field.value)
  try {
    const answer = await fetch(address, { signal })
    if (!answer.ok) return
    const options = (await answer.json()).map((text) => {
      const option = document.createElement('option')
      option.value = text
      return option
    })
    field.list.replaceChildren(...options)
  } catch {
    // The next letter asks again.
  }
}
