/** Match is a pair `[i, j]` of equal lines in two files: line i of the first file and line j of the second. */
export type Match = readonly [number, number];

/**
 * Maximum number of differing lines. If more lines differ, the diff shows the whole change as one block, because the cost of finding the shortest diff is
 * quadratic.
 */
const MAX_DIFFERENCES = 400;

/** Returns the common lines of two files, chosen so that the remaining differences are minimal (Myers, "An O(ND) Difference Algorithm"). */
export function matchingLines(before: readonly string[], after: readonly string[]): Match[] {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  const middle = shortestEdit(before.slice(head, before.length - tail), after.slice(head, after.length - tail));
  return [
    ...Array.from({ length: head }, (_, i): Match => [i, i]),
    ...middle.map(([i, j]): Match => [i + head, j + head]),
    ...Array.from({ length: tail }, (_, i): Match => [before.length - tail + i, after.length - tail + i]),
  ];
}

/** Finds the shortest edit. Returns no matches if the files differ in more than MAX_DIFFERENCES lines. */
function shortestEdit(before: readonly string[], after: readonly string[]): Match[] {
  const reached = new Map<number, number>([[1, 0]]);
  const steps: Map<number, number>[] = [];
  for (let edits = 0; edits <= Math.min(MAX_DIFFERENCES, before.length + after.length); edits += 1) {
    steps.push(new Map(reached));
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      let x = firstOn(reached, diagonal, edits);
      while (x < before.length && x - diagonal < after.length && before[x] === after[x - diagonal]) x += 1;
      reached.set(diagonal, x);
      if (x >= before.length && x - diagonal >= after.length) return wayBack(steps, before.length, after.length);
    }
  }
  return [];
}

/** Returns the point at which a path with one more edit enters a diagonal, coming from the neighboring diagonal that is further along. */
function firstOn(reached: Map<number, number>, diagonal: number, edits: number): number {
  const left = reached.get(diagonal - 1) ?? -1;
  const right = reached.get(diagonal + 1) ?? -1;
  return diagonal === -edits || (diagonal !== edits && left < right) ? right : left + 1;
}

function wayBack(steps: readonly Map<number, number>[], width: number, height: number): Match[] {
  const matches: Match[] = [];
  let [x, y] = [width, height];
  for (let edits = steps.length - 1; edits >= 0; edits -= 1) {
    const diagonal = x - y;
    const start = firstOn(steps[edits] as Map<number, number>, diagonal, edits);
    for (; x > start && y > start - diagonal; x -= 1, y -= 1) matches.push([x - 1, y - 1]);
    if (edits === 0) break;
    const isInsertion = (steps[edits] as Map<number, number>).get(diagonal + 1) === start;
    const left = (steps[edits] as Map<number, number>).get(diagonal - 1) ?? -1;
    const cameDown = diagonal === -edits || (diagonal !== edits && isInsertion && left < start);
    if (cameDown) y -= 1;
    else x -= 1;
  }
  return matches.reverse();
}
