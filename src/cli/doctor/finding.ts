/** What was looked at and how it is. `bad`: something does not work now; `warn`: it will not for long, or nobody would notice when it stops. */
export interface Finding {
  readonly what: string;
  readonly state: 'ok' | 'warn' | 'bad';
  readonly detail: string;
  /** What to do first, with the page of docs/runbook.md. */
  readonly next?: string;
}

export function ok(what: string, detail: string): Finding {
  return { what, state: 'ok', detail };
}

export function warn(what: string, detail: string, next: string): Finding {
  return { what, state: 'warn', detail, next };
}

export function bad(what: string, detail: string, next: string): Finding {
  return { what, state: 'bad', detail, next };
}

/** `3 s`, `5 min`, `7 h`, `12 d`. */
export function spanOf(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 2 * 3600) return `${Math.round(seconds / 60)} min`;
  return seconds < 2 * 86_400 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} d`;
}
