/** The name of a member as a step of a JSON pointer (RFC 6901 section 3). */
export function pointerStep(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** The names of the members, and the indexes, that a JSON pointer leads through; none for the whole document. */
export function stepsOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}
