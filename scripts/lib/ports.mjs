import { randomInt } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { Failure } from './failure.mjs';
import { until } from './processes.mjs';

const MOMENT = 1000;

/** Whether a server could listen there now. */
export function isFree(port, host = '127.0.0.1') {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/**
 * A port where a server may be started. Such ports lie below the ephemeral range, so that no outgoing connection holds the port while the
 * server restarts, and no client that dials it meanwhile connects to itself.
 */
export async function freePort(host) {
  for (let attempt = 0; attempt < 50; attempt += 1) {
    const port = randomInt(20_000, 32_000);
    if (await isFree(port, host)) return port;
  }
  throw new Failure('No free port was found from 20000 to 32000', 'Free some of them and start again.');
}

/** A port for a private server: `wanted` or none; else the one remembered in `file` when it is free; else any free one. */
export async function portFor(file, wanted) {
  if (wanted !== undefined) {
    if (await isFree(wanted)) return wanted;
    throw new Failure(`Port ${wanted} on 127.0.0.1 is taken`, 'Stop what listens there, or leave the port out.');
  }
  const before = remembered(file);
  // A server that was just killed holds its port for another moment; clients look for it where it was.
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
