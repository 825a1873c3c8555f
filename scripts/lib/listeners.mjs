import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { commandOf } from './processes.mjs';

const LISTENING = '0A';

/** whoListens describes the process that listens on a TCP port. Returns undefined if the process belongs to another account. */
export function whoListens(port) {
  const pid = existsSync('/proc/net/tcp') ? linuxListener(port) : lsofListener(port);
  return pid === undefined ? undefined : `process ${pid} (${commandOf(pid).slice(0, 100)})`;
}

function linuxListener(port) {
  const inodes = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) => listeningInodes(file, port));
  const sockets = new Set(inodes.map((inode) => `socket:[${inode}]`));
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .find((pid) => holds(pid, sockets));
}

/**
 * Returns the socket inodes of listeners on the port. Columns of a line: number, local address:port in hex, remote, state, queues, timers, retransmits, uid,
 * timeout, inode.
 */
function listeningInodes(file, port) {
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter((cells) => cells[3] === LISTENING && Number.parseInt(cells[1].split(':')[1], 16) === port)
    .map((cells) => cells[9]);
}

function holds(pid, sockets) {
  try {
    const directory = `/proc/${pid}/fd`;
    return readdirSync(directory).some((fd) => {
      try {
        return sockets.has(readlinkSync(`${directory}/${fd}`));
      } catch {
        return false;
      }
    });
  } catch {
    return false;
  }
}

function lsofListener(port) {
  const said = spawnSync('lsof', ['-nP', '-t', `-iTCP:${port}`, '-sTCP:LISTEN'], { encoding: 'utf8' }).stdout ?? '';
  return said.split('\n').find((line) => line !== '');
}
