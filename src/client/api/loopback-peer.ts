import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';

/** Linux's lists of TCP sockets (proc_pid_net(5)). Programs such as Java use IPv6 sockets with IPv4-mapped addresses. */
const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'];
const [LOCAL, REMOTE, UID] = [1, 2, 7];

/**
 * isOwnPeer reports whether the other end of an IPv4 loopback connection belongs to the user of this process. The check is needed because every user of a
 * machine can connect to the loopback address. Systems other than Linux do not list the owner of a connection, so the function returns true there.
 */
export async function isOwnPeer({ remoteAddress, remotePort, localAddress, localPort }: Socket): Promise<boolean> {
  if (process.platform !== 'linux') return true;
  const [peer, here] = [inTable(remoteAddress, remotePort), inTable(localAddress, localPort)];
  const tables = await Promise.all(TABLES.map((table) => readFile(table, 'utf8').catch(() => '')));
  const rows = tables.flatMap((text) => text.split('\n').map((line) => line.trim().split(/\s+/)));
  const ends = rows.filter((row) => row[LOCAL]?.endsWith(peer) === true && row[REMOTE]?.endsWith(here) === true);
  return ends.length > 0 && ends.every((row) => row[UID] === String(process.getuid?.()));
}

/** Formats an address and port as the kernel prints them: the four bytes of the address in little-endian order, then the port. */
function inTable(address = '', port = 0): string {
  const bytes = Buffer.from(address.split('.').map(Number)).reverse();
  return `${bytes.toString('hex')}:${port.toString(16).padStart(4, '0')}`.toUpperCase();
}
