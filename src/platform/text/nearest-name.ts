/** Maximum edit distance of a suggested name, as a fraction of the name's length. */
const MAX_DIFFERENCE = 0.5;
/** Maximum length of a misspelled name. The cost of a comparison is the product of both lengths. */
const MAX_LENGTH = 100;

/** nearestName returns the known name with the smallest edit distance to `name`; undefined if no known name is similar. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  if (name.length > MAX_LENGTH) return undefined;
  const distances = known.map((one) => ({ one, distance: distanceOf(name, one) }));
  const [best] = distances.sort((a, b) => a.distance - b.distance);
  return best !== undefined && best.distance <= name.length * MAX_DIFFERENCE ? best.one : undefined;
}

/** Returns the Levenshtein distance. */
function distanceOf(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (let i = 0; i < from.length; i += 1) {
    const next = [i + 1];
    for (let j = 0; j < to.length; j += 1)
      next.push(Math.min((next[j] ?? 0) + 1, (row[j + 1] ?? 0) + 1, (row[j] ?? 0) + (from[i] === to[j] ? 0 : 1)));
    row = next;
  }
  return row.at(-1) ?? 0;
}
