import { randomInt } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { Failure } from './failure.mjs';
import { until } from './processes.mjs';

const MOMENT = 1000;

/** isFree reports whether a server can currently listen on the port. */
export function isFree(port, host = '127.0.0.1') {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/**
 * freePort returns a port for a server below the ephemeral range. While the server restarts, no outgoing connection can take the port, and no client that dials
 * the port can connect to itself.
 */
export async function freePort(host) {
  for (let attempt = 0; attempt < 50; attempt += 1) {
    const port = randomInt(20_000, 32_000);
    if (await isFree(port, host)) return port;
  }
  throw new Failure('No free port found between 20000 and 32000', 'Free a port and start again.');
}

/**
 * portFor returns a port for a private server: `wanted`; if undefined, the port stored in `file` if that port is free; otherwise any free port. Throws if
 * `wanted` is taken.
 */
export async function portFor(file, wanted) {
  if (wanted !== undefined) {
    if (await isFree(wanted)) return wanted;
    throw new Failure(`Port ${wanted} on 127.0.0.1 is in use`, 'Stop the process that uses it, or omit the port.');
  }
  const before = remembered(file);
  // A server that was just killed holds its port for a moment, and clients expect the next server on the same port.
  if (before !== undefined) await until(() => isFree(before), MOMENT);
  const port = before !== undefined && (await isFree(before)) ? before : await freePort();
  writeFileSync(file, `${port}\n`);
  return port;
}

function remembered(file) {
  try {
    const port = Number(readFileSync(file, 'utf8'));
    return Number.isInteger(port) && port > 0 && port < 65_536 ? port : undefined;
  } catch {
    return undefined;
  }
}
