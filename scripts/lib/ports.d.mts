/** A port where a server may be started, below the ephemeral range; on 127.0.0.1 without an address. */
export function freePort(host?: string): Promise<number>;
