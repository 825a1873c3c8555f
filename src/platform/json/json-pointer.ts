/** pointerStep escapes the name of a member for a JSON pointer (RFC 6901 section 3). */
export function pointerStep(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** stepsOf returns the names and indexes of a JSON pointer; empty for the whole document. */
export function stepsOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}
