/**
 * Whether a name fits a pattern in which `*` stands for any characters, `/` among them, and `?` for one; everything else
 * stands for itself. Takes at most as many steps as both lengths multiplied, whatever the pattern.
 */
export function fitsPattern(name: string, pattern: string): boolean {
  let at = 0;
  let place = 0;
  let star = -1;
  let resume = 0;
  while (at < name.length) {
    if (pattern[place] === '*') {
      star = place++;
      resume = at;
    } else if (place < pattern.length && (pattern[place] === '?' || pattern[place] === name[at])) {
      at += 1;
      place += 1;
    } else if (star >= 0) {
      // The last star takes one more character.
      place = star + 1;
      at = ++resume;
    } else return false;
  }
  while (pattern[place] === '*') place += 1;
  return place === pattern.length;
}
