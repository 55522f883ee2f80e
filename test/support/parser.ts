// `isReadRight(text)` is false for JSON that this engine's parser may misread. V8 13.6 (Node 24) mistakes a key with an
// escape for a key with a backslash that it has seen at the same place before: after {"\\":1} it reads {"\"":1} as
// {"\\":1}. Such keys occur only in generated values; on older engines all of them are tested.

function mixesKeys(): boolean {
  // After a separate key, so that this text is not matched with anything in a test.
  JSON.parse(String.raw`[{"is read right":1,"\\":1}]`)
  const text = String.raw`[{"is read right":1,"\"":1}]`
  return JSON.stringify(JSON.parse(text)) !== text
}

const mixes = mixesKeys()

export function isReadRight(text: string): boolean {
  return !mixes || !text.includes('\\\\')
}
