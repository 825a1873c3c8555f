const CODES = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL']);

/** Whether no connection was made because this machine has no more sockets or ports: that says nothing about the other side. */
export function isOwnFault(error: unknown): boolean {
  return error instanceof Error && 'code' in error && CODES.has(String(error.code));
}
