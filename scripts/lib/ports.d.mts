/** Returns a free port below the ephemeral range, by default on 127.0.0.1. */
export function freePort(host?: string): Promise<number>;
