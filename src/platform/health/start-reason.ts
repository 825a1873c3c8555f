const STARTING = 'The service is starting.';
let current = STARTING;

/** Why this process does not work yet, in one line for the operator: its management port and the address of its API say it. */
export function startReason(): string {
  return current;
}

/** Without a reason the process is only starting. */
export function setStartReason(reason = STARTING): void {
  current = reason;
}
